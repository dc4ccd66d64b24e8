package model

import "github.com/rlzero/rlzero/gpu"

// forward records the blocks for the first T rows of a workspace: from token
// ids to the residual stream in ws.last. Trainer, Scorer and Engine all use it.
func (m *Model) forward(r *recorder, ws *workspace, T int) {
	d := m.layout.dims
	for _, s := range m.layout.embed {
		r.op(m.Config.Dtype.kernel("embed"), d.ld, T, []gpu.View{ws.ids, m.params.matrix(s.region), ws.layers[0].x}, u(T), u(d.ld), u(s.row0), u(s.rows))
	}
	for i := range ws.layers {
		next := ws.last
		if i+1 < len(ws.layers) {
			next = ws.layers[i+1].x
		}
		m.block(r, ws, i, T, next)
	}
}

// block records one layer: attention and MLP, each on a normed copy of the
// residual stream and added back to it.
func (m *Model) block(r *recorder, ws *workspace, i, T int, next gpu.View) {
	d, w, a := m.layout.dims, m.layout.layers[i], &ws.layers[i]
	vector, matrix := m.params.view, m.params.matrix
	product, productAdded := m.Config.Dtype.kernel("matmul_nt"), m.Config.Dtype.kernel("matmul_nt_residual")
	nq, att := d.qkv(), d.heads*d.hdp
	r.op("rmsnorm", T, 1, []gpu.View{a.x, vector(w.norm1), a.h1, a.rstd1}, u(T), u(d.width), u(d.ld), f(m.Config.NormEps))
	r.matmul(product, T, nq, d.ld, d.ld, d.ld, nq, a.h1, matrix(w.qkv), a.qkv)
	r.op(m.Config.KVDtype.kernel("qk_rope"), d.heads+2*d.kv, T, []gpu.View{a.qkv, vector(w.qkNorm), {Buffer: m.rope}, ws.place, a.q, a.k, a.v, a.rstdQK}, m.headParams(T)...)
	r.op(m.Config.KVDtype.kernel("attention"), d.heads, T, []gpu.View{a.q, a.k, a.v, ws.kvidx, ws.keys, a.att, a.stat}, m.attentionParams(T)...)
	r.matmul(productAdded, T, d.ld, att, att, att, d.ld, a.att, matrix(w.o), a.x, a.mid)
	r.op("rmsnorm", T, 1, []gpu.View{a.mid, vector(w.norm2), a.h2, a.rstd2}, u(T), u(d.width), u(d.ld), f(m.Config.NormEps))
	r.matmul(product, T, 2*d.mlpp, d.ld, d.ld, d.ld, 2*d.mlpp, a.h2, matrix(w.gateUp), a.gu)
	r.op("swiglu", d.mlpp, T, []gpu.View{a.gu, a.act}, u(T), u(d.mlpp))
	r.matmul(productAdded, T, d.ld, d.mlpp, d.mlpp, d.mlpp, d.ld, a.act, matrix(w.down), a.mid, next)
}

func (m *Model) headParams(T int) []uint32 {
	d := m.layout.dims
	norm := 0
	if m.Config.QKNorm {
		norm = 1
	}
	return []uint32{u(T), u(d.heads), u(d.kv), u(d.hdp), u(d.hd), f(m.Config.NormEps), u(norm)}
}

func (m *Model) attentionParams(T int) []uint32 {
	d := m.layout.dims
	return []uint32{u(T), u(d.heads), u(d.kv), u(d.hdp), f(1 / sqrt(d.hd))}
}

// finalNorm records the final norm of the R rows that predict a token.
func (m *Model) finalNorm(r *recorder, ws *workspace, R int) {
	d, h := m.layout.dims, &ws.head
	r.op("gather_rows", d.ld, R, []gpu.View{ws.last, h.idx, h.x}, u(R), u(d.ld))
	r.op("rmsnorm", R, 1, []gpu.View{h.x, m.params.view(m.layout.norm), h.h, h.rstd}, u(R), u(d.width), u(d.ld), f(m.Config.NormEps))
}

// blocks calls do for each block of the R rows: first row and number of rows.
func (h *headSpace) blocks(R int, do func(r0, n int)) {
	for r0 := 0; r0 < R; r0 += h.block {
		do(r0, min(h.block, R-r0))
	}
}

// logits records the logits of rows r0 .. r0+n-1 into the workspace.
func (m *Model) logits(r *recorder, ws *workspace, r0, n int) {
	d, h := m.layout.dims, &ws.head
	for _, s := range m.layout.head {
		r.matmul(m.Config.Dtype.kernel("matmul_nt"), n, s.rows, d.ld, d.ld, d.ld, d.vocabp, at(h.h, r0*d.ld), m.params.matrix(s.region), at(h.logits, s.row0))
	}
}

// stats records log-prob, entropy and mean log-softmax of rows r0 .. r0+n-1
// from the logits in the workspace.
func (m *Model) stats(r *recorder, ws *workspace, r0, n int) {
	d, h := m.layout.dims, &ws.head
	r.op("vocab_stats", n, 1, []gpu.View{h.logits, at(h.target, r0), at(h.invTemp, r0), at(h.stats, r0*4)}, u(n), u(d.vocab), u(d.vocabp))
}
