// Gradients of attention, tier T1: attention_backward_dq, attention_backward_dkv.
//
// Bindings: as in attention_backward.wgsl: q, k, v, do (here "dout"), stat, kvidx, meta
// (here "ranges"), dq; ends, dk, dv. hd <= 256.
//
// Order: that of T0, so the bits are those of T0.
//
// dq: a workgroup has one row and the query heads that share a key head, 8 at most, so
// that a key is loaded once for all of them. Of 64 invocations the lower 32 take q.k of
// 32 keys and the upper 32 do.v, for all heads; then 8 invocations make the weights of a
// head; then each has a quad of the width for some of the heads. Workgroups beyond the
// key heads end at once.
// dkv: a workgroup has 8 key rows in the place of the 8 heads, and goes through the rows
// that read any of them. In blocks that all 8 are read by, nothing is tested.
//
// Variants tried, NVIDIA H100, 8 sequences of 512, us of T0 and of this: H = 14, KV = 2,
// hd = 64: dq 2945, 1151, dkv 4589, 1584; H = 9, KV = 3: dq 1909, 1391, dkv 2878, 877; 256
// sequences of 20, H = KV = 3, hd = 32: dq 38, 116, dkv 44, 39. The forward pass in the way
// of dq: 2161 to 987, 1422 to 1288, 33 to 99, but 30 to 51 for one row of 80 keys, so
// it runs T0's.
//
// Source: own; the order as in attention_backward.wgsl.
//
//variant attention_backward_dq T1
//variant attention_backward_dkv T1 tile=1,8

{{define "heads"}}
  // Of the heads of key head kv, up to 8 beginning with that of row.
  let heads = pc.H / pc.KV;
  let parts = (heads + 7u) / 8u;
  if (group.x >= pc.KV * parts) { return; }
  let t = group.y;
  let kv = group.x / parts;
  let row = t * pc.H + kv * heads + group.x % parts * 8u;
  let live = min(8u, heads - group.x % parts * 8u);
{{template "places"}}
{{end}}

{{define "places"}}
  let quads = pc.hd / 4u;
  let g = i / 8u;
  let l = i % 8u;
  // Quad c of heads first, first + sets, .., each of them.
  let across = select(select(select(64u, 32u, quads <= 32u), 16u, quads <= 16u), 8u, quads <= 8u);
  let c = i % across;
  let first = i / across;
  let sets = 64u / across;
  let each = across / 8u;
{{end}}

