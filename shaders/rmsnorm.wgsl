// Root mean square normalisation of rows: rmsnorm, rmsnorm_residual (added to a
// residual stream), rmsnorm_backward_dx, rmsnorm_backward_dw (Zhang and Sennrich, arXiv
// 1910.07467; factors 1+w, plus = 1, as in Gemma, arXiv 2403.08295).
//
// Bindings: x, y, r, dy, dx [T][ld]; w, dw [ld]; rstd [T]. Columns n .. ld-1 are
// zeros, so sums run over all of ld.
//
// Order: a sum over a row is on TL 8 chains, column c in number c mod 8, joined by
// a fixed tree, one lane doing the row; on T0 invocation i of 64 takes columns 4i
// .. 4i+3 of every 256 in four chains, then halving. dw[j] is one chain over t.
//
// Variants tried, lavapipe 22.3, 2 cores, T = 5120, ld = 96, best of 20:
// rmsnorm with a row a lane (kept) 0.39 ms, with a row over 8 lanes 0.69 ms (0.20
// against 0.27 ms at T = 512, ld = 576; equal at 1 and 8 rows). dx 0.68 ms.
// dw with 8 rows in the loop's body (kept) 0.31 ms, one row 0.52 ms, and only the
// first of the two reaches past 58000 rows: lavapipe ends a shader after 65535
// loop iterations.
//
//variant rmsnorm TL tile=8 linear use=lanes texels=x+w
//variant rmsnorm T0 tile=1 linear use=tree64
//variant rmsnorm_residual TL tile=8 linear use=lanes texels=x+w+r
//variant rmsnorm_residual T0 tile=1 linear use=tree64
//variant rmsnorm_backward_dx TL tile=8 linear texels=dy+x+w words=rstd
//variant rmsnorm_backward_dx T0 tile=1 linear
//variant rmsnorm_backward_dw TL tile=64 texels=dy+x words=rstd
//variant rmsnorm_backward_dw T0 tile=64

{{define "sum8"}}
fn sum8(lo: vec4<f32>, hi: vec4<f32>) -> f32 {
  let s = lo + hi;
  return (s.x + s.y) + (s.z + s.w);
}
{{end}}

