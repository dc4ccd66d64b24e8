package model

import "github.com/rlzero/rlzero/gpu"

// forward records the blocks for the first T rows of a workspace: from token
// ids to the residual stream in ws.last. Trainer, Scorer and Engine all use it.
func (m *Model) forward(r *recorder, ws *workspace, T int) {
	d, p := m.layout.dims, &pass{recorder: r, m: m, ws: ws, T: T}
	for _, s := range m.layout.embed {
		table := m.params.matrix(s.weight)
		r.op(table.storage.kernel("embed"), d.ld, T, []gpu.View{ws.ids, table.numbers, ws.stream(0)}, u(T), u(d.ld), u(s.row0), u(s.weight.rows), m.layout.embedScale())
	}
	for i := range ws.blocks {
		m.layout.blocks[i].forward(p, &ws.blocks[i], ws.stream(i+1))
	}
}

// finalNorm records the final norm of the R rows that predict a token.
func (m *Model) finalNorm(r *recorder, ws *workspace, R int) {
	d, h, p := m.layout.dims, &ws.head, &pass{recorder: r, m: m, ws: ws}
	r.op("gather_rows", d.ld, R, []gpu.View{ws.last, h.idx, h.x}, u(R), u(d.ld))
	p.norm(m.layout.norm, R, h.x, h.h, h.rstd)
}

// blocks calls do for each block of the R rows: first row and number of rows.
func (h *headSpace) blocks(R int, do func(r0, n int)) {
	for r0 := 0; r0 < R; r0 += h.block {
		do(r0, min(h.block, R-r0))
	}
}

// logits records the logits of rows r0 .. r0+n-1 into the workspace.
func (m *Model) logits(r *recorder, ws *workspace, r0, n int) {
	d, h, p := m.layout.dims, &ws.head, &pass{recorder: r, m: m, ws: ws}
	for _, s := range m.layout.head {
		s.forward(p, n, at(h.h, r0*d.ld), at(h.logits, s.row0), d.vocabp)
	}
}

// stats records log-prob, entropy and mean log-softmax of rows r0 .. r0+n-1
// from the logits in the workspace.
func (m *Model) stats(r *recorder, ws *workspace, r0, n int) {
	d, h := m.layout.dims, &ws.head
	r.op("vocab_stats", n, 1, []gpu.View{h.logits, at(h.target, r0), at(h.invTemp, r0), at(h.stats, r0*4)}, u(n), u(d.vocab), u(d.vocabp))
}
