// The other norms of the gradient in two stages: grad_abs, then grad_abs_clip.
//
// Bindings: g [n], part [*]: of each 4096 elements the sum of what they are without their
// sign, or the largest of it, from index part0 on; ctl [8], of which [0] becomes the clip
// factor, [1] the norm. The extents are ceil(n/4096) and 1.
//
// Order: that of grad_norm.wgsl on T0, without fma. The largest is found among bit patterns,
// in which a NaN is above every number and so is never lost.
//
// Both tiers have one body: reading the gradient once is short beside the passes.
//
// Variants tried: none.
//
// Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
// with norm_type 1 and inf, and its 1e-6.
//
//variant grad_abs TL linear use=parts
//variant grad_abs T0 linear use=parts
//variant grad_abs_clip TL use=whole
//variant grad_abs_clip T0 use=whole

{{define "parts"}}
{{params}}
{{bind "g" "f32"}}
{{bind "part" "f32"}}
{{template "merge"}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let segment = {{group}};
  let end = min(segment * 4096u + 4096u, pc.n);
  var all = 0.0;
  for (var i = segment * 4096u + l; i < end; i += 64u) {
    all = merge(all, bitcast<f32>(bitcast<u32>(g[i]) & 0x7fffffffu));
  }
  all = total(l, all);
  if (l == 0u && segment * 4096u < pc.n) { part[pc.part0 + segment] = all; }
}
{{end}}

{{define "whole"}}
{{params}}
{{bind "part" "f32"}}
{{bind "ctl" "f32"}}
{{template "merge"}}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  var all = 0.0;
  for (var i = l; i < pc.count; i += 64u) {
    all = merge(all, part[i]);
  }
  let norm = total(l, all);
  if (l == 0u) {
    ctl[0] = select(min(1.0, pc.max_norm / (norm + 1e-6)), 1.0, pc.max_norm == 0.0);
    ctl[1] = norm;
  }
}
{{end}}

{{define "merge"}}
fn merge(a: f32, b: f32) -> f32 {
  if (pc.largest == 1u) { return bitcast<f32>(max(bitcast<u32>(a), bitcast<u32>(b))); }
  return a + b;
}
var<workgroup> partial: array<f32, 64>;
fn total(i: u32, v: f32) -> f32 {
  partial[i] = v;
  for (var s = 32u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) { partial[i] = merge(partial[i], partial[i + s]); }
  }
  workgroupBarrier();
  return partial[0];
}
{{end}}
