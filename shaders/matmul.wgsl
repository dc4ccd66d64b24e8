// Matrix products of row-major f32 matrices: matmul_nt, matmul_nt_residual,
// matmul_nn, matmul_nn_acc, matmul_tn_acc; with b in bf16 matmul_nt_bf16,
// matmul_nt_residual_bf16, matmul_nn_bf16, matmul_nn_acc_bf16; with b in blocks of
// 32 numbers matmul_nt_q8_0, matmul_nt_residual_q8_0, matmul_nn_q8_0,
// matmul_nn_acc_q8_0 and matmul_nt_q4_0, matmul_nt_residual_q4_0, matmul_nn_q4_0,
// matmul_nn_acc_q4_0; matmul_naive is the baseline of the benchmark.
//
// Bindings: a, b, c as the names say (n: [rows][k], t: the operand that is read
// along its other dimension), row strides lda, ldb, ldc; scale are the factors of
// blocks; r of matmul_nt_residual has the shape of c. The extent is N (columns of
// c), M (rows of c).
//
// Order: every element of c is one chain acc = fma(a, b, acc) over k ascending,
// whatever K is and whoever computes it, from 0 or, in the kernels that end in acc,
// from what c holds; r is added last. So an element does not depend on the tile, on
// the other rows of the batch, or on where K is cut.
//
// TL, NT: lane l has column n0+8j+l and reads 8 floats of its row of b; a row of
// a is loaded once by all lanes and handed around by subgroupShuffle. The tile is
// transposed in registers (log2(8) exchanges), so that a lane stores 8 adjacent
// columns. TL, NN and TN: lane l has the 8 adjacent columns n0+8l; for a narrow NN
// two teams of 4 lanes have rows of their own. What limits all is the number of
// loads, so tiles are large enough to spill. All load 8 values of k of b, then
// take the rows one by one, so that a row's accumulators stay in registers for 8 k.
// T0: tiles of a and b in workgroup memory, a rectangle of c in registers.
//
// Variants tried (GFLOP/s of one core of an EPYC, lavapipe 22.3; in brackets the
// first dispatch, which compiles, in ms; naive 0.9):
// NT 512^3, rows x columns: 8x32 27 [75], 8x64 26, 16x24 30, 16x32 33 [140], 16x48
// 33 [190], 16x64 34 [250], 24x32 31, 32x32 32 [310]. At 640x288x96: 8x32 24, 16x32
// 26, 16x48 27, 32x32 25. Storing floats and not the transposed tile: 22 [200].
// NN 640x96x512: 16x64 22 [220], 12x64 24, two teams of 8x32 26, 12x32 28 [165],
// 16x32 25; 512^3: 16x64 30, 12x64 28, two teams of 12x32 26.
// Rows inside, k outside (what was there before): times of now = 1, in turns, by CPU
// time on a busy Xeon with 2 MB of L2: NT 512^3 1.12, NN 512^3 1.15, NN 256x1536x576
// 1.33, 2560x96x512 1.19, NT 32x3072x576 1.19, 8x3072x576 1.1, fewer rows equal. On a
// quiet EPYC, with that: NT with 32 rows 1.02, NN with 24 rows 1.2; rows outside for TN,
// 4 rows of k at once, 1.3 (too much is live).
// b in bf16, as vec4<u32> and as vec2<u64>, times of f32 = 1, in turns, by CPU time:
// NT 1x3072x576 0.88, 0.68; 8x3072x576 0.93, 0.83; 512^3 0.88, 0.83; NN 64x512x576
// 0.87, 0.85; 512^3 0.81, 0.83. T0 loads b element by element; it has run on lavapipe
// alone, where its rate says nothing about a GPU.
// b in blocks, against writing it out as f32 for the kernel of f32 (times of that = 1, in
// turns, by CPU time, busy EPYC): q8_0 NT 1x9728x896 0.2, 8 rows 0.4, 16 rows 0.55, 272
// rows 0.9 where workgroups take the rows in the same order; NN with the adapter's
// products 64x9728x896 0.68, 272x9728x896 0.87, 272x896x4864 0.91. q4_0 as q8_0. Times
// of f32 = 1: NT 1 row 0.6, 8 rows 0.75, 16 rows 0.95, 272 rows 1.0.
// TN 288x96x3584: 8x64 16, 16x64 22, 24x64 26, 32x64 28 [270], two teams of 16x32
// 26; 512^3: 20, 28, 32, 36, 26.
// NN where b is larger than a cache: a tile reads 256 bytes of each of K rows of b that
// lie apart, so that nothing is fetched ahead, and K rows of 64 columns are more than
// the second-level cache. Going down the rows of c first helps where b has more than
// 98304 elements (384 KB); cutting the sums into panels of 512 (package model does)
// helps the more, the longer they are. Both, GFLOP/s of one core, EPYC with 1 MB of L2:
// 256x576x3072 7.7 to 25, 256x1536x576 10 to 21, K = 16384 7 to 26; panels of 256, 1024,
// 2048 26, 24, 23; panels alone 12; going down where b is small, 2560x96x512, 21 to 15.
// Busy Xeon with 2 MB: 10 to 17, 10 to 15, 8 to 15. Huge pages: nothing.
// NT goes down the rows too, times of now = 1, in turns, by CPU time on a busy EPYC: f32
// 272x9728x896 1.21, 272x896x4864 1.16, 64x36864x896 1.13; bf16 64x36864x896 1.1; q8_0
// 272x9728x896 1.11, 272x896x4864 1.05; 272x896x896 1.0 in all.
// TN in panels of 512 rows, times of one dispatch = 1: EPYC, demo's shapes 0.68, panels
// of 1024 equal; busy Xeon 512x96x5120 0.94, 96x288x5120 0.75, 576x1536x2048 0.81,
// 1536x576x2048 0.69. Going down the rows where c is large: 1.27.
//
// NT of a few rows, f32, 16 columns a tile and not 32, as a core does not follow 32 rows of b that lie apart ahead of
// their use: times of 32 columns = 1, in turns, by CPU time, quiet EPYC, 24 matrices of 3072x576 one after the other:
// 1 row 0.58 (8 columns 0.69, 64 1.05), 2 rows 0.67, 4 rows 0.8, 8 rows 0.94, 16 rows 1.06, 32 rows 1.16. bf16 and
// blocks, which read less: 1 row 1.06 to 1.2, 8 rows 1.25. With that, lanes of shuffles constant 0.97 to 1.0 (8 rows),
// two and four rows in turns 0.95: left out.
//
// a and b as texel buffers, two quiet cores of an EPYC with AVX2 alone: NT 512^3 10.1 to 38.8
// GFLOP/s, 1024^3 9.5 to 37.3 (docs/why/devices.md). Tiles were not tried anew with them.
//
// TN by 8 values of k, a row of the tile outside and k inside, lanes of shuffles constant:
// times of one value of k after the other = 1, in turns, by CPU time, busy Xeon (2 MB of L2,
// AVX-512): 3072x576x256 0.75, 576x1536x256 0.72, 576x1536x640 0.62, 96x96x5120 0.74,
// 512x96x5120 0.76, 96x288x5120 0.71, 49152x64x250 0.83; first dispatch, which compiles, 420
// to 870 ms. 24 rows 0.81 of the first, 16 0.87, 48 0.96. The last K mod 8 rows in an else of
// that loop and not behind it: lavapipe goes through both branches.
//
// lavapipe ends a shader after 65535 loop iterations (package doc); matmul_tn_acc
// on TL needs one for 8 values of k and 9 for the last ones, so K is limited.
//
// Source: own; the lane scheme answers how llvmpipe executes SSBO loads (Mesa
// 22.3 src/gallium/auxiliary/gallivm/lp_bld_nir_soa.c, emit_load_mem: a loop
// over lanes for each load, and of texels, lp_bld_gather.c: no loop); the T0 tile is the usual register tiling, as in
// https://siboehm.com/articles/22/CUDA-MMM.
//
//variant matmul_nt TL r1 tile=16,1 max=0,1 use=nt_lanes rows=1 cols=2 texels=a+b
//variant matmul_nt_* TL r1 tile=32,1 max=0,1 use=nt_lanes rows=1 cols=4 texels=a+b
//variant matmul_nt TL r2 tile=16,2 max=0,2 use=nt_lanes rows=2 cols=2 texels=a+b
//variant matmul_nt_* TL r2 tile=32,2 max=0,2 use=nt_lanes rows=2 cols=4 texels=a+b
//variant matmul_nt TL r4 tile=16,4 max=0,4 use=nt_lanes rows=4 cols=2 texels=a+b
//variant matmul_nt_* TL r4 tile=32,4 max=0,4 use=nt_lanes rows=4 cols=4 texels=a+b
//variant matmul_nt TL r8 tile=16,8 max=0,8 use=nt_lanes rows=8 cols=2 texels=a+b
//variant matmul_nt_* TL r8 tile=32,8 max=0,8 use=nt_lanes rows=8 cols=4 texels=a+b
//variant matmul_nt* TL r16 tile=32,16 use=nt_lanes rows=16 cols=4 texels=a+b
//variant matmul_nt_residual TL r1 tile=16,1 max=0,1 use=nt_lanes rows=1 cols=2 texels=a+b words=r
//variant matmul_nt_residual_* TL r1 tile=32,1 max=0,1 use=nt_lanes rows=1 cols=4 texels=a+b words=r
//variant matmul_nt_residual TL r2 tile=16,2 max=0,2 use=nt_lanes rows=2 cols=2 texels=a+b words=r
//variant matmul_nt_residual_* TL r2 tile=32,2 max=0,2 use=nt_lanes rows=2 cols=4 texels=a+b words=r
//variant matmul_nt_residual TL r4 tile=16,4 max=0,4 use=nt_lanes rows=4 cols=2 texels=a+b words=r
//variant matmul_nt_residual_* TL r4 tile=32,4 max=0,4 use=nt_lanes rows=4 cols=4 texels=a+b words=r
//variant matmul_nt_residual TL r8 tile=16,8 max=0,8 use=nt_lanes rows=8 cols=2 texels=a+b+r
//variant matmul_nt_residual_* TL r8 tile=32,8 max=0,8 use=nt_lanes rows=8 cols=4 texels=a+b+r
//variant matmul_nt_residual* TL r16 tile=32,16 use=nt_lanes rows=16 cols=4 texels=a+b+r
//variant matmul_nn* TL r4 tile=64,4 max=0,4 use=nn_lanes rows=4 across=8 texels=a eights=b
//variant matmul_nn* TL r24 tile=32,24 max=96 use=nn_lanes rows=12 across=4 texels=a eights=b
//variant matmul_nn* TL r16 tile=64,16 use=nn_lanes rows=16 across=8 texels=a eights=b
//variant matmul_nn_acc* TL r4 tile=64,4 max=0,4 use=nn_lanes rows=4 across=8 texels=a eights=b
//variant matmul_nn_acc* TL r24 tile=32,24 max=96 use=nn_lanes rows=12 across=4 texels=a eights=b
//variant matmul_nn_acc* TL r16 tile=64,16 use=nn_lanes rows=16 across=8 texels=a eights=b
//variant matmul_tn_acc TL tile=64,32 limit=K:524208 use=tn_lanes rows=32 across=8 texels=a+b
//variant matmul_nt* T0 r8 tile=64,8 max=0,8 use=tiles rows=8 cols=64 each=4 wide=2
//variant matmul_nt* T0 r64 tile=64,64 use=tiles rows=64 cols=64 each=8 wide=4
//variant matmul_nt_residual* T0 r8 tile=64,8 max=0,8 use=tiles rows=8 cols=64 each=4 wide=2
//variant matmul_nt_residual* T0 r64 tile=64,64 use=tiles rows=64 cols=64 each=8 wide=4
//variant matmul_nn* T0 r8 tile=64,8 max=0,8 use=tiles rows=8 cols=64 each=4 wide=2
//variant matmul_nn* T0 r64 tile=64,64 use=tiles rows=64 cols=64 each=8 wide=4
//variant matmul_nn_acc* T0 r8 tile=64,8 max=0,8 use=tiles rows=8 cols=64 each=4 wide=2
//variant matmul_nn_acc* T0 r64 tile=64,64 use=tiles rows=64 cols=64 each=8 wide=4
//variant matmul_tn_acc T0 r16 tile=64,16 max=512,512 use=tiles rows=16 cols=64 each=4 wide=4
//variant matmul_tn_acc T0 r64 tile=64,64 use=tiles rows=64 cols=64 each=8 wide=4
//variant matmul_naive TL tile=64,1 limit=K:65534 use=naive
//variant matmul_naive T0 tile=64,1 use=naive

