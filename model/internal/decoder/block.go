package decoder

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// block is one layer of the decoder: attention, then the MLP. Each is a part in a
// file of its own, with its tensors, its buffers, and its forward and backward pass.
type block struct {
	attention attention
	mlp       mlp
}

// blockActs are the activations of a block.
type blockActs struct {
	attention attentionRows
	mlp       mlpRows
}

// addBlock places the tensors of block i.
func (l *Layout) addBlock(c hf.Config, i int) {
	l.blocks = append(l.blocks, block{l.addAttention(c, i), l.addMLP(c, i)})
}

// pass is what the parts record a forward or a backward pass with, over the first T
// rows of a workspace.
type pass struct {
	*device.Recorder
	m  *Decoder
	ws *Workspace
	T  int

	// Of a backward pass alone.
	bs *BackwardSpace
	g  *Gradients
}

// cut calls do for runs of the pass's rows, each as long as a view of so many words a row
// fits a binding: first row, and a pass over the run. No bit depends on it. Rows are
// computed apart from each other, and sums over rows go on from one run to the next, as
// they do from batch to batch. Runs start at multiples of 64 rows, so views start at
// multiples of 256 bytes.
func (p *pass) cut(words int, do func(r0 int, p *pass)) {
	most := max(64, p.m.Layout.MaxBinding/(4*words)/64*64)
	for r0 := 0; r0 < p.T; r0 += most {
		run := *p
		run.T = min(most, p.T-r0)
		if p.bs != nil {
			run.bs = p.bs.part(p.m.Layout.Dims, r0, run.T)
		}
		do(r0, &run)
	}
}

// whole tells whether the gradients of the model's own parameters are wanted, and not
// those of an adapter.
func (p *pass) whole() bool { return p.m.Adapter == nil }

// forward records a block, from its part of ws to the residual stream in next.
func (b *block) forward(p *pass, a *blockActs, next gpu.View) {
	b.attention.forward(p, &a.attention, a.mlp.x)
	b.mlp.forward(p, &a.mlp, next)
}

// forwardRead is forward of the R rows that are read, which lie side by side in next.
func (b *block) forwardRead(p *pass, a *blockActs, R int, next gpu.View) {
	b.attention.forwardRead(p, &a.attention, R, a.mlp.x)
	read := *p
	read.T = R
	b.mlp.forward(&read, &a.mlp, next)
}

// gather records the rows that are read, side by side.
func (p *pass) gather(R, width int, from, to gpu.View) {
	p.Op("gather_rows", width, R, []gpu.View{from, p.ws.Head.Idx, to}, u(R), u(width))
}

// backward turns the gradient of the residual stream after the block, in bs.dx, into
// the one before it.
func (b *block) backward(p *pass, a *blockActs) {
	b.mlp.backward(p, &a.mlp)
	b.attention.backward(p, &a.attention)
}

// residual is what attention and MLP have in common: they read a normed copy of the
// residual stream, and what their last matrix gives is added back to the stream.
type residual struct {
	norm *tensors.Region // [ld]
	out  linear
	post *tensors.Region // [ld] norm of what is added; nil for none
}

// residualRows are the buffers of a residual.
type residualRows struct {
	x       gpu.View // [T][ld] residual stream before
	h, rstd gpu.View // [T][ld], [T]

	y, rstdPost gpu.View // [T][ld], [T] before the norm that follows, if there is one
}

func newResidualRows(p *device.Pool, d Dims, rows int) residualRows {
	r := residualRows{x: p.Words("residual", rows*d.ld), h: p.Words("norm", rows*d.ld), rstd: p.Words("rstd", rows)}
	if d.sandwich {
		r.y, r.rstdPost = p.Words("before norm", rows*d.ld), p.Words("rstd after", rows)
	}
	return r
}

// part is n rows of the buffers from row r0 on.
func (a residualRows) part(d Dims, r0, n int) residualRows {
	return residualRows{
		x: device.Rows(a.x, r0, n, d.ld), h: device.Rows(a.h, r0, n, d.ld), rstd: device.Rows(a.rstd, r0, n, 1),
		y: device.Rows(a.y, r0, n, d.ld), rstdPost: device.Rows(a.rstdPost, r0, n, 1),
	}
}

// enter records the norm: h of x.
func (s *residual) enter(p *pass, a *residualRows) {
	p.norm(s.norm, p.T, a.x, a.h, a.rstd)
}

// leave records next = x + the product of act with the last matrix, or its norm.
func (s *residual) leave(p *pass, a *residualRows, act, next gpu.View) {
	if s.post == nil {
		s.out.forwardAdded(p, p.T, act, a.x, next)
		return
	}
	s.out.forward(p, p.T, act, a.y, p.m.Layout.ld)
	p.Op("rmsnorm_residual", p.T, 1, []gpu.View{a.y, p.m.Params.View(s.post), a.x, next, a.rstdPost}, p.normParams(p.T)...)
}

// leaveBackward records dact from the gradient of the residual stream.
func (s *residual) leaveBackward(p *pass, a *residualRows, act, dact gpu.View) {
	dy := p.bs.dx
	if s.post != nil {
		dy = p.bs.dy
		p.normBackward(s.post, p.T, p.bs.dx, a.y, a.rstdPost, dy, false)
	}
	s.out.backward(p, p.T, act, dy, p.m.Layout.ld, dact, false)
}

// enterBackward adds the gradient through the norm, from bs.dh, to that of the
// residual stream.
func (s *residual) enterBackward(p *pass, a *residualRows) {
	p.normBackward(s.norm, p.T, p.bs.dh, a.x, a.rstd, p.bs.dx, true)
}

// norm records y = the norm of n rows of x.
func (p *pass) norm(w *tensors.Region, n int, x, y, rstd gpu.View) {
	p.Op("rmsnorm", n, 1, []gpu.View{x, p.m.Params.View(w), y, rstd}, p.normParams(n)...)
}

// normParams are the parameters of the norm of n rows.
func (p *pass) normParams(n int) []uint32 {
	l := p.m.Layout
	return []uint32{u(n), u(l.width), u(l.ld), device.Float(p.m.config.NormEps), device.Float(l.family.NormPlus)}
}

// normBackward records the gradients of a norm's factors, if wanted, and of its input, which is
// added to dx if add is true.
func (p *pass) normBackward(w *tensors.Region, n int, dy, x, rstd, dx gpu.View, add bool) {
	d, accumulate := p.m.Layout.Dims, 0
	if add {
		accumulate = 1
	}
	if p.whole() {
		p.Op("rmsnorm_backward_dw", d.ld, 1, []gpu.View{dy, x, rstd, p.g.View(w)}, u(n), u(d.ld))
	}
	p.Op("rmsnorm_backward_dx", n, 1, []gpu.View{dy, x, p.m.Params.View(w), rstd, dx}, u(n), u(d.width), u(d.ld), u(accumulate), device.Float(p.m.Layout.family.NormPlus))
}
