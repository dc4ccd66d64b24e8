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
// Order: sum = MMA(a, b, sum) from 0 over blocks of 16 k ascending (8 in T2x8), then zeros
// up to a multiple of depth, which change nothing, then one multiplication by the inverse
// power of two, then one addition to r, or to c in matmul_nn_acc. Within an MMA the order is
// the device's; that it is the same for every element and tile is what package gpu tests
// when a device is opened, with b in f32 (matrix.go).
//
// mma: a workgroup has rows x cols of c, down x across subgroups with as many blocks
// each, and goes through k in steps of depth. Both operands lie in workgroup memory as
// they lie in memory, 4 to a vector, each line padded by two vectors so that rows that are
// read at once begin in other banks. The next step is loaded into registers while this one
// is multiplied. naga lets no MMA stand under an if, hence the zeros.
//
// Variants tried, NVIDIA H100 (driver 580), b in bf16, best of 4, us; all give the same bits:
// NT 4096x9728x896, NT 4096x896x4864, NN 4096x896x9728, NT 256x9728x896, NT 256x896x4864,
// NT 1x896x4864. 64x64, rounding on bits, f16 stored one by one, and a scan of the rows of a
// with one load in flight (as it was): 1769, 942, 1907, 141, 210, 106.
// Stored 4 at a time, many loads in flight in the scan: 64x64 897, 505, 1141, 78, 141, 149;
// 128x128 with 8 subgroups 668, 387, 1111, 80, 240, 209; 32x32 1701, 887, 1794, 126, 94, 70.
// With two buffers in turns and one barrier a step: 64x64 928, 501, 1203, 82, 146, 137;
// 64x128 with 8 subgroups 784, 446, 878, 77, 146, 139; 32x32 1723, 841, 1738, 127, 86, 66.
// Rounding left to the conversion, one buffer: 64x64 796, 440, 927, 73, 119, 112; 64x128 with
// 8 subgroups 690, 408, 780, 75, 132, 123; 128x128 with 8 subgroups 756, 465, 951, 89, 167,
// 159, with 4 (kept for many rows) 616, 317, 672, 68, 179, 167; 32x32 (kept for few) 1294, 670,
// 1429, 96, 70, 54; 16x64 1331, 690, 1424, 96, 77, 57. Steps unrolled in the text: 128x128 with
// 8 subgroups 809, 481, 933, 92, 205, 177; the others as before.
// AMD's compiler spills 13 registers of the 128x128 in f32 with steps of 32 (RDNA3, Mesa 25.0), so
// there they are of 16, which no card was timed with; of the others it spills none.
// matmul_nt_residual has few columns in models, where 32x32 is as fast for few rows as 16x64.
// What is left in a step is mostly the conversion of both operands, which each workgroup
// repeats; it would go away with operands that lie in memory as f16.
//
// Source: own; VK_KHR_cooperative_matrix,
// https://registry.khronos.org/vulkan/specs/latest/man/html/VK_KHR_cooperative_matrix.html.
//
//variant matmul_nt* T2 r16 tile=64,16 max=0,16 use=mma block=16 lanes=32 down=1 across=4 rows=16 cols=64 depth=64
//variant matmul_nt* T2 r32 tile=32,32 max=2048,256 use=mma block=16 lanes=32 down=2 across=2 rows=32 cols=32 depth=64
//variant matmul_nt* T2 r64 tile=64,64 max=0,256 max=2048,1024 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nt T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=16
//variant matmul_nt_bf16 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt_q8_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt_q4_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt_residual* T2 r32 tile=32,32 max=0,16 max=2048,256 use=mma block=16 lanes=32 down=2 across=2 rows=32 cols=32 depth=64
//variant matmul_nt_residual* T2 r64 tile=64,64 max=0,256 max=2048,1024 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nt_residual T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=16
//variant matmul_nt_residual_bf16 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt_residual_q8_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt_residual_q4_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn* T2 r64 tile=64,64 max=0,256 max=2048,1024 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nn T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=16
//variant matmul_nn_bf16 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn_q8_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn_q4_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn_acc* T2 r64 tile=64,64 max=0,256 max=2048,1024 use=mma block=16 lanes=32 down=2 across=2 rows=64 cols=64 depth=32
//variant matmul_nn_acc T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=16
//variant matmul_nn_acc_bf16 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn_acc_q8_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nn_acc_q4_0 T2 r128 tile=128,128 use=mma block=16 lanes=32 down=2 across=2 rows=128 cols=128 depth=32
//variant matmul_nt* T2x8 r8 tile=32,8 max=0,8 use=mma block=8 lanes=8 down=1 across=4 rows=8 cols=32 depth=32
//variant matmul_nt* T2x8 r32 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nt_residual* T2x8 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nn* T2x8 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16
//variant matmul_nn_acc* T2x8 tile=32,32 use=mma block=8 lanes=8 down=2 across=2 rows=32 cols=32 depth=16