{{define "nt_lanes"}}
{{template "wide"}}
{{if bf16 "b"}}{{template "wide_bf16"}}{{end}}
{{template "transpose"}}
{{params}}
{{bind "a" "vec4<u64>"}}
{{if blocks "b"}}{{template "wide_blocks" (bits "b")}}{{bind "b" (wideblock "b")}}
{{bind "scale" "f32"}}
{{else}}{{bind "b" (wide "b")}}
{{end}}{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" (or (and (lt .rows 8) "f32") "vec4<u64>")}}{{end}}
{{bind "c" (or (and (lt .rows 8) "f32") "vec4<u64>")}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) {{if lt .rows 16}}group{{else}}id{{end}}: vec3<u32>, {{if ge .rows 16}}@builtin(num_workgroups) groups: vec3<u32>, {{end}}@builtin(local_invocation_index) l: u32) {
{{if ge .rows 16}}{{template "down"}}{{end}}  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{mul 8 .cols}}u;
  let steps = pc.K / 8u;
  // Rows and columns past the edge read the last ones and are not stored.
{{range $i := seq .rows}}  let row{{$i}} = min(m0 + {{$i}}u, pc.M - 1u) * (pc.lda / 8u);
{{end}}{{range $j := seq .cols}}  let col{{$j}} = min(n0 + {{mul 8 $j}}u + l, pc.N - 1u) * (pc.ldb / {{if blocks "b"}}32u{{else}}8u{{end}});
{{end}}{{range $i := seq .rows}}{{range $j := seq $.cols}}  var c{{$i}}_{{$j}} = 0.0;
{{end}}{{end}}
  for (var k = 0u; k < steps; k += 8u) {
    let at = min(k + l, steps - 1u);
{{range $i := seq .rows}}    let a{{$i}} = a_at(row{{$i}} + at);
{{end}}    let last = min(8u, steps - k);
{{if blocks "b"}}    for (var p = 0u; p < last; p += 4u) {
{{range $j := seq .cols}}      let at{{$j}} = col{{$j}} + (k + p) / 4u;
      let block{{$j}} = b_at(at{{$j}});
      let scale{{$j}} = scale_at(at{{$j}});
{{if eq (bits "b") 8}}      let x{{$j}} = bitcast<vec4<u32>>(block{{$j}}.lo);
      let y{{$j}} = bitcast<vec4<u32>>(block{{$j}}.hi);
{{end}}{{end}}      for (var i = 0u; i < 4u; i++) {
        let q = p + i;
{{range $j := seq .cols}}        let b{{$j}} = {{eight "b"}}({{if eq (bits "b") 8}}vec2<u32>(x{{$j}}[i], y{{$j}}[i]){{else}}block{{$j}}[i]{{end}}, scale{{$j}});
{{end}}{{template "nt_chains" .}}      }
    }
{{else}}    for (var q = 0u; q < last; q++) {
{{range $j := seq .cols}}      let b{{$j}} = b_at(col{{$j}} + k + q);
{{end}}{{template "nt_chains" .}}    }
{{end}}  }
{{if lt .rows 8}}{{template "store_floats" .}}{{else}}{{template "store_transposed" .}}{{end}}}
{{end}}

