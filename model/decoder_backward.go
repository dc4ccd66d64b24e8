package model

import "github.com/rlzero/rlzero/gpu"

// gradients are dLoss/dparameter, laid out as the parameters are. The lookup of
// a tied embedding has its own sum (lookup), so that the order in which its
// gradient is added up does not depend on how a batch was cut
// (docs/why/model.md#why-does-a-tied-embeddings-lookup-gradient-have-a-sum-of-its-own).
type gradients struct {
	arena
	lookup []gpu.View // one per embedding slab; the arena's own when untied
}

// backwardSpace are the temporaries of a backward pass over T rows, R of them
// predicting.
type backwardSpace struct {
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

func (p *pool) backwardSpace(d dims, rows int) *backwardSpace {
	bs := &backwardSpace{
		dx: p.words("dx", rows*d.ld), dh: p.words("dh", rows*d.ld),
		attention: p.attentionGradients(d, rows), mlp: p.mlpGradients(d, rows),
		dhead: p.words("dfinal", rows*d.ld), dlast: p.words("dlast", rows*d.ld),
		predicted: p.words("first predictions", rows+1), ends: p.words("row ends", rows), weights: p.words("token weights", rows*4),
		rows: p.words("bucket rows", rows), start: p.words("bucket starts", rows+1), order: p.words("bucket order", rows),
	}
	if d.sandwich {
		bs.dy = p.words("dnorm after", rows*d.ld)
	}
	if d.window > 0 {
		bs.windowEnds = p.words("window ends", rows)
	}
	return bs
}

// part is what the MLP reads and writes of n rows from row r0 on.
func (bs *backwardSpace) part(d dims, r0, n int) *backwardSpace {
	return &backwardSpace{
		dx: rowsOf(bs.dx, r0, n, d.ld), dh: rowsOf(bs.dh, r0, n, d.ld), dy: rowsOf(bs.dy, r0, n, d.ld),
		mlp: mlpGradients{dgu: rowsOf(bs.mlp.dgu, r0, n, 2*d.mlpp), dact: rowsOf(bs.mlp.dact, r0, n, d.mlpp)},
	}
}

// seers tells of each key where the rows end that see it.
func (bs *backwardSpace) seers(window bool) gpu.View {
	if window {
		return bs.windowEnds
	}
	return bs.ends
}

// backwardHead records the vocabulary part: from the weights of each token to
// the gradient of the residual stream in bs.dx. If the logits of the only block
// are still in the workspace they are not made again.
func (m *Model) backwardHead(r *recorder, ws *workspace, bs *backwardSpace, g *gradients, T, R int) {
	d, h, p := m.layout.dims, &ws.head, &pass{r, m, ws, T, bs, g}
	h.blocks(R, func(r0, n int) {
		if R > h.block {
			m.logits(r, ws, r0, n)
		}
		r.op("vocab_backward", d.vocabp, n, []gpu.View{h.logits, at(h.target, r0), at(h.invTemp, r0), at(h.stats, r0*4), at(bs.weights, r0*4)},
			u(n), u(d.vocab), u(d.vocabp))
		for i, s := range m.layout.head {
			s.backward(p, n, at(h.h, r0*d.ld), at(h.logits, s.row0), d.vocabp, at(bs.dhead, r0*d.ld), i > 0)
		}
	})
	if h.value != nil {
		h.value.backward(r, R, d.ld, h.h, bs.dhead)
	}
	p.normBackward(m.layout.norm, R, bs.dhead, h.x, h.rstd, bs.dlast, false)
	r.op("scatter_rows", d.ld, T, []gpu.View{bs.dlast, bs.predicted, bs.dx}, u(T), u(d.ld))
}

// backward records the blocks in reverse, then the embedding. buckets is the
// number of buckets of equal ids, padded (see Trainer).
func (m *Model) backward(r *recorder, ws *workspace, bs *backwardSpace, g *gradients, T, buckets int) {
	d, p := m.layout.dims, &pass{r, m, ws, T, bs, g}
	last := len(ws.blocks) - 1
	for i := last; i >= 0; i-- {
		if ws.keep == keptInputs && i < last { // the last block's are still there
			m.layout.blocks[i].forward(p, &ws.blocks[i], ws.stream(i+1))
		}
		m.layout.blocks[i].backward(p, &ws.blocks[i])
	}
	if !p.whole() {
		return
	}
	for i, s := range m.layout.embed {
		r.op("embed_backward", d.ld, buckets, []gpu.View{bs.rows, bs.start, bs.order, bs.dx, g.lookup[i]}, u(buckets), u(d.ld), u(s.row0), u(s.weight.rows), m.layout.embedScale())
	}
}