{{define "attention_backward_dq T1"}}
{{params}}
{{bind "q" "vec4<f32>"}}
{{bind "k" "vec4<f32>"}}
{{bind "v" "vec4<f32>"}}
{{bind "do" "vec4<f32>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "kvidx" "u32"}}
{{bind "meta" "vec2<u32>" "ranges"}}
{{bind "dq" "vec4<f32>"}}
var<workgroup> own: array<vec4<f32>, 1024>; // [q, do][head][quad]
var<workgroup> part: array<f32, 512>; // [q.k, do.v][head][key]
var<workgroup> weight: array<f32, 256>; // [key][head]
var<workgroup> source: array<u32, 32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
{{template "heads"}}
  let start = ranges[t].x;
  let count = ranges[t].y;
  let saved = stat[row + min(g, live - 1u)];
{{- range seq 8}}
  { let at = i + {{mul . 64}}u; if (at < live * quads) { own[at / quads * 64u + at % quads] = q[row * quads + at]; own[at / quads * 64u + at % quads + 512u] = dout[row * quads + at]; } }
  var sum{{.}} = vec4<f32>();
{{- end}}
  for (var b = 0u; b < count; b += 32u) {
    let keys = min(32u, count - b);
    let j = i % 32u;
    workgroupBarrier();
    if (i < keys) { source[i] = (kvidx[start + b + i] * pc.KV + kv) * quads; }
    workgroupBarrier();
    if (j < keys) {
      let at = source[j];
      let origin = i / 32u * 512u;
{{- range seq 8}}
      var s{{.}} = vec4<f32>();
{{- end}}
      for (var d = 0u; d < quads; d++) {
        var y = vec4<f32>();
        if (i < 32u) { y = k[at + d]; } else { y = v[at + d]; }
{{- range seq 8}}
        {{if .}}if ({{.}}u < live) { {{end}}s{{.}} = fma(own[origin + {{mul . 64}}u + d], y, s{{.}});{{if .}} }{{end}}
{{- end}}
      }
{{- range seq 8}}
      part[i / 32u * 256u + {{mul . 32}}u + j] = (s{{.}}.x + s{{.}}.y) + (s{{.}}.z + s{{.}}.w);
{{- end}}
    }
    workgroupBarrier();
{{- range seq 4}}
    {
      let n = l + {{mul . 8}}u;
      if (n < keys) { weight[n * 8u + g] = exp(part[g * 32u + n] * pc.scale - saved.x) * (part[g * 32u + n + 256u] - saved.y) * pc.scale; }
    }
{{- end}}
    workgroupBarrier();
    if (c < quads) {
      for (var n = 0u; n < keys; n++) {
        let y = k[source[n] + c];
{{- range seq 8}}
        {{if .}}if ({{.}}u < each) { {{end}}sum{{.}} = fma(vec4<f32>(weight[n * 8u + first + {{.}}u * sets]), y, sum{{.}});{{if .}} }{{end}}
{{- end}}
      }
    }
  }
{{- range seq 8}}
  if ({{.}}u < each && c < quads && first + {{.}}u * sets < live) { dq[(row + first + {{.}}u * sets) * quads + c] = sum{{.}}; }
{{- end}}
}
{{end}}

{{define "attention_backward_dkv T1"}}
{{params}}
{{bind "q" "vec4<f32>"}}
{{bind "k" "vec4<f32>"}}
{{bind "v" "vec4<f32>"}}
{{bind "do" "vec4<f32>" "dout"}}
{{bind "stat" "vec2<f32>"}}
{{bind "ends" "u32"}}
{{bind "dk" "vec4<f32>"}}
{{bind "dv" "vec4<f32>"}}
var<workgroup> own: array<vec4<f32>, 1024>; // [k, v][key][quad]
var<workgroup> part: array<f32, 512>; // [k.q, v.do][key][row]
var<workgroup> weight: array<vec2<f32>, 256>; // [row][key]: of do, of q
var<workgroup> limits: array<u32, 8>; // [key]
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
{{template "places"}}
  let t0 = group.y * 8u;
  let live = min(8u, pc.T - t0);
  let heads = pc.H / pc.KV;
  var longest = 0u;
  var shortest = pc.T;
{{- range seq 8}}
  let end{{.}} = select(0u, ends[min(t0 + {{.}}u, pc.T - 1u)], {{.}}u < live);
  longest = max(longest, end{{.}});
  shortest = min(shortest, end{{.}});
  if (i == {{.}}u) { limits[{{.}}] = end{{.}}; }
  { let at = i + {{mul . 64}}u;
    if (at < live * quads) {
      let origin = ((t0 + at / quads) * pc.KV + group.x) * quads + at % quads;
      own[at / quads * 64u + at % quads] = k[origin];
      own[at / quads * 64u + at % quads + 512u] = v[origin];
    } }
  var k{{.}} = vec4<f32>();
  var v{{.}} = vec4<f32>();
{{- end}}
  for (var h = group.x * heads; h < group.x * heads + heads; h++) {
    for (var b = t0; b < longest; b += 32u) {
      let rows = min(32u, longest - b);
      let j = i % 32u;
      workgroupBarrier();
      if (j < rows) {
        let at = ((b + j) * pc.H + h) * quads;
        let origin = i / 32u * 512u;
{{- range seq 8}}
        var s{{.}} = vec4<f32>();
{{- end}}
        for (var d = 0u; d < quads; d++) {
          var y = vec4<f32>();
          if (i < 32u) { y = q[at + d]; } else { y = dout[at + d]; }
{{- range seq 8}}
          s{{.}} = fma(own[origin + {{mul . 64}}u + d], y, s{{.}});
{{- end}}
        }
{{- range seq 8}}
        part[i / 32u * 256u + {{mul . 32}}u + j] = (s{{.}}.x + s{{.}}.y) + (s{{.}}.z + s{{.}}.w);
{{- end}}
      }
      workgroupBarrier();
{{- range seq 4}}
      {
        let n = l + {{mul . 8}}u;
        if (n < rows) {
          let saved = stat[(b + n) * pc.H + h];
          let p = exp(part[g * 32u + n] * pc.scale - saved.x);
          weight[n * 8u + g] = vec2<f32>(p, p * (part[g * 32u + n + 256u] - saved.y) * pc.scale);
        }
      }
{{- end}}
      workgroupBarrier();
      if (c < quads) {
        if (b >= t0 + 7u && b + rows <= shortest) {
          for (var n = 0u; n < rows; n++) {
            let at = ((b + n) * pc.H + h) * quads + c;
            let z = dout[at];
            let y = q[at];
{{- range seq 8}}
            {{if .}}if ({{.}}u < each) { {{end}}{{template "step" .}}{{if .}} }{{end}}
{{- end}}
          }
        } else {
          for (var n = 0u; n < rows; n++) {
            let at = ((b + n) * pc.H + h) * quads + c;
            let z = dout[at];
            let y = q[at];
{{- range seq 8}}
            if ({{.}}u < each && b + n >= t0 + first + {{.}}u * sets && b + n < limits[(first + {{.}}u * sets) % 8u]) { {{template "step" .}} }
{{- end}}
          }
        }
      }
    }
  }
{{- range seq 8}}
  if ({{.}}u < each && c < quads && first + {{.}}u * sets < live) {
    let at = ((t0 + first + {{.}}u * sets) * pc.KV + group.x) * quads + c;
    dk[at] = k{{.}};
    dv[at] = v{{.}};
  }
{{- end}}
}
{{end}}

{{define "step"}}let w = weight[n * 8u + first + {{.}}u * sets]; v{{.}} = fma(vec4<f32>(w.x), z, v{{.}}); k{{.}} = fma(vec4<f32>(w.y), y, k{{.}});{{end}}
