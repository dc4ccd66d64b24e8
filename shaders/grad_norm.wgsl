// The norm of the gradient in two stages: grad_sumsq, then grad_clip.
//
// Bindings: g [n] (n is a multiple of 8), part [*]: a sum for each 4096 elements,
// from index part0 on; ctl [8], of which [0] becomes the clip factor, [1] the
// norm. The extents are ceil(n/4096) and 1.
//
// Order: 64 partial sums by index mod 64 of the segment (of part in grad_clip),
// each a chain in ascending order (with fma in grad_sumsq), then halved: 32
// pairs (i, i+32), 16 pairs (i, i+16), ... The same on both tiers.
// TL: lane l has the partial sums 8l .. 8l+7.
//
// Variants tried: the ones here. Two cores of an EPYC, lavapipe 22.3: grad_sumsq
// reads 20 GB/s on TL, 5 on T0; grad_clip of 33000 sums takes 50 us, of which a
// dispatch is 15.
//
// Source: Pascanu et al., arXiv 1211.5063, with the 1e-6 of
// torch.nn.utils.clip_grad_norm_; two stages in place of atomics as in llm.c
// (https://github.com/karpathy/llm.c, llmc/global_norm.cuh).
//
//variant grad_sumsq TL linear texels=g
//variant grad_sumsq T0 linear
//variant grad_clip TL
//variant grad_clip T0

{{define "grad_sumsq TL"}}
{{template "wide"}}
{{template "fold"}}
{{params}}
{{bind "g" "vec4<u64>"}}
{{bind "part" "f32"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let segment = {{group}};
  if (segment * 4096u >= pc.n) { return; }
  let end = min(segment * 512u + 512u, pc.n / 8u);
  var lo = vec4<f32>();
  var hi = vec4<f32>();
  for (var i = segment * 512u + l; i < end; i += 8u) {
    let x = g_at(i);
    lo = fma(x.lo, x.lo, lo);
    hi = fma(x.hi, x.hi, hi);
  }
  let sum = fold(lo, hi);
  if (l == 0u) { part[pc.part0 + segment] = sum; }
}
{{end}}

{{define "grad_sumsq T0"}}
{{template "tree" 64}}
{{params}}
{{bind "g" "f32"}}
{{bind "part" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let segment = {{group}};
  let end = min(segment * 4096u + 4096u, pc.n);
  var sum = 0.0;
  for (var i = segment * 4096u + l; i < end; i += 64u) {
    sum = fma(g[i], g[i], sum);
  }
  sum = total(l, sum);
  if (l == 0u && segment * 4096u < pc.n) { part[pc.part0 + segment] = sum; }
}
{{end}}

{{define "grad_clip TL"}}
{{template "wide"}}
{{template "fold"}}
{{params}}
{{bind "part" "f32"}}
{{bind "ctl" "f32"}}
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) l: u32) {
  var sum = Eight();
  for (var i = 8u * l; i < pc.count; i += 64u) {
{{range $e := seq 8}}    if (i + {{$e}}u < pc.count) { {{lane "sum" $e}} += part[i + {{$e}}u]; }
{{end}}  }
  let square = fold(sum.lo, sum.hi);
  if (l == 0u) { {{template "clip" "square"}} }
}
{{end}}

{{define "grad_clip T0"}}
{{template "tree" 64}}
{{params}}
{{bind "part" "f32"}}
{{bind "ctl" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  var sum = 0.0;
  for (var i = l; i < pc.count; i += 64u) {
    sum += part[i];
  }
  sum = total(l, sum);
  if (l == 0u) { {{template "clip" "sum"}} }
}
{{end}}

{{define "clip"}}
    let norm = sqrt({{.}});
    ctl[0] = select(min(1.0, pc.max_norm / (norm + 1e-6)), 1.0, pc.max_norm == 0.0);
    ctl[1] = norm;
{{end}}

{{define "fold"}}
// The sum over the lanes of the 64 values 8l+e: pairs 32, 16, 8, 4, 2, 1 apart.
fn fold(even: vec4<f32>, odd: vec4<f32>) -> f32 {
  var lo = even;
  var hi = odd;
{{range $s := list 4 2 1}}  lo += subgroupShuffleXor(lo, {{$s}}u);
  hi += subgroupShuffleXor(hi, {{$s}}u);
{{end}}  let x = lo.xy + lo.zw;
  let y = hi.xy + hi.zw;
  return (x.x + x.y) + (y.x + y.y);
}
{{end}}
