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

// Spaced is where a prediction may begin that operations are about from it on: views begin at 256 bytes.
const Spaced = 64

// spaced is a batch in which the predictions of each part begin at a multiple of Spaced, and those. ends are the
// predictions after the parts.
func spaced(b seq.Batch, ends []int) (out seq.Batch, starts []int) {
	out = b
	out.Idx, out.Target, out.InvTemp, out.Order = nil, nil, nil, nil
	from := 0
	for _, to := range ends {
		for len(out.Idx)%Spaced != 0 {
			out.Idx, out.Target, out.InvTemp, out.Order = append(out.Idx, 0), append(out.Target, 0), append(out.InvTemp, 1), append(out.Order, -1)
		}
		starts = append(starts, len(out.Idx))
		out.Idx, out.Target, out.InvTemp, out.Order = append(out.Idx, b.Idx[from:to]...), append(out.Target, b.Target[from:to]...), append(out.InvTemp, b.InvTemp[from:to]...), append(out.Order, b.Order[from:to]...)
		from = to
	}
	out.R = len(out.Idx)
	return out, starts
}

// Influences computes, for each predicted token i of a batch, the sum over all predicted tokens j of its part of
// x[j] <g[i], g[j]>, where g are gradients of log-probs by the output table. ends are the predictions after the
// parts; with each part at a multiple of Spaced they are no more than the rows of the workspace. table has room
// for a sum of gradients, and is left as zeros. The products with G = sum of x[j] g[j] are the device's: g[i] is an
// outer product of the gradient of the logits, d[i], and the hidden state h[i], so <g[i], G> = <d[i] G, h[i]>, of
// which the last product is in float64.
func (m *Decoder) Influences(progs *device.Programs, ws *Workspace, bs *BackwardSpace, table []gpu.View, b seq.Batch, ends []int, x []float32) ([]float64, error) {
	if b.R == 0 {
		return nil, nil
	}
	apart, starts := spaced(b, ends)
	weights := weightsOf(apart, x)
	if err := ws.Upload(apart); err != nil {
		return nil, err
	}
	ones := bs.dx // nothing else is there in a forward pass
	if err := device.Upload(device.Put(bs.weights, weights), device.Put(ones, weightsOf(apart, nil))); err != nil {
		return nil, err
	}
	err := progs.Run(fmt.Sprintf("influences %d %v %v", b.T, starts, ends), func(r *device.Recorder) {
		p := &pass{Recorder: r, m: m, ws: ws, T: b.T}
		m.RecordForward(r, ws, b.T)
		m.RecordFinalNorm(r, ws, apart.R)
		from := 0
		for k, to := range ends {
			m.recordWeighted(p, bs.weights, starts[k], to-from, true, m.summed(p, table))
			m.recordWeighted(p, ones, starts[k], to-from, false, m.multiplied(p, bs, table))
			m.recordZeros(r, table)
			from = to
		}
	})
	if err == nil {
		err = m.Device.Wait()
	}
	if err != nil {
		return nil, err
	}
	return m.inner(ws, bs, apart, b.R)
}

// InfluenceAcross is Influences of one part in several batches.
func (m *Decoder) InfluenceAcross(progs *device.Programs, ws *Workspace, bs *BackwardSpace, table []gpu.View, batches []seq.Batch, x [][]float32) ([][]float64, error) {
	over := func(name string, b seq.Batch, x []float32, do func(p *pass) func(s slab, i, r0, n int)) error {
		if err := ws.Upload(b); err != nil {
			return err
		}
		if err := device.Upload(device.Put(bs.weights, weightsOf(b, x))); err != nil {
			return err
		}
		err := progs.Run(fmt.Sprintf("influence %s %d %d", name, b.T, b.R), func(r *device.Recorder) {
			p := &pass{Recorder: r, m: m, ws: ws, T: b.T}
			m.RecordForward(r, ws, b.T)
			m.RecordFinalNorm(r, ws, b.R)
			m.recordWeighted(p, bs.weights, 0, b.R, true, do(p))
		})
		if err != nil {
			return err
		}
		return m.Device.Wait()
	}
	for i, b := range batches {
		if err := over("sum", b, x[i], func(p *pass) func(s slab, i, r0, n int) { return m.summed(p, table) }); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, len(batches))
	for i, b := range batches {
		err := over("product", b, nil, func(p *pass) func(s slab, i, r0, n int) { return m.multiplied(p, bs, table) })
		if err == nil {
			out[i], err = m.inner(ws, bs, b, b.R)
		}
		if err != nil {
			return nil, err
		}
	}
	err := progs.Run("influence zero", func(r *device.Recorder) { m.recordZeros(r, table) })
	if err == nil {
		err = m.Device.Wait()
	}
	return out, err
}

