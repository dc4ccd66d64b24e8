// Token embeddings: embed copies rows of a table (embed_bf16: of bf16) times a scale,
// and embed_backward adds gradients, times that scale, into them.
//
// Bindings: ids [T] u32, table [rows][D] (a slab that starts at row row0), out
// [T][D]; rows [U] u32 (table row of bucket u), start [U+1] u32, order [*] u32
// (positions, bucket after bucket), dx [T][D], dtable [count][D] (a slab). The
// extents are D, T and D, U.
//
// Order: an element of dtable continues its chain over the positions of its
// bucket, in the order of the list, one add at a time. The host sorts positions
// into buckets, so no atomics are needed.
//
// TL: 8 rows of 512 columns a workgroup (embed), one bucket by 64 columns
// (embed_backward: frequent tokens have long buckets, narrow tiles share them
// out).
//
// Variants tried: for rows a workgroup those of rows.wgsl. Two cores of an EPYC,
// lavapipe 22.3, 3600 positions of 96 columns, 53 buckets: 0.19 ms forward, 0.18
// backward.
//
// Source: buckets as in llm.c (https://github.com/karpathy/llm.c,
// llmc/encoder.cuh).
//
//variant embed* TL tile=512,8 texels=table words=ids
//variant embed* T0 tile=64,1
//variant embed_backward TL tile=64,1 texels=dx words=rows+start+order
//variant embed_backward T0 tile=64,1

{{define "embed TL"}}
{{template "wide"}}{{if bf16 "table"}}{{template "wide_bf16"}}{{end}}
{{params}}
{{bind "ids" "u32"}}
{{bind "table" (wide "table")}}
{{bind "out" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.D / 8u;
  let end = min(group.x * 64u + 64u, width);
  let t0 = group.y * 8u;
  let mine = ids_at(min(t0 + l, pc.T - 1u)) - pc.row0;
  let last = min(8u, pc.T - t0);
  for (var i = 0u; i < last; i++) {
    let row = subgroupShuffle(mine, i);
    if (row < pc.rows) { // also false below row0, where the difference wraps
      for (var d = group.x * 64u + l; d < end; d += 8u) {
        let v = table_at(row * width + d);
        out[(t0 + i) * width + d] = join(v.lo * pc.scale, v.hi * pc.scale);
      }
    }
  }
}
{{end}}

{{define "embed T0"}}
{{params}}
{{bind "ids" "u32"}}
{{if bf16 "table"}}{{template "bf16"}}{{bind "table" "u32"}}{{else}}{{bind "table" "f32"}}{{end}}
{{bind "out" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = ids[id.y] - pc.row0;
  if (id.x < pc.D && row < pc.rows) { // also false below row0, where the difference wraps
{{if bf16 "table"}}    let at = row * pc.D + id.x;
    out[id.y * pc.D + id.x] = element(table[at / 2u], at) * pc.scale;
{{else}}    out[id.y * pc.D + id.x] = table[row * pc.D + id.x] * pc.scale;
{{end}}  }
}
{{end}}

{{define "embed_backward TL"}}
{{template "wide"}}
{{params}}
{{bind "rows" "u32"}}
{{bind "start" "u32"}}
{{bind "order" "u32"}}
{{bind "dx" "vec4<u64>"}}
{{bind "dtable" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.D / 8u;
  let d = group.x * 8u + l;
  let row = rows_at(group.y) - pc.row0;
  if (d >= width || row >= pc.count) { return; }
  let first = start_at(group.y);
  let end = start_at(group.y + 1u);
  let sum = dtable_at(row * width + d);
  var lo = sum.lo;
  var hi = sum.hi;
  for (var i = first; i < end; i++) {
    let g = dx_at(order_at(i) * width + d);
    lo += g.lo * pc.scale;
    hi += g.hi * pc.scale;
  }
  dtable[row * width + d] = join(lo, hi);
}
{{end}}

{{define "embed_backward T0"}}
{{params}}
{{bind "rows" "u32"}}
{{bind "start" "u32"}}
{{bind "order" "u32"}}
{{bind "dx" "f32"}}
{{bind "dtable" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = rows[id.y] - pc.row0;
  if (id.x >= pc.D || row >= pc.count) { return; }
  let end = start[id.y + 1u];
  var sum = dtable[row * pc.D + id.x];
  for (var i = start[id.y]; i < end; i++) {
    sum += dx[order[i] * pc.D + id.x] * pc.scale;
  }
  dtable[row * pc.D + id.x] = sum;
}
{{end}}