{{define "nt_chains"}}{{range $i := seq .rows}}{{range $e := seq 8}}      let t{{$e}}_{{$i}} = subgroupShuffle({{lane (print "a" $i) $e}}, q);
{{range $j := seq $.cols}}      c{{$i}}_{{$j}} = fma(t{{$e}}_{{$i}}, {{lane (print "b" $j) $e}}, c{{$i}}_{{$j}});
{{end}}{{end}}{{end}}{{end}}

{{define "store_floats"}}{{range $i := seq .rows}}  if (m0 + {{$i}}u < pc.M) {
    let at = (m0 + {{$i}}u) * pc.ldc + n0 + l;
{{range $j := seq $.cols}}    if (n0 + {{mul 8 $j}}u < pc.N) {
      c[at + {{mul 8 $j}}u] = {{if eq $.Kernel "matmul_nt_residual"}}r_at(at + {{mul 8 $j}}u) + {{end}}c{{$i}}_{{$j}};
    }
{{end}}  }
{{end}}{{end}}

{{define "store_transposed"}}{{range $i := seq (div .rows 8)}}  {
    let row = m0 + {{mul 8 $i}}u + l;
    let at = (row * pc.ldc + n0) / 8u;
{{range $j := seq $.cols}}    {
      let y = transpose(array<f32, 8>({{range $e := seq 8}}c{{add (mul 8 $i) $e}}_{{$j}}, {{end}}), l);
      let lo = vec4(y[0], y[2], y[4], y[6]);
      let hi = vec4(y[1], y[3], y[5], y[7]);
      if (row < pc.M && n0 + {{mul 8 $j}}u < pc.N) {
{{if eq $.Kernel "matmul_nt_residual"}}        let old = r_at(at + {{$j}}u);
        c[at + {{$j}}u] = join(old.lo + lo, old.hi + hi);
{{else}}        c[at + {{$j}}u] = join(lo, hi);
{{end}}      }
    }
{{end}}  }
{{end}}{{end}}

