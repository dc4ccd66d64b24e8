// Sampling: sample_mask (what a grammar allows), sample_filter (top-k, top-p, min-p),
// sample_within (what the filter of another model leaves) and sample_draw (Gumbel-max).
//
// Bindings: logits, out [R][ld], V columns real; rowp [R][8] u32: inv_temp f32,
// top_k, top_p f32, min_p f32, seed low, seed high, stream, position; ids [R] u32; allow
// [R][ceil(V/32)] u32, a bit for each column.
//
// Mask, within: elementwise. What is masked is finite, as sample_filter multiplies it by 0.
//
// Filter: which tokens stay is a threshold on (key, index), key being the logit's
// bits made monotone, and for top-p of equal keys the lower index first. It is found digit by
// digit, two bits at a time: each pass over the row adds up the weight (1 for top-k,
// exp(x-max) for top-p) of what three candidates would keep. No sort, no atomics;
// adding non-negative numbers in a fixed order is monotone, so the digits agree
// whatever the rounding. Where top_p meets a partial sum exactly, rounding decides.
// Semantics: TopKLogitsWarper, TopPLogitsWarper, MinPLogitsWarper, in this order, of
// https://github.com/huggingface/transformers (generation/logits_process.py): all
// logits equal to the k-th stay, and of those at the border of top-p the first by index.
//
// Draw: argmax of x - ln(-ln(u)), u from Philox4x32-10 (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011; constants of
// https://github.com/DEShawResearch/random123), so that a row's draw depends on its
// own seed, stream and position alone.
//
// Order: TL lane l of 8 takes columns 8l .. 8l+7 of every 64, adds them 32 at a time
// and these sums in one chain, then an xor tree; T0 invocation i of 256 takes columns
// i, i+256, .. in one chain, then halving. Maxima need no order: of equal values the
// lowest index wins.
//
// lavapipe ends a shader after 65535 loop iterations: with 4 loads of 8 lanes in
// each, the 45 passes over 262144 columns, all of few values, take 53000.
//
// Variants tried, lavapipe 22.3, 2 cores, best of 10: all three filters on, 64 rows
// of V = 49152: two bits a pass with the index searched only for ties (kept) 64 ms,
// always searched 84 ms; one row 2.0 ms; 256 rows of V = 53 2.5 ms. Draw: 5.0, 0.17
// and 0.14 ms.
//
//variant sample_mask TL tile=512,1
//variant sample_mask T0 tile=64,1
//variant sample_within TL tile=512,1
//variant sample_within T0 tile=64,1
//variant sample_filter TL linear texels=logits+rowp
//variant sample_filter T0 linear
//variant sample_draw TL linear texels=logits+rowp
//variant sample_draw T0 linear

{{define "masked"}}
fn masked(r: u32, j: u32) -> f32 {
  let word = allow[r * ((pc.V + 31u) / 32u) + min(j, pc.V - 1u) / 32u];
  return select(-1e30, logits[r * pc.ld + j], j < pc.V && ((word >> (j % 32u)) & 1u) == 1u);
}
{{end}}

