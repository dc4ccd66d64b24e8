// Log-softmax statistics of rows of logits and their gradient: vocab_stats,
// vocab_backward. Log-prob, entropy and mean log-softmax are what RL losses are
// made of; the gradient is of any weighted sum of the three. (Liger Kernel, arXiv
// 2410.10989, recomputes probabilities from a saved log-sum-exp in the same way.)
//
// Bindings: logits [R][ld], V columns real; target (here "wanted") [R] u32;
// inv_temp [R]; out, stats [R][4]: log-prob, entropy, mean, log-sum-exp; weights
// [R][4]: dLoss by the first three. x = logits*inv_temp.
//
// Order: first the maximum, which no order changes, then the sums of e = exp(x-max),
// e*(x-max) and x-max. TL: lane l of 8 takes columns 8l .. 8l+7 of every 64, eight
// chains within a slab of 2048 columns, joined by a fixed tree; slabs are added in
// order, then lanes by an xor tree. T0: invocation i of 256 takes columns i, i+256,
// .. in one chain, then halving. The gradient is elementwise.
//
// Variants tried, lavapipe 22.3, 2 cores, best of 10: V = 53, R = 3600: stats 1.2
// ms, backward 0.7 ms; V = 49152: one row 0.12 and 0.10 ms, 64 rows 4.0 and 2.6 ms.
// A row a lane would suit small V and starve the cores at large V with few rows.
//
//variant vocab_stats TL linear texels=logits words=target+inv_temp
//variant vocab_stats T0 linear
//variant vocab_backward TL tile=2048 texels=stats+weights words=target+inv_temp
//variant vocab_backward T0 tile=256

{{define "vocab_stats TL"}}
{{params}}
{{bind "logits" "vec4<u64>"}}
{{bind "target" "u32" "wanted"}}
{{bind "inv_temp" "f32"}}
{{bind "out" "vec4<f32>"}}
{{template "wide"}}
{{template "ln"}}
const most = vec4<f32>(-3.4e38);
struct Sums {
  one: vec4<f32>, // exp(x-top)
  moment: vec4<f32>, // exp(x-top)*(x-top)
  all: vec4<f32>, // x-top
}
fn count(s: Sums, x: vec4<f32>, real: vec4<bool>, top: f32) -> Sums {
  let d = select(vec4<f32>(), x - top, real);
  let e = select(vec4<f32>(), exp(d), real);
  return Sums(s.one + e, fma(e, d, s.moment), s.all + d);
}
fn join4(v: vec4<f32>) -> f32 { return (v.x + v.y) + (v.z + v.w); }
fn lanes(v: f32) -> f32 {
  let a = v + subgroupShuffleXor(v, 4u);
  let b = a + subgroupShuffleXor(a, 2u);
  return b + subgroupShuffleXor(b, 1u);
}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let width = pc.ld / 8u;
  let row = r * width;
  let it = inv_temp_at(r);
  var top_lo = most;
  var top_hi = most;
  for (var c = lane; c < width; c += 8u) {
    let v = logits_at(row + c);
    let j = vec4<u32>(0u, 2u, 4u, 6u) + c * 8u;
    top_lo = max(top_lo, select(most, v.lo * it, j < vec4<u32>(pc.V)));
    top_hi = max(top_hi, select(most, v.hi * it, j + 1u < vec4<u32>(pc.V)));
  }
  let top4 = max(top_lo, top_hi);
  var top = max(max(top4.x, top4.y), max(top4.z, top4.w));
  top = max(top, subgroupShuffleXor(top, 4u));
  top = max(top, subgroupShuffleXor(top, 2u));
  top = max(top, subgroupShuffleXor(top, 1u));
  var sum = 0.0;
  var moment = 0.0;
  var all = 0.0;
  for (var slab = 0u; slab < width; slab += 256u) {
    var lo = Sums();
    var hi = Sums();
    let end = min(slab + 256u, width);
    for (var c = slab + lane; c < end; c += 8u) {
      let v = logits_at(row + c);
      let j = vec4<u32>(0u, 2u, 4u, 6u) + c * 8u;
      lo = count(lo, v.lo * it, j < vec4<u32>(pc.V), top);
      hi = count(hi, v.hi * it, j + 1u < vec4<u32>(pc.V), top);
    }
    sum += join4(lo.one + hi.one);
    moment += join4(lo.moment + hi.moment);
    all += join4(lo.all + hi.all);
  }
  sum = lanes(sum);
  moment = lanes(moment);
  all = lanes(all);
  let j = wanted_at(r);
  let v = logits_at(row + j / 8u);
  let target4 = select(v.lo, v.hi, j % 2u == 1u);
  let lse = ln(sum);
  if (lane == 0u) {
    out[r] = vec4<f32>((target4[j / 2u % 4u] * it - top) - lse, lse - moment / sum, all / f32(pc.V) - lse, top + lse);
  }
}
{{end}}

