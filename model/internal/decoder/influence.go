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

// spaced is where a prediction may begin that operations are about from it on: views begin at 256 bytes.
const spaced = 64

// StartPart is where a part of n predictions begins after so many rows, of which those of one pass over the logits begin
// at pass, and where its own pass begins: there, if the logits hold it too.
func (m *Decoder) StartPart(ws *Workspace, rows, pass, n int) (start, of int) {
	up := func(multiple int) int { return (rows + multiple - 1) / multiple * multiple }
	beside := 1 // views of its states and logits begin at 256 bytes
	for _, width := range []int{m.Layout.ld, m.Layout.VocabPadded} {
		for width*beside%spaced != 0 {
			beside *= 2
		}
	}
	if start = up(beside); start+n-pass <= ws.Head.Block {
		return start, pass
	}
	start = up(spaced)
	return start, start
}

// prediction is what a row predicts. Predictions that are equal have equal gradients.
type prediction struct {
	row, target uint32
	invTemp     float32
}

// distinct calls a function with the predictions from .. to-1 of a batch that are equal to none before them there, and is,
// for each of these predictions, how many of those came before it.
func distinct(b *seq.Batch, from, to int, do func(k int)) (of []int) {
	seen := map[prediction]int{}
	for k := from; k < to; k++ {
		p := prediction{b.Idx[k], b.Target[k], b.InvTemp[k]}
		n, there := seen[p]
		if !there {
			n = len(seen)
			seen[p] = n
			do(k)
		}
		of = append(of, n)
	}
	return of
}

// Distinct is how many different predictions a batch has.
func Distinct(b seq.Batch) (n int) {
	distinct(&b, 0, b.R, func(int) { n++ })
	return n
}

// parts are a batch whose predictions are in parts, each different prediction of a part once.
type parts struct {
	seq.Batch
	starts, sizes []int // of the parts
	at            []int // prediction of each predicted token
}

// inParts are the parts of a batch. ends are the predictions after each.
func (m *Decoder) inParts(ws *Workspace, b seq.Batch, ends []int) parts {
	out := parts{Batch: b, at: make([]int, b.R)}
	out.Idx, out.Target, out.InvTemp, out.Order = nil, nil, nil, nil
	from, pass, start := 0, 0, 0
	for _, to := range ends {
		var own []int
		of := distinct(&b, from, to, func(k int) { own = append(own, k) })
		start, pass = m.StartPart(ws, len(out.Idx), pass, len(own))
		for len(out.Idx) < start {
			out.Idx, out.Target, out.InvTemp = append(out.Idx, 0), append(out.Target, 0), append(out.InvTemp, 1)
		}
		for _, k := range own {
			out.Idx, out.Target, out.InvTemp = append(out.Idx, b.Idx[k]), append(out.Target, b.Target[k]), append(out.InvTemp, b.InvTemp[k])
		}
		for i, n := range of {
			out.at[b.Order[from+i]] = start + n
		}
		out.starts, out.sizes = append(out.starts, start), append(out.sizes, len(own))
		from = to
	}
	out.R = len(out.Idx)
	return out
}

