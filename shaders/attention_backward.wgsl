// Gradients of attention, recomputing the weights from the log-sum-exp that the
// forward pass saved: attention_delta, attention_backward_dq,
// attention_backward_dkv (Dao, FlashAttention-2, arXiv 2307.08691, section 3.1.2;
// two kernels that both recompute, so that no sum needs an atomic).
//
// Bindings: q, dq, o, do (here "dout") [T][H*hd]; k, v, dk, dv [T][KV*hd]; stat
// [T][H][2]: log-sum-exp, delta; kvidx [*] u32 row of each key; meta (here "ranges")
// [T][2] u32: offset into kvidx, number of keys; ends [T] u32: row after the last that
// reads this one. hd <= 256 on T0.
//
// Sequences that begin alike share rows (package model): the rows are the nodes of a
// tree in depth-first order. The keys of a row are those on its path, which kvidx
// lists; the rows that read a key are those below it, a range that ends at ends.
//
// Order: q.k and do.v are one chain over d on TL, on T0 four chains (d mod 4)
// joined by a fixed tree. dq is one chain over keys; dk and dv are one chain over
// query heads, then query rows. delta is on TL 8 chains (d mod 8) joined by a fixed
// tree, on T0 64 (d mod 64) added by halving.
//
// TL: a lane is a query row (dq) or a key row (dkv) and takes 8 rows of the other
// side at a time; outputs are their own accumulators in memory. Lane l loads row l of
// those 8 and subgroupShuffle hands it to all lanes: in dkv always, from the first
// lane's row to the last one that any lane needs, in dq where the 8 rows have one
// list of keys. A row that a lane does not need counts as a zero, whatever it holds,
// and adding products with 0 leaves a chain that started from 0 as it is. lavapipe
// ends a shader after 65535 loop iterations: keys of a row, and readers of a row
// times H/KV, are bounded by 8*65535/(hd/4+3), 27500 for hd = 64.
// T0: 64 invocations do one row; the lower 32 take q.k of 32 rows, the upper 32
// do.v, then each holds the columns i, i+64, ..
//
// Variants tried, lavapipe 22.3, 2 cores of an EPYC, best of 10: 256 sequences of 20, H
// = KV = 3, hd = 32: delta 0.37 ms, dq 4.8 ms, dkv 6.5 ms; one of 512, H = 9, KV = 3, hd
// = 64: 0.18, 53 and 79 ms. All that with each lane loading what it needs; with shared
// loads, times of that = 1, in turns, by CPU time on a busy Xeon: sequences of 20, 3
// heads of 32, dq 0.63, dkv 0.44; one of 128, H = 3, KV = 1, hd = 64, and one of 256, H =
// 9, KV = 3, 0.40 and 0.38.
//
//variant attention_delta TL tile=1,8 texels=o+do
//variant attention_delta T0
//variant attention_backward_dq TL tile=1,8 texels=q+k+v+do pairs=stat+meta words=kvidx
//variant attention_backward_dq T0
//variant attention_backward_dkv TL tile=1,8 texels=q+k+v+do pairs=stat words=ends
//variant attention_backward_dkv T0

{{define "chain"}}
fn chain(sum: f32, a: Eight, b: Eight) -> f32 {
  var s = sum;
{{- range seq 8}}
  s = fma({{lane "a" .}}, {{lane "b" .}}, s);
{{- end}}
  return s;
}
{{end}}

{{define "attention_delta TL"}}
{{params}}
{{bind "o" "vec4<u64>"}}
{{bind "do" "vec4<u64>" "dout"}}
{{bind "stat" "f32"}}
{{template "wide"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let t = group.y * 8u + lane;
  if (t >= pc.T) { return; }
  let width = pc.hd / 8u;
  let row = t * pc.H + group.x;
  var sum_lo = vec4<f32>();
  var sum_hi = vec4<f32>();
  for (var c = 0u; c < width; c++) {
    let a = o_at(row * width + c);
    let b = dout_at(row * width + c);
    sum_lo = fma(a.lo, b.lo, sum_lo);
    sum_hi = fma(a.hi, b.hi, sum_hi);
  }
  let s = sum_lo + sum_hi;
  stat[row * 2u + 1u] = (s.x + s.y) + (s.z + s.w);
}
{{end}}

{{define "attention_delta T0"}}
{{params}}
{{bind "o" "f32"}}
{{bind "do" "f32" "dout"}}
{{bind "stat" "f32"}}
{{template "tree" 64}}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let row = group.y * pc.H + group.x;
  var sum = 0.0;
  for (var c = i; c < pc.hd; c += 64u) { sum = fma(o[row * pc.hd + c], dout[row * pc.hd + c], sum); }
  sum = total(i, sum);
  if (i == 0u) { stat[row * 2u + 1u] = sum; }
}
{{end}}

