package decoder

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// TableGradient are views as large as the output table, one for each of its slabs: of the gradient of what is
// trained, or allocated where an adapter is.
func (m *Decoder) TableGradient(p *device.Pool, g *Gradients) []gpu.View {
	var views []gpu.View
	for _, s := range m.Layout.head {
		if m.Adapter != nil {
			views = append(views, p.Words("gradient of the output table", s.weight.Rows*s.weight.Cols))
		} else {
			views = append(views, g.View(s.weight))
		}
	}
	return views
}

// TableBytes is the size of the output table in float32.
func (l *Layout) TableBytes() int {
	n := 0
	for _, s := range l.head {
		n += 4 * s.weight.Rows * s.weight.Cols
	}
	return n
}

// Influence computes, for each predicted token i of batches, the sum over all predicted tokens j of them of
// x[j] <g[i], g[j]>, where g are gradients of log-probs by the output table. table has room for a sum of them,
// and is left as zeros. The products with G = sum of x[j] g[j] are the device's: g[i] is an outer product of
// the gradient of the logits, d[i], and the hidden state h[i], so <g[i], G> = <d[i] G, h[i]>, of which the last
// product is in float64.
func (m *Decoder) Influence(progs *device.Programs, ws *Workspace, bs *BackwardSpace, table []gpu.View, batches []seq.Batch, x [][]float32) ([][]float64, error) {
	for i, b := range batches {
		if err := m.influencePass(progs, ws, bs, b, x[i], true, "sum", func(p *pass, s slab, i, r0, n int) {
			out, in := s.weight.Rows, s.weight.Cols
			p.MatmulTN(out, in, n, m.Layout.VocabPadded, in, in, device.At(ws.Head.Logits, s.row0), device.At(ws.Head.h, r0*in), table[i])
		}); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, len(batches))
	for i, b := range batches {
		ones := make([]float32, b.R)
		for k := range ones {
			ones[k] = 1
		}
		if err := m.influencePass(progs, ws, bs, b, ones, len(batches) > 1, "product", func(p *pass, s slab, i, r0, n int) {
			out, in := s.weight.Rows, s.weight.Cols
			tensors.Matrix{Numbers: table[i]}.Multiply(p.Recorder, i > 0, n, in, out, m.Layout.VocabPadded, in, in, device.At(ws.Head.Logits, s.row0), device.At(bs.dhead, r0*in))
		}); err != nil {
			return nil, err
		}
		h, dh := make([]float32, b.R*m.Layout.ld), make([]float32, b.R*m.Layout.ld)
		if err := device.Read(ws.Head.h, h); err != nil {
			return nil, err
		}
		if err := device.Read(bs.dhead, dh); err != nil {
			return nil, err
		}
		out[i] = make([]float64, b.R)
		for k, at := range b.Order {
			for d := k * m.Layout.ld; d < (k+1)*m.Layout.ld; d++ {
				out[i][at] += float64(h[d]) * float64(dh[d])
			}
		}
	}
	err := progs.Run("influence zero", func(r *device.Recorder) {
		for i, s := range m.Layout.head {
			n := s.weight.Rows * s.weight.Cols
			r.Op("fill", n, 1, []gpu.View{table[i]}, u(n), 0)
		}
	})
	if err == nil {
		err = m.Device.Wait()
	}
	return out, err
}

// influencePass runs a forward pass of a batch, unless the last one is still there, and then, block by block,
// what is to be done with the weighted gradients of log-probs by the logits, for each slab of the table.
func (m *Decoder) influencePass(progs *device.Programs, ws *Workspace, bs *BackwardSpace, b seq.Batch, x []float32, forward bool, name string, do func(p *pass, s slab, i, r0, n int)) error {
	weights := make([]float32, 4*b.R)
	for k, at := range b.Order {
		weights[4*k] = x[at]
	}
	if forward {
		if err := ws.Upload(b); err != nil {
			return err
		}
	}
	if err := device.Upload(device.Put(bs.weights, weights)); err != nil {
		return err
	}
	err := progs.Run(fmt.Sprintf("influence %s %d %d %t", name, b.T, b.R, forward), func(r *device.Recorder) {
		d, h, p := m.Layout.Dims, &ws.Head, &pass{Recorder: r, m: m, ws: ws, T: b.T}
		if forward {
			m.RecordForward(r, ws, b.T)
			m.RecordFinalNorm(r, ws, b.R)
		}
		h.Blocks(b.R, func(r0, n int) {
			m.RecordLogits(r, ws, r0, n)
			m.RecordStats(r, ws, r0, n)
			r.Op("vocab_backward", d.VocabPadded, n, []gpu.View{h.Logits, device.At(h.Target, r0), device.At(h.InvTemp, r0), device.At(h.Stats, r0*4), device.At(bs.weights, r0*4)},
				u(n), u(d.Vocab), u(d.VocabPadded))
			for i, s := range m.Layout.head {
				do(p, s, i, r0, n)
			}
		})
	})
	if err != nil {
		return err
	}
	return m.Device.Wait()
}
