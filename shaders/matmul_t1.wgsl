// Matrix products of tier T1: matmul_nt, matmul_nt_residual, matmul_nn, matmul_nn_acc,
// matmul_tn_acc; with b in bf16 matmul_nt_bf16, matmul_nt_residual_bf16,
// matmul_nn_bf16, matmul_nn_acc_bf16; with b in blocks matmul_nt_q8_0,
// matmul_nt_residual_q8_0, matmul_nn_q8_0, matmul_nn_acc_q8_0 and matmul_nt_q4_0,
// matmul_nt_residual_q4_0, matmul_nn_q4_0, matmul_nn_acc_q4_0.
//
// Bindings: a, b, scale, c, r and the extent as in matmul.wgsl.
//
// Order: that of matmul.wgsl: one chain an element over k ascending, so the bits are
// those of T0.
//
// tiled: a workgroup has rows x cols of c and goes through k in steps of depth. Both
// operands lie in workgroup memory as they lie in memory, in vec4: an operand that is
// read along k keeps a row together, padded by one vec4 so that rows that are read at
// once begin in other banks; one that is read across k is [depth][rows]. The next step
// is loaded into registers while this one is multiplied. An invocation has each x wide
// elements of c, some rows and columns apart; of 16 neighbours, two and two read the
// same column and every other one the same row.
// few: for the rows of a decode step. All invocations bring 8 rows of b, depth numbers
// of each, into workgroup memory, two buffers in turns, and the first rows x cols of
// them walk the chains. So what is in flight does not depend on how few chains there
// are.
//
// Variants tried, NVIDIA H100 (f32 sheet 66.9 TFLOP/s, driver 580), best of 18, us:
// NT, 4096x4096x4096, 4096x9728x896, 4096x576x1536, 256x9728x896: T0's 64x64 4908, 2496,
// -, 223; 64x64 with 8x4 each in steps of 16 (kept) 3923, 2007, 295, 175; 64x128 in steps
// of 32 3525, 1843, 334, 198, but AMD's compiler spills 149 registers (RDNA3, Mesa 22.3),
// of 16 4525, 2153, 310, 180; 128x128 in steps of 32 3488, 1869, 334, 200, of 16 3828,
// 2030, 362, 217, of 8 with two buffers 4222, 2231, 396, 237; 64x64 in steps of 32 3910,
// 2006, 245, 166 (3 registers spilled on RDNA3), of 16 with two buffers 4622, 2331, 327,
// 195; 64x64 with 4x4 each 4403, 2255, 270, 160. Operands turned to [k][row] on their
// way: 64x64 3777, 1939, 247, 147; 128x128 3943, 2186, 380, 232, with 16x8 each 3800,
// 2140, 368, 221.
// Order of the invocations: interleaved, not 4 x 8 of 32 in rows: 64x64 NT 4197 to 3923,
// 128x128 NN 5353 to 4044; rows of 16 as 4 x 8.
// NN, the same shapes: T0 5118, 2606, -, -; 64x64 in steps of 16 (kept) 4032, 2067, 301,
// 178; 64x128 3741, 1911, 279, 166; 128x128 3696, 1962, 352, 209; 64x64 in steps of 32
// 4184, 2105, 255, 152.
// TN, 896x896x4096, 9728x896x4096, 576x576x4096, 96x256x5120: T0 357, 2467, -, -; 64x64
// 257, 1957, 156, 193; 64x128 247, 2161, 246, 305; 32x32 in steps of 64 232, 2491, 160,
// 129; 128x128 441, 2198, 440, 549; 128x128 with 16x8 each 533, 2390, 534, 662.
// NT of a decode step, rows x 896x896, x 9728x896, x 896x4864, x 65536x896:
// 1 row: T0 38, 40, 189, 129; few of 8 columns in steps of 256 6.3, 15, 18, 83, of 512
// 6.2, 21, 17, 120, of 128 with 64 invocations 7.0, 14, 22, 82; 4 columns 6.3, 24, 17,
// 133.
// 8 rows: T0 38, 55, 189, 130; steps of 128 7.0, 24, 23, 127, of 256 6.8, 27, 20, 145.
// 16 rows: T0 56, 92, 281, 282; few 8.3, 40, 30, 226; 16x32 12, 22, 52, 100.
// 64 rows: T0 56, 96, 285, 287; few 18, 135, 83, 884; 16x32 13, 64, 52, 373; 32x32 with
// 2x4 each 19, 51, 85, 296; 32x32 with 4x4 25, 52, 119, 262; 64x128 60, 61, 301, 200.
//
// Source: own; the tiling is the usual one, as in
// https://siboehm.com/articles/22/CUDA-MMM; lanes interleave as in the tiles of
// https://github.com/NVIDIA/cutlass (include/cutlass/gemm/threadblock, RowMajorInterleaved).
//
//variant matmul_nt* T1 r1 tile=8,1 max=0,1 use=few rows=1 cols=8 depth=256 threads=128
//variant matmul_nt* T1 r8 tile=8,8 max=0,8 use=few rows=8 cols=8 depth=128 threads=128
//variant matmul_nt* T1 r16 tile=32,16 max=0,16 max=2048,64 use=tiled rows=16 cols=32 each=2 wide=2 depth=64
//variant matmul_nt* T1 r32 tile=32,32 max=0,64 max=2048,256 use=tiled rows=32 cols=32 each=2 wide=4 depth=64
//variant matmul_nt* T1 r64 tile=64,64 use=tiled rows=64 cols=64 each=8 wide=4 depth=16
//variant matmul_nt_residual* T1 r1 tile=8,1 max=0,1 use=few rows=1 cols=8 depth=256 threads=128
//variant matmul_nt_residual* T1 r8 tile=8,8 max=0,8 use=few rows=8 cols=8 depth=128 threads=128
//variant matmul_nt_residual* T1 r16 tile=32,16 max=0,16 max=2048,64 use=tiled rows=16 cols=32 each=2 wide=2 depth=64
//variant matmul_nt_residual* T1 r32 tile=32,32 max=0,64 max=2048,256 use=tiled rows=32 cols=32 each=2 wide=4 depth=64
//variant matmul_nt_residual* T1 r64 tile=64,64 use=tiled rows=64 cols=64 each=8 wide=4 depth=16
//variant matmul_nn* T1 r32 tile=32,32 max=0,64 max=2048,256 use=tiled rows=32 cols=32 each=4 wide=4 depth=32
//variant matmul_nn* T1 r64 tile=64,64 use=tiled rows=64 cols=64 each=8 wide=4 depth=16
//variant matmul_nn_acc* T1 r32 tile=32,32 max=0,64 max=2048,256 use=tiled rows=32 cols=32 each=4 wide=4 depth=32
//variant matmul_nn_acc* T1 r64 tile=64,64 use=tiled rows=64 cols=64 each=8 wide=4 depth=16
//variant matmul_tn_acc T1 r32 tile=32,32 max=1024,1024 use=tiled rows=32 cols=32 each=4 wide=4 depth=64
//variant matmul_tn_acc T1 r64 tile=64,64 use=tiled rows=64 cols=64 each=8 wide=4 depth=32

