// Causal attention over keys found through a slot table: attention, and with keys
// and values in bf16 attention_bf16. One pass with
// a running maximum and sum (Milakov and Gimelshein, arXiv 1805.02867; Dao,
// FlashAttention-2, arXiv 2307.08691). Packed training sequences, prefill and
// decode run this same shader.
//
// Bindings: q, o [T][H*hd]; k, v [slots][KV*hd]; kvidx [*] u32 slot of each key;
// meta (here "ranges") [T][2] u32: offset into kvidx, number of keys, at least 1;
// stat [T][H][2]. hd <= 256 on T0.
//
// Order: keys in blocks counted from the row's first key, 8 on TL, 32 on T0. A
// score is one chain over d on TL; on T0 quads of even and of odd number, four
// chains each, joined by a fixed tree. A block's weights are added by a fixed tree;
// sum = sum*shrink + block, o = o*shrink and then one chain over the block's keys.
// The last block multiplies o by 1/sum.
//
// TL: a lane is a query row, a workgroup 8 rows of one head; o is its own
// accumulator in memory. Where the 8 rows have one list of keys (training, prompts)
// lane l loads key l of a block and subgroupShuffle hands it to all rows: 2 loads for
// 9. The loop then runs to the longest row's end; a key that a row does not see counts
// as a zero, whatever it holds, and a block past its end changes nothing. Otherwise
// (decoding) each lane loads the keys of its row, which costs per active lane, so that
// lanes without a key are nearly free. lavapipe ends a shader after 65535 loop
// iterations: a row may have 8*65535/(hd/4+3) keys, 27500 for hd = 64.
//
// Variants tried, lavapipe 22.3, 2 cores, best of 10: blocks of 8 keys (kept) 4.0
// ms for 256 sequences of 20, H = KV = 3, hd = 32; 38 ms for one of 512, H = 9, KV =
// 3, hd = 64; 0.36 ms to decode one row of 512 keys. Blocks of 4: 5.0, 46, 0.44 ms.
// Eight chains interleaved element by element: no gain. All that with each lane loading
// the keys of its row; with shared loads, times of that = 1, in turns, by CPU time on a
// busy Xeon: sequences of 20, 3 heads of 32, 0.65; one of 128, H = 3, KV = 1, hd = 64,
// 0.42; of 256, H = 9, KV = 3, 0.41 (EPYC, 512: 0.33); decoding equal. Zeroing the keys
// that a row does not see costs nothing that shows.
//
//variant attention* TL tile=1,8 texels=q+k+v pairs=meta words=kvidx
//variant attention* T0

