package model

import "github.com/rlzero/rlzero/gpu"

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
func (l *layout) addBlock(c Config, i int) {
	l.blocks = append(l.blocks, block{l.addAttention(c, i), l.addMLP(i)})
}

// pass is what the parts record a forward or a backward pass with, over the first T
// rows of a workspace.
type pass struct {
	*recorder
	m  *Model
	ws *workspace
	T  int

	// Of a backward pass alone.
	bs *backwardSpace
	g  *gradients
}

// forward records a block, from its part of ws to the residual stream in next.
func (b *block) forward(p *pass, a *blockActs, next gpu.View) {
	b.attention.forward(p, &a.attention, a.mlp.x)
	b.mlp.forward(p, &a.mlp, next)
}

// backward turns the gradient of the residual stream behind the block, in bs.dx, into
// the one before it.
func (b *block) backward(p *pass, a *blockActs) {
	b.mlp.backward(p, &a.mlp)
	b.attention.backward(p, &a.attention)
}

// residual is what attention and MLP have in common: they read a normed copy of the
// residual stream, and what their last matrix gives is added back to the stream.
type residual struct {
	norm *region // [ld]
	out  linear
}

// residualRows are the buffers of a residual.
type residualRows struct {
	x       gpu.View // [T][ld] residual stream before
	h, rstd gpu.View // [T][ld], [T]
}

func (p *pool) residualRows(d dims, rows int) residualRows {
	return residualRows{x: p.words("residual", rows*d.ld), h: p.words("norm", rows*d.ld), rstd: p.words("rstd", rows)}
}

// enter records the norm: h of x.
func (s *residual) enter(p *pass, a *residualRows) {
	p.norm(s.norm, p.T, a.x, a.h, a.rstd)
}

// leave records next = x + the product of act with the last matrix.
func (s *residual) leave(p *pass, a *residualRows, act, next gpu.View) {
	s.out.forwardAdded(p, p.T, act, a.x, next)
}

// leaveBackward records dact from the gradient of the residual stream.
func (s *residual) leaveBackward(p *pass, act, dact gpu.View) {
	s.out.backward(p, p.T, act, p.bs.dx, p.m.layout.ld, dact, false)
}

// enterBackward adds the gradient through the norm, from bs.dh, to that of the
// residual stream.
func (s *residual) enterBackward(p *pass, a *residualRows) {
	p.normBackward(s.norm, p.T, p.bs.dh, a.x, a.rstd, p.bs.dx, true)
}

// norm records y = the norm of n rows of x.
func (p *pass) norm(w *region, n int, x, y, rstd gpu.View) {
	d := p.m.layout.dims
	p.op("rmsnorm", n, 1, []gpu.View{x, p.m.params.view(w), y, rstd}, u(n), u(d.width), u(d.ld), f(p.m.Config.NormEps))
}

// normBackward records the gradients of a norm's factors and of its input, which is
// added to dx if add is true.
func (p *pass) normBackward(w *region, n int, dy, x, rstd, dx gpu.View, add bool) {
	d, accumulate := p.m.layout.dims, 0
	if add {
		accumulate = 1
	}
	p.op("rmsnorm_backward_dw", d.ld, 1, []gpu.View{dy, x, rstd, p.g.view(w)}, u(n), u(d.ld))
	p.op("rmsnorm_backward_dx", n, 1, []gpu.View{dy, x, p.m.params.view(w), rstd, dx}, u(n), u(d.width), u(d.ld), u(accumulate))
}