{{define "transpose"}}
// x[i] of lane l becomes x[l] of lane i: for each bit of i and l, the pairs of
// values and lanes that differ in it are exchanged.
fn transpose(x: array<f32, 8>, l: u32) -> array<f32, 8> {
{{range $i := seq 8}}  var x{{$i}} = x[{{$i}}];
{{end}}{{range $s := list 1 2 4}}  {
    let far = (l & {{$s}}u) != 0u;
{{range $i := seq 8}}{{if not (bit $i $s)}}    let u{{$i}} = subgroupShuffleXor(select(x{{add $i $s}}, x{{$i}}, far), {{$s}}u);
    x{{$i}} = select(x{{$i}}, u{{$i}}, far);
    x{{add $i $s}} = select(u{{$i}}, x{{add $i $s}}, far);
{{end}}{{end}}  }
{{end}}  return array<f32, 8>(x0, x1, x2, x3, x4, x5, x6, x7);
}
{{end}}

{{define "nn_lanes"}}
{{template "wide"}}
{{if bf16 "b"}}{{template "wide_bf16"}}{{end}}
{{params}}
{{bind "a" "vec4<u64>"}}
{{bind "b" (wide "b")}}
{{if blocks "b"}}{{template "wide_blocks" (bits "b")}}{{bind "scale" "f32"}}{{end}}
{{bind "c" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) l: u32) {
{{template "down"}}{{template "place" .}}
  let steps = pc.K / 8u;
  let ldb = pc.ldb / 8u;
{{range $i := seq .rows}}  let row{{$i}} = min(m0 + {{$i}}u, pc.M - 1u) * (pc.lda / 8u);
{{if eq $.Kernel "matmul_nn_acc"}}  let old{{$i}} = c_at(min(m0 + {{$i}}u, pc.M - 1u) * (pc.ldc / 8u) + col);
  var c{{$i}}_lo = old{{$i}}.lo;
  var c{{$i}}_hi = old{{$i}}.hi;
{{else}}  var c{{$i}}_lo = vec4<f32>();
  var c{{$i}}_hi = vec4<f32>();
{{end}}{{end}}  for (var k = 0u; k < steps; k += {{.across}}u) {
    let at = min(k + l - team, steps - 1u);
{{range $i := seq .rows}}    let a{{$i}} = a_at(row{{$i}} + at);
{{end}}    let last = min({{.across}}u, steps - k);
    for (var q = 0u; q < last; q++) {
      let owner = team + q;
      let at = (k + q) * 8u * ldb + col;
{{if blocks "b"}}      let factors = ldb / 4u;
      let first = (k + q) * 8u * factors + col / 4u;
{{end}}{{range $e := seq 8}}      let b{{$e}} = {{if blocks "b"}}{{eight "b"}}(b_at(at + {{$e}}u * ldb), scale_at(first + {{$e}}u * factors)){{else}}b_at(at + {{$e}}u * ldb){{end}};
{{end}}{{range $i := seq .rows}}{{range $e := seq 8}}      let t{{$e}}_{{$i}} = vec4<f32>(subgroupShuffle({{lane (print "a" $i) $e}}, owner));
      c{{$i}}_lo = fma(t{{$e}}_{{$i}}, b{{$e}}.lo, c{{$i}}_lo);
      c{{$i}}_hi = fma(t{{$e}}_{{$i}}, b{{$e}}.hi, c{{$i}}_hi);
{{end}}{{end}}    }
  }
  if (n < pc.N / 8u) {
{{range $i := seq .rows}}    if (m0 + {{$i}}u < pc.M) {
      c[(m0 + {{$i}}u) * (pc.ldc / 8u) + n] = join(c{{$i}}_lo, c{{$i}}_hi);
    }
{{end}}  }
}
{{end}}