{{define "attention TL"}}
{{params}}
{{bind "q" "vec4<u64>"}}
{{bind "k" (wide "k")}}
{{bind "v" (wide "v")}}
{{bind "kvidx" "u32"}}
{{bind "meta" "vec2<u32>" "ranges"}}
{{bind "o" "vec4<u64>"}}
{{bind "stat" "f32"}}
{{template "wide"}}
{{if bf16 "k"}}{{template "wide_bf16"}}{{end}}
{{template "ln"}}
fn chain(sum: f32, a: Eight, b: Eight) -> f32 {
  var s = sum;
{{- range seq 8}}
  s = fma({{lane "a" .}}, {{lane "b" .}}, s);
{{- end}}
  return s;
}
{{template "greatest"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let h = group.x;
  let live = group.y * 8u + lane < pc.T;
  let t = min(group.y * 8u + lane, pc.T - 1u);
  let width = pc.hd / 8u;
  let stride = pc.KV * width;
  let column = h / (pc.H / pc.KV) * width;
  let row = (t * pc.H + h) * width;
  let start = ranges_at(t).x;
  let count = select(0u, ranges_at(t).y, live);
  var top = -1.7e38;
  var sum = 0.0;
  if (greatest(u32(start != subgroupShuffle(start, 0u))) == 0u) {
    // One list: lane l has key b+l for all 8 rows.
    let longest = greatest(count);
    for (var b = 0u; b < longest; b += 8u) {
      let at = kvidx_at(start + min(b + lane, longest - 1u)) * stride + column;
{{- range seq 8}}
      var s{{.}} = 0.0;
{{- end}}
      for (var c = 0u; c < width; c++) {
        let a = q_at(row + c);
        let y = k_at(at + c);
{{- range $j := seq 8}}
{{- range $e := seq 8}}
        s{{$j}} = fma({{lane "a" $e}}, subgroupShuffle({{lane "y" $e}}, {{$j}}u), s{{$j}});
{{- end}}
{{- end}}
      }
{{- template "weigh"}}
      for (var c = 0u; c < width; c++) {
{{- template "rescale"}}
        let z = v_at(at + c);
{{- range $j := seq 8}}
        lo = fma(vec4<f32>(p{{$j}}), select(vec4<f32>(), subgroupShuffle(z.lo, {{$j}}u), seen{{$j}}), lo);
        hi = fma(vec4<f32>(p{{$j}}), select(vec4<f32>(), subgroupShuffle(z.hi, {{$j}}u), seen{{$j}}), hi);
{{- end}}
        if (b < count) { o[row + c] = join(lo * finish, hi * finish); }
      }
    }
  } else {
    for (var b = 0u; b < count; b += 8u) {
{{- range seq 8}}
      let at{{.}} = kvidx_at(start + min(b + {{.}}u, count - 1u)) * stride + column;
      var s{{.}} = 0.0;
{{- end}}
      for (var c = 0u; c < width; c++) {
        let a = q_at(row + c);
{{- range seq 8}}
        s{{.}} = chain(s{{.}}, a, k_at(at{{.}} + c));
{{- end}}
      }
{{- template "weigh"}}
      for (var c = 0u; c < width; c++) {
{{- template "rescale"}}
{{- range seq 8}}
        let v{{.}} = v_at(at{{.}} + c);
        lo = fma(vec4<f32>(p{{.}}), select(vec4<f32>(), v{{.}}.lo, seen{{.}}), lo);
        hi = fma(vec4<f32>(p{{.}}), select(vec4<f32>(), v{{.}}.hi, seen{{.}}), hi);
{{- end}}
        o[row + c] = join(lo * finish, hi * finish);
      }
    }
  }
  if (live) { stat[(t * pc.H + h) * 2u] = top + ln(sum); }
}
{{end}}

{{define "weigh"}}
      // Weights p of a block's scores s; a block past the end of a row changes nothing.
{{- range seq 8}}
      let seen{{.}} = b + {{.}}u < count;
      s{{.}} = select(-1.7e38, s{{.}} * pc.scale, seen{{.}});
{{- end}}
      let old = top;
      top = max(top, max(max(max(s0, s1), max(s2, s3)), max(max(s4, s5), max(s6, s7))));
      let shrink = select(exp(old - top), 0.0, b == 0u);
{{- range seq 8}}
      let p{{.}} = select(0.0, exp(s{{.}} - top), seen{{.}});
{{- end}}
      sum = sum * shrink + (((p0 + p1) + (p2 + p3)) + ((p4 + p5) + (p6 + p7)));
      let finish = select(1.0, 1.0 / sum, b + 8u >= count);
{{- end}}

{{define "rescale"}}
        var lo = vec4<f32>();
        var hi = vec4<f32>();
        if (b > 0u) {
          let before = o_at(row + c);
          lo = before.lo * shrink;
          hi = before.hi * shrink;
        }
{{- end}}

{{define "attention T0"}}
{{params}}
{{bind "q" "vec4<f32>"}}
{{if bf16 "k"}}{{template "bf16"}}{{bind "k" "vec2<u32>"}}
{{bind "v" "u32"}}{{else}}{{bind "k" "vec4<f32>"}}
{{bind "v" "f32"}}{{end}}
{{bind "kvidx" "u32"}}
{{bind "meta" "vec2<u32>" "ranges"}}
{{bind "o" "f32"}}
{{bind "stat" "f32"}}
{{template "ln"}}
const least = -1.7e38;
var<workgroup> query: array<vec4<f32>, 64>;
var<workgroup> part: array<f32, 64>;
var<workgroup> weight: array<f32, 32>;
var<workgroup> slot: array<u32, 32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let h = group.x;
  let t = group.y;
  let quads = pc.hd / 4u;
  let head = h / (pc.H / pc.KV);
  let row = t * pc.H + h;
  let start = ranges[t].x;
  let count = ranges[t].y;
  if (i < quads) { query[i] = q[row * quads + i]; }
  var top = least;
  var sum = 0.0;
{{- range seq 4}}
  let d{{.}} = i + {{mul . 64}}u;
  var o{{.}} = 0.0;
{{- end}}
  for (var b = 0u; b < count; b += 32u) {
    let keys = min(32u, count - b);
    let j = i % 32u;
    if (i < keys) { slot[i] = kvidx[start + b + i]; }
    workgroupBarrier();
    if (j < keys) {
      let at = (slot[j] * pc.KV + head) * quads;
      var s = vec4<f32>();
      for (var c = i / 32u; c < quads; c += 2u) { s = fma(query[c], {{if bf16 "k"}}quad(k[at + c]){{else}}k[at + c]{{end}}, s); }
      part[i] = (s.x + s.y) + (s.z + s.w);
    }
    workgroupBarrier();
    let old = top;
    for (var n = 0u; n < keys; n++) { top = max(top, (part[n] + part[n + 32u]) * pc.scale); }
    if (i < 32u) { weight[i] = select(0.0, exp((part[j] + part[j + 32u]) * pc.scale - top), i < keys); }
    let shrink = exp(old - top);
    workgroupBarrier();
    var w = vec4<f32>();
    for (var n = 0u; n < 32u; n += 4u) {
      w += vec4<f32>(weight[n], weight[n + 1u], weight[n + 2u], weight[n + 3u]);
    }
    sum = sum * shrink + ((w.x + w.y) + (w.z + w.w));
{{- range seq 4}}
    o{{.}} *= shrink;
{{- end}}
    for (var n = 0u; n < keys; n++) {
      let p = weight[n];
      let at = (slot[n] * pc.KV + head) * pc.hd;
{{- range seq 4}}
      if (d{{.}} < pc.hd) { o{{.}} = fma(p, {{if bf16 "v"}}element(v[(at + d{{.}}) / 2u], d{{.}}){{else}}v[at + d{{.}}]{{end}}, o{{.}}); }
{{- end}}
    }
    workgroupBarrier();
  }
  let finish = 1.0 / sum;
{{- range seq 4}}
  if (d{{.}} < pc.hd) { o[row * pc.hd + d{{.}}] = o{{.}} * finish; }
{{- end}}
  if (i == 0u) { stat[row * 2u] = top + ln(sum); }
}
{{end}}