{{define "attention_backward_dq TL"}}
{{params}}
{{bind "q" "vec4<u64>"}}
{{bind "k" "vec4<u64>"}}
{{bind "v" "vec4<u64>"}}
{{bind "do" "vec4<u64>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "kvidx" "u32"}}
{{bind "meta" "vec2<u32>" "ranges"}}
{{bind "dq" "vec4<u64>"}}
{{template "wide"}}
{{template "greatest"}}
{{template "chain"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let h = group.x;
  let live = group.y * 8u + lane < pc.T;
  let t = min(group.y * 8u + lane, pc.T - 1u);
  let width = pc.hd / 8u;
  let stride = pc.KV * width;
  let row = (t * pc.H + h) * width;
  let start = ranges_at(t).x;
  let count = select(0u, ranges_at(t).y, live);
  let column = h / (pc.H / pc.KV) * width;
  let saved = stat_at(t * pc.H + h);
  if (greatest(u32(start != subgroupShuffle(start, 0u))) == 0u) {
    // One list: lane l has key b+l for all 8 rows.
    let longest = greatest(count);
    for (var b = 0u; b < longest; b += 8u) {
      let at = kvidx_at(start + min(b + lane, longest - 1u)) * stride + column;
{{- range seq 8}}
      var s{{.}} = 0.0;
      var d{{.}} = 0.0;
{{- end}}
      for (var c = 0u; c < width; c++) {
        let a = q_at(row + c);
        let g = dout_at(row + c);
        let y = k_at(at + c);
        let z = v_at(at + c);
{{- range $j := seq 8}}
{{- range $e := seq 8}}
        s{{$j}} = fma({{lane "a" $e}}, subgroupShuffle({{lane "y" $e}}, {{$j}}u), s{{$j}});
        d{{$j}} = fma({{lane "g" $e}}, subgroupShuffle({{lane "z" $e}}, {{$j}}u), d{{$j}});
{{- end}}
{{- end}}
      }
{{- template "score gradients"}}
      for (var c = 0u; c < width; c++) {
{{- template "continue dq"}}
        let y = k_at(at + c);
{{- range seq 8}}
        lo = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), subgroupShuffle(y.lo, {{.}}u), seen{{.}}), lo);
        hi = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), subgroupShuffle(y.hi, {{.}}u), seen{{.}}), hi);
{{- end}}
        if (b < count) { dq[row + c] = join(lo, hi); }
      }
    }
  } else {
    for (var b = 0u; b < count; b += 8u) {
{{- range seq 8}}
      let at{{.}} = kvidx_at(start + min(b + {{.}}u, count - 1u)) * stride + column;
      var s{{.}} = 0.0;
      var d{{.}} = 0.0;
{{- end}}
      for (var c = 0u; c < width; c++) {
        let a = q_at(row + c);
        let g = dout_at(row + c);
{{- range seq 8}}
        s{{.}} = chain(s{{.}}, a, k_at(at{{.}} + c));
        d{{.}} = chain(d{{.}}, g, v_at(at{{.}} + c));
{{- end}}
      }
{{- template "score gradients"}}
      for (var c = 0u; c < width; c++) {
{{- template "continue dq"}}
{{- range seq 8}}
        let k{{.}} = k_at(at{{.}} + c);
        lo = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), k{{.}}.lo, seen{{.}}), lo);
        hi = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), k{{.}}.hi, seen{{.}}), hi);
{{- end}}
        dq[row + c] = join(lo, hi);
      }
    }
  }
}
{{end}}

{{define "score gradients"}}
{{- range seq 8}}
      let seen{{.}} = b + {{.}}u < count;
      d{{.}} = select(0.0, exp(s{{.}} * pc.scale - saved.x) * (d{{.}} - saved.y) * pc.scale, seen{{.}});
{{- end}}
{{- end}}

{{define "continue dq"}}
        var lo = vec4<f32>();
        var hi = vec4<f32>();
        if (b > 0u) {
          let before = dq_at(row + c);
          lo = before.lo;
          hi = before.hi;
        }
{{- end}}