// weightsOf are the weights of the log-probs of a batch's predictions, [R][4]: x by their places among the predicted
// tokens, or 1 where x is nil.
func weightsOf(b seq.Batch, x []float32) []float32 {
	weights := make([]float32, 4*b.R)
	for k, at := range b.Order {
		switch {
		case at < 0: // of no token
		case x == nil:
			weights[4*k] = 1
		default:
			weights[4*k] = x[at]
		}
	}
	return weights
}

// recordWeighted records, block by block of some predictions, what is to be done with the weighted gradients of their
// log-probs by the logits, for each slab of the table. fresh says that their statistics are not there yet.
func (m *Decoder) recordWeighted(p *pass, weights gpu.View, from, count int, fresh bool, do func(s slab, i, r0, n int)) {
	d, h := m.Layout.Dims, &p.ws.Head
	h.Blocks(count, func(r0, n int) {
		r0 += from
		m.RecordLogits(p.Recorder, p.ws, r0, n)
		if fresh {
			m.RecordStats(p.Recorder, p.ws, r0, n)
		}
		p.Op("vocab_backward", d.VocabPadded, n, []gpu.View{h.Logits, device.At(h.Target, r0), device.At(h.InvTemp, r0), device.At(h.Stats, r0*4), device.At(weights, r0*4)},
			u(n), u(d.Vocab), u(d.VocabPadded))
		for i, s := range m.Layout.head {
			do(s, i, r0, n)
		}
	})
}

// summed adds the gradients of the logits times the hidden states to the table.
func (m *Decoder) summed(p *pass, table []gpu.View) func(s slab, i, r0, n int) {
	return func(s slab, i, r0, n int) {
		out, in := s.weight.Rows, s.weight.Cols
		p.MatmulTN(out, in, n, m.Layout.VocabPadded, in, in, device.At(p.ws.Head.Logits, s.row0), device.At(p.ws.Head.h, r0*in), table[i])
	}
}

// multiplied makes the products of the gradients of the logits with the table.
func (m *Decoder) multiplied(p *pass, bs *BackwardSpace, table []gpu.View) func(s slab, i, r0, n int) {
	return func(s slab, i, r0, n int) {
		out, in := s.weight.Rows, s.weight.Cols
		tensors.Matrix{Numbers: table[i]}.Multiply(p.Recorder, i > 0, n, in, out, m.Layout.VocabPadded, in, in, device.At(p.ws.Head.Logits, s.row0), device.At(bs.dhead, r0*in))
	}
}

// recordZeros empties the table.
func (m *Decoder) recordZeros(r *device.Recorder, table []gpu.View) {
	for i, s := range m.Layout.head {
		n := s.weight.Rows * s.weight.Cols
		r.Op("fill", n, 1, []gpu.View{table[i]}, u(n), 0)
	}
}

// inner are the products of hidden states and what was made for them, for each of so many predicted tokens of a batch.
func (m *Decoder) inner(ws *Workspace, bs *BackwardSpace, b seq.Batch, tokens int) ([]float64, error) {
	ld := m.Layout.ld
	h, dh := make([]float32, b.R*ld), make([]float32, b.R*ld)
	if err := device.Read(ws.Head.h, h); err != nil {
		return nil, err
	}
	if err := device.Read(bs.dhead, dh); err != nil {
		return nil, err
	}
	out := make([]float64, tokens)
	for k, at := range b.Order {
		if at < 0 {
			continue
		}
		for d := k * ld; d < (k+1)*ld; d++ {
			out[at] += float64(h[d]) * float64(dh[d])
		}
	}
	return out, nil
}
