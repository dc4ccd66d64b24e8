// adamw: one step of AdamW on a flat arena.
//
// Bindings: p, g, m, v [n] (n is a multiple of 8: arenas are made of padded
// rows), ctl [8]: factor on g, -, learning rate, weight decay, 1/(1-b1^t),
// 1/sqrt(1-b2^t), 1-b1, 1-b2 (the last two from float64: 1-b2 in f32 is off by
// 5e-5 of itself). The extent is n. Elementwise, each operation rounded:
//
//	g = g*factor; m = b1*m + ctl[6]*g; v = b2*v + ctl[7]*g*g
//	p = p*(1 - lr*wd) - lr*ctl[4]*m / (sqrt(v)*ctl[5] + eps)
//
// TL: 4096 elements a workgroup.
//
// Variants tried: those of elementwise.wgsl. Two cores of an EPYC, lavapipe 22.3:
// 25 GB/s on TL, 4.5 with the scalar loads of T0.
//
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, arXiv
// 1711.05101; bias corrections as in Kingma and Ba, arXiv 1412.6980, with
// PyTorch's place of eps (outside of the corrected root).
//
//variant adamw TL tile=4096 linear texels=g
//variant adamw T0 tile=256 linear

{{define "adamw TL"}}
{{template "wide"}}
{{params}}
{{bind "p" "vec4<u64>"}}
{{bind "g" "vec4<u64>"}}
{{bind "m" "vec4<u64>"}}
{{bind "v" "vec4<u64>"}}
{{bind "ctl" "f32"}}
{{template "update" "vec4<f32>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  let c = controls();
  for (var i = first + l; i < end; i += 8u) {
    let p0 = p_at(i);
    let g0 = g_at(i);
    let m0 = m_at(i);
    let v0 = v_at(i);
    let lo = update(c, p0.lo, g0.lo, m0.lo, v0.lo);
    let hi = update(c, p0.hi, g0.hi, m0.hi, v0.hi);
    p[i] = join(lo.p, hi.p);
    m[i] = join(lo.m, hi.m);
    v[i] = join(lo.v, hi.v);
  }
}
{{end}}

{{define "adamw T0"}}
{{params}}
{{bind "p" "f32"}}
{{bind "g" "f32"}}
{{bind "m" "f32"}}
{{bind "v" "f32"}}
{{bind "ctl" "f32"}}
{{template "update" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i >= pc.n) { return; }
  let next = update(controls(), p[i], g[i], m[i], v[i]);
  p[i] = next.p;
  m[i] = next.m;
  v[i] = next.v;
}
{{end}}

{{define "update"}}
struct Controls { factor: f32, keep: f32, rate: f32, root: f32, new1: f32, new2: f32 }
fn controls() -> Controls {
  let lr = ctl[2];
  return Controls(ctl[0], select(1.0, 1.0 - lr * ctl[3], pc.decay == 1u), lr * ctl[4], ctl[5], ctl[6], ctl[7]);
}
struct State { p: {{.}}, m: {{.}}, v: {{.}} }
fn update(c: Controls, p: {{.}}, g: {{.}}, m: {{.}}, v: {{.}}) -> State {
  let grad = g * c.factor;
  let mean = pc.b1 * m + c.new1 * grad;
  let square = pc.b2 * v + c.new2 * grad * grad;
  return State(p * c.keep - c.rate * mean / (sqrt(square) * c.root + pc.eps), mean, square);
}
{{end}}
