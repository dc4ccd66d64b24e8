// Definitions that every template file may use.
//
// wide: 8 floats, in memory as one vec4<u64>, which lavapipe stores in one go, or as two texels.
// NAME_at(i) loads them from a binding as a value of type Eight; lane "x" e is element e of
// it. join() is what a body stores.
{{define "wide"}}
struct Eight {
  lo: vec4<f32>, // elements 0 2 4 6
  hi: vec4<f32>, // elements 1 3 5 7
}
fn eight(v: vec4<u64>) -> Eight { return Eight(even(v), odd(v)); }
fn eight_texels(a: vec4<u32>, b: vec4<u32>) -> Eight {
  return Eight(bitcast<vec4<f32>>(vec4<u32>(a.xz, b.xz)), bitcast<vec4<f32>>(vec4<u32>(a.yw, b.yw)));
}
fn even(v: vec4<u64>) -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(v)); }
fn odd(v: vec4<u64>) -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(v >> vec4<u32>(32u))); }
fn join(lo: vec4<f32>, hi: vec4<f32>) -> vec4<u64> {
  return vec4<u64>(bitcast<vec4<u32>>(lo)) | (vec4<u64>(bitcast<vec4<u32>>(hi)) << vec4<u32>(32u));
}
{{end}}
{{/* tree N: total(i, v) is the sum of the N values v of a workgroup, added by
halving; every invocation i calls it and gets the sum. */}}
{{define "tree"}}
var<workgroup> partial: array<f32, {{.}}>;
fn total(i: u32, v: f32) -> f32 {
  partial[i] = v;
  for (var s = {{div . 2}}u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) { partial[i] += partial[i + s]; }
  }
  workgroupBarrier();
  let sum = partial[0];
  workgroupBarrier();
  return sum;
}
{{end}}
{{/* ln: the logarithm of a normal x > 0 to about 1 ulp. WGSL's log may be off by
2^-21 near 1, lavapipe's by 12 ulp, and a log-prob is a difference. x = m*2^e with
m in [sqrt(1/2), sqrt(2)), ln(1+f) = 2 atanh(f/(2+f)) by its series, whose next
term is below 2^-28; ln 2 in two parts, the first exact in products (W. Cody and
W. Waite, Software Manual for the Elementary Functions, 1980, chapter 5). */}}
{{define "ln"}}
fn ln_scaled(e: f32, f: f32) -> f32 {
  let s = f / (2.0 + f);
  let z = s * s;
  let series = z * fma(z, fma(z, fma(z, 0.22222222, 0.28571429), 0.4), 0.66666667);
  return e * 0.693359375 + (fma(s, series, s + s) + e * -2.12194440e-4);
}
fn ln(x: f32) -> f32 {
  let bits = bitcast<i32>(x);
  let e = (bits - 0x3f3504f3) >> 23u;
  return ln_scaled(f32(e), bitcast<f32>(bits - (e << 23u)) - 1.0);
}
{{end}}
{{/* bf16: pairs of bf16 in a u32, the element of even column in the low half. quad()
takes 4 that lie side by side apart, pack() is the inverse; element() is number i of
an array. */}}
{{define "bf16"}}
const upper = 0xffff0000u; // where the bits of a bf16 stand in an f32
fn quad(v: vec2<u32>) -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(v.x << 16u, v.x & upper, v.y << 16u, v.y & upper)); }
fn element(pair: u32, i: u32) -> f32 { return bitcast<f32>(select(pair & upper, pair << 16u, i % 2u == 0u)); }
// The bits of an f32 that is rounded to bf16 are in the upper half of what this
// returns: to the nearest, ties to the even one; a NaN is made quiet.
fn nearest(x: vec4<u32>) -> vec4<u32> {
  let sum = x + vec4<u32>(0x7fffu) + ((x >> vec4<u32>(16u)) & vec4<u32>(1u));
  return select(sum, x | vec4<u32>(0x400000u), (x & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}
fn pack(v: vec4<u32>) -> vec2<u32> {
  let r = nearest(v);
  return (r.xz >> vec2<u32>(16u)) | (r.yw & vec2<u32>(upper));
}
{{end}}
{{/* wide_bf16: 8 bf16 as one vec2<u64>, or as one texel. eight_pairs takes its words apart;
pairs() is the inverse. */}}
{{define "wide_bf16"}}
{{template "bf16"}}
fn eight_bf16(v: vec2<u64>) -> Eight {
  let a = vec2<u32>(v);
  let b = vec2<u32>(v >> vec2<u32>(32u));
  return eight_pairs(vec4<u32>(a.x, b.x, a.y, b.y));
}
fn eight_pairs(v: vec4<u32>) -> Eight {
  return Eight(bitcast<vec4<f32>>(v << vec4<u32>(16u)), bitcast<vec4<f32>>(v & vec4<u32>(upper)));
}
fn pairs(even: vec4<u32>, odd: vec4<u32>) -> vec4<u32> {
  return (nearest(even) >> vec4<u32>(16u)) | (nearest(odd) & vec4<u32>(upper));
}
{{end}}
{{/* blocks BITS: signed numbers of 8 or 4 bits with a factor for 32 of them, which an
expression multiplies once they are f32. element() is number i of an array, quad() takes
4 that lie side by side apart (of 8 in a word those of index i, in units of 4). v.y of quad() is the factor's bits. */}}
{{define "blocks"}}
fn number(bits: u32) -> f32 { return f32(bitcast<i32>(bits) >> {{sub 32 .}}u); }
fn numbers(bits: vec4<u32>) -> vec4<f32> { return vec4<f32>(bitcast<vec4<i32>>(bits) >> vec4<u32>({{sub 32 .}}u)); }
{{if eq . 8}}
fn element(word: u32, i: u32) -> f32 { return number(word << (24u - i % 4u * 8u)); }
fn quad(v: vec2<u32>) -> vec4<f32> { return numbers(vec4<u32>(v.x) << vec4<u32>(24u, 16u, 8u, 0u)) * bitcast<f32>(v.y); }
{{else}}
fn element(word: u32, i: u32) -> f32 { return number(word << (28u - i % 8u * 4u)); }
fn quad(v: vec2<u32>, i: u32) -> vec4<f32> {
  return numbers(vec4<u32>(v.x >> (i % 2u * 16u)) << vec4<u32>(28u, 24u, 20u, 16u)) * bitcast<f32>(v.y);
}
{{end}}{{end}}
{{/* wide_blocks BITS: 8 numbers of a block as a value of type Eight. */}}
{{define "wide_blocks"}}
{{template "blocks" .}}
{{if eq . 8}}
fn eight_q8_0(v: vec2<u32>, scale: f32) -> Eight {
  return Eight(numbers(v.xxyy << vec4<u32>(24u, 8u, 24u, 8u)) * scale, numbers(v.xxyy << vec4<u32>(16u, 0u, 16u, 0u)) * scale);
}
{{else}}
fn eight_q4_0(v: u32, scale: f32) -> Eight {
  return Eight(numbers(vec4<u32>(v) << vec4<u32>(28u, 20u, 12u, 4u)) * scale, numbers(vec4<u32>(v) << vec4<u32>(24u, 16u, 8u, 0u)) * scale);
}
{{end}}{{end}}
{{/* greatest: the largest x of the 8 lanes of a TL workgroup. */}}
{{define "greatest"}}
fn greatest(x: u32) -> u32 {
  var y = x;
{{- range list 1 2 4}}
  y = max(y, subgroupShuffleXor(y, {{.}}u));
{{- end}}
  return y;
}
{{end}}
