// The gated activation of the feed-forward layer: swiglu and swiglu_backward, geglu and
// geglu_backward.
//
// Bindings: gu [T][2*F] (F gates, then F ups), y [T][F]; dy [T][F], dgu [T][2*F].
// The extent is F, T. Elementwise, products from left to right:
// s = 1/(1+exp(-a)); y = g*s*u; dup = dy*g*s; dgate = dy*u*s*(1+g*(1-s)*b), with a = g
// and b = 1 in swiglu. In geglu a = 2z and b = da/dg for the z of gelu's tanh form,
// g*(1+tanh(z))/2 with z = sqrt(2/pi)*(g+0.044715*g^3): (1+tanh(z))/2 is s.
// TL: 16 rows of 512 columns a workgroup.
//
// Variants tried (one core of an EPYC, lavapipe 22.3, T = 3600, F = 256): 1, 4,
// 16 rows a workgroup take 2.4, 1.6, 1.25 ms; the exponential takes half of it.
//
// Source: Shazeer, GLU Variants Improve Transformer, arXiv 2002.05202; gelu: Hendrycks
// and Gimpel, arXiv 1606.08415.
//
//variant swiglu TL tile=512,16 use=lanes texels=gu
//variant swiglu T0 tile=64,1 use=forward
//variant swiglu_backward TL tile=512,16 use=lanes texels=gu+dy
//variant swiglu_backward T0 tile=64,1 use=backward
//variant geglu TL tile=512,16 use=lanes texels=gu
//variant geglu T0 tile=64,1 use=forward
//variant geglu_backward TL tile=512,16 use=lanes texels=gu+dy
//variant geglu_backward T0 tile=64,1 use=backward

{{define "gelu"}}
// 2*sqrt(2/pi), and 0.044715 times that.
const c1 = 1.5957691216057308;
const c3 = 0.07135481627260025;
fn inner(g: {{.}}) -> {{.}} { return g * (c1 + c3 * (g * g)); }
fn slope(g: {{.}}) -> {{.}} { return c1 + 3.0 * c3 * (g * g); }
{{end}}

{{define "silu"}}
fn inner(g: {{.}}) -> {{.}} { return g; }
{{end}}

{{define "lanes"}}{{$forward := or (eq .Kernel "swiglu") (eq .Kernel "geglu")}}{{$gelu := or (eq .Kernel "geglu") (eq .Kernel "geglu_backward")}}
{{template "wide"}}
{{params}}
{{if $gelu}}{{template "gelu" "vec4<f32>"}}{{else}}{{template "silu" "vec4<f32>"}}{{end}}
{{bind "gu" "vec4<u64>"}}
fn sigmoid(g: vec4<f32>) -> vec4<f32> { return 1.0 / (1.0 + exp(-inner(g))); }
{{if $forward}}{{bind "y" "vec4<u64>"}}
fn value(g: vec4<f32>, u: vec4<f32>) -> vec4<f32> { return g * sigmoid(g) * u; }
{{else}}{{bind "dy" "vec4<u64>"}}
{{bind "dgu" "vec4<u64>"}}
fn dup(g: vec4<f32>, s: vec4<f32>, d: vec4<f32>) -> vec4<f32> { return d * g * s; }
fn dgate(g: vec4<f32>, u: vec4<f32>, s: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
  return d * u * s * (1.0 + g * (1.0 - s){{if $gelu}} * slope(g){{end}});
}
{{end}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.F / 8u;
  let end = min(group.x * 64u + 64u, width);
  let last = min(group.y * 16u + 16u, pc.T);
  for (var t = group.y * 16u; t < last; t++) {
    for (var f = group.x * 64u + l; f < end; f += 8u) {
      let gate = gu_at(2u * t * width + f);
      let up = gu_at((2u * t + 1u) * width + f);
{{if $forward}}      y[t * width + f] = join(value(gate.lo, up.lo), value(gate.hi, up.hi));
{{else}}      let d = dy_at(t * width + f);
      let s_lo = sigmoid(gate.lo);
      let s_hi = sigmoid(gate.hi);
      dgu[2u * t * width + f] = join(dgate(gate.lo, up.lo, s_lo, d.lo), dgate(gate.hi, up.hi, s_hi, d.hi));
      dgu[(2u * t + 1u) * width + f] = join(dup(gate.lo, s_lo, d.lo), dup(gate.hi, s_hi, d.hi));
{{end}}    }
  }
}
{{end}}

{{define "forward"}}
{{params}}
{{if eq .Kernel "geglu"}}{{template "gelu" "f32"}}{{else}}{{template "silu" "f32"}}{{end}}
{{bind "gu" "f32"}}
{{bind "y" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.F) { return; }
  let g = gu[2u * id.y * pc.F + id.x];
  let u = gu[(2u * id.y + 1u) * pc.F + id.x];
  y[id.y * pc.F + id.x] = g * (1.0 / (1.0 + exp(-inner(g)))) * u;
}
{{end}}

{{define "backward"}}{{$gelu := eq .Kernel "geglu_backward"}}
{{params}}
{{if $gelu}}{{template "gelu" "f32"}}{{else}}{{template "silu" "f32"}}{{end}}
{{bind "gu" "f32"}}
{{bind "dy" "f32"}}
{{bind "dgu" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.F) { return; }
  let gate = 2u * id.y * pc.F + id.x;
  let g = gu[gate];
  let u = gu[gate + pc.F];
  let d = dy[id.y * pc.F + id.x];
  let s = 1.0 / (1.0 + exp(-inner(g)));
  dgu[gate] = d * u * s * (1.0 + g * (1.0 - s){{if $gelu}} * slope(g){{end}});
  dgu[gate + pc.F] = d * g * s;
}
{{end}}
