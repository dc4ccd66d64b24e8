// Matrix products of tiers T2 and T2x8, by matrix cores: matmul_nt, matmul_nt_residual,
// matmul_nn, matmul_nn_acc; with b in bf16 matmul_nt_bf16, matmul_nt_residual_bf16,
// matmul_nn_bf16, matmul_nn_acc_bf16; with b in blocks matmul_nt_q8_0,
// matmul_nt_residual_q8_0, matmul_nn_q8_0, matmul_nn_acc_q8_0 and matmul_nt_q4_0,
// matmul_nt_residual_q4_0, matmul_nn_q4_0, matmul_nn_acc_q4_0.
//
// Bindings: a, b, scale, c, r and the extent as in matmul.wgsl.
//
// Arithmetic: operands are f16, sums f32. A row of a is multiplied by the power of two
// that brings its greatest magnitude into [2^14, 2^15), b by 2^8; both are rounded to 11
// significant bits, ties to even, what is then below 2^-14 becomes 0, and what f16 cannot
// hold (in b, 255.9375 and more) infinite. So no number is subnormal, which devices may
// treat in their own ways, and gradients of any size keep their 11 bits.
//
// Order: sum = MMA(a, b, sum) from 0 over blocks of 16 k ascending (8 in T2x8), the last
// filled up with zeros, then one multiplication by the inverse power of two, then one
// addition to r, or to c in matmul_nn_acc. Within an MMA the order is the device's; that
// it is the same for every element, tile and shader is what package gpu tests when a
// device is opened (matrix.go).
//
// mma: a workgroup has rows x cols of c, down x across subgroups with as many blocks
// each, and goes through k in steps of depth. Both operands lie in workgroup memory as
// they lie in memory. The next step is loaded into registers while this one is multiplied.
// naga lets no MMA stand under an if, hence the loop over the blocks of a step.
//
// Variants tried: none, no card has run this. The tiles are those for which AMD's
// compiler spills nothing (RDNA3, Mesa 25.0).
//
// Source: own; VK_KHR_cooperative_matrix,
// https://registry.khronos.org/vulkan/specs/latest/man/html/VK_KHR_cooperative_matrix.html.
//
//variant matmul_nt* T2 r16 tile=64,16 max=0,16 use=mma block=16 lanes=32 down=1 across=4 rows=16 cols=64 depth=64
//variant matmul_nt* T2 r64 tile=64,64 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nt_residual* T2 r16 tile=64,16 max=0,16 use=mma block=16 lanes=32 down=1 across=4 rows=16 cols=64 depth=64
//variant matmul_nt_residual* T2 r64 tile=64,64 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nn* T2 tile=64,64 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nn_acc* T2 tile=64,64 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nt* T2x8 r8 tile=32,8 max=0,8 use=mma block=8 lanes=8 down=1 across=4 rows=8 cols=32 depth=32
//variant matmul_nt* T2x8 r32 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nt_residual* T2x8 r8 tile=32,8 max=0,8 use=mma block=8 lanes=8 down=1 across=4 rows=8 cols=32 depth=32
//variant matmul_nt_residual* T2x8 r32 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nn* T2x8 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nn_acc* T2x8 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16

