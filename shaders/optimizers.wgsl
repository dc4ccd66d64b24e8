// adam, amsgrad, sgd: one step on a flat arena by the rules besides AdamW.
//
// Bindings: p, g, m, of adam and amsgrad also v, of amsgrad also x [n]; ctl [8] as of
// adamw, of sgd [6] is the share of the gradient in the momentum. The extent is n.
// Elementwise, each operation rounded:
//
//	adam      g = g*factor + wd*p;  m, v as adamw;  p = p - lr*ctl[4]*m / (sqrt(v)*ctl[5] + eps)
//	amsgrad   g = g*factor;  m, v as adamw;  x = max(x, v);  p = p*(1 - lr*wd) - lr*ctl[4]*m / (sqrt(x)*ctl[5] + eps)
//	sgd       g = g*factor + wd*p;  m = momentum*m + ctl[6]*g;  p = p - lr*(g + momentum*m with Nesterov, else m)
//
// Both tiers have the body of T0: beside the passes a step over the parameters is short.
//
// Variants tried: those of elementwise.wgsl, for adamw.
//
// Source: Kingma and Ba, arXiv 1412.6980, with the decay in the gradient as torch.optim.Adam
// has it; Reddi et al., arXiv 1904.09237; Sutskever et al., "On the importance of
// initialization and momentum in deep learning", ICML 2013, in the form of torch.optim.SGD.
//
//variant adam TL tile=256 linear use=step
//variant adam T0 tile=256 linear use=step
//variant amsgrad TL tile=256 linear use=step
//variant amsgrad T0 tile=256 linear use=step
//variant sgd TL tile=256 linear use=step
//variant sgd T0 tile=256 linear use=step

{{define "step"}}
{{params}}
{{bind "p" "f32"}}
{{bind "g" "f32"}}
{{bind "m" "f32"}}
{{if ne .Kernel "sgd"}}{{bind "v" "f32"}}{{end}}
{{if eq .Kernel "amsgrad"}}{{bind "x" "f32"}}{{end}}
{{bind "ctl" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i >= pc.n) { return; }
  let lr = ctl[2];
  let decay = select(0.0, ctl[3], pc.decay == 1u);
{{if eq .Kernel "sgd"}}
  let grad = g[i] * ctl[0] + decay * p[i];
  let mean = pc.momentum * m[i] + ctl[6] * grad;
  m[i] = mean;
  p[i] -= lr * select(mean, grad + pc.momentum * mean, pc.nesterov == 1u);
{{else}}
{{if eq .Kernel "adam"}}
  let keep = 1.0;
  let grad = g[i] * ctl[0] + decay * p[i];
{{else}}
  let keep = 1.0 - lr * decay;
  let grad = g[i] * ctl[0];
{{end}}
  let mean = pc.b1 * m[i] + ctl[6] * grad;
  var square = pc.b2 * v[i] + ctl[7] * grad * grad;
  m[i] = mean;
  v[i] = square;
{{if eq .Kernel "amsgrad"}}
  square = max(x[i], square);
  x[i] = square;
{{end}}
  p[i] = p[i] * keep - lr * ctl[4] * mean / (sqrt(square) * ctl[5] + pc.eps);
{{end}}
}
{{end}}