{{define "attention_backward_dkv TL"}}
{{params}}
{{bind "q" "vec4<u64>"}}
{{bind "k" "vec4<u64>"}}
{{bind "v" "vec4<u64>"}}
{{bind "do" "vec4<u64>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "ends" "u32"}}
{{bind "dk" "vec4<u64>"}}
{{bind "dv" "vec4<u64>"}}
{{template "wide"}}
{{template "greatest"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let t0 = group.y * 8u;
  let live = t0 + lane < pc.T;
  let t = min(t0 + lane, pc.T - 1u);
  let end = ends_at(t);
  let last = greatest(end);
  let heads = pc.H / pc.KV;
  let width = pc.hd / 8u;
  let row = (t * pc.KV + group.x) * width;
  for (var h = group.x * heads; h < group.x * heads + heads; h++) {
    for (var b = t0; b < last; b += 8u) {
      // Lane l has query row b+l for all 8 key rows.
      let reader = min(b + lane, last - 1u) * pc.H + h;
      let at = reader * width;
{{- range seq 8}}
      var p{{.}} = 0.0;
      var d{{.}} = 0.0;
{{- end}}
      for (var c = 0u; c < width; c++) {
        let a = k_at(row + c);
        let g = v_at(row + c);
        let y = q_at(at + c);
        let z = dout_at(at + c);
{{- range $j := seq 8}}
{{- range $e := seq 8}}
        p{{$j}} = fma({{lane "a" $e}}, subgroupShuffle({{lane "y" $e}}, {{$j}}u), p{{$j}});
        d{{$j}} = fma({{lane "g" $e}}, subgroupShuffle({{lane "z" $e}}, {{$j}}u), d{{$j}});
{{- end}}
{{- end}}
      }
      let saved = stat_at(reader);
{{- range seq 8}}
      let reads{{.}} = t <= b + {{.}}u && b + {{.}}u < end;
      p{{.}} = select(0.0, exp(p{{.}} * pc.scale - subgroupShuffle(saved.x, {{.}}u)), reads{{.}});
      d{{.}} = select(0.0, p{{.}} * (d{{.}} - subgroupShuffle(saved.y, {{.}}u)) * pc.scale, reads{{.}});
{{- end}}
      let first = b == t0 && h == group.x * heads;
      for (var c = 0u; c < width; c++) {
        var new_k = Eight();
        var new_v = Eight();
        if (!first) {
          new_k = dk_at(row + c);
          new_v = dv_at(row + c);
        }
        let y = q_at(at + c);
        let z = dout_at(at + c);
{{- range seq 8}}
        new_v.lo = fma(vec4<f32>(p{{.}}), select(vec4<f32>(), subgroupShuffle(z.lo, {{.}}u), reads{{.}}), new_v.lo);
        new_v.hi = fma(vec4<f32>(p{{.}}), select(vec4<f32>(), subgroupShuffle(z.hi, {{.}}u), reads{{.}}), new_v.hi);
        new_k.lo = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), subgroupShuffle(y.lo, {{.}}u), reads{{.}}), new_k.lo);
        new_k.hi = fma(vec4<f32>(d{{.}}), select(vec4<f32>(), subgroupShuffle(y.hi, {{.}}u), reads{{.}}), new_k.hi);
{{- end}}
        if (live) {
          dk[row + c] = join(new_k.lo, new_k.hi);
          dv[row + c] = join(new_v.lo, new_v.hi);
        }
      }
    }
  }
}
{{end}}