{{define "mma"}}
{{- $open := or (and (blocks "b") "fetch(") "b["}}{{$close := or (and (blocks "b") ")") "]"}}
{{- $subgroups := mul .down .across}}{{$threads := mul .lanes $subgroups}}
{{- $along_b := or (eq .Kernel "matmul_nt") (eq .Kernel "matmul_nt_residual")}}
{{- $quads := div .depth 4}}{{$wb := div .cols 4}}
{{- $stride_a := add .depth 8}}{{$stride_b := add (or (and $along_b .depth) .cols) 8}}
{{- $loads_a := div (mul .rows $quads) $threads}}{{$loads_b := div (mul .cols $quads) $threads}}
{{- $each := div .rows (mul .down .block)}}{{$wide := div .cols (mul .across .block)}}
{{- $mat := print "coop_mat" .block "x" .block}}
enable f16;
enable wgpu_cooperative_matrix;
{{params}}
{{bind "a" "vec4<f32>"}}
{{if bf16 "b"}}{{template "bf16"}}{{bind "b" "vec2<u32>"}}{{else if blocks "b"}}{{template "fetch"}}{{else}}{{bind "b" "vec4<f32>"}}{{end}}
{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
{{template "halves"}}
var<workgroup> greatest: array<atomic<u32>, {{.rows}}>; // magnitudes of the rows of a, as bits
var<workgroup> tile_a: array<f16, {{mul .rows $stride_a}}>; // [{{.rows}}][{{.depth}}+8]
var<workgroup> tile_b: array<f16, {{mul (or (and $along_b .cols) .depth) $stride_b}}>; // {{if $along_b}}[{{.cols}}][{{.depth}}+8]{{else}}[{{.depth}}][{{.cols}}+8]{{end}}
var<workgroup> tile_c: array<f32, {{mul .rows .cols}}>; // [{{.rows}}][{{.cols}}]
// The exponent of row i of a, with its bias, where 2^(141-e) and 2^(e-149) are normal.
fn exponent(i: u32) -> u32 { return clamp(atomicLoad(&greatest[i]) >> 23u, 23u, 254u); }
@compute @workgroup_size({{$threads}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  for (var i = thread; i < {{.rows}}u; i += {{$threads}}u) { atomicStore(&greatest[i], 0u); }
  workgroupBarrier();
  for (var i = thread / {{.lanes}}u; i < {{.rows}}u; i += {{$subgroups}}u) {
    let start = min(m0 + i, pc.M - 1u) * (pc.lda / 4u);
    var most = vec4<u32>();
    for (var q = thread % {{.lanes}}u; q < pc.K / 4u; q += {{.lanes}}u) { most = max(most, bitcast<vec4<u32>>(a[start + q]) & vec4<u32>(0x7fffffffu)); }
    atomicMax(&greatest[i], max(max(most.x, most.y), max(most.z, most.w)));
  }
  workgroupBarrier();
  // Past the edges of M and N the last row or column is read; it reaches no result.
{{range $s := seq $loads_a}}{{$at := print "(thread + " (mul $s $threads) "u)"}}  let a{{$s}}_at = min(m0 + {{$at}} / {{$quads}}u, pc.M - 1u) * (pc.lda / 4u);
  let a{{$s}}_k = {{$at}} % {{$quads}}u;
  let a{{$s}}_scale = bitcast<f32>((268u - exponent({{$at}} / {{$quads}}u)) << 23u);
  var a{{$s}} = a[a{{$s}}_at + min(a{{$s}}_k, pc.K / 4u - 1u)];
{{end}}{{range $s := seq $loads_b}}{{$at := print "(thread + " (mul $s $threads) "u)"}}
{{- if $along_b}}  let b{{$s}}_at = min(n0 + {{$at}} / {{$quads}}u, pc.N - 1u) * (pc.ldb / 4u);
  let b{{$s}}_k = {{$at}} % {{$quads}}u;
{{else}}  let b{{$s}}_at = min(n0 / 4u + {{$at}} % {{$wb}}u, pc.N / 4u - 1u);
  let b{{$s}}_k = {{$at}} / {{$wb}}u;
{{end}}  var b{{$s}} = {{$open}}b{{$s}}_at + {{if $along_b}}min(b{{$s}}_k, pc.K / 4u - 1u){{else}}min(b{{$s}}_k, pc.K - 1u) * (pc.ldb / 4u){{end}}{{$close}};
{{end}}
{{- range $i := seq $each}}{{range $j := seq $wide}}  var c{{$i}}_{{$j}} = {{$mat}}<f32, C>();
{{end}}{{end}}  let i0 = subgroup / {{.across}}u * {{mul $each .block}}u;
  let j0 = subgroup % {{.across}}u * {{mul $wide .block}}u;
  for (var k = 0u; k < pc.K; k += {{.depth}}u) {
    workgroupBarrier();
{{range $s := seq $loads_a}}{{$at := print "(thread + " (mul $s $threads) "u)"}}    {
      let to = {{$at}} / {{$quads}}u * {{$stride_a}}u + a{{$s}}_k * 4u;
      let h = select(vec4<f16>(), halves(a{{$s}} * a{{$s}}_scale), k + a{{$s}}_k * 4u < pc.K);
{{range $e := seq 4}}      tile_a[to + {{$e}}u] = h.{{slice "xyzw" $e (add $e 1)}};
{{end}}    }
{{end}}{{range $s := seq $loads_b}}{{$at := print "(thread + " (mul $s $threads) "u)"}}    {
      let to = {{if $along_b}}{{$at}} / {{$quads}}u * {{$stride_b}}u + b{{$s}}_k * 4u{{else}}b{{$s}}_k * {{$stride_b}}u + {{$at}} % {{$wb}}u * 4u{{end}};
      let h = select(vec4<f16>(), halves({{if lt (bits "b") 32}}quad(b{{$s}}{{if eq (bits "b") 4}}, b{{$s}}_{{if $along_b}}k{{else}}at{{end}}{{end}}){{else}}b{{$s}}{{end}} * 256.0), k + b{{$s}}_k{{if $along_b}} * 4u{{end}} < pc.K);
{{range $e := seq 4}}      tile_b[to + {{$e}}u] = h.{{slice "xyzw" $e (add $e 1)}};
{{end}}    }
{{end}}    workgroupBarrier();
    // While this step is multiplied, the next one is fetched.
    let next = k + {{.depth}}u;
{{range $s := seq $loads_a}}    a{{$s}} = a[a{{$s}}_at + min(next / 4u + a{{$s}}_k, pc.K / 4u - 1u)];
{{end}}{{range $s := seq $loads_b}}    b{{$s}} = {{$open}}b{{$s}}_at + {{if $along_b}}min(next / 4u + b{{$s}}_k, pc.K / 4u - 1u){{else}}min(next + b{{$s}}_k, pc.K - 1u) * (pc.ldb / 4u){{end}}{{$close}};
{{end}}    let last = min({{.depth}}u, pc.K - k);
    for (var p = 0u; p < last; p += {{.block}}u) {
{{range $i := seq $each}}      let x{{$i}} = coopLoadT<{{$mat}}<f16, A>>(&tile_a[(i0 + {{mul $i $.block}}u) * {{$stride_a}}u + p], {{$stride_a}}u);
{{end}}{{range $j := seq $wide}}      let y{{$j}} = {{if $along_b}}coopLoad<{{$mat}}<f16, B>>(&tile_b[(j0 + {{mul $j $.block}}u) * {{$stride_b}}u + p], {{$stride_b}}u){{else}}coopLoadT<{{$mat}}<f16, B>>(&tile_b[p * {{$stride_b}}u + j0 + {{mul $j $.block}}u], {{$stride_b}}u){{end}};
{{range $i := seq $each}}      c{{$i}}_{{$j}} = coopMultiplyAdd(x{{$i}}, y{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}    }
  }
{{range $i := seq $each}}{{range $j := seq $wide}}  coopStoreT(c{{$i}}_{{$j}}, &tile_c[(i0 + {{mul $i $.block}}u) * {{$.cols}}u + j0 + {{mul $j $.block}}u], {{$.cols}}u);
{{end}}{{end}}  workgroupBarrier();
  for (var e = thread; e < {{mul .rows .cols}}u; e += {{$threads}}u) {
    let m = m0 + e / {{.cols}}u;
    let n = n0 + e % {{.cols}}u;
    if (m < pc.M && n < pc.N) {
      let at = m * pc.ldc + n;
      c[at] = {{if eq .Kernel "matmul_nt_residual"}}r[at] + {{else if eq .Kernel "matmul_nn_acc"}}c[at] + {{end}}tile_c[e] * bitcast<f32>((exponent(e / {{.cols}}u) - 22u) << 23u);
    }
  }
}
{{end}}

{{define "fetch"}}{{template "blocks" (bits "b")}}{{bind "b" "u32"}}
{{bind "scale" "f32"}}
// 4 numbers and their factor, as in matmul_t1.wgsl.
fn fetch(i: u32) -> vec2<u32> { return vec2<u32>(b[i{{if eq (bits "b") 4}} / 2u{{end}}], bitcast<u32>(scale[i / 8u])); }
{{end}}

{{define "halves"}}
// Rounds on the bits: how a conversion rounds is the device's.
fn halves(v: vec4<f32>) -> vec4<f16> {
  let bits = bitcast<vec4<u32>>(v);
  let sign = bits & vec4<u32>(0x80000000u);
  let size = bits ^ sign;
  let near = (size + vec4<u32>(0xfffu) + ((size >> vec4<u32>(13u)) & vec4<u32>(1u))) & vec4<u32>(0xffffe000u);
  let kept = select(vec4<u32>(), near, near >= vec4<u32>(0x38800000u)); // 2^-14
  let held = select(kept, vec4<u32>(0x7f800000u), near >= vec4<u32>(0x47800000u)); // 2^16: infinite
  return vec4<f16>(bitcast<vec4<f32>>(select(held, vec4<u32>(0x7fc00000u), size > vec4<u32>(0x7f800000u)) | sign));
}
{{end}}