// Influences computes, for each predicted token i of a batch, the sum over all predicted tokens j of its part of
// x[j] <g[i], g[j]>, where g are gradients of log-probs by the output table. ends are the predictions after the
// parts; with each part where StartPart says the different ones are no more than the rows of the workspace. Tokens with
// one prediction, as where completions begin alike, have one gradient, and count together. table has room
// for a sum of gradients, and is left as zeros. The products with G = sum of x[j] g[j] are the device's: g[i] is an
// outer product of the gradient of the logits, d[i], and the hidden state h[i], so G is the sum of d[j] times x[j] h[j],
// and <g[i], G> = <d[i] G, h[i]>, of which the last product is in float64. So parts that the logits hold together share
// one pass over them: work on small matrices costs what its dispatches cost.
func (m *Decoder) Influences(progs *device.Programs, ws *Workspace, bs *BackwardSpace, table []gpu.View, b seq.Batch, ends []int, x []float32) ([]float64, error) {
	if b.R == 0 {
		return nil, nil
	}
	apart := m.inParts(ws, b, ends)
	starts, sizes := apart.starts, apart.sizes
	h, err := m.readStates(progs, ws, bs, apart, x)
	if err != nil {
		return nil, err
	}
	err = progs.Run(fmt.Sprintf("influences %d %v %v", b.T, starts, sizes), func(r *device.Recorder) {
		p := &pass{Recorder: r, m: m, ws: ws, T: b.T}
		for k, next := 0, 0; k < len(ends); k = next {
			for next = k + 1; next < len(ends) && starts[next]+sizes[next]-starts[k] <= ws.Head.Block; {
				next++
			}
			rows := starts[next-1] + sizes[next-1] - starts[k]
			if rows > ws.Head.Block { // of one part
				m.recordGradients(p, bs, starts[k], rows, true, func(r0, n int) { m.recordSum(p, bs, table, 0, r0, n) })
				m.recordGradients(p, bs, starts[k], rows, false, func(r0, n int) { m.recordProduct(p, bs, table, 0, r0, n) })
				m.recordZeros(r, table)
				continue
			}
			m.recordGradients(p, bs, starts[k], rows, true, func(r0, _ int) {
				for k := k; k < next; k++ {
					if n := sizes[k]; n > 0 {
						m.recordSum(p, bs, table, starts[k]-r0, starts[k], n)
						m.recordProduct(p, bs, table, starts[k]-r0, starts[k], n)
						m.recordZeros(r, table)
					}
				}
			})
		}
	})
	if err == nil {
		err = m.Device.Wait()
	}
	if err != nil {
		return nil, err
	}
	return m.inner(h, bs, apart)
}

