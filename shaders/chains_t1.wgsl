// Gradients that are one chain over all rows of a batch, tier T1: rmsnorm_backward_dw,
// qk_norm_backward_dw, bias_backward.
//
// Bindings: as in the files of T0's shaders: dy, x, rstd, dw; qkv; db. The extent is the
// columns.
//
// Order: that of T0, one chain over the rows (of qk_norm: the rows, then their heads)
// ascending, so the bits are those of T0.
//
// A chain has one invocation a column, so few that each row would wait for memory. Here
// 256 invocations bring 64 rows of 32 columns into workgroup memory, two buffers in
// turns, while 32 of them go through the 64 rows before.
//
// Variants tried, NVIDIA H100, us of T0 and of this: qk_norm_backward_dw, 5120 rows of 3
// heads of 32, 2738, 278; rmsnorm_backward_dw, 5120 rows of 96, 504, 84.
//
// Source: own.
//
//variant rmsnorm_backward_dw T1 tile=32 use=chains
//variant qk_norm_backward_dw T1 tile=32 use=chains
//variant bias_backward T1 tile=32 use=chains

{{define "chains"}}{{$bias := eq .Kernel "bias_backward"}}{{$qk := eq .Kernel "qk_norm_backward_dw"}}
{{params}}
{{bind "dy" "f32"}}
{{if $bias}}{{bind "db" "f32" "dw"}}
{{else if $qk}}{{bind "qkv" "f32"}}
{{bind "rstd" "f32"}}
{{bind "dw" "f32"}}
{{else}}{{bind "x" "f32"}}
{{bind "rstd" "f32"}}
{{bind "dw" "f32"}}
{{end}}
var<workgroup> left: array<f32, 4096>; // [2][64][32]
{{if not $bias}}var<workgroup> right: array<f32, 4096>;
{{end}}@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
  let width = pc.{{if $bias}}N{{else if $qk}}hd{{else}}ld{{end}};
  let rows = pc.T{{if $qk}} * pc.heads{{end}};
  let column = group.x * 32u + i % 32u;
  // Past the edges the last row or column is read; it reaches no result.
  let c = min(column, width - 1u);
  let place = {{if $qk}}pc.dw0 + {{end}}c;
  var sum = dw[place];
{{range $s := seq 8}}  var y{{$s}} = 0.0;
{{if not $bias}}  var x{{$s}} = 0.0;
{{end}}{{end}}  var even = true; // of the two buffers, the one that is written
  for (var r = 0u; r < rows + 64u; r += 64u) {
    if (r < rows) {
{{range $s := seq 8}}      {
        let t = min(r + i / 32u + {{mul 8 $s}}u, rows - 1u);
        y{{$s}} = dy[t * width + c];
{{if $qk}}        let row = t / pc.heads;
        let h = t % pc.heads;
        x{{$s}} = qkv[row * pc.ldq + pc.off + h * pc.hd + c] * rstd[row * pc.ldr + pc.roff + h];
{{else if not $bias}}        x{{$s}} = x[t * width + c] * rstd[t];
{{end}}      }
{{end}}    }
    if (r > 0u && i < 32u) {
      var at = select(0u, 2048u, even) + i;
      var left_rows = min(64u, rows + 64u - r);
      for (; left_rows >= 8u; left_rows -= 8u) {
{{range seq 8}}{{template "link" $bias}}{{end}}      }
      for (; left_rows > 0u; left_rows--) {
{{template "link" $bias}}      }
    }
    let to = select(2048u, 0u, even) + i;
{{range $s := seq 8}}    left[to + {{mul 256 $s}}u] = y{{$s}};
{{if not $bias}}    right[to + {{mul 256 $s}}u] = x{{$s}};
{{end}}{{end}}    even = !even;
    workgroupBarrier();
  }
  if (i < 32u && column < width) { dw[place] = sum; }
}
{{end}}

{{define "link"}}        sum {{if .}}+= left[at]{{else}}= fma(left[at], right[at], sum){{end}};
        at += 32u;
{{end}}