{{define "attention_backward_dq T0"}}
{{params}}
{{bind "q" "vec4<f32>"}}
{{bind "k" "vec4<f32>"}}
{{bind "v" "vec4<f32>"}}
{{bind "do" "vec4<f32>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "kvidx" "u32"}}
{{bind "meta" "vec2<u32>" "ranges"}}
{{bind "dq" "f32"}}
var<workgroup> query: array<vec4<f32>, 64>;
var<workgroup> grad: array<vec4<f32>, 64>;
var<workgroup> part: array<f32, 64>;
var<workgroup> weight: array<f32, 32>;
var<workgroup> source: array<u32, 32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let h = group.x;
  let t = group.y;
  let quads = pc.hd / 4u;
  let head = h / (pc.H / pc.KV);
  let row = t * pc.H + h;
  let start = ranges[t].x;
  let count = ranges[t].y;
  let saved = stat[row];
  if (i < quads) {
    query[i] = q[row * quads + i];
    grad[i] = dout[row * quads + i];
  }
{{- range seq 4}}
  let d{{.}} = i + {{mul . 64}}u;
  var sum{{.}} = 0.0;
{{- end}}
  for (var b = 0u; b < count; b += 32u) {
    let keys = min(32u, count - b);
    let j = i % 32u;
    workgroupBarrier();
    if (i < keys) { source[i] = (kvidx[start + b + i] * pc.KV + head) * quads; }
    workgroupBarrier();
    var s = vec4<f32>();
    if (j < keys) {
      let at = source[j];
      for (var c = 0u; c < quads; c++) {
        if (i < 32u) {
          s = fma(query[c], k[at + c], s);
        } else {
          s = fma(grad[c], v[at + c], s);
        }
      }
    }
    part[i] = (s.x + s.y) + (s.z + s.w);
    workgroupBarrier();
    if (i < keys) { weight[i] = exp(part[i] * pc.scale - saved.x) * (part[i + 32u] - saved.y) * pc.scale; }
    workgroupBarrier();
    for (var n = 0u; n < keys; n++) {
      let w = weight[n];
      let at = source[n];
{{- range seq 4}}
      if (d{{.}} < pc.hd) { sum{{.}} = fma(w, k[at + d{{.}} / 4u][d{{.}} % 4u], sum{{.}}); }
{{- end}}
    }
  }
{{- range seq 4}}
  if (d{{.}} < pc.hd) { dq[row * pc.hd + d{{.}}] = sum{{.}}; }
{{- end}}
}
{{end}}

{{define "attention_backward_dkv T0"}}
{{params}}
{{bind "q" "vec4<f32>"}}
{{bind "k" "vec4<f32>"}}
{{bind "v" "vec4<f32>"}}
{{bind "do" "vec4<f32>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "ends" "u32"}}
{{bind "dk" "f32"}}
{{bind "dv" "f32"}}
var<workgroup> key: array<vec4<f32>, 64>;
var<workgroup> value: array<vec4<f32>, 64>;
var<workgroup> part: array<f32, 64>;
var<workgroup> weight: array<f32, 32>;
var<workgroup> grad: array<f32, 32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let t = group.y;
  let heads = pc.H / pc.KV;
  let quads = pc.hd / 4u;
  let row = t * pc.KV + group.x;
  let count = ends[t] - t;
  if (i < quads) {
    key[i] = k[row * quads + i];
    value[i] = v[row * quads + i];
  }
{{- range seq 4}}
  let d{{.}} = i + {{mul . 64}}u;
  var k{{.}} = 0.0;
  var v{{.}} = 0.0;
{{- end}}
  for (var h = group.x * heads; h < group.x * heads + heads; h++) {
    for (var b = 0u; b < count; b += 32u) {
      let rows = min(32u, count - b);
      let j = i % 32u;
      let at = ((t + b + j) * pc.H + h) * quads;
      workgroupBarrier();
      var s = vec4<f32>();
      if (j < rows) {
        for (var c = 0u; c < quads; c++) {
          if (i < 32u) {
            s = fma(key[c], q[at + c], s);
          } else {
            s = fma(value[c], dout[at + c], s);
          }
        }
      }
      part[i] = (s.x + s.y) + (s.z + s.w);
      workgroupBarrier();
      if (i < rows) {
        let saved = stat[(t + b + i) * pc.H + h];
        let p = exp(part[i] * pc.scale - saved.x);
        weight[i] = p;
        grad[i] = p * (part[i + 32u] - saved.y) * pc.scale;
      }
      workgroupBarrier();
      for (var n = 0u; n < rows; n++) {
        let source = ((t + b + n) * pc.H + h) * quads;
{{- range seq 4}}
        if (d{{.}} < pc.hd) {
          v{{.}} = fma(weight[n], dout[source + d{{.}} / 4u][d{{.}} % 4u], v{{.}});
          k{{.}} = fma(grad[n], q[source + d{{.}} / 4u][d{{.}} % 4u], k{{.}});
        }
{{- end}}
      }
    }
  }
{{- range seq 4}}
  if (d{{.}} < pc.hd) {
    dk[row * pc.hd + d{{.}}] = k{{.}};
    dv[row * pc.hd + d{{.}}] = v{{.}};
  }
{{- end}}
}
{{end}}