// InfluenceAcross is Influences of one part in several batches.
func (m *Decoder) InfluenceAcross(progs *device.Programs, ws *Workspace, bs *BackwardSpace, table []gpu.View, batches []seq.Batch, x [][]float32) ([][]float64, error) {
	over := func(name string, i int, do func(p *pass, r0, n int)) (b parts, h []float32, err error) {
		b = m.inParts(ws, batches[i], []int{batches[i].R})
		if h, err = m.readStates(progs, ws, bs, b, x[i]); err != nil {
			return b, nil, err
		}
		err = progs.Run(fmt.Sprintf("influence %s %d %d", name, b.T, b.R), func(r *device.Recorder) {
			p := &pass{Recorder: r, m: m, ws: ws, T: b.T}
			m.recordGradients(p, bs, 0, b.R, true, func(r0, n int) { do(p, r0, n) })
		})
		if err == nil {
			err = m.Device.Wait()
		}
		return b, h, err
	}
	for i := range batches {
		if _, _, err := over("sum", i, func(p *pass, r0, n int) { m.recordSum(p, bs, table, 0, r0, n) }); err != nil {
			return nil, err
		}
	}
	out := make([][]float64, len(batches))
	for i := range batches {
		b, h, err := over("product", i, func(p *pass, r0, n int) { m.recordProduct(p, bs, table, 0, r0, n) })
		if err == nil {
			out[i], err = m.inner(h, bs, b)
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

// readStates makes a forward pass and returns the final states of the predictions of parts, [R][ld]. It leaves x
// times them in bs.dx, where nothing else is in a forward pass, and the weight 1 of each log-prob; both are 0 for
// predictions of no token. x has a number for each predicted token; those of one prediction are added.
func (m *Decoder) readStates(progs *device.Programs, ws *Workspace, bs *BackwardSpace, b parts, x []float32) ([]float32, error) {
	if err := m.uploadRead(ws, b.Batch); err != nil {
		return nil, err
	}
	err := progs.Run(fmt.Sprintf("influence states %d %d", b.T, b.R), func(r *device.Recorder) { m.recordStates(r, ws, b.T, b.R) })
	if err == nil {
		err = m.Device.Wait()
	}
	ld := m.Layout.ld
	h, scaled, weights := make([]float32, b.R*ld), make([]float32, b.R*ld), make([]float32, 4*b.R)
	if err == nil {
		err = device.Read(ws.Head.h, h)
	}
	if err != nil {
		return nil, err
	}
	sums := make([]float64, b.R)
	for i, k := range b.at {
		sums[k] += float64(x[i])
		weights[4*k] = 1
	}
	for i, v := range h {
		scaled[i] = float32(sums[i/ld]) * v
	}
	return h, device.Upload(device.Put(bs.dx, scaled), device.Put(bs.weights, weights))
}

// recordGradients records, block by block of some predictions, the gradients of their log-probs by the logits, and then
// what is to be done with those of rows r0 .. r0+n-1. fresh says that their statistics are not there yet.
func (m *Decoder) recordGradients(p *pass, bs *BackwardSpace, from, count int, fresh bool, do func(r0, n int)) {
	d, h := m.Layout.Dims, &p.ws.Head
	h.Blocks(count, func(r0, n int) {
		r0 += from
		m.RecordLogits(p.Recorder, p.ws, r0, n)
		if fresh {
			m.RecordStats(p.Recorder, p.ws, r0, n)
		}
		p.Op("vocab_backward", d.VocabPadded, n, []gpu.View{h.Logits, device.At(h.Target, r0), device.At(h.InvTemp, r0), device.At(h.Stats, r0*4), device.At(bs.weights, r0*4)},
			u(n), u(d.Vocab), u(d.VocabPadded))
		do(r0, n)
	})
}

// recordSum adds to the table what n predictions from row r0 on add to the sum of gradients: the gradients of the
// logits, which begin at a row of the block that is there, times x times the hidden states.
func (m *Decoder) recordSum(p *pass, bs *BackwardSpace, table []gpu.View, at, r0, n int) {
	for i, s := range m.Layout.head {
		out, in := s.weight.Rows, s.weight.Cols
		p.MatmulTN(out, in, n, m.Layout.VocabPadded, in, in, device.At(p.ws.Head.Logits, at*m.Layout.VocabPadded+s.row0), device.At(bs.dx, r0*in), table[i])
	}
}

// recordProduct makes the products of these gradients with the table.
func (m *Decoder) recordProduct(p *pass, bs *BackwardSpace, table []gpu.View, at, r0, n int) {
	for i, s := range m.Layout.head {
		out, in := s.weight.Rows, s.weight.Cols
		tensors.Matrix{Numbers: table[i]}.Multiply(p.Recorder, i > 0, n, in, out, m.Layout.VocabPadded, in, in, device.At(p.ws.Head.Logits, at*m.Layout.VocabPadded+s.row0), device.At(bs.dhead, r0*in))
	}
}

// recordZeros empties the table.
func (m *Decoder) recordZeros(r *device.Recorder, table []gpu.View) {
	for i, s := range m.Layout.head {
		n := s.weight.Rows * s.weight.Cols
		r.Op("fill", n, 1, []gpu.View{table[i]}, u(n), 0)
	}
}

// inner are the products of hidden states and what was made for them, for each predicted token of parts.
func (m *Decoder) inner(h []float32, bs *BackwardSpace, b parts) ([]float64, error) {
	ld := m.Layout.ld
	dh := make([]float32, b.R*ld)
	if err := device.Read(bs.dhead, dh); err != nil {
		return nil, err
	}
	products := make([]float64, b.R)
	for i := range h {
		products[i/ld] += float64(h[i]) * float64(dh[i])
	}
	out := make([]float64, len(b.at))
	for i, k := range b.at {
		out[i] = products[k]
	}
	return out, nil
}
