// Rotary position embedding of queries and keys with an optional RMSNorm of each
// head before it, the KV store, and the gradients: qk_rope (qk_rope_bf16: keys and
// values are stored as bf16), qk_rope_backward, qk_norm_backward_dw (Su et al., arXiv 2104.09864, with the pairs (i, i+hd/2) of
// Hugging Face transformers; the norm as in Qwen3, arXiv 2505.09388).
//
// Bindings: qkv, dqkv [T][(H+2*KV)*hd]: H query heads, KV key heads, KV value
// heads; norm [2][hd]: factors of queries, of keys,
// each with pc.plus added (1 in Gemma); rope [P][hd]: hd/2 cosines,
// hd/2 sines; meta (here "places") [T][2] u32: position, slot; q, dq [T][H*hd]; k, v
// [slots][KV*hd]; dk, dv [T][KV*hd]; rstd [T][H+KV], 1 without norm; dy
// [T][heads*hd]; dw [*]. Each half of a head is padded with zeros (n of hd
// elements are real), so sums run over all of hd.
//
// Order: a sum over a head is on TL four chains (element mod 4) for each half,
// joined by a fixed tree (backward: four for the head), one lane doing the head; on
// T0 invocation i of 64 takes the pairs i, i+64, .. in one chain, then halving.
// What is stored as bf16 is rounded last, to nearest, ties to even.
// dw[j] is one chain over t, then heads.
//
// A half is a multiple of 4 floats, not of 8: TL loads and stores vec4<f32>, and a store
// costs lavapipe as much as one of 8 floats would.
//
// Variants tried, lavapipe 22.3, 2 cores, T = 5120, H = KV = 3, hd = 32, best of
// 20: without norm 1.8 ms forward, 2.4 ms backward; with norm 2.4 and 4.6 ms. dw
// with 8 heads in the loop's body 0.63 ms, with one 0.73 ms; as in rmsnorm.wgsl it
// is the first that reaches past 65535 heads.
//
//variant qk_rope* TL tile=1,8 texels=qkv+norm+rope pairs=meta
//variant qk_rope* T0
//variant qk_rope_backward TL tile=1,8 texels=qkv+norm+rope+dv pairs=meta
//variant qk_rope_backward T0
//variant qk_norm_backward_dw TL tile=64 texels=dy+qkv words=rstd
//variant qk_norm_backward_dw T0 tile=64