{{define "vocab_stats T0"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "target" "u32" "wanted"}}
{{bind "inv_temp" "f32"}}
{{bind "out" "vec4<f32>"}}
{{template "tree" 256}}
{{template "ln"}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let row = r * pc.ld;
  let it = inv_temp[r];
  var most = -3.4e38;
  for (var j = i; j < pc.V; j += 256u) { most = max(most, logits[row + j] * it); }
  partial[i] = most;
  for (var s = 128u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) { partial[i] = max(partial[i], partial[i + s]); }
  }
  workgroupBarrier();
  let top = partial[0];
  workgroupBarrier();
  var sum = 0.0;
  var moment = 0.0;
  var all = 0.0;
  for (var j = i; j < pc.V; j += 256u) {
    let d = logits[row + j] * it - top;
    let e = exp(d);
    sum += e;
    moment = fma(e, d, moment);
    all += d;
  }
  sum = total(i, sum);
  moment = total(i, moment);
  all = total(i, all);
  let lse = ln(sum);
  if (i == 0u) {
    out[r] = vec4<f32>((logits[row + wanted[r]] * it - top) - lse, lse - moment / sum, all / f32(pc.V) - lse, top + lse);
  }
}
{{end}}

{{define "vocab_backward TL"}}
{{params}}
{{bind "logits" "vec4<u64>"}}
{{bind "target" "u32" "wanted"}}
{{bind "inv_temp" "f32"}}
{{bind "stats" "vec4<f32>"}}
{{bind "weights" "vec4<f32>"}}
{{template "wide"}}
fn gradient(logit: vec4<f32>, j: vec4<u32>, hit: u32, it: f32, s: vec4<f32>, w: vec4<f32>) -> vec4<f32> {
  let logp = logit * it - s.w;
  let p = exp(logp);
  let one = select(vec4<f32>(), vec4<f32>(1.0), j == vec4<u32>(hit));
  let g = it * ((w.x * (one - p) - w.y * p * (logp + s.y)) + w.z * (1.0 / f32(pc.V) - p));
  return select(vec4<f32>(), g, j < vec4<u32>(pc.V));
}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let r = group.y;
  let width = pc.ld / 8u;
  let row = r * width;
  let row_it = inv_temp_at(r);
  let row_stats = stats_at(r);
  let row_weights = weights_at(r);
  let hit = wanted_at(r);
  let end = min(group.x * 256u + 256u, width);
  for (var c = group.x * 256u + lane; c < end; c += 8u) {
    let v = logits_at(row + c);
    let j = vec4<u32>(0u, 2u, 4u, 6u) + c * 8u;
    let lo = gradient(v.lo, j, hit, row_it, row_stats, row_weights);
    let hi = gradient(v.hi, j + 1u, hit, row_it, row_stats, row_weights);
    logits[row + c] = join(lo, hi);
  }
}
{{end}}

{{define "vocab_backward T0"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "target" "u32" "wanted"}}
{{bind "inv_temp" "f32"}}
{{bind "stats" "vec4<f32>"}}
{{bind "weights" "vec4<f32>"}}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let j = id.x;
  let r = id.y;
  if (j >= pc.ld) { return; }
  let it = inv_temp[r];
  let s = stats[r];
  let w = weights[r];
  let logp = logits[r * pc.ld + j] * it - s.w;
  let p = exp(logp);
  let hit = select(0.0, 1.0, j == wanted[r]);
  let g = it * ((w.x * (hit - p) - w.y * p * (logp + s.y)) + w.z * (1.0 / f32(pc.V) - p));
  logits[r * pc.ld + j] = select(0.0, g, j < pc.V);
}
{{end}}
