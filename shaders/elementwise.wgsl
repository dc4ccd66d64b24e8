// Flat elementwise operations: fill, add, blend, round_bf16 (f32 to bf16, to nearest, ties
// to even) and its inverse expand_bf16.
//
// Bindings: dst, src [n] (n is a multiple of 8). The extent is n.
// TL: 4096 elements a workgroup.
//
// Variants tried (add, one core of an EPYC, lavapipe 22.3): 1024, 4096, 16384
// elements a workgroup move 12.8, 14.8, 15.5 GB/s with vec4<u64>, 9.7, 10.5, 10.4
// with vec4<f32>.
//
// Source: own.
//
//variant fill TL tile=4096 linear
//variant fill T0 tile=256 linear
//variant add TL tile=4096 linear texels=src
//variant add T0 tile=256 linear
//variant blend TL tile=4096 linear texels=src
//variant blend T0 tile=256 linear
//variant round_bf16 TL tile=4096 linear texels=src
//variant round_bf16 T0 tile=1024 linear
//variant expand_bf16 TL tile=4096 linear texels=src
//variant expand_bf16 T0 tile=1024 linear

{{define "fill TL"}}
{{template "wide"}}
{{params}}
{{bind "dst" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  let value = join(vec4<f32>(pc.value), vec4<f32>(pc.value));
  for (var i = first + l; i < end; i += 8u) {
    dst[i] = value;
  }
}
{{end}}

{{define "fill T0"}}
{{params}}
{{bind "dst" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i < pc.n) { dst[i] = pc.value; }
}
{{end}}

{{define "add TL"}}
{{template "wide"}}
{{params}}
{{bind "dst" "vec4<u64>"}}
{{bind "src" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  for (var i = first + l; i < end; i += 8u) {
    let x = dst_at(i);
    let y = src_at(i);
    dst[i] = join(x.lo + y.lo, x.hi + y.hi);
  }
}
{{end}}

{{define "add T0"}}
{{params}}
{{bind "dst" "f32"}}
{{bind "src" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i < pc.n) { dst[i] += src[i]; }
}
{{end}}

{{define "blend TL"}}
{{template "wide"}}
{{params}}
{{bind "dst" "vec4<u64>"}}
{{bind "src" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  for (var i = first + l; i < end; i += 8u) {
    let x = dst_at(i);
    let y = src_at(i);
    dst[i] = join(x.lo + pc.share * (y.lo - x.lo), x.hi + pc.share * (y.hi - x.hi));
  }
}
{{end}}

{{define "blend T0"}}
{{params}}
{{bind "dst" "f32"}}
{{bind "src" "f32"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i < pc.n) { dst[i] += pc.share * (src[i] - dst[i]); }
}
{{end}}

{{define "round_bf16 TL"}}
{{template "wide"}}
{{template "wide_bf16"}}
{{params}}
{{bind "src" "vec4<u64>"}}
{{bind "dst" "vec4<u32>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  for (var i = first + l; i < end; i += 8u) {
    let x = src_at(i);
    dst[i] = pairs(bitcast<vec4<u32>>(x.lo), bitcast<vec4<u32>>(x.hi));
  }
}
{{end}}

{{define "round_bf16 T0"}}
{{template "bf16"}}
{{params}}
{{bind "src" "vec4<u32>"}}
{{bind "dst" "vec2<u32>"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i < pc.n / 4u) { dst[i] = pack(src[i]); }
}
{{end}}

{{define "expand_bf16 TL"}}
{{template "wide_bf16"}}
{{template "wide"}}
{{params}}
{{bind "src" "vec2<u64>"}}
{{bind "dst" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let first = {{group}} * 512u;
  let end = min(first + 512u, pc.n / 8u);
  for (var i = first + l; i < end; i += 8u) {
    let x = src_at(i);
    dst[i] = join(x.lo, x.hi);
  }
}
{{end}}

{{define "expand_bf16 T0"}}
{{template "bf16"}}
{{params}}
{{bind "src" "vec2<u32>"}}
{{bind "dst" "vec4<f32>"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = {{group}} * 256u + l;
  if (i < pc.n / 4u) { dst[i] = quad(src[i]); }
}
{{end}}