{{define "lanes"}}{{$added := eq .Kernel "rmsnorm_residual"}}
{{params}}
{{bind "x" "vec4<u64>"}}
{{bind "w" "vec4<u64>"}}
{{if $added}}{{bind "r" "vec4<u64>" "before"}}
{{end}}{{bind "y" "vec4<u64>"}}
{{bind "rstd" "f32"}}
{{template "wide"}}
{{template "sum8"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let t = {{group}} * 8u + lane;
  if (t >= pc.T) { return; }
  let width = pc.ld / 8u;
  let row = t * width;
  var sum_lo = vec4<f32>();
  var sum_hi = vec4<f32>();
  for (var c = 0u; c < width; c++) {
    let v = x_at(row + c);
    sum_lo = fma(v.lo, v.lo, sum_lo);
    sum_hi = fma(v.hi, v.hi, sum_hi);
  }
  let r = 1.0 / sqrt(sum8(sum_lo, sum_hi) / f32(pc.n) + pc.eps);
  for (var c = 0u; c < width; c++) {
    let v = x_at(row + c);
    let f = w_at(c);
    let lo = v.lo * r * (f.lo + pc.plus);
    let hi = v.hi * r * (f.hi + pc.plus);
{{if $added}}    let b = before_at(row + c);
    y[row + c] = join(b.lo + lo, b.hi + hi);
{{else}}    y[row + c] = join(lo, hi);
{{end}}  }
  rstd[t] = r;
}
{{end}}

{{define "tree64"}}{{$added := eq .Kernel "rmsnorm_residual"}}
{{params}}
{{bind "x" "vec4<f32>"}}
{{bind "w" "vec4<f32>"}}
{{if $added}}{{bind "r" "vec4<f32>" "before"}}
{{end}}{{bind "y" "vec4<f32>"}}
{{bind "rstd" "f32"}}
{{template "tree" 64}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let t = {{group}};
  if (t >= pc.T) { return; }
  let width = pc.ld / 4u;
  let row = t * width;
  var sum = vec4<f32>();
  for (var c = i; c < width; c += 64u) {
    let v = x[row + c];
    sum = fma(v, v, sum);
  }
  let r = 1.0 / sqrt(total(i, (sum.x + sum.y) + (sum.z + sum.w)) / f32(pc.n) + pc.eps);
  for (var c = i; c < width; c += 64u) {
    y[row + c] = {{if $added}}before[row + c] + {{end}}x[row + c] * r * (w[c] + pc.plus);
  }
  if (i == 0u) { rstd[t] = r; }
}
{{end}}

{{define "rmsnorm_backward_dx TL"}}
{{params}}
{{bind "dy" "vec4<u64>"}}
{{bind "x" "vec4<u64>"}}
{{bind "w" "vec4<u64>"}}
{{bind "rstd" "f32"}}
{{bind "dx" "vec4<u64>"}}
{{template "wide"}}
{{template "sum8"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let t = {{group}} * 8u + lane;
  if (t >= pc.T) { return; }
  let width = pc.ld / 8u;
  let row = t * width;
  let r = rstd_at(t);
  var sum_lo = vec4<f32>();
  var sum_hi = vec4<f32>();
  for (var c = 0u; c < width; c++) {
    let g = dy_at(row + c);
    let v = x_at(row + c);
    let f = w_at(c);
    sum_lo = fma((f.lo + pc.plus) * g.lo, v.lo * r, sum_lo);
    sum_hi = fma((f.hi + pc.plus) * g.hi, v.hi * r, sum_hi);
  }
  let mean = sum8(sum_lo, sum_hi) / f32(pc.n);
  let keep = pc.accumulate == 1u;
  for (var c = 0u; c < width; c++) {
    let g = dy_at(row + c);
    let v = x_at(row + c);
    let f = w_at(c);
    var lo = r * ((f.lo + pc.plus) * g.lo - v.lo * r * mean);
    var hi = r * ((f.hi + pc.plus) * g.hi - v.hi * r * mean);
    if (keep) {
      let old = dx_at(row + c);
      lo = old.lo + lo;
      hi = old.hi + hi;
    }
    dx[row + c] = join(lo, hi);
  }
}
{{end}}

{{define "rmsnorm_backward_dx T0"}}
{{params}}
{{bind "dy" "vec4<f32>"}}
{{bind "x" "vec4<f32>"}}
{{bind "w" "vec4<f32>"}}
{{bind "rstd" "f32"}}
{{bind "dx" "vec4<f32>"}}
{{template "tree" 64}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let t = {{group}};
  if (t >= pc.T) { return; }
  let width = pc.ld / 4u;
  let row = t * width;
  let r = rstd[t];
  var sum = vec4<f32>();
  for (var c = i; c < width; c += 64u) {
    sum = fma((w[c] + pc.plus) * dy[row + c], x[row + c] * r, sum);
  }
  let mean = total(i, (sum.x + sum.y) + (sum.z + sum.w)) / f32(pc.n);
  for (var c = i; c < width; c += 64u) {
    let g = r * ((w[c] + pc.plus) * dy[row + c] - x[row + c] * r * mean);
    dx[row + c] = select(g, dx[row + c] + g, pc.accumulate == 1u);
  }
}
{{end}}

{{define "rmsnorm_backward_dw TL"}}
{{params}}
{{bind "dy" "vec4<u64>"}}
{{bind "x" "vec4<u64>"}}
{{bind "rstd" "f32"}}
{{bind "dw" "vec4<u64>"}}
{{template "wide"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let width = pc.ld / 8u;
  let c = group.x * 8u + lane;
  let at = min(c, width - 1u);
  var sum_lo = dw_at(at).lo;
  var sum_hi = dw_at(at).hi;
  for (var t0 = 0u; t0 < pc.T; t0 += 8u) {
    let r8 = rstd_at(min(t0 + lane, pc.T - 1u));
{{- range seq 8}}
    if (t0 + {{.}}u < pc.T) {
      let r = subgroupShuffle(r8, {{.}}u);
      let g = dy_at((t0 + {{.}}u) * width + at);
      let v = x_at((t0 + {{.}}u) * width + at);
      sum_lo = fma(g.lo, v.lo * r, sum_lo);
      sum_hi = fma(g.hi, v.hi * r, sum_hi);
    }
{{- end}}
  }
  if (c < width) { dw[c] = join(sum_lo, sum_hi); }
}
{{end}}

{{define "rmsnorm_backward_dw T0"}}
{{params}}
{{bind "dy" "f32"}}
{{bind "x" "f32"}}
{{bind "rstd" "f32"}}
{{bind "dw" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x;
  if (c >= pc.ld) { return; }
  var sum = dw[c];
  for (var t = 0u; t < pc.T; t++) {
    sum = fma(dy[t * pc.ld + c], x[t * pc.ld + c] * rstd[t], sum);
  }
  dw[c] = sum;
}
{{end}}
