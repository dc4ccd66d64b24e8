// Rows by index: gather_rows packs the rows that a loss needs, a row as often as tokens
// are predicted from it; scatter_rows adds their gradients up.
//
// Bindings: src [*][D], dst [R][D] or [T][D], idx [R] u32 (row of src), start [T+1]
// u32 (row t of dst is the sum of rows start[t] .. start[t+1]-1 of src). The extents
// are D, R and D, T.
//
// Order: scatter_rows adds rows of src ascending, from 0. TL: 8 rows of 512 columns a
// workgroup. lavapipe ends a shader after 65535 loop iterations: 8 rows of dst may have
// 8000 rows of src, and package model gives them at most 512.
//
// Variants tried (one core of an EPYC, lavapipe 22.3, 3600 rows of 96): 1, 4, 8
// rows a workgroup take 0.63, 0.30, 0.28 ms.
//
// Source: own.
//
//variant gather_rows TL tile=512,8 use=lanes texels=src words=idx
//variant gather_rows T0 tile=64,1 use=threads
//variant scatter_rows TL tile=512,8 use=lanes texels=src words=start
//variant scatter_rows T0 tile=64,1 use=threads

{{define "lanes"}}{{$gather := eq .Kernel "gather_rows"}}
{{params}}
{{bind "src" "vec4<u64>"}}
{{if $gather}}{{bind "idx" "u32"}}{{else}}{{bind "start" "u32"}}{{end}}
{{bind "dst" "vec4<u64>"}}
{{template "wide"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.D / 8u;
  let end = min(group.x * 64u + 64u, width);
  let t0 = group.y * 8u;
{{if $gather}}  let rows = pc.R;
  let mine = idx_at(min(t0 + l, rows - 1u));
{{else}}  let rows = pc.T;
  let first = start_at(min(t0 + l, rows - 1u));
  let after = start_at(min(t0 + l, rows - 1u) + 1u);
{{end}}  let last = min(8u, rows - t0);
  for (var i = 0u; i < last; i++) {
{{if $gather}}    let row = subgroupShuffle(mine, i);
{{else}}    let begin = subgroupShuffle(first, i);
    let stop = subgroupShuffle(after, i);
{{end}}    for (var d = group.x * 64u + l; d < end; d += 8u) {
{{if $gather}}      let x = src_at(row * width + d);
      dst[(t0 + i) * width + d] = join(x.lo, x.hi);
{{else}}      var lo = vec4<f32>();
      var hi = vec4<f32>();
      for (var r = begin; r < stop; r++) {
        let x = src_at(r * width + d);
        lo += x.lo;
        hi += x.hi;
      }
      dst[(t0 + i) * width + d] = join(lo, hi);
{{end}}    }
  }
}
{{end}}

{{define "threads"}}
{{params}}
{{bind "src" "f32"}}
{{if eq .Kernel "gather_rows"}}{{bind "idx" "u32"}}{{else}}{{bind "start" "u32"}}{{end}}
{{bind "dst" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.D) { return; }
  let at = id.y * pc.D + id.x;
{{if eq .Kernel "gather_rows"}}  dst[at] = src[idx[id.y] * pc.D + id.x];
{{else}}  var sum = 0.0;
  let end = start[id.y + 1u];
  for (var r = start[id.y]; r < end; r++) { sum += src[r * pc.D + id.x]; }
  dst[at] = sum;
{{end}}}
{{end}}
