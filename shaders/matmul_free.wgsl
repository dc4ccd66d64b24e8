// Matrix products for few rows whose sums are split over the lanes of a
// workgroup: matmul_free, matmul_free_residual. A program that may choose
// the order of its sums by the size of the batch would decode with these and
// train with matmul_nt; its log-probs would then differ. "rlzero bench decode"
// does so to measure what the one order costs. No run uses them.
//
// Bindings: a [M][lda], b [N][ldb], c [M][ldc], r of matmul_free_residual has
// the shape of c. The extent is N (columns of c), M (rows of c).
//
// Order: of the tier, the same in each of its variants. TL: lane l of 8 takes k =
// 8l .. 8l+7 of every 64, adds the products of even and odd k in pairs, then the
// four sums, then to its own sum; lanes are joined by a tree over the bits of l,
// 4 first. T0: invocation i of 64 takes k = 4i .. 4i+3 of every 256 in four
// chains, joined, then halving. r is added last.
//
// Variants tried on TL (one row, two cores of an EPYC, lavapipe 22.3, times of
// matmul_nt = 1, in turns): tiles of 4, 8, 16, 32 columns 2.2, 2.0, 2.0, 2.2 at
// 3072x576 with weights from memory (matmul_nt 12.8 GB/s), and 8 columns 1.1, 16
// columns 1.05 with weights in the cache; one subgroupAdd a column 2.0 against the
// tree for 8 columns at once 2.0; a stretch of K/8 for each lane 2.9; 64 columns a
// workgroup, 2, 4, 8 at a time, 2.3, 2.4, 2.4. So where memory is the limit, 32
// rows of b read side by side are better than 8 read one after the other, and
// where it is not, the shuffles of a that a split saves were no cost. With 8 and
// 16 rows 2.4 and 2.9: here every row of a is loaded by every 8 columns.
// On an H100 the split is 3.4 times as fast as the products of T0 at one row of the 135M
// shape, and no faster than those of T1 with 0.23 and 25 million parameters.
//
// Source: own; the split is that of llama.cpp's mul_mat_vec shaders
// (https://github.com/ggml-org/llama.cpp, ggml/src/ggml-vulkan/vulkan-shaders).
//
//variant matmul_free TL r1 tile=8,1 max=0,1 use=split_lanes rows=1 texels=a+b
//variant matmul_free TL r4 tile=8,4 max=0,4 use=split_lanes rows=4 texels=a+b
//variant matmul_free TL r8 tile=8,8 use=split_lanes rows=8 texels=a+b
//variant matmul_free_residual TL r1 tile=8,1 max=0,1 use=split_lanes rows=1 texels=a+b words=r
//variant matmul_free_residual TL r4 tile=8,4 max=0,4 use=split_lanes rows=4 texels=a+b words=r
//variant matmul_free_residual TL r8 tile=8,8 use=split_lanes rows=8 texels=a+b words=r
//variant matmul_free T0 r1 tile=4,1 max=0,1 use=split_group rows=1 cols=4
//variant matmul_free T0 r4 tile=4,4 max=0,4 use=split_group rows=4 cols=4
//variant matmul_free T0 r8 tile=4,8 use=split_group rows=8 cols=4
//variant matmul_free_residual T0 r1 tile=4,1 max=0,1 use=split_group rows=1 cols=4
//variant matmul_free_residual T0 r4 tile=4,4 max=0,4 use=split_group rows=4 cols=4
//variant matmul_free_residual T0 r8 tile=4,8 use=split_group rows=8 cols=4