{{define "qk_rope TL"}}
{{params}}
{{bind "qkv" "vec4<f32>"}}
{{bind "norm" "vec4<f32>"}}
{{bind "rope" "vec4<f32>"}}
{{bind "meta" "vec2<u32>" "places"}}
{{bind "q" "vec4<f32>"}}
{{if bf16 "k"}}{{template "bf16"}}{{bind "k" "vec2<u32>"}}
{{bind "v" "vec2<u32>"}}{{else}}{{bind "k" "vec4<f32>"}}
{{bind "v" "vec4<f32>"}}{{end}}
{{bind "rstd" "f32"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = group.x;
  let t = group.y * 8u + lane;
  if (t >= pc.T) { return; }
  let quads = pc.hd / 4u;
  let half = quads / 2u;
  let place = places_at(t);
  let src = (t * (pc.H + 2u * pc.KV) + head) * quads;
  if (head >= pc.H + pc.KV) {
    let dst = (place.y * pc.KV + head - pc.H - pc.KV) * quads;
    for (var c = 0u; c < quads; c++) { v[dst + c] = {{if bf16 "v"}}pack(bitcast<vec4<u32>>(qkv_at(src + c))){{else}}qkv_at(src + c){{end}}; }
    return;
  }
  let normed = pc.use_norm == 1u;
  var sum_a = vec4<f32>();
  var sum_b = vec4<f32>();
  for (var c = 0u; c < select(0u, half, normed); c++) {
    let a = qkv_at(src + c);
    let b = qkv_at(src + half + c);
    sum_a = fma(a, a, sum_a);
    sum_b = fma(b, b, sum_b);
  }
  let s = sum_a + sum_b;
  let r = select(1.0, 1.0 / sqrt(((s.x + s.y) + (s.z + s.w)) / f32(pc.n) + pc.eps), normed);
  rstd[t * (pc.H + pc.KV) + head] = r;
  let query = head < pc.H;
  let factor = select(quads, 0u, query);
  let angle = place.x * quads;
  let to_q = (t * pc.H + head) * quads;
  let to_k = (place.y * pc.KV + head - pc.H) * quads;
  let one = vec4<f32>(1.0);
  for (var c = 0u; c < half; c++) {
    var wa = one;
    var wb = one;
    if (normed) {
      wa = norm_at(factor + c) + pc.plus;
      wb = norm_at(factor + half + c) + pc.plus;
    }
    let a = qkv_at(src + c) * r * wa;
    let b = qkv_at(src + half + c) * r * wb;
    let cosine = rope_at(angle + c);
    let sine = rope_at(angle + half + c);
    let y = a * cosine - b * sine;
    let z = b * cosine + a * sine;
    if (query) {
      q[to_q + c] = y;
      q[to_q + half + c] = z;
    } else {
      k[to_k + c] = {{if bf16 "k"}}pack(bitcast<vec4<u32>>(y)){{else}}y{{end}};
      k[to_k + half + c] = {{if bf16 "k"}}pack(bitcast<vec4<u32>>(z)){{else}}z{{end}};
    }
  }
}
{{end}}

{{define "qk_rope T0"}}
{{params}}
{{bind "qkv" "f32"}}
{{bind "norm" "f32"}}
{{bind "rope" "f32"}}
{{bind "meta" "vec2<u32>" "places"}}
{{bind "q" "f32"}}
{{if bf16 "k"}}{{template "bf16"}}{{bind "k" "vec2<u32>"}}
{{bind "v" "vec2<u32>"}}
// A key of at most 256 elements, so that one invocation has those that share a word.
var<workgroup> key: array<f32, 256>;
fn packed(a: f32, b: f32, c: f32, d: f32) -> vec2<u32> { return pack(bitcast<vec4<u32>>(vec4<f32>(a, b, c, d))); }{{else}}{{bind "k" "f32"}}
{{bind "v" "f32"}}{{end}}
{{bind "rstd" "f32"}}
{{template "tree" 64}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let head = group.x;
  let t = group.y;
  let half = pc.hd / 2u;
  let place = places[t];
  let src = (t * (pc.H + 2u * pc.KV) + head) * pc.hd;
  if (head >= pc.H + pc.KV) {
{{if bf16 "v"}}    let dst = (place.y * pc.KV + head - pc.H - pc.KV) * (pc.hd / 4u);
    for (var c = i; c < pc.hd / 4u; c += 64u) {
      let at = src + 4u * c;
      v[dst + c] = packed(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
    }
{{else}}    let dst = (place.y * pc.KV + head - pc.H - pc.KV) * pc.hd;
    for (var c = i; c < pc.hd; c += 64u) { v[dst + c] = qkv[src + c]; }
{{end}}    return;
  }
  let normed = pc.use_norm == 1u;
  var r = 1.0;
  if (normed) {
    var sum = 0.0;
    for (var c = i; c < half; c += 64u) {
      sum = fma(qkv[src + c], qkv[src + c], sum);
      sum = fma(qkv[src + half + c], qkv[src + half + c], sum);
    }
    r = 1.0 / sqrt(total(i, sum) / f32(pc.n) + pc.eps);
  }
  if (i == 0u) { rstd[t * (pc.H + pc.KV) + head] = r; }
  let query = head < pc.H;
  let factor = select(pc.hd, 0u, query);
  let angle = place.x * pc.hd;
  let to_q = (t * pc.H + head) * pc.hd;
{{if not (bf16 "k")}}  let to_k = (place.y * pc.KV + head - pc.H) * pc.hd;
{{end}}  for (var c = i; c < half; c += 64u) {
    var a = qkv[src + c];
    var b = qkv[src + half + c];
    if (normed) {
      a = a * r * (norm[factor + c] + pc.plus);
      b = b * r * (norm[factor + half + c] + pc.plus);
    }
    let cosine = rope[angle + c];
    let sine = rope[angle + half + c];
    let y = a * cosine - b * sine;
    let z = b * cosine + a * sine;
    if (query) {
      q[to_q + c] = y;
      q[to_q + half + c] = z;
    } else {
{{if bf16 "k"}}      key[c] = y;
      key[half + c] = z;
{{else}}      k[to_k + c] = y;
      k[to_k + half + c] = z;
{{end}}    }
  }
{{if bf16 "k"}}  if (query) { return; }
  workgroupBarrier();
  let to_k = (place.y * pc.KV + head - pc.H) * (pc.hd / 4u);
  for (var c = i; c < pc.hd / 4u; c += 64u) {
    k[to_k + c] = packed(key[4u * c], key[4u * c + 1u], key[4u * c + 2u], key[4u * c + 3u]);
  }
{{end}}}
{{end}}

{{define "qk_rope_backward TL"}}
{{params}}
{{bind "qkv" "vec4<f32>"}}
{{bind "norm" "vec4<f32>"}}
{{bind "rope" "vec4<f32>"}}
{{bind "meta" "vec2<u32>" "places"}}
{{bind "dq" "vec4<f32>"}}
{{bind "dk" "vec4<f32>"}}
{{bind "dv" "vec4<f32>"}}
{{bind "dqkv" "vec4<f32>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = group.x;
  let t = group.y * 8u + lane;
  if (t >= pc.T) { return; }
  let quads = pc.hd / 4u;
  let half = quads / 2u;
  let dst = (t * (pc.H + 2u * pc.KV) + head) * quads;
  if (head >= pc.H + pc.KV) {
    let src = (t * pc.KV + head - pc.H - pc.KV) * quads;
    for (var c = 0u; c < quads; c++) { dqkv[dst + c] = dv_at(src + c); }
    return;
  }
  let query = head < pc.H;
  let from_q = (t * pc.H + head) * quads;
  let from_k = (t * pc.KV + head - pc.H) * quads;
  let angle = places_at(t).x * quads;
  for (var c = 0u; c < half; c++) {
    var y: vec4<f32>;
    var z: vec4<f32>;
    if (query) {
      y = dq_at(from_q + c);
      z = dq_at(from_q + half + c);
    } else {
      y = dk_at(from_k + c);
      z = dk_at(from_k + half + c);
    }
    let cosine = rope_at(angle + c);
    let sine = rope_at(angle + half + c);
    let a = y * cosine + z * sine;
    let b = z * cosine - y * sine;
    if (query) {
      dq[from_q + c] = a;
      dq[from_q + half + c] = b;
    } else {
      dk[from_k + c] = a;
      dk[from_k + half + c] = b;
    }
    dqkv[dst + c] = a;
    dqkv[dst + half + c] = b;
  }
  if (pc.use_norm == 0u) { return; }
  let factor = select(quads, 0u, query);
  var square = vec4<f32>();
  var cross = vec4<f32>();
  for (var c = 0u; c < quads; c++) {
    let x = qkv_at(dst + c);
    square = fma(x, x, square);
    cross = fma((norm_at(factor + c) + pc.plus) * dqkv_at(dst + c), x, cross);
  }
  let r = 1.0 / sqrt(((square.x + square.y) + (square.z + square.w)) / f32(pc.n) + pc.eps);
  let mean = ((cross.x + cross.y) + (cross.z + cross.w)) * r / f32(pc.n);
  for (var c = 0u; c < quads; c++) {
    dqkv[dst + c] = r * ((norm_at(factor + c) + pc.plus) * dqkv_at(dst + c) - qkv_at(dst + c) * r * mean);
  }
}
{{end}}

{{define "qk_rope_backward T0"}}
{{params}}
{{bind "qkv" "f32"}}
{{bind "norm" "f32"}}
{{bind "rope" "f32"}}
{{bind "meta" "vec2<u32>" "places"}}
{{bind "dq" "f32"}}
{{bind "dk" "f32"}}
{{bind "dv" "f32"}}
{{bind "dqkv" "f32"}}
{{template "tree" 64}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let head = group.x;
  let t = group.y;
  let half = pc.hd / 2u;
  let dst = (t * (pc.H + 2u * pc.KV) + head) * pc.hd;
  if (head >= pc.H + pc.KV) {
    let src = (t * pc.KV + head - pc.H - pc.KV) * pc.hd;
    for (var c = i; c < pc.hd; c += 64u) { dqkv[dst + c] = dv[src + c]; }
    return;
  }
  let query = head < pc.H;
  let from_q = (t * pc.H + head) * pc.hd;
  let from_k = (t * pc.KV + head - pc.H) * pc.hd;
  let angle = places[t].x * pc.hd;
  let factor = select(pc.hd, 0u, query);
  let normed = pc.use_norm == 1u;
  var square = 0.0;
  var cross = 0.0;
  for (var c = i; c < half; c += 64u) {
    var y: f32;
    var z: f32;
    if (query) {
      y = dq[from_q + c];
      z = dq[from_q + half + c];
    } else {
      y = dk[from_k + c];
      z = dk[from_k + half + c];
    }
    let cosine = rope[angle + c];
    let sine = rope[angle + half + c];
    let a = y * cosine + z * sine;
    let b = z * cosine - y * sine;
    if (query) {
      dq[from_q + c] = a;
      dq[from_q + half + c] = b;
    } else {
      dk[from_k + c] = a;
      dk[from_k + half + c] = b;
    }
    dqkv[dst + c] = a;
    dqkv[dst + half + c] = b;
    if (normed) {
      let xa = qkv[dst + c];
      let xb = qkv[dst + half + c];
      square = fma(xa, xa, square);
      square = fma(xb, xb, square);
      cross = fma((norm[factor + c] + pc.plus) * a, xa, cross);
      cross = fma((norm[factor + half + c] + pc.plus) * b, xb, cross);
    }
  }
  if (!normed) { return; }
  let r = 1.0 / sqrt(total(i, square) / f32(pc.n) + pc.eps);
  let mean = total(i, cross) * r / f32(pc.n);
  for (var c = i; c < half; c += 64u) {
    let d = c + half;
    dqkv[dst + c] = r * ((norm[factor + c] + pc.plus) * dqkv[dst + c] - qkv[dst + c] * r * mean);
    dqkv[dst + d] = r * ((norm[factor + d] + pc.plus) * dqkv[dst + d] - qkv[dst + d] * r * mean);
  }
}
{{end}}

{{define "qk_norm_backward_dw TL"}}
{{params}}
{{bind "dy" "vec4<u64>"}}
{{bind "qkv" "vec4<u64>"}}
{{bind "rstd" "f32"}}
{{bind "dw" "vec4<u64>"}}
{{template "wide"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let width = pc.hd / 8u;
  let c = group.x * 8u + lane;
  if (c >= width) { return; }
  let at = pc.dw0 / 8u + c;
  var sum_lo = dw_at(at).lo;
  var sum_hi = dw_at(at).hi;
  let count = pc.T * pc.heads;
  let skip = (pc.ldq / 8u) - pc.heads * width;
  var src = pc.off / 8u + c;
  var scale = pc.roff;
  var h = 0u;
  for (var i = 0u; i < count; i += 8u) {
{{- range seq 8}}
    if (i + {{.}}u < count) {
      let r = rstd_at(scale);
      let g = dy_at((i + {{.}}u) * width + c);
      let x = qkv_at(src);
      sum_lo = fma(g.lo, x.lo * r, sum_lo);
      sum_hi = fma(g.hi, x.hi * r, sum_hi);
    }
    h++;
    src += width;
    scale++;
    if (h == pc.heads) {
      h = 0u;
      src += skip;
      scale += pc.ldr - pc.heads;
    }
{{- end}}
  }
  dw[at] = join(sum_lo, sum_hi);
}
{{end}}

{{define "qk_norm_backward_dw T0"}}
{{params}}
{{bind "dy" "f32"}}
{{bind "qkv" "f32"}}
{{bind "rstd" "f32"}}
{{bind "dw" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x;
  if (c >= pc.hd) { return; }
  var sum = dw[pc.dw0 + c];
  for (var t = 0u; t < pc.T; t++) {
    for (var h = 0u; h < pc.heads; h++) {
      let x = qkv[t * pc.ldq + pc.off + h * pc.hd + c] * rstd[t * pc.ldr + pc.roff + h];
      sum = fma(dy[(t * pc.heads + h) * pc.hd + c], x, sum);
    }
  }
  dw[pc.dw0 + c] = sum;
}
{{end}}