{{define "sample_mask TL"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "allow" "u32"}}
{{bind "out" "f32"}}
{{template "masked"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let end = min(group.x * 512u + 512u, pc.ld);
  for (var j = group.x * 512u + l; j < end; j += 8u) { out[group.y * pc.ld + j] = masked(group.y, j); }
}
{{end}}

{{define "sample_mask T0"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "allow" "u32"}}
{{bind "out" "f32"}}
{{template "masked"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < pc.ld) { out[id.y * pc.ld + id.x] = masked(id.y, id.x); }
}
{{end}}

{{define "within"}}
fn within(at: u32, j: u32) -> f32 { return select(-1e30, logits[at], j < pc.V && kept[at] > -1e30); }
{{end}}

{{define "sample_within TL"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "kept" "f32"}}
{{bind "out" "f32"}}
{{template "within"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let end = min(group.x * 512u + 512u, pc.ld);
  for (var j = group.x * 512u + l; j < end; j += 8u) { out[group.y * pc.ld + j] = within(group.y * pc.ld + j, j); }
}
{{end}}

{{define "sample_within T0"}}
{{params}}
{{bind "logits" "f32"}}
{{bind "kept" "f32"}}
{{bind "out" "f32"}}
{{template "within"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < pc.ld) { out[id.y * pc.ld + id.x] = within(id.y * pc.ld + id.x, id.x); }
}
{{end}}

{{define "mulhi TL"}}
fn mulhi(a: u32, b: u32) -> u32 { return u32((u64(a) * u64(b)) >> 32u); }
{{end}}

{{define "mulhi T0"}}
fn mulhi(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let rest = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (rest >> 16u);
}
{{end}}

{{define "gumbel"}}
fn philox(counter: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    c = vec4<u32>(mulhi(0xCD9E8D57u, c.z) ^ c.y ^ key.x, 0xCD9E8D57u * c.z,
      mulhi(0xD2511F53u, c.x) ^ c.w ^ key.y, 0xD2511F53u * c.x);
    key += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}
// gumbel is -ln(-ln(u)), u = (b+0.5)*2^-24, b the upper 24 bits. From u = 3/4 on
// it takes ln(1-v) of the exact v = 1-u; below, f32 holds u to 2^-25 and ln(u) is
// not small.
fn gumbel(bits: u32) -> f32 {
  let b = bits >> 8u;
  let u = (f32(b) + 0.5) * 5.9604644775390625e-8;
  let v = (f32(0xffffffu - b) + 0.5) * 5.9604644775390625e-8;
  return -ln(-select(ln(u), ln_scaled(0.0, -v), b >= 0xc00000u));
}
{{end}}

{{define "sample_draw TL"}}
{{params}}
{{bind "logits" "vec4<u64>"}}
{{bind "rowp" "vec4<u32>"}}
{{bind "ids" "u32"}}
{{template "wide"}}
{{template "ln"}}
{{template "mulhi TL"}}
{{template "gumbel"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let width = pc.ld / 8u;
  let it = bitcast<f32>(rowp_at(r * 2u).x);
  let stream = rowp_at(r * 2u + 1u);
  var best = -3.4e38;
  var id = 0u;
  for (var c = lane; c < width; c += 8u) {
    let v = logits_at(r * width + c);
    let bits0 = philox(vec4<u32>(stream.w, stream.z, 2u * c, 0u), stream.xy);
    let bits1 = philox(vec4<u32>(stream.w, stream.z, 2u * c + 1u, 0u), stream.xy);
{{- range seq 8}}
    let x{{.}} = select({{lane "v" .}} * it + gumbel(bits{{div . 4}}[{{mod . 4}}]), {{lane "v" .}}, it == 0.0);
    let better{{.}} = x{{.}} > best && c * 8u + {{.}}u < pc.V;
    best = select(best, x{{.}}, better{{.}});
    id = select(id, c * 8u + {{.}}u, better{{.}});
{{- end}}
  }
{{- range list 4 2 1}}
  let best{{.}} = subgroupShuffleXor(best, {{.}}u);
  let id{{.}} = subgroupShuffleXor(id, {{.}}u);
  let better{{.}} = best{{.}} > best || (best{{.}} == best && id{{.}} < id);
  best = select(best, best{{.}}, better{{.}});
  id = select(id, id{{.}}, better{{.}});
{{- end}}
  if (lane == 0u) { ids[r] = id; }
}
{{end}}

{{define "sample_draw T0"}}
{{params}}
{{bind "logits" "vec4<f32>"}}
{{bind "rowp" "vec4<u32>"}}
{{bind "ids" "u32"}}
{{template "ln"}}
{{template "mulhi T0"}}
{{template "gumbel"}}
var<workgroup> values: array<f32, 256>;
var<workgroup> at: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let width = pc.ld / 4u;
  let it = bitcast<f32>(rowp[r * 2u].x);
  let stream = rowp[r * 2u + 1u];
  var best = -3.4e38;
  var id = 0u;
  for (var c = i; c < width; c += 256u) {
    let v = logits[r * width + c];
    let bits = philox(vec4<u32>(stream.w, stream.z, c, 0u), stream.xy);
{{- range seq 4}}
    let x{{.}} = select(v[{{.}}] * it + gumbel(bits[{{.}}]), v[{{.}}], it == 0.0);
    let better{{.}} = x{{.}} > best && c * 4u + {{.}}u < pc.V;
    best = select(best, x{{.}}, better{{.}});
    id = select(id, c * 4u + {{.}}u, better{{.}});
{{- end}}
  }
  values[i] = best;
  at[i] = id;
  for (var s = 128u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) {
      if (values[i + s] > values[i] || (values[i + s] == values[i] && at[i + s] < at[i])) {
        values[i] = values[i + s];
        at[i] = at[i + s];
      }
    }
  }
  if (i == 0u) { ids[r] = at[0]; }
}
{{end}}

{{define "rank"}}
const dropped = 0xff800000u; // -inf
const all = 0xffffffffu;
// rank is the key of a logit's bits: larger for larger logits, equal for 0 and -0.
fn rank(bits: u32) -> u32 {
  let b = select(bits, 0u, bits == 0x80000000u);
  return select(b | 0x80000000u, ~b, b >= 0x80000000u);
}
// A Bound keeps what ranks above key, and of equal rank what comes before index.
struct Bound { key: u32, index: u32 }
fn within(key: u32, j: u32, b: Bound) -> bool { return key > b.key || (key == b.key && j < b.index); }
{{end}}

{{/* descent finds the bound of top-k, then of top-p. The tier defines tally(three
candidates, bound so far, scale of the exponent): the weights of what each
candidate keeps of what the bound so far left. Step 0 weighs all, steps 1 to 16
find the key, step 17 counts the logits equal to it; if there are several, the
other steps find the index for top-p. */}}
{{define "descent"}}
  let it = bitcast<f32>(p0.x);
  let top_p = bitcast<f32>(p0.z);
  let min_p = bitcast<f32>(p0.w);
  var kept = Bound(0u, all);
  for (var stage = 0u; stage < 2u; stage++) {
    let on = it != 0.0 && select(p0.y != 0u, top_p < 1.0, stage == 1u);
    var steps = select(0u, 18u, on);
    var key = 0u;
    var index = 0u;
    var goal = 0.0;
    for (var step = 0u; step < steps; step++) {
      let key_digit = select(0u, 1u << ((32u - 2u * step) & 31u), step > 0u && step < 17u);
      let index_digit = select(0u, 1u << ((2u * (steps - 1u - step)) & 31u), step > 17u);
      let least = select(index, all, step < 18u);
      let w = tally(i, row,
        Bound(key + key_digit, least + index_digit),
        Bound(key + 2u * key_digit, select(least + 2u * index_digit, 0u, step == 17u)),
        Bound(key + 3u * key_digit, least + 3u * index_digit),
        kept, select(0.0, it, stage == 1u && step != 17u), top);
      let reached = u32(w.x >= goal) + u32(w.y >= goal) + u32(w.z >= goal);
      if (step == 0u) {
        goal = select(min(f32(p0.y), w.x), max(top_p * w.x, 1e-30), stage == 1u);
      } else if (step < 17u) {
        key += reached * key_digit;
      } else if (step > 17u) {
        index += (3u - reached) * index_digit;
      } else if (stage == 1u && w.x - w.y > 1.0) {
        steps += firstLeadingBit(pc.V - 1u) / 2u + 1u;
      } else {
        index = all - 1u;
      }
    }
    if (on) { kept = Bound(key, index + 1u); }
  }
{{end}}

{{define "sample_filter T0"}}
{{params}}
{{bind "logits" "u32"}}
{{bind "rowp" "vec4<u32>"}}
{{bind "out" "u32"}}
{{template "rank"}}
var<workgroup> partial: array<vec3<f32>, 256>;
fn total(i: u32, v: vec3<f32>) -> vec3<f32> {
  partial[i] = v;
  for (var s = 128u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) { partial[i] += partial[i + s]; }
  }
  return workgroupUniformLoad(&partial[0]);
}
fn tally(i: u32, row: u32, a: Bound, b: Bound, c: Bound, kept: Bound, scale: f32, top: f32) -> vec3<f32> {
  var sum = vec3<f32>();
  for (var j = i; j < pc.V; j += 256u) {
    let bits = logits[row + j];
    let key = rank(bits);
    let w = select(0.0, exp((bitcast<f32>(bits) - top) * scale), within(key, j, kept));
    sum += select(vec3<f32>(), vec3<f32>(w), vec3<bool>(within(key, j, a), within(key, j, b), within(key, j, c)));
  }
  return total(i, sum);
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let row = r * pc.ld;
  var most = -3.4e38;
  for (var j = i; j < pc.V; j += 256u) { most = max(most, bitcast<f32>(logits[row + j])); }
  partial[i] = vec3<f32>(most);
  for (var s = 128u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) { partial[i] = max(partial[i], partial[i + s]); }
  }
  workgroupBarrier();
  let top = partial[0].x;
  workgroupBarrier();
  let p0 = rowp[r * 2u];
{{template "descent"}}
  let least = select(-1.0, min(min_p, 1.0), it != 0.0 && min_p > 0.0);
  for (var j = i; j < pc.ld; j += 256u) {
    let bits = logits[row + j];
    let weight = exp((bitcast<f32>(bits) - top) * it);
    let stays = j < pc.V && within(rank(bits), j, kept) && weight >= least;
    out[row + j] = select(dropped, bits, stays);
  }
}
{{end}}

