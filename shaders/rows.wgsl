// Rows by index: gather_rows packs the rows that a loss needs, scatter_rows puts
// their gradients back.
//
// Bindings: src [*][D], dst [R][D] or [T][D], idx [R] u32 (row of src), inv [T]
// u32 (row of src plus 1, 0 for a row of zeros). The extents are D, R and D, T.
// There is no arithmetic. TL: 8 rows of 512 columns a workgroup.
//
// Variants tried (one core of an EPYC, lavapipe 22.3, 3600 rows of 96): 1, 4, 8
// rows a workgroup take 0.63, 0.30, 0.28 ms.
//
// Source: own.
//
//variant gather_rows TL tile=512,8 use=lanes
//variant gather_rows T0 tile=64,1 use=threads
//variant scatter_rows TL tile=512,8 use=lanes
//variant scatter_rows T0 tile=64,1 use=threads

{{define "lanes"}}{{$gather := eq .Kernel "gather_rows"}}
{{params}}
{{bind "src" "vec4<u64>"}}
{{if $gather}}{{bind "idx" "u32"}}{{else}}{{bind "inv" "u32"}}{{end}}
{{bind "dst" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.D / 8u;
  let end = min(group.x * 64u + 64u, width);
  let t0 = group.y * 8u;
{{if $gather}}  let rows = pc.R;
  let mine = idx[min(t0 + l, rows - 1u)];
{{else}}  let rows = pc.T;
  let mine = inv[min(t0 + l, rows - 1u)];
{{end}}  let last = min(8u, rows - t0);
  for (var i = 0u; i < last; i++) {
    let row = subgroupShuffle(mine, i);
    for (var d = group.x * 64u + l; d < end; d += 8u) {
{{if $gather}}      dst[(t0 + i) * width + d] = src[row * width + d];
{{else}}      var value = vec4<u64>();
      if (row > 0u) { value = src[(row - 1u) * width + d]; }
      dst[(t0 + i) * width + d] = value;
{{end}}    }
  }
}
{{end}}

{{define "threads"}}
{{params}}
{{bind "src" "f32"}}
{{if eq .Kernel "gather_rows"}}{{bind "idx" "u32"}}{{else}}{{bind "inv" "u32"}}{{end}}
{{bind "dst" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.D) { return; }
  let at = id.y * pc.D + id.x;
{{if eq .Kernel "gather_rows"}}  dst[at] = src[idx[id.y] * pc.D + id.x];
{{else}}  let row = inv[id.y];
  if (row > 0u) {
    dst[at] = src[(row - 1u) * pc.D + id.x];
  } else {
    dst[at] = 0.0;
  }
{{end}}}
{{end}}
