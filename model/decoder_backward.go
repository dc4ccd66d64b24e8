package model

import (
	"math"

	"github.com/rlzero/rlzero/gpu"
)

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }

// gradients are dLoss/dparameter, laid out as the parameters are. The lookup of
// a tied embedding has its own sum (lookup), so that the order in which its
// gradient is added up does not depend on how a batch was cut
// (RATIONALE.md#why-does-a-tied-embeddings-lookup-gradient-have-a-sum-of-its-own).
type gradients struct {
	arena
	lookup []gpu.View // one per embedding slab; the arena's own when untied
}

// backwardSpace are the temporaries of a backward pass over T rows, R of them
// predicting.
type backwardSpace struct {
	dx, dh, dqkv, dq, dk, dv gpu.View
	k, v                     gpu.View // of a block in float32, where they are kept in bf16
	datt, dgu, dact          gpu.View
	dhead                    gpu.View // [R][ld] gradient of the final norm's output
	dlast                    gpu.View // [R][ld] gradient of its input
	predicted                gpu.View // [T+1] u32: first prediction of each row
	ends                     gpu.View // [T] u32: row after the last that reads each row
	weights                  gpu.View // [R][4] dlogprob, dentropy, dmean
	rows, start, order       gpu.View // u32: buckets of equal ids, see embed_backward
}

func (p *pool) backwardSpace(d dims, rows int) *backwardSpace {
	bs := &backwardSpace{
		dx: p.words("dx", rows*d.ld), dh: p.words("dh", rows*d.ld), dqkv: p.words("dqkv", rows*d.qkv()),
		dq: p.words("dq", rows*d.heads*d.hdp), dk: p.words("dk", rows*d.kv*d.hdp), dv: p.words("dv", rows*d.kv*d.hdp),
		datt: p.words("dattention", rows*d.heads*d.hdp), dgu: p.words("dgate dup", rows*2*d.mlpp), dact: p.words("dmlp", rows*d.mlpp),
		dhead: p.words("dfinal", rows*d.ld), dlast: p.words("dlast", rows*d.ld),
		predicted: p.words("first predictions", rows+1), ends: p.words("row ends", rows), weights: p.words("token weights", rows*4),
		rows: p.words("bucket rows", rows), start: p.words("bucket starts", rows+1), order: p.words("bucket order", rows),
	}
	if d.kvDtype == BF16 {
		bs.k, bs.v = p.words("float32 k", rows*d.kv*d.hdp), p.words("float32 v", rows*d.kv*d.hdp)
	}
	return bs
}

// backwardHead records the vocabulary part: from the weights of each token to
// the gradient of the residual stream in bs.dx. If the logits of the only block
// are still in the workspace they are not made again.
func (m *Model) backwardHead(r *recorder, ws *workspace, bs *backwardSpace, g *gradients, T, R int) {
	d, h, dtype := m.layout.dims, &ws.head, m.Config.Dtype
	h.blocks(R, func(r0, n int) {
		if R > h.block {
			m.logits(r, ws, r0, n)
		}
		r.op("vocab_backward", d.vocabp, n, []gpu.View{h.logits, at(h.target, r0), at(h.invTemp, r0), at(h.stats, r0*4), at(bs.weights, r0*4)},
			u(n), u(d.vocab), u(d.vocabp))
		for i, s := range m.layout.head {
			dl := at(h.logits, s.row0)
			r.matmulNN(dtype, i > 0, n, d.ld, s.rows, d.vocabp, d.ld, d.ld, dl, m.params.matrix(s.region), at(bs.dhead, r0*d.ld))
			r.matmulTN(s.rows, d.ld, n, d.vocabp, d.ld, d.ld, dl, at(h.h, r0*d.ld), g.view(s.region))
		}
	})
	w := m.layout.norm
	r.op("rmsnorm_backward_dw", d.ld, 1, []gpu.View{bs.dhead, h.x, h.rstd, g.view(w)}, u(R), u(d.ld))
	r.op("rmsnorm_backward_dx", R, 1, []gpu.View{bs.dhead, h.x, m.params.view(w), h.rstd, bs.dlast}, u(R), u(d.width), u(d.ld), 0)
	r.op("scatter_rows", d.ld, T, []gpu.View{bs.dlast, bs.predicted, bs.dx}, u(T), u(d.ld))
}

// backward records the blocks in reverse, then the embedding. buckets is the
// number of buckets of equal ids, padded (see Trainer).
func (m *Model) backward(r *recorder, ws *workspace, bs *backwardSpace, g *gradients, T, buckets int) {
	for i := len(ws.layers) - 1; i >= 0; i-- {
		m.backwardMLP(r, &ws.layers[i], m.layout.layers[i], bs, g, T)
		m.backwardAttention(r, ws, i, bs, g, T)
	}
	d := m.layout.dims
	for i, s := range m.layout.embed {
		r.op("embed_backward", d.ld, buckets, []gpu.View{bs.rows, bs.start, bs.order, bs.dx, g.lookup[i]}, u(buckets), u(d.ld), u(s.row0), u(s.rows))
	}
}