{{define "tiled"}}
{{- $open := or (and (blocks "b") "fetch(") "b["}}{{$close := or (and (blocks "b") ")") "]"}}
{{- $threads := div (mul .rows .cols) (mul .each .wide)}}
{{- $tx := div .cols .wide}}{{$ty := div .rows .each}}
{{- $along_a := ne .Kernel "matmul_tn_acc"}}
{{- $along_b := or (eq .Kernel "matmul_nt") (eq .Kernel "matmul_nt_residual")}}
{{- $acc := or (eq .Kernel "matmul_nn_acc") (eq .Kernel "matmul_tn_acc")}}
{{- $quads := div .depth 4}}{{$stride := add $quads 1}}
{{- $wa := div .rows 4}}{{$wb := div .cols 4}}
{{- $loads_a := div (mul .rows $quads) $threads}}{{$loads_b := div (mul .cols $quads) $threads}}
{{params}}
{{bind "a" "vec4<f32>"}}
{{if bf16 "b"}}{{template "bf16"}}{{bind "b" "vec2<u32>"}}{{else if blocks "b"}}{{template "fetch"}}{{else}}{{bind "b" "vec4<f32>"}}{{end}}
{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" "f32"}}{{end}}
{{bind "c" (or (and $along_b "f32") "vec4<f32>")}}
{{if $along_a}}var<workgroup> tile_a: array<vec4<f32>, {{mul .rows $stride}}>; // [{{.rows}}][{{$quads}}+1]
{{else}}var<workgroup> tile_a: array<vec4<f32>, {{mul .depth $wa}}>; // [{{.depth}}][{{$wa}}]
{{end}}{{if $along_b}}var<workgroup> tile_b: array<vec4<f32>, {{mul .cols $stride}}>; // [{{.cols}}][{{$quads}}+1]
{{else}}var<workgroup> tile_b: array<vec4<f32>, {{mul .depth $wb}}>; // [{{.depth}}][{{$wb}}]
{{end}}@compute @workgroup_size({{$threads}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  // 32 neighbours have 4 x 8 places of the {{$ty}} x {{$tx}}, interleaved (header).
  let tx = thread / 2u % 8u + thread / 32u % {{div $tx 8}}u * 8u;
  let ty = thread % 2u + thread / 16u % 2u * 2u + thread / {{mul 4 $tx}}u * 4u;
  // Past the edges the last row, column or k is read; it reaches no result.
{{range $s := seq $loads_a}}{{$at := print "(thread + " (mul $s $threads) "u)"}}
{{- if $along_a}}  let a{{$s}}_at = min(m0 + {{$at}} / {{$quads}}u, pc.M - 1u) * (pc.lda / 4u);
  let a{{$s}}_k = {{$at}} % {{$quads}}u;
{{else}}  let a{{$s}}_at = min(m0 / 4u + {{$at}} % {{$wa}}u, pc.M / 4u - 1u);
  let a{{$s}}_k = {{$at}} / {{$wa}}u;
{{end}}  var a{{$s}} = vec4<f32>();
{{end}}{{range $s := seq $loads_b}}{{$at := print "(thread + " (mul $s $threads) "u)"}}
{{- if $along_b}}  let b{{$s}}_at = min(n0 + {{$at}} / {{$quads}}u, pc.N - 1u) * (pc.ldb / 4u);
  let b{{$s}}_k = {{$at}} % {{$quads}}u;
{{else}}  let b{{$s}}_at = min(n0 / 4u + {{$at}} % {{$wb}}u, pc.N / 4u - 1u);
  let b{{$s}}_k = {{$at}} / {{$wb}}u;
{{end}}  var b{{$s}} = {{if lt (bits "b") 32}}vec2<u32>(){{else}}vec4<f32>(){{end}};
{{end}}
{{- range $i := seq .each}}  let row{{$i}} = m0 + {{if $along_a}}ty + {{mul $i $ty}}u{{else}}(ty + {{mul (div $i 4) $ty}}u) * 4u + {{mod $i 4}}u{{end}};
{{end}}
{{- if $along_b}}{{range $j := seq .wide}}  let col{{$j}} = n0 + tx + {{mul $j $tx}}u;
{{range $i := seq $.each}}  var c{{$i}}_{{$j}} = 0.0;
{{end}}{{end}}{{else}}{{range $j := seq (div .wide 4)}}  let col{{$j}} = n0 / 4u + tx + {{mul $j $tx}}u;
{{range $i := seq $.each}}  var c{{$i}}_{{$j}} = {{if $acc}}c[min(row{{$i}}, pc.M - 1u) * (pc.ldc / 4u) + min(col{{$j}}, pc.N / 4u - 1u)]{{else}}vec4<f32>(){{end}};
{{end}}{{end}}{{end}}
  // While step k is fetched, the one before it is multiplied.
  for (var k = 0u; k < pc.K + {{.depth}}u; k += {{.depth}}u) {
    if (k < pc.K) {
{{range $s := seq $loads_a}}      a{{$s}} = a[a{{$s}}_at + {{if $along_a}}min(k / 4u + a{{$s}}_k, pc.K / 4u - 1u){{else}}min(k + a{{$s}}_k, pc.K - 1u) * (pc.lda / 4u){{end}}];
{{end}}{{range $s := seq $loads_b}}      b{{$s}} = {{$open}}b{{$s}}_at + {{if $along_b}}min(k / 4u + b{{$s}}_k, pc.K / 4u - 1u){{else}}min(k + b{{$s}}_k, pc.K - 1u) * (pc.ldb / 4u){{end}}{{$close}};
{{end}}    }
    if (k > 0u) {
      let last = min({{.depth}}u, pc.K + {{.depth}}u - k);
{{if $along_a}}      for (var q = 0u; q < last / 4u; q++) {
{{range $i := seq .each}}        let x{{$i}} = tile_a[(ty + {{mul $i $ty}}u) * {{$stride}}u + q];
{{end}}{{if $along_b}}{{range $j := seq .wide}}        let y{{$j}} = tile_b[(tx + {{mul $j $tx}}u) * {{$stride}}u + q];
{{range $n := seq 4}}{{$e := slice "xyzw" $n (add $n 1)}}{{range $i := seq $.each}}        c{{$i}}_{{$j}} = fma(x{{$i}}.{{$e}}, y{{$j}}.{{$e}}, c{{$i}}_{{$j}});
{{end}}{{end}}{{end}}{{else}}{{range $n := seq 4}}{{$e := slice "xyzw" $n (add $n 1)}}{{range $j := seq (div $.wide 4)}}        let y{{$e}}{{$j}} = tile_b[(q * 4u + {{$n}}u) * {{$wb}}u + tx + {{mul $j $tx}}u];
{{range $i := seq $.each}}        c{{$i}}_{{$j}} = fma(vec4<f32>(x{{$i}}.{{$e}}), y{{$e}}{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}{{end}}{{end}}      }
{{else}}      var p = 0u;
      var left = last;
      for (; left >= 4u; left -= 4u) {
{{range $e := seq 4}}{{template "outer" $}}        p++;
{{end}}      }
      for (; left > 0u; left--) {
{{template "outer" .}}        p++;
      }
{{end}}    }
    workgroupBarrier();
{{range $s := seq $loads_a}}{{$at := print "(thread + " (mul $s $threads) "u)"}}    tile_a[{{if $along_a}}{{$at}} / {{$quads}}u * {{$stride}}u + a{{$s}}_k{{else}}{{$at}}{{end}}] = a{{$s}};
{{end}}{{range $s := seq $loads_b}}{{$at := print "(thread + " (mul $s $threads) "u)"}}    tile_b[{{if $along_b}}{{$at}} / {{$quads}}u * {{$stride}}u + b{{$s}}_k{{else}}{{$at}}{{end}}] = {{if lt (bits "b") 32}}quad(b{{$s}}{{if eq (bits "b") 4}}, b{{$s}}_{{if $along_b}}k{{else}}at{{end}}{{end}}){{else}}b{{$s}}{{end}};
{{end}}    workgroupBarrier();
  }
{{if $along_b}}{{range $i := seq .each}}  if (row{{$i}} < pc.M) {
{{range $j := seq $.wide}}    if (col{{$j}} < pc.N) { c[row{{$i}} * pc.ldc + col{{$j}}] = {{if eq $.Kernel "matmul_nt_residual"}}r[row{{$i}} * pc.ldc + col{{$j}}] + {{end}}c{{$i}}_{{$j}}; }
{{end}}  }
{{end}}{{else}}{{range $i := seq .each}}  if (row{{$i}} < pc.M) {
{{range $j := seq (div $.wide 4)}}    if (col{{$j}} < pc.N / 4u) { c[row{{$i}} * (pc.ldc / 4u) + col{{$j}}] = c{{$i}}_{{$j}}; }
{{end}}  }
{{end}}{{end}}}
{{end}}

{{define "fetch"}}{{template "blocks" (bits "b")}}{{bind "b" "u32"}}
{{bind "scale" "f32"}}
// 4 numbers and their factor. They are taken apart when they are stored: before that
// nothing has to wait for them.
fn fetch(i: u32) -> vec2<u32> { return vec2<u32>(b[i{{if eq (bits "b") 4}} / 2u{{end}}], bitcast<u32>(scale[i / 8u])); }
{{end}}

{{define "outer"}}
{{- $tx := div .cols .wide}}{{$ty := div .rows .each}}        {
{{range $i := seq (div .each 4)}}          let x{{$i}} = tile_a[p * {{div $.rows 4}}u + ty + {{mul $i $ty}}u];
{{end}}{{range $j := seq (div .wide 4)}}          let y{{$j}} = tile_b[p * {{div $.cols 4}}u + tx + {{mul $j $tx}}u];
{{range $i := seq $.each}}          c{{$i}}_{{$j}} = fma(vec4<f32>(x{{div $i 4}}.{{slice "xyzw" (mod $i 4) (add (mod $i 4) 1)}}), y{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}        }
{{end}}

{{define "few"}}
{{- $open := or (and (blocks "b") "fetch(") "b["}}{{$close := or (and (blocks "b") ")") "]"}}
{{- $quads := div .depth 4}}{{$stride := add $quads 1}}
{{- $size_a := mul .rows $stride}}{{$size_b := mul .cols $stride}}
{{- $count_a := mul .rows $quads}}{{$count_b := mul .cols $quads}}
{{- $loads_a := div (add $count_a (sub .threads 1)) .threads}}{{$loads_b := div $count_b .threads}}
{{params}}
{{bind "a" "vec4<f32>"}}
{{if bf16 "b"}}{{template "bf16"}}{{bind "b" "vec2<u32>"}}{{else if blocks "b"}}{{template "fetch"}}{{else}}{{bind "b" "vec4<f32>"}}{{end}}
{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
var<workgroup> tile_a: array<vec4<f32>, {{mul 2 $size_a}}>; // [2][{{.rows}}][{{$quads}}+1]
var<workgroup> tile_b: array<vec4<f32>, {{mul 2 $size_b}}>; // [2][{{.cols}}][{{$quads}}+1]
@compute @workgroup_size({{.threads}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  // Past the edges the last row, column or k is read; it reaches no result.
{{range $s := seq $loads_a}}{{$at := print "min(thread + " (mul $s $.threads) "u, " (sub $count_a 1) "u)"}}  let a{{$s}}_at = min(m0 + {{$at}} / {{$quads}}u, pc.M - 1u) * (pc.lda / 4u);
  let a{{$s}}_k = {{$at}} % {{$quads}}u;
  let a{{$s}}_to = {{$at}} / {{$quads}}u * {{$stride}}u + a{{$s}}_k;
  var a{{$s}} = vec4<f32>();
{{end}}{{range $s := seq $loads_b}}{{$at := print "(thread + " (mul $s $.threads) "u)"}}  let b{{$s}}_at = min(n0 + {{$at}} / {{$quads}}u, pc.N - 1u) * (pc.ldb / 4u);
  let b{{$s}}_k = {{$at}} % {{$quads}}u;
  let b{{$s}}_to = {{$at}} / {{$quads}}u * {{$stride}}u + b{{$s}}_k;
  var b{{$s}} = {{if lt (bits "b") 32}}vec2<u32>(){{else}}vec4<f32>(){{end}};
{{end}}  let m = thread / {{.cols}}u;
  let n = thread % {{.cols}}u;
  var sum = 0.0;
  var even = true; // of the two buffers, the one that is written
  // While step k is fetched, the one before it is multiplied.
  for (var k = 0u; k < pc.K + {{.depth}}u; k += {{.depth}}u) {
    if (k < pc.K) {
{{range $s := seq $loads_a}}      a{{$s}} = a[a{{$s}}_at + min(k / 4u + a{{$s}}_k, pc.K / 4u - 1u)];
{{end}}{{range $s := seq $loads_b}}      b{{$s}} = {{$open}}b{{$s}}_at + min(k / 4u + b{{$s}}_k, pc.K / 4u - 1u){{$close}};
{{end}}    }
    if (k > 0u && thread < {{mul .rows .cols}}u) {
      var x = select(0u, {{$size_a}}u, even) + m * {{$stride}}u;
      var y = select(0u, {{$size_b}}u, even) + n * {{$stride}}u;
      var last = min({{.depth}}u, pc.K + {{.depth}}u - k) / 4u;
      for (; last >= 8u; last -= 8u) {
{{range $q := seq 8}}{{template "walk"}}{{end}}      }
      for (; last > 0u; last--) {
{{template "walk"}}      }
    }
    let to_a = select({{$size_a}}u, 0u, even);
    let to_b = select({{$size_b}}u, 0u, even);
{{range $s := seq $loads_a}}    {{if gt (mul $.threads (add $s 1)) $count_a}}if (thread < {{sub $count_a (mul $s $.threads)}}u) { {{end}}tile_a[to_a + a{{$s}}_to] = a{{$s}};{{if gt (mul $.threads (add $s 1)) $count_a}} }{{end}}
{{end}}{{range $s := seq $loads_b}}    tile_b[to_b + b{{$s}}_to] = {{if lt (bits "b") 32}}quad(b{{$s}}{{if eq (bits "b") 4}}, b{{$s}}_k{{end}}){{else}}b{{$s}}{{end}};
{{end}}    even = !even;
    workgroupBarrier();
  }
  let at = (m0 + m) * pc.ldc + n0 + n;
  if (thread < {{mul .rows .cols}}u && m0 + m < pc.M && n0 + n < pc.N) { c[at] = {{if eq .Kernel "matmul_nt_residual"}}r[at] + {{end}}sum; }
}
{{end}}

{{define "walk"}}        {
          let p = tile_a[x];
          let q = tile_b[y];
          sum = fma(p.w, q.w, fma(p.z, q.z, fma(p.y, q.y, fma(p.x, q.x, sum))));
          x++;
          y++;
        }
{{end}}