{{define "split_lanes"}}{{$residual := eq .Kernel "matmul_free_residual"}}
{{template "wide"}}
{{params}}
{{bind "a" "vec4<u64>"}}
{{bind "b" "vec4<u64>"}}
{{if $residual}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
// Of two values, x is joined over the lanes whose bit s is clear, y over the others.
fn join2(x: f32, y: f32, l: u32, s: u32) -> f32 {
  let far = (l & s) != 0u;
  return select(x, y, far) + subgroupShuffleXor(select(y, x, far), s);
}
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let m0 = group.y * {{.rows}}u;
  let n = group.x * 8u + l;
  let steps = pc.K / 8u;
  // Rows past the edge read the last one and are not stored. Columns come in
  // eights, as N does.
{{range $i := seq .rows}}  let row{{$i}} = min(m0 + {{$i}}u, pc.M - 1u) * (pc.lda / 8u);
{{end}}{{range $j := seq 8}}  let col{{$j}} = (group.x * 8u + {{$j}}u) * (pc.ldb / 8u);
{{end}}{{range $i := seq .rows}}{{range $j := seq 8}}  var c{{$i}}_{{$j}} = 0.0;
{{end}}{{end}}
  for (var k = 0u; k < steps; k += 8u) {
    let at = min(k + l, steps - 1u);
    let real = k + l < steps;
{{range $i := seq .rows}}    let a{{$i}} = a_at(row{{$i}} + at);
    let a{{$i}}_lo = select(vec4<f32>(), a{{$i}}.lo, real);
    let a{{$i}}_hi = select(vec4<f32>(), a{{$i}}.hi, real);
{{end}}{{range $j := seq 8}}    let b{{$j}} = b_at(col{{$j}} + at);
{{range $i := seq $.rows}}    let s{{$i}}_{{$j}} = fma(a{{$i}}_hi, b{{$j}}.hi, a{{$i}}_lo * b{{$j}}.lo);
    c{{$i}}_{{$j}} += (s{{$i}}_{{$j}}.x + s{{$i}}_{{$j}}.y) + (s{{$i}}_{{$j}}.z + s{{$i}}_{{$j}}.w);
{{end}}{{end}}  }
  // Lane l gets the sum of column l of the eight.
{{range $i := seq .rows}}{{range $j := seq 4}}  let x{{$i}}_{{$j}} = join2(c{{$i}}_{{$j}}, c{{$i}}_{{add $j 4}}, l, 4u);
{{end}}{{range $j := seq 2}}  let y{{$i}}_{{$j}} = join2(x{{$i}}_{{$j}}, x{{$i}}_{{add $j 2}}, l, 2u);
{{end}}  let sum{{$i}} = join2(y{{$i}}_0, y{{$i}}_1, l, 1u);
  if (m0 + {{$i}}u < pc.M) {
    let at = (m0 + {{$i}}u) * pc.ldc + n;
    c[at] = {{if $residual}}r_at(at) + {{end}}sum{{$i}};
  }
{{end}}}
{{end}}

{{define "split_group"}}{{$residual := eq .Kernel "matmul_free_residual"}}{{$sums := mul .rows .cols}}
{{params}}
{{bind "a" "vec4<f32>"}}
{{bind "b" "vec4<f32>"}}
{{if $residual}}{{bind "r" "f32"}}{{end}}
{{bind "c" "f32"}}
var<workgroup> partial: array<f32, {{mul $sums 64}}>; // [row][column][invocation]
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let m0 = group.y * {{.rows}}u;
  let n0 = group.x * {{.cols}}u;
  let steps = pc.K / 4u;
  // Rows past the edge read the last one and are not stored.
{{range $i := seq .rows}}  let row{{$i}} = min(m0 + {{$i}}u, pc.M - 1u) * (pc.lda / 4u);
{{range $j := seq $.cols}}  var c{{$i}}_{{$j}} = vec4<f32>();
{{end}}{{end}}{{range $j := seq .cols}}  let col{{$j}} = (n0 + {{$j}}u) * (pc.ldb / 4u);
{{end}}  for (var k = i; k < steps; k += 64u) {
{{range $i := seq .rows}}    let a{{$i}} = a[row{{$i}} + k];
{{end}}{{range $j := seq .cols}}    let b{{$j}} = b[col{{$j}} + k];
{{range $i := seq $.rows}}    c{{$i}}_{{$j}} = fma(a{{$i}}, b{{$j}}, c{{$i}}_{{$j}});
{{end}}{{end}}  }
{{range $i := seq .rows}}{{range $j := seq $.cols}}  partial[{{mul 64 (add (mul $i $.cols) $j)}}u + i] = (c{{$i}}_{{$j}}.x + c{{$i}}_{{$j}}.y) + (c{{$i}}_{{$j}}.z + c{{$i}}_{{$j}}.w);
{{end}}{{end}}  for (var s = 32u; s > 0u; s >>= 1u) {
    workgroupBarrier();
    if (i < s) {
{{range $x := seq $sums}}      partial[{{mul 64 $x}}u + i] += partial[{{mul 64 $x}}u + i + s];
{{end}}    }
  }
  workgroupBarrier();
  let m = m0 + i / {{.cols}}u;
  if (i < {{$sums}}u && m < pc.M) {
    let at = m * pc.ldc + n0 + i % {{.cols}}u;
    c[at] = {{if $residual}}r[at] + {{end}}partial[64u * i];
  }
}
{{end}}
