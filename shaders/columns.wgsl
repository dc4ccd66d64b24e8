// Rows and columns of a product: add_bias adds a row to every row, bias_backward sums
// columns, add_columns and take_columns move a range of columns, scaled, in and out of
// wider rows (the adapters of matrices that are one product, such as q, k and v).
//
// Bindings: y, dy [T][N]; b, db [N]; add_columns dst [T][ld], src [T][N]; take_columns
// src [T][ld], dst [T][N]. Columns off .. off+N-1 of the wide rows take part.
//
// Order: elementwise, the product with the scale first, then one add; db[j] is one
// chain over t.
//
// TL: 16 rows of 512 columns a workgroup; bias_backward 8 rows in the loop's body, so
// that lavapipe's limit of loop iterations is out of reach (see rmsnorm.wgsl).
//
// Variants tried: those of swiglu.wgsl and rmsnorm.wgsl, whose shapes these are.
//
// Source: own; the adapters are those of Hu et al., LoRA, arXiv 2106.09685.
//
//variant add_bias TL tile=512,16 texels=b
//variant add_bias T0 tile=64,1
//variant bias_backward TL tile=64 texels=dy
//variant bias_backward T0 tile=64
//variant add_columns TL tile=512,16 use=lanes texels=src
//variant add_columns T0 tile=64,1 use=one
//variant take_columns TL tile=512,16 use=lanes texels=src
//variant take_columns T0 tile=64,1 use=one

{{define "add_bias TL"}}
{{template "wide"}}
{{params}}
{{bind "y" "vec4<u64>"}}
{{bind "b" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.N / 8u;
  let end = min(group.x * 64u + 64u, width);
  let last = min(group.y * 16u + 16u, pc.T);
  for (var t = group.y * 16u; t < last; t++) {
    for (var c = group.x * 64u + l; c < end; c += 8u) {
      let v = y_at(t * width + c);
      let w = b_at(c);
      y[t * width + c] = join(v.lo + w.lo, v.hi + w.hi);
    }
  }
}
{{end}}

{{define "add_bias T0"}}
{{params}}
{{bind "y" "f32"}}
{{bind "b" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.N) { return; }
  y[id.y * pc.N + id.x] += b[id.x];
}
{{end}}

{{define "bias_backward TL"}}
{{params}}
{{bind "dy" "vec4<u64>"}}
{{bind "db" "vec4<u64>"}}
{{template "wide"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let width = pc.N / 8u;
  let c = group.x * 8u + lane;
  if (c >= width) { return; }
  var sum_lo = db_at(c).lo;
  var sum_hi = db_at(c).hi;
  for (var t0 = 0u; t0 < pc.T; t0 += 8u) {
{{- range seq 8}}
    if (t0 + {{.}}u < pc.T) {
      let g = dy_at((t0 + {{.}}u) * width + c);
      sum_lo += g.lo;
      sum_hi += g.hi;
    }
{{- end}}
  }
  db[c] = join(sum_lo, sum_hi);
}
{{end}}

{{define "bias_backward T0"}}
{{params}}
{{bind "dy" "f32"}}
{{bind "db" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x;
  if (c >= pc.N) { return; }
  var sum = db[c];
  for (var t = 0u; t < pc.T; t++) { sum += dy[t * pc.N + c]; }
  db[c] = sum;
}
{{end}}

{{define "lanes"}}{{$add := eq .Kernel "add_columns"}}
{{template "wide"}}
{{params}}
{{bind "dst" "vec4<u64>"}}
{{bind "src" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let width = pc.N / 8u;
  let end = min(group.x * 64u + 64u, width);
  let last = min(group.y * 16u + 16u, pc.T);
  for (var t = group.y * 16u; t < last; t++) {
    let wide = t * (pc.ld / 8u) + pc.off / 8u;
    for (var c = group.x * 64u + l; c < end; c += 8u) {
{{if $add}}      let v = src_at(t * width + c);
      let w = dst_at(wide + c);
      dst[wide + c] = join(w.lo + v.lo * pc.scale, w.hi + v.hi * pc.scale);
{{else}}      let v = src_at(wide + c);
      dst[t * width + c] = join(v.lo * pc.scale, v.hi * pc.scale);
{{end}}    }
  }
}
{{end}}

{{define "one"}}
{{params}}
{{bind "dst" "f32"}}
{{bind "src" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.N) { return; }
  let wide = id.y * pc.ld + pc.off + id.x;
  let narrow = id.y * pc.N + id.x;
{{if eq .Kernel "add_columns"}}  dst[wide] = dst[wide] + src[narrow] * pc.scale;
{{else}}  dst[narrow] = src[wide] * pc.scale;
{{end}}}
{{end}}