{{define "sample_filter TL"}}
{{params}}
{{bind "logits" "vec4<u64>"}}
{{bind "rowp" "vec4<u32>"}}
{{bind "out" "vec4<u64>"}}
{{template "wide"}}
{{template "rank"}}
fn ranks(x: vec4<f32>) -> vec4<u32> {
  let bits = bitcast<vec4<u32>>(x);
  let b = select(bits, vec4<u32>(), bits == vec4<u32>(0x80000000u));
  return select(b | vec4<u32>(0x80000000u), ~b, b >= vec4<u32>(0x80000000u));
}
fn inside(key: vec4<u32>, j: vec4<u32>, b: Bound) -> vec4<bool> {
  return (key > vec4<u32>(b.key)) | ((key == vec4<u32>(b.key)) & (j < vec4<u32>(b.index)));
}
fn some(w: vec4<f32>, stays: vec4<bool>) -> f32 {
  let v = select(vec4<f32>(), w, stays);
  return (v.x + v.y) + (v.z + v.w);
}
fn tally4(x: vec4<f32>, j: vec4<u32>, a: Bound, b: Bound, c: Bound, kept: Bound, scale: f32, top: f32) -> vec3<f32> {
  let key = ranks(x);
  let w = select(vec4<f32>(), exp((x - top) * scale), inside(key, j, kept) & (j < vec4<u32>(pc.V)));
  return vec3<f32>(some(w, inside(key, j, a)), some(w, inside(key, j, b)), some(w, inside(key, j, c)));
}
fn tally(i: u32, row: u32, a: Bound, b: Bound, c: Bound, kept: Bound, scale: f32, top: f32) -> vec3<f32> {
  let width = pc.ld / 8u;
  var sum = vec3<f32>();
  for (var col = i; col < width; col += 32u) {
    var four = vec3<f32>();
{{- range seq 4}}
    let c{{.}} = col + {{mul . 8}}u;
    let v{{.}} = logits_at(row + min(c{{.}}, width - 1u));
    let j{{.}} = vec4<u32>(0u, 2u, 4u, 6u) + c{{.}} * 8u;
    four += tally4(v{{.}}.lo, j{{.}}, a, b, c, kept, scale, top);
    four += tally4(v{{.}}.hi, j{{.}} + 1u, a, b, c, kept, scale, top);
{{- end}}
    sum += four;
  }
{{- range list 4 2 1}}
  sum += vec3<f32>(subgroupShuffleXor(sum.x, {{.}}u), subgroupShuffleXor(sum.y, {{.}}u), subgroupShuffleXor(sum.z, {{.}}u));
{{- end}}
  return sum;
}
fn choose(x: vec4<f32>, j: vec4<u32>, kept: Bound, it: f32, min_p: f32, top: f32) -> vec4<f32> {
  let likely = exp((x - top) * it) >= vec4<f32>(min_p);
  let stays = likely & inside(ranks(x), j, kept) & (j < vec4<u32>(pc.V));
  return bitcast<vec4<f32>>(select(vec4<u32>(dropped), bitcast<vec4<u32>>(x), stays));
}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let r = {{group}};
  if (r >= pc.R) { return; }
  let width = pc.ld / 8u;
  let row = r * width;
  var most = vec4<f32>(-3.4e38);
  for (var c = i; c < width; c += 8u) {
    let v = logits_at(row + c);
    let j = vec4<u32>(0u, 2u, 4u, 6u) + c * 8u;
    most = max(most, select(most, v.lo, j < vec4<u32>(pc.V)));
    most = max(most, select(most, v.hi, j + 1u < vec4<u32>(pc.V)));
  }
  var top = max(max(most.x, most.y), max(most.z, most.w));
{{- range list 4 2 1}}
  top = max(top, subgroupShuffleXor(top, {{.}}u));
{{- end}}
  let p0 = rowp_at(r * 2u);
{{template "descent"}}
  let least = select(-1.0, min(min_p, 1.0), it != 0.0 && min_p > 0.0);
  for (var c = i; c < width; c += 8u) {
    let v = logits_at(row + c);
    let j = vec4<u32>(0u, 2u, 4u, 6u) + c * 8u;
    out[row + c] = join(choose(v.lo, j, kept, it, least, top), choose(v.hi, j + 1u, kept, it, least, top));
  }
}
{{end}}
