package decoder

import (
	"fmt"
	"math"
	"sort"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// Gradients are dLoss/dparameter, laid out as the parameters are. The lookup of
// a tied embedding has its own sum (lookup), so that the order in which its
// gradient is added up does not depend on how a batch was cut
// (docs/why/model.md#why-does-a-tied-embeddings-lookup-gradient-have-a-sum-of-its-own).
type Gradients struct {
	tensors.Arena
	slabs  []slab     // of the embedding, if its gradient is wanted
	lookup []gpu.View // one per slab; the arena's own when untied
	Tied   bool       // the lookup has a sum of its own
}

// NewGradients are those of what is trained of a decoder, in an arena.
func (d *Decoder) NewGradients(p *device.Pool, a tensors.Arena) *Gradients {
	g := &Gradients{Arena: a}
	if d.Adapter != nil {
		return g
	}
	g.slabs, g.Tied = d.Layout.embed, d.Layout.tied
	for _, s := range g.slabs {
		v := g.View(s.weight)
		if g.Tied {
			v = p.Words("embedding lookup gradient", s.weight.Rows*s.weight.Cols)
		}
		g.lookup = append(g.lookup, v)
	}
	return g
}

// RecordFold records that the gradient of a tied embedding's lookup is added to that of the
// head, and cleared.
func (g *Gradients) RecordFold(r *device.Recorder) {
	if !g.Tied {
		return
	}
	for i, s := range g.slabs {
		n := s.weight.Rows * s.weight.Cols
		r.Op("add", n, 1, []gpu.View{g.View(s.weight), g.lookup[i]}, u(n))
		r.Op("fill", n, 1, []gpu.View{g.lookup[i]}, u(n), 0)
	}
}

// RecordZero records that the lookup's own sum is cleared.
func (g *Gradients) RecordZero(r *device.Recorder) {
	if !g.Tied {
		return
	}
	for i, s := range g.slabs {
		n := s.weight.Rows * s.weight.Cols
		r.Op("fill", n, 1, []gpu.View{g.lookup[i]}, u(n), 0)
	}
}

// BackwardSpace are the temporaries of a backward pass over T rows, R of them
// predicting.
type BackwardSpace struct {
	dx, dh             gpu.View // [T][ld] gradients of the residual stream, of a normed copy
	dy                 gpu.View // [T][ld] gradient before the norm that follows, if there is one
	attention          attentionGradients
	mlp                mlpGradients
	dhead              gpu.View // [R][ld] gradient of the final norm's output
	dlast              gpu.View // [R][ld] gradient of its input
	predicted          gpu.View // [T+1] u32: first prediction of each row
	ends               gpu.View // [T] u32: row after the last that sees this row's key
	windowEnds         gpu.View // the same in layers with a window, if there are any
	weights            gpu.View // [R][4] dlogprob, dentropy, dmean, dvalue, of which vocab_backward reads three
	rows, start, order gpu.View // u32: buckets of equal ids, see embed_backward
}

// NewBackwardSpace allocates the temporaries for so many rows.
func NewBackwardSpace(p *device.Pool, d Dims, rows int) *BackwardSpace {
	bs := &BackwardSpace{
		dx: p.Words("dx", rows*d.ld), dh: p.Words("dh", rows*d.ld),
		attention: newAttentionGradients(p, d, rows), mlp: newMLPGradients(p, d, rows),
		dhead: p.Words("dfinal", rows*d.ld), dlast: p.Words("dlast", rows*d.ld),
		predicted: p.Words("first predictions", rows+1), ends: p.Words("row ends", rows), weights: p.Words("token weights", rows*4),
		rows: p.Words("bucket rows", rows), start: p.Words("bucket starts", rows+1), order: p.Words("bucket order", rows),
	}
	if d.sandwich {
		bs.dy = p.Words("dnorm after", rows*d.ld)
	}
	if d.window > 0 {
		bs.windowEnds = p.Words("window ends", rows)
	}
	return bs
}

// part is what the MLP reads and writes of n rows from row r0 on.
func (bs *BackwardSpace) part(d Dims, r0, n int) *BackwardSpace {
	return &BackwardSpace{
		dx: device.Rows(bs.dx, r0, n, d.ld), dh: device.Rows(bs.dh, r0, n, d.ld), dy: device.Rows(bs.dy, r0, n, d.ld),
		mlp: mlpGradients{dgu: device.Rows(bs.mlp.dgu, r0, n, 2*d.mlpp), dact: device.Rows(bs.mlp.dact, r0, n, d.mlpp)},
	}
}

// seers tells of each key where the rows end that see it.
func (bs *BackwardSpace) seers(window bool) gpu.View {
	if window {
		return bs.windowEnds
	}
	return bs.ends
}

// recordHeadBackward records the vocabulary part: from the weights of each token to
// the gradient of the residual stream in bs.dx. If the logits of the only block
// are still in the workspace they are not made again.
func (m *Decoder) recordHeadBackward(r *device.Recorder, ws *Workspace, bs *BackwardSpace, g *Gradients, T, R int) {
	d, h, p := m.Layout.Dims, &ws.Head, &pass{r, m, ws, T, bs, g}
	h.Blocks(R, func(r0, n int) {
		if R > h.Block {
			m.RecordLogits(r, ws, r0, n)
		}
		r.Op("vocab_backward", d.VocabPadded, n, []gpu.View{h.Logits, device.At(h.Target, r0), device.At(h.InvTemp, r0), device.At(h.Stats, r0*4), device.At(bs.weights, r0*4)},
			u(n), u(d.Vocab), u(d.VocabPadded))
		for i, s := range m.Layout.head {
			s.backward(p, n, device.At(h.h, r0*d.ld), device.At(h.Logits, s.row0), d.VocabPadded, device.At(bs.dhead, r0*d.ld), i > 0)
		}
	})
	if h.Value != nil {
		h.Value.backward(r, R, d.ld, h.h, bs.dhead)
	}
	p.normBackward(m.Layout.norm, R, bs.dhead, h.x, h.rstd, bs.dlast, false)
	r.Op("scatter_rows", d.ld, T, []gpu.View{bs.dlast, bs.predicted, bs.dx}, u(T), u(d.ld))
}

// recordBackward records the blocks in reverse, then the embedding. buckets is the
// number of buckets of equal ids, padded.
func (m *Decoder) recordBackward(r *device.Recorder, ws *Workspace, bs *BackwardSpace, g *Gradients, T, buckets int) {
	d, p := m.Layout.Dims, &pass{r, m, ws, T, bs, g}
	last := len(ws.blocks) - 1
	for i := last; i >= 0; i-- {
		if ws.keep == KeptInputs && i < last { // the last block's are still there
			m.Layout.blocks[i].forward(p, &ws.blocks[i], ws.stream(i+1))
		}
		m.Layout.blocks[i].backward(p, &ws.blocks[i])
	}
	if !p.whole() {
		return
	}
	for i, s := range m.Layout.embed {
		r.Op("embed_backward", d.ld, buckets, []gpu.View{bs.rows, bs.start, bs.order, bs.dx, g.lookup[i]}, u(buckets), u(d.ld), u(s.row0), u(s.weight.Rows), m.Layout.embedScale())
	}
}

// Backward adds the gradient of a batch whose forward pass is the last one that was run, given
// the weight of each statistic of each predicted token, sequence by sequence: dLoss/dlogprob,
// dentropy, dmean, dvalue. The logits in the workspace become their gradient.
func (m *Decoder) Backward(progs *device.Programs, ws *Workspace, bs *BackwardSpace, g *Gradients, b seq.Batch, weights [][4]float32) error {
	n := min(b.T, m.config.Vocab) // buckets of equal ids
	if err := ws.uploadBackward(bs, b, ws.mix.weigh(weights), n); err != nil {
		return err
	}
	err := progs.Run(fmt.Sprintf("backward %d %d%s", b.T, b.R, ws.Summed()), func(r *device.Recorder) {
		m.recordHeadBackward(r, ws, bs, g, b.T, b.R)
		m.recordBackward(r, ws, bs, g, b.T, n)
	})
	if err != nil {
		return err
	}
	return m.Device.Wait()
}

// uploadBackward writes the weights of all predicted tokens, and what the backward kernels
// need to know about the rows.
func (ws *Workspace) uploadBackward(bs *BackwardSpace, b seq.Batch, all [][4]float32, n int) error {
	weights, dvalue := make([]float32, 0, 4*b.R), make([]float32, b.R)
	for i, at := range b.Order {
		weights = append(weights, all[at][:]...)
		dvalue[i] = all[at][3]
	}
	rows, start, order := buckets(b.IDs, n)
	writes := []device.Write{
		device.Put(bs.weights, weights), device.Put(bs.predicted, append(b.Start, u(b.R))), device.Put(bs.ends, b.Ends),
		device.Put(bs.rows, rows), device.Put(bs.start, start), device.Put(bs.order, order)}
	if ws.window > 0 {
		writes = append(writes, device.Put(bs.windowEnds, b.WindowEnds))
	}
	if v := ws.Head.Value; v != nil {
		writes = append(writes, v.write(dvalue))
	}
	return device.Upload(writes...)
}

// buckets sorts the rows of equal ids together: bucket i is about token
// rows[i] and holds order[start[i]:start[i+1]], ascending. Unused buckets, up to
// n, are empty and belong to no token.
func buckets(ids []uint32, n int) (rows, start, order []uint32) {
	byID := make([]int, len(ids))
	for i := range byID {
		byID[i] = i
	}
	sort.SliceStable(byID, func(a, b int) bool { return ids[byID[a]] < ids[byID[b]] })
	for i, row := range byID {
		if i == 0 || ids[row] != ids[byID[i-1]] {
			rows = append(rows, ids[row])
			start = append(start, u(i))
		}
		order = append(order, u(row))
	}
	for len(rows) < n {
		rows = append(rows, math.MaxUint32)
		start = append(start, u(len(order)))
	}
	return rows, append(start, u(len(order))), order
}