{{define "down"}}  // lavapipe takes the workgroups row by row. Where b is larger than a cache they go
  // down its columns, so that one panel of b serves all rows before the next.
  let number = id.y * groups.x + id.x;
  let down = pc.K * pc.N > 98304u;
  let group = select(id.xy, vec2<u32>(number / groups.y, number % groups.y), down);
{{end}}

{{define "place"}}
  // A team of {{.across}} lanes has the columns of the tile, a lane 8 of them; each
  // team has rows of its own.
  let team = l / {{.across}}u * {{.across}}u; // its first lane
  let m0 = (group.y * {{div 8 .across}}u + l / {{.across}}u) * {{.rows}}u;
  let n = group.x * {{.across}}u + l - team; // in units of 8 columns
  // Rows and columns past the edge read the last ones and are not stored.
  let col = min(n, pc.N / 8u - 1u);
{{end}}

{{define "tn_lanes"}}
{{template "wide"}}
{{params}}
{{bind "a" "vec4<u64>"}}
{{bind "b" "vec4<u64>"}}
{{bind "c" "vec4<u64>"}}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
{{template "place" .}}
  let lda = pc.lda / 8u;
  let ldb = pc.ldb / 8u;
  let ldc = pc.ldc / 8u;
{{range $r := seq (div .rows 8)}}  let a{{$r}}_at = min(m0 + {{mul 8 $r}}u, pc.M - 8u) / 8u;
{{end}}{{range $i := seq .rows}}  let old{{$i}} = c_at(min(m0 + {{$i}}u, pc.M - 1u) * ldc + col);
  var c{{$i}}_lo = old{{$i}}.lo;
  var c{{$i}}_hi = old{{$i}}.hi;
{{end}}  var k = 0u;
  for (; k + {{.across}}u <= pc.K; k += {{.across}}u) {
{{template "tn_rows" .}}
{{range $e := seq .across}}    let b{{$e}} = b_at((k + {{$e}}u) * ldb + col);
{{end}}{{range $i := seq .rows}}{{range $e := seq $.across}}    let t{{$e}}_{{$i}} = vec4<f32>(subgroupShuffle({{lane (print "a" (div $i 8)) (mod $i 8)}}, team + {{$e}}u));
    c{{$i}}_lo = fma(t{{$e}}_{{$i}}, b{{$e}}.lo, c{{$i}}_lo);
    c{{$i}}_hi = fma(t{{$e}}_{{$i}}, b{{$e}}.hi, c{{$i}}_hi);
{{end}}{{end}}  }
  // The last rows. Not in an else of the loop: lavapipe goes through that too.
{{template "tn_rows" .}}
  for (var q = 0u; q < pc.K - k; q++) {
    let b = b_at((k + q) * ldb + col);
{{range $i := seq .rows}}    let t{{$i}} = vec4<f32>(subgroupShuffle({{lane (print "a" (div $i 8)) (mod $i 8)}}, team + q));
    c{{$i}}_lo = fma(t{{$i}}, b.lo, c{{$i}}_lo);
    c{{$i}}_hi = fma(t{{$i}}, b.hi, c{{$i}}_hi);
{{end}}  }
  if (n < pc.N / 8u) {
{{range $i := seq .rows}}    if (m0 + {{$i}}u < pc.M) { c[(m0 + {{$i}}u) * ldc + n] = join(c{{$i}}_lo, c{{$i}}_hi); }
{{end}}  }
}
{{end}}

