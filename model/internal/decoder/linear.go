package decoder

import (
	"cmp"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// linear is a matrix as both passes use it: y = x W^T + b, and in the backward pass
// dx = dy W, dW += dy^T x and db += the sum of dy. Every product with a weight of the
// model goes through it, so how a matrix is kept is decided here alone.
type linear struct {
	weight *tensors.Region // [out][in], padded
	bias   *tensors.Region // [out]; nil for none
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
func (l *Layout) linear(kept tensors.Storage, out, in int, biased, projection bool, parts ...slice) linear {
	w := linear{weight: l.PlaceAs(out, in, true, cmp.Or(kept, tensors.F32)), slices: parts}
	for _, s := range parts {
		l.Pieces = append(l.Pieces, tensors.Piece{Name: s.name + ".weight", Shape: []int{s.out, s.in},
			Region: w.weight, Row: s.row, Col: s.col, Projection: projection})
	}
	if biased {
		w.bias = l.Place(1, out, false)
		for _, s := range parts {
			l.PlaceVector(s.name+".bias", w.bias, 0, s.out, s.row, 0)
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
	w.product(p, "matmul_nt_residual", n, w.weight.Rows, x, r, y)
	w.addRest(p, n, x, y, w.weight.Rows)
}

// product records a product of n rows of x with the matrix into rows of ldy numbers. rest
// is what the kernel binds after the two.
func (w linear) product(p *pass, kernel string, n, ldy int, x gpu.View, rest ...gpu.View) {
	out, in := w.weight.Rows, w.weight.Cols
	weight := p.m.Params.Matrix(w.weight)
	bind := slices.Concat([]gpu.View{x}, weight.From(0, in), rest)
	p.Matmul(weight.Storage.Kernel(kernel), n, out, in, in, in, ldy, bind...)
}

// addRest records what comes to y after the product with the weight: the bias, then
// scale * (x A^T) B^T of each slice with an adapter, each in one addition.
func (w linear) addRest(p *pass, n int, x, y gpu.View, ldy int) {
	if w.bias != nil {
		p.Op("add_bias", w.bias.Cols, n, []gpu.View{y, p.m.Params.View(w.bias)}, u(n), u(w.bias.Cols))
	}
	if p.m.Adapter == nil { // a matrix has a place in an adapter even where that is off
		return
	}
	for _, s := range w.slices {
		if s.lora == nil {
			continue
		}
		down, up := p.ws.lora.down, device.Rows(p.ws.lora.up, 0, n, s.rows)
		rank := s.lora.a.Rows
		s.lora.project(p, n, x, down)
		p.Matmul("matmul_nt", n, s.rows, rank, rank, rank, s.rows, down, p.m.Adapter.Values.View(s.lora.b), up)
		p.Op("add_columns", s.rows, n, []gpu.View{y, up}, u(n), u(s.rows), u(ldy), u(s.off), device.Float(s.lora.scale))
	}
}

// project records down = x A^T.
func (l *lora) project(p *pass, n int, x, down gpu.View) {
	rank, in := l.a.Rows, l.a.Cols
	p.Matmul("matmul_nt", n, rank, in, in, in, rank, x, p.m.Adapter.Values.View(l.a), down)
}

// backward records dW += dy^T x, db += dy, and dx = dy W for n rows, or dx += dy W if
// continues is true. dy has rows of ldy numbers. Of a model with an adapter only that has
// gradients.
func (w linear) backward(p *pass, n int, x, dy gpu.View, ldy int, dx gpu.View, continues bool) {
	out, in := w.weight.Rows, w.weight.Cols
	if p.whole() {
		p.MatmulTN(out, in, n, ldy, in, in, dy, x, p.g.View(w.weight))
		if w.bias != nil {
			p.Op("bias_backward", out, 1, []gpu.View{dy, p.g.View(w.bias)}, u(n), u(out))
		}
	}
	p.m.Params.Matrix(w.weight).Multiply(p.Recorder, continues, n, in, out, ldy, in, in, dy, dx)
	if p.whole() {
		return
	}
	for _, s := range w.slices {
		if s.lora != nil {
			s.lora.backward(p, s, n, x, dy, ldy, dx)
		}
	}
}

// backward records dA, dB, and what the adapter adds to dx, for n rows. x A^T is made
// again, which is cheaper than keeping it.
func (l *lora) backward(p *pass, s slice, n int, x, dy gpu.View, ldy int, dx gpu.View) {
	rank, in := l.a.Rows, l.a.Cols
	a, b := tensors.Matrix{Numbers: p.m.Adapter.Values.View(l.a)}, tensors.Matrix{Numbers: p.m.Adapter.Values.View(l.b)}
	down, up := p.ws.lora.down, device.Rows(p.ws.lora.up, 0, n, s.rows)
	p.Op("take_columns", s.rows, n, []gpu.View{dy, up}, u(n), u(s.rows), u(ldy), u(s.off), device.Float(l.scale))
	l.project(p, n, x, down)
	p.MatmulTN(s.rows, rank, n, s.rows, rank, rank, up, down, p.g.View(l.b))
	b.Multiply(p.Recorder, false, n, rank, s.rows, s.rows, rank, rank, up, down)
	p.MatmulTN(rank, in, n, rank, in, in, down, x, p.g.View(l.a))
	a.Multiply(p.Recorder, true, n, in, rank, rank, in, in, down, dx)
}
