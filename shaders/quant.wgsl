// Matrices in blocks of 32 numbers with a common scale, to f32: expand_q8_0 and
// expand_q4_0 (the blocks of llama.cpp,
// https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h).
//
// Bindings: src, u32: for each block its scale as f32, then in q8_0 32 signed bytes, in
// q4_0 16 bytes whose lower halves are numbers 0 to 15 and whose upper halves are 16 to
// 31, plus 8; dst [n]. n is a multiple of 32. The extent is n.
//
// Order: elementwise, one product.
//
// TL: 4096 elements a workgroup, 8 of one block a lane.
//
// Variants tried: those of elementwise.wgsl, whose shape this is.
//
// Source: own.
//
//variant expand_q8_0 TL tile=4096 linear use=lanes
//variant expand_q8_0 T0 tile=256 linear use=one
//variant expand_q4_0 TL tile=4096 linear use=lanes
//variant expand_q4_0 T0 tile=256 linear use=one

{{define "lanes"}}
{{template "wide"}}
{{params}}
{{bind "src" "u32"}}
{{bind "dst" "vec4<u64>"}}
{{if eq .Kernel "expand_q8_0"}}fn numbers(words: vec2<u32>, first: u32, second: u32) -> vec4<f32> {
  let bytes = vec4<u32>(words.x << (24u - first), words.x << (24u - second), words.y << (24u - first), words.y << (24u - second));
  return vec4<f32>(bitcast<vec4<i32>>(bytes) >> vec4<u32>(24u));
}
{{else}}fn numbers(words: vec2<u32>, first: u32, second: u32) -> vec4<f32> {
  let halves = vec4<u32>(words.x >> first, words.x >> second, words.y >> first, words.y >> second) & vec4<u32>(15u);
  return vec4<f32>(bitcast<vec4<i32>>(halves) - vec4<i32>(8));
}
{{end}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  for (var i = first + l; i < end; i += 8u) {
    let unit = i % 4u;
{{if eq .Kernel "expand_q8_0"}}    let block = i / 4u * 9u;
    let at = block + 1u + 2u * unit;
    let shift = 0u;
{{else}}    let block = i / 4u * 5u;
    let at = block + 1u + 2u * (unit % 2u);
    let shift = unit / 2u * 4u;
{{end}}    let scale = bitcast<f32>(src[block]);
    let words = vec2<u32>(src[at], src[at + 1u]);
    dst[i] = join(numbers(words, shift, shift + 16u) * scale, numbers(words, shift + 8u, shift + 24u) * scale);
  }
}
{{end}}

{{define "one"}}
{{params}}
{{bind "src" "u32"}}
{{bind "dst" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i >= pc.n) { return; }
  let e = i % 32u;
{{if eq .Kernel "expand_q8_0"}}  let block = i / 32u * 9u;
  let word = src[block + 1u + e / 4u];
  let number = bitcast<i32>(word << (24u - 8u * (e % 4u))) >> 24u;
{{else}}  let block = i / 32u * 5u;
  let word = src[block + 1u + e % 16u / 4u];
  let number = bitcast<i32>((word >> (8u * (e % 4u) + e / 16u * 4u)) & 15u) - 8;
{{end}}  dst[i] = f32(number) * bitcast<f32>(src[block]);
}
{{end}}