{{define "mma"}}
{{- $open := or (and (blocks "b") "fetch(") "b["}}{{$close := or (and (blocks "b") ")") "]"}}
{{- $threads := mul .lanes (mul .down .across)}}
{{- $along_b := or (eq .Kernel "matmul_nt") (eq .Kernel "matmul_nt_residual")}}
{{- $quads := div .depth 4}}{{$wb := div .cols 4}}{{$line_b := or (and $along_b $quads) $wb}}
{{- $stride_a := add $quads 2}}{{$stride_b := add $line_b 2}}
{{- $step_a := div $threads $quads}}{{$loads_a := div .rows $step_a}}
{{- $step_b := div $threads $line_b}}{{$loads_b := div (or (and $along_b .cols) .depth) $step_b}}
{{- $each := div .rows (mul .down .block)}}{{$wide := div .cols (mul .across .block)}}
{{- $scanners := div $threads 8}}{{$scans := div .rows $scanners}}{{$ahead := div 32 $scans}}
{{- $block := mul .block .block}}
{{- $mat := print "coop_mat" .block "x" .block}}
enable f16;
enable wgpu_cooperative_matrix;
{{params}}
{{bind "a" "vec4<f32>"}}
{{if bf16 "b"}}{{template "bf16"}}{{bind "b" "vec2<u32>"}}{{else if blocks "b"}}{{template "fetch"}}{{else}}{{bind "b" "vec4<f32>"}}{{end}}
{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
var<workgroup> greatest: array<atomic<u32>, {{.rows}}>; // magnitudes of the rows of a, as bits
var<workgroup> tile_a: array<vec4<f16>, {{mul .rows $stride_a}}>; // [{{.rows}}][{{$quads}}+2]
var<workgroup> tile_b: array<vec4<f16>, {{mul (or (and $along_b .cols) .depth) $stride_b}}>; // [{{or (and $along_b .cols) .depth}}][{{$line_b}}+2]
var<workgroup> block: array<f32, {{mul (mul .down .across) $block}}>; // of c, one for each subgroup
// The exponent of row i of a, with its bias, where 2^(141-e) and 2^(e-149) are normal.
fn exponent(i: u32) -> u32 { return clamp(atomicLoad(&greatest[i]) >> 23u, 23u, 254u); }
// The nearest f16, ties to even: package spirv has the module round so. What is below 2^-14 once it
// has 11 bits, so below 2^-14 - 2^-26, becomes 0.
fn halves(v: vec4<f32>) -> vec4<f16> { return vec4<f16>(select(v, vec4<f32>(), abs(v) < vec4<f32>(0x1.ffep-15))); }
// put brings a block into c, from place start of block to row i0 of the tile at m0 and to column n0. As a function it stands
// once in a module.
fn put(m0: u32, i0: u32, n0: u32, start: u32, lane: u32) {
  for (var e = lane; e < {{$block}}u; e += {{.lanes}}u) {
    let i = i0 + e / {{.block}}u;
    let n = n0 + e % {{.block}}u;
    if (m0 + i < pc.M && n < pc.N) {
      let at = (m0 + i) * pc.ldc + n;
      c[at] = {{if eq .Kernel "matmul_nt_residual"}}r[at] + {{else if eq .Kernel "matmul_nn_acc"}}c[at] + {{end}}block[start + e] * bitcast<f32>((exponent(i) - 22u) << 23u);
    }
  }
}
@compute @workgroup_size({{$threads}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  for (var i = thread; i < {{.rows}}u; i += {{$threads}}u) { atomicStore(&greatest[i], 0u); }
  workgroupBarrier();
  // 8 neighbours read a row, with {{mul $scans $ahead}} loads of each in flight. Past K the last quad is read again.
{{range $i := seq $scans}}  let scan{{$i}} = min(m0 + thread / 8u + {{mul $i $scanners}}u, pc.M - 1u) * (pc.lda / 4u);
  var most{{$i}} = vec4<u32>();
{{end}}  for (var q = thread % 8u; q < pc.K / 4u; q += {{mul 8 $ahead}}u) {
{{range $j := seq $ahead}}    let q{{$j}} = min(q + {{mul $j 8}}u, pc.K / 4u - 1u);
{{range $i := seq $scans}}    most{{$i}} = max(most{{$i}}, bitcast<vec4<u32>>(a[scan{{$i}} + q{{$j}}]) & vec4<u32>(0x7fffffffu));
{{end}}{{end}}  }
{{range $i := seq $scans}}  atomicMax(&greatest[thread / 8u + {{mul $i $scanners}}u], max(max(most{{$i}}.x, most{{$i}}.y), max(most{{$i}}.z, most{{$i}}.w)));
{{end}}  workgroupBarrier();
  // An invocation brings quad a_quad of rows a_row, a_row + {{$step_a}}, ... of a into tile_a, and likewise of b. Past
  // the edges of M and N the last row or column is read; it reaches no result.
  let a_quad = thread % {{$quads}}u;
  let a_row = thread / {{$quads}}u;
  let a_to = a_row * {{$stride_a}}u + a_quad;
  var a_from = min(a_quad, pc.K / 4u - 1u);
{{range $s := seq $loads_a}}{{$row := print "a_row + " (mul $s $step_a) "u"}}  let a{{$s}}_at = min(m0 + {{$row}}, pc.M - 1u) * (pc.lda / 4u);
  let a{{$s}}_scale = bitcast<f32>((268u - exponent({{$row}})) << 23u);
  var a{{$s}} = a[a{{$s}}_at + a_from];
{{end}}  let b_quad = thread % {{$line_b}}u;
  let b_row = thread / {{$line_b}}u;
  let b_to = b_row * {{$stride_b}}u + b_quad;
{{if not $along_b}}  let b_at = min(n0 / 4u + b_quad, pc.N / 4u - 1u);
{{end}}{{range $s := seq $loads_b}}{{$row := print "b_row + " (mul $s $step_b) "u"}}
{{- if $along_b}}  let b{{$s}}_at = min(n0 + {{$row}}, pc.N - 1u) * (pc.ldb / 4u);
  var b{{$s}} = {{$open}}b{{$s}}_at + a_from{{$close}};
{{else}}  var b{{$s}} = {{$open}}b_at + min({{$row}}, pc.K - 1u) * (pc.ldb / 4u){{$close}};
{{end}}{{end}}
{{- range $i := seq $each}}{{range $j := seq $wide}}  var c{{$i}}_{{$j}} = {{$mat}}<f32, C>();
{{end}}{{end}}  let i0 = subgroup / {{.across}}u * {{mul $each .block}}u;
  let j0 = subgroup % {{.across}}u * {{mul $wide .block}}u;
  for (var k = 0u; k < pc.K; k += {{.depth}}u) {
    workgroupBarrier();
{{range $s := seq $loads_a}}    tile_a[a_to + {{mul (mul $s $step_a) $stride_a}}u] = select(vec4<f16>(), halves(a{{$s}} * a{{$s}}_scale), k + a_quad * 4u < pc.K);
{{end}}{{range $s := seq $loads_b}}    tile_b[b_to + {{mul (mul $s $step_b) $stride_b}}u] = select(vec4<f16>(), halves({{if lt (bits "b") 32}}quad(b{{$s}}{{if eq (bits "b") 4}}, b_quad{{end}}){{else}}b{{$s}}{{end}} * 256.0), k + {{if $along_b}}b_quad * 4u{{else}}b_row + {{mul $s $step_b}}u{{end}} < pc.K);
{{end}}    workgroupBarrier();
    // While this step is multiplied, the next one is fetched.
    let next = k + {{.depth}}u;
    a_from = min(next / 4u + a_quad, pc.K / 4u - 1u);
{{range $s := seq $loads_a}}    a{{$s}} = a[a{{$s}}_at + a_from];
{{end}}{{range $s := seq $loads_b}}    b{{$s}} = {{$open}}{{if $along_b}}b{{$s}}_at + a_from{{else}}b_at + min(next + b_row + {{mul $s $step_b}}u, pc.K - 1u) * (pc.ldb / 4u){{end}}{{$close}};
{{end}}    for (var p = 0u; p < {{.depth}}u; p += {{.block}}u) {
{{range $i := seq $each}}      let x{{$i}} = coopLoadT<{{$mat}}<f16, A>>(&tile_a[(i0 + {{mul $i $.block}}u) * {{$stride_a}}u + p / 4u], {{$stride_a}}u);
{{end}}{{range $j := seq $wide}}      let y{{$j}} = {{if $along_b}}coopLoad<{{$mat}}<f16, B>>(&tile_b[(j0 + {{mul $j $.block}}u) * {{$stride_b}}u + p / 4u], {{$stride_b}}u){{else}}coopLoadT<{{$mat}}<f16, B>>(&tile_b[p * {{$stride_b}}u + j0 / 4u + {{div (mul $j $.block) 4}}u], {{$stride_b}}u){{end}};
{{range $i := seq $each}}      c{{$i}}_{{$j}} = coopMultiplyAdd(x{{$i}}, y{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}    }
  }
{{range $i := seq $each}}{{range $j := seq $wide}}  subgroupBarrier();
  coopStoreT(c{{$i}}_{{$j}}, &block[subgroup * {{$block}}u], {{$.block}}u);
  subgroupBarrier();
  put(m0, i0 + {{mul $i $.block}}u, n0 + j0 + {{mul $j $.block}}u, subgroup * {{$block}}u, lane);
{{end}}{{end}}}
{{end}}

{{define "fetch"}}{{template "blocks" (bits "b")}}{{bind "b" "u32"}}
{{bind "scale" "f32"}}
// 4 numbers and their factor, as in matmul_t1.wgsl.
fn fetch(i: u32) -> vec2<u32> { return vec2<u32>(b[i{{if eq (bits "b") 4}} / 2u{{end}}], bitcast<u32>(scale[i / 8u])); }
{{end}}