{{define "tn_rows"}}  // Lane q of a team has row k+q of a.
  let at = min(k + l - team, pc.K - 1u) * lda;
{{range $r := seq (div .rows 8)}}  let a{{$r}} = a_at(at + a{{$r}}_at);
{{end}}{{end}}

{{define "tiles"}}
{{$threads := div (mul .rows .cols) (mul .each .wide)}}{{$across := div .cols .wide}}
{{params}}
{{bind "a" "f32"}}
{{$packed := lt (bits "b") 32}}
{{if bf16 "b"}}{{template "bf16"}}{{else if blocks "b"}}{{template "blocks" (bits "b")}}{{bind "scale" "f32"}}{{end}}
{{bind "b" (or (and $packed "u32") "f32")}}
{{if eq .Kernel "matmul_nt_residual"}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
// A step covers 16 values of k. One extra column keeps the banks apart.
var<workgroup> tile_a: array<f32, {{mul 16 (add .rows 1)}}>; // [16][{{.rows}}+1]
var<workgroup> tile_b: array<f32, {{mul 16 (add .cols 1)}}>; // [16][{{.cols}}+1]
@compute @workgroup_size({{$threads}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  let m = thread / {{$across}}u * {{.each}}u;
  let n = thread % {{$across}}u * {{.wide}}u;
{{range $i := seq .each}}{{range $j := seq $.wide}}  var c{{$i}}_{{$j}} = {{if or (eq $.Kernel "matmul_nn_acc") (eq $.Kernel "matmul_tn_acc")}}c[min(m0 + m + {{$i}}u, pc.M - 1u) * pc.ldc + min(n0 + n + {{$j}}u, pc.N - 1u)]{{else}}0.0{{end}};
{{end}}{{end}}  for (var k0 = 0u; k0 < pc.K; k0 += 16u) {
    // Past the edges the last row, column or k is read; it reaches no result.
{{range $s := seq (div (mul 16 .rows) $threads)}}    {
      let i = thread + {{mul $s $threads}}u;
{{if eq $.Kernel "matmul_tn_acc"}}      let x = i % {{$.rows}}u;
      let k = i / {{$.rows}}u;
      tile_a[k * {{add $.rows 1}}u + x] = a[min(k0 + k, pc.K - 1u) * pc.lda + min(m0 + x, pc.M - 1u)];
{{else}}      let x = i / 16u;
      let k = i % 16u;
      tile_a[k * {{add $.rows 1}}u + x] = a[min(m0 + x, pc.M - 1u) * pc.lda + min(k0 + k, pc.K - 1u)];
{{end}}    }
{{end}}{{range $s := seq (div (mul 16 .cols) $threads)}}    {
      let i = thread + {{mul $s $threads}}u;
{{if or (eq $.Kernel "matmul_nt") (eq $.Kernel "matmul_nt_residual")}}      let x = i / 16u;
      let k = i % 16u;
{{if $packed}}      let at = min(n0 + x, pc.N - 1u) * pc.ldb + min(k0 + k, pc.K - 1u);
      tile_b[k * {{add $.cols 1}}u + x] = element(b[at / {{div 32 (bits "b")}}u], at){{if blocks "b"}} * scale[at / 32u]{{end}};
{{else}}      tile_b[k * {{add $.cols 1}}u + x] = b[min(n0 + x, pc.N - 1u) * pc.ldb + min(k0 + k, pc.K - 1u)];
{{end}}{{else}}      let x = i % {{$.cols}}u;
      let k = i / {{$.cols}}u;
{{if $packed}}      let at = min(k0 + k, pc.K - 1u) * pc.ldb + min(n0 + x, pc.N - 1u);
      tile_b[k * {{add $.cols 1}}u + x] = element(b[at / {{div 32 (bits "b")}}u], at){{if blocks "b"}} * scale[at / 32u]{{end}};
{{else}}      tile_b[k * {{add $.cols 1}}u + x] = b[min(k0 + k, pc.K - 1u) * pc.ldb + min(n0 + x, pc.N - 1u)];
{{end}}{{end}}    }
{{end}}    workgroupBarrier();
    let last = min(16u, pc.K - k0);
    var at_a = m;
    var at_b = n;
    var k = 0u;
    for (; k + 4u <= last; k += 4u) {
{{range $e := seq 4}}{{template "multiply" $}}{{end}}    }
    for (; k < last; k++) {
{{template "multiply" .}}    }
    workgroupBarrier();
  }
{{range $i := seq .each}}  if (m0 + m + {{$i}}u < pc.M) {
    let at = (m0 + m + {{$i}}u) * pc.ldc + n0 + n;
{{range $j := seq $.wide}}    if (n0 + n + {{$j}}u < pc.N) {
      c[at + {{$j}}u] = {{if eq $.Kernel "matmul_nt_residual"}}r[at + {{$j}}u] + {{end}}c{{$i}}_{{$j}};
    }
{{end}}  }
{{end}}}
{{end}}

{{define "multiply"}}      {
{{range $j := seq .wide}}        let b{{$j}} = tile_b[at_b + {{$j}}u];
{{end}}{{range $i := seq .each}}        let a{{$i}} = tile_a[at_a + {{$i}}u];
{{range $j := seq $.wide}}        c{{$i}}_{{$j}} = fma(a{{$i}}, b{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}        at_a += {{add .rows 1}}u;
        at_b += {{add .cols 1}}u;
      }
{{end}}

{{define "naive"}}
{{params}}
{{bind "a" "f32"}}
{{bind "b" "f32"}}
{{bind "c" "f32"}}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= pc.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < pc.K; k++) {
    sum = fma(a[id.y * pc.lda + k], b[id.x * pc.ldb + k], sum);
  }
  c[id.y * pc.ldc + id.x] = sum;
}
{{end}}