func (m *Model) backwardMLP(r *recorder, a *layerActs, w layerRegions, bs *backwardSpace, g *gradients, T int) {
	d, matrix, dtype := m.layout.dims, m.params.matrix, m.Config.Dtype
	r.matmulTN(d.ld, d.mlpp, T, d.ld, d.mlpp, d.mlpp, bs.dx, a.act, g.view(w.down))
	r.matmulNN(dtype, false, T, d.mlpp, d.ld, d.ld, d.mlpp, d.mlpp, bs.dx, matrix(w.down), bs.dact)
	r.op("swiglu_backward", d.mlpp, T, []gpu.View{a.gu, bs.dact, bs.dgu}, u(T), u(d.mlpp))
	r.matmulTN(2*d.mlpp, d.ld, T, 2*d.mlpp, d.ld, d.ld, bs.dgu, a.h2, g.view(w.gateUp))
	r.matmulNN(dtype, false, T, d.ld, 2*d.mlpp, 2*d.mlpp, d.ld, d.ld, bs.dgu, matrix(w.gateUp), bs.dh)
	m.backwardNorm(r, bs, a.mid, a.rstd2, w.norm2, g, T)
}

// backwardNorm adds the gradient through a block's norm to the residual
// stream's.
func (m *Model) backwardNorm(r *recorder, bs *backwardSpace, x, rstd gpu.View, w *region, g *gradients, T int) {
	d := m.layout.dims
	r.op("rmsnorm_backward_dw", d.ld, 1, []gpu.View{bs.dh, x, rstd, g.view(w)}, u(T), u(d.ld))
	r.op("rmsnorm_backward_dx", T, 1, []gpu.View{bs.dh, x, m.params.view(w), rstd, bs.dx}, u(T), u(d.width), u(d.ld), 1)
}

func (m *Model) backwardAttention(r *recorder, ws *workspace, i int, bs *backwardSpace, g *gradients, T int) {
	d, a, w := m.layout.dims, &ws.layers[i], m.layout.layers[i]
	matrix, dtype := m.params.matrix, m.Config.Dtype
	k, v := a.k, a.v
	if m.Config.KVDtype == BF16 {
		k, v = bs.k, bs.v
		n := T * d.kv * d.hdp
		r.op("expand_bf16", n, 1, []gpu.View{a.k, k}, u(n))
		r.op("expand_bf16", n, 1, []gpu.View{a.v, v}, u(n))
	}
	nq, att := d.qkv(), d.heads*d.hdp
	r.matmulTN(d.ld, att, T, d.ld, att, att, bs.dx, a.att, g.view(w.o))
	r.matmulNN(dtype, false, T, att, d.ld, d.ld, att, att, bs.dx, matrix(w.o), bs.datt)
	r.op("attention_delta", d.heads, T, []gpu.View{a.att, bs.datt, a.stat}, u(T), u(d.heads), u(d.hdp))
	r.op("attention_backward_dq", d.heads, T, []gpu.View{a.q, k, v, bs.datt, a.stat, ws.kvidx, ws.keys, bs.dq}, m.attentionParams(T)...)
	r.op("attention_backward_dkv", d.kv, T, []gpu.View{a.q, k, v, bs.datt, a.stat, bs.ends, bs.dk, bs.dv}, m.attentionParams(T)...)
	r.op("qk_rope_backward", d.heads+2*d.kv, T, []gpu.View{a.qkv, m.params.view(w.qkNorm), {Buffer: m.rope}, ws.place, bs.dq, bs.dk, bs.dv, bs.dqkv}, m.headParams(T)...)
	if m.Config.QKNorm {
		ldr := u(d.heads + d.kv)
		dw := g.view(w.qkNorm)
		r.op("qk_norm_backward_dw", d.hdp, 1, []gpu.View{bs.dq, a.qkv, a.rstdQK, dw}, u(T), u(d.heads), u(d.hdp), u(nq), 0, ldr, 0, 0)
		r.op("qk_norm_backward_dw", d.hdp, 1, []gpu.View{bs.dk, a.qkv, a.rstdQK, dw}, u(T), u(d.kv), u(d.hdp), u(nq), u(att), ldr, u(d.heads), u(d.hdp))
	}
	r.matmulTN(nq, d.ld, T, nq, d.ld, d.ld, bs.dqkv, a.h1, g.view(w.qkv))
	r.matmulNN(dtype, false, T, d.ld, nq, nq, d.ld, d.ld, bs.dqkv, matrix(w.qkv), bs.dh)
	m.backwardNorm(r, bs, a.x, a.rstd1, w.norm1, g, T)
}
