package model

import (
	"cmp"
	"slices"

	"github.com/rlzero/rlzero/gpu"
)

// linear is a matrix as both passes use it: y = x W^T + b, and in the backward pass
// dx = dy W, dW += dy^T x and db += the sum of dy. Every product with a weight of the
// model goes through it, so how a matrix is kept is decided here alone.
type linear struct {
	weight *region // [out][in], padded
	bias   *region // [out]; nil for none
	slices []slice
}

// slice is the part of a linear that one tensor of the files holds: rows of its output.
type slice struct {
	name      string // without its ending .weight or .bias
	out, in   int    // as in the file
	off, rows int    // where its rows lie, with their padding
	row, col  func(int) int
	lora      *lora // nil for none
}

// linear places a matrix of so many padded rows and columns that is made of slices.
func (l *layout) linear(kept storage, out, in int, biased, projection bool, parts ...slice) linear {
	w := linear{weight: l.placeAs(out, in, true, cmp.Or(kept, f32)), slices: parts}
	for _, s := range parts {
		l.pieces = append(l.pieces, piece{name: s.name + ".weight", shape: []int{s.out, s.in},
			region: w.weight, row: s.row, col: s.col, projection: projection})
	}
	if biased {
		w.bias = l.place(1, out, false)
		for _, s := range parts {
			l.vector(s.name+".bias", w.bias, 0, s.out, s.row, 0)
		}
	}
	return w
}

// forward records y = x W^T + b + adapters for n rows. x has the width of the matrix, y
// rows of ldy numbers, at least as many as the matrix has rows.
func (w linear) forward(p *pass, n int, x, y gpu.View, ldy int) {
	w.product(p, "matmul_nt", n, ldy, x, y)
	w.addRest(p, n, x, y, ldy)
}

// forwardAdded records y = (r + x W^T) + b + adapters for n rows. y must not overlap r.
func (w linear) forwardAdded(p *pass, n int, x, r, y gpu.View) {
	w.product(p, "matmul_nt_residual", n, w.weight.rows, x, r, y)
	w.addRest(p, n, x, y, w.weight.rows)
}

// product records a product of n rows of x with the matrix into rows of ldy numbers. rest
// is what the kernel binds after the two.
func (w linear) product(p *pass, kernel string, n, ldy int, x gpu.View, rest ...gpu.View) {
	out, in := w.weight.rows, w.weight.cols
	weight := p.m.params.matrix(w.weight)
	bind := slices.Concat([]gpu.View{x}, weight.from(0, in), rest)
	p.matmul(weight.storage.kernel(kernel), n, out, in, in, in, ldy, bind...)
}

// addRest records what comes to y after the product with the weight: the bias, then
// scale * (x A^T) B^T of each slice with an adapter, each in one addition.
func (w linear) addRest(p *pass, n int, x, y gpu.View, ldy int) {
	if w.bias != nil {
		p.op("add_bias", w.bias.cols, n, []gpu.View{y, p.m.params.view(w.bias)}, u(n), u(w.bias.cols))
	}
	if p.ws.plain {
		return
	}
	for _, s := range w.slices {
		if s.lora == nil {
			continue
		}
		down, up := p.ws.lora.down, rowsOf(p.ws.lora.up, 0, n, s.rows)
		rank := s.lora.a.rows
		s.lora.project(p, n, x, down)
		p.matmul("matmul_nt", n, s.rows, rank, rank, rank, s.rows, down, p.adapter().view(s.lora.b), up)
		p.op("add_columns", s.rows, n, []gpu.View{y, up}, u(n), u(s.rows), u(ldy), u(s.off), f(s.lora.scale))
	}
}

// adapter is where the matrices of adapters lie that the pass reads.
func (p *pass) adapter() arena {
	if p.ws.adapter != nil {
		return p.ws.adapter
	}
	return p.m.adapter.values
}

// project records down = x A^T.
func (l *lora) project(p *pass, n int, x, down gpu.View) {
	rank, in := l.a.rows, l.a.cols
	p.matmul("matmul_nt", n, rank, in, in, in, rank, x, p.adapter().view(l.a), down)
}

// backward records dW += dy^T x, db += dy, and dx = dy W for n rows, or dx += dy W if
// continues is true. dy has rows of ldy numbers. Of a model with an adapter only that has
// gradients.
func (w linear) backward(p *pass, n int, x, dy gpu.View, ldy int, dx gpu.View, continues bool) {
	out, in := w.weight.rows, w.weight.cols
	if p.whole() {
		p.matmulTN(out, in, n, ldy, in, in, dy, x, p.g.view(w.weight))
		if w.bias != nil {
			p.op("bias_backward", out, 1, []gpu.View{dy, p.g.view(w.bias)}, u(n), u(out))
		}
	}
	p.matmulNN(continues, n, in, out, ldy, in, in, dy, p.m.params.matrix(w.weight), dx)
	for _, s := range w.slices {
		if s.lora != nil {
			s.lora.backward(p, s, n, x, dy, ldy, dx)
		}
	}
}

// backward records dA, dB, and what the adapter adds to dx, for n rows. x A^T is made
// again, which is cheaper than keeping it.
func (l *lora) backward(p *pass, s slice, n int, x, dy gpu.View, ldy int, dx gpu.View) {
	rank, in := l.a.rows, l.a.cols
	a, b := matrix{numbers: p.adapter().view(l.a)}, matrix{numbers: p.adapter().view(l.b)}
	down, up := p.ws.lora.down, rowsOf(p.ws.lora.up, 0, n, s.rows)
	p.op("take_columns", s.rows, n, []gpu.View{dy, up}, u(n), u(s.rows), u(ldy), u(s.off), f(l.scale))
	l.project(p, n, x, down)
	p.matmulTN(s.rows, rank, n, s.rows, rank, rank, up, down, p.g.view(l.b))
	p.matmulNN(false, n, rank, s.rows, s.rows, rank, rank, up, b, down)
	p.matmulTN(rank, in, n, rank, in, in, down, x, p.g.view(l.a))
	p.matmulNN(true, n, in, rank, rank, in, in, down, a, dx)
}
