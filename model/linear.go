package model

import "github.com/rlzero/rlzero/gpu"

// linear is a matrix as both passes use it: y = x W^T + b, and in the backward pass
// dx = dy W, dW += dy^T x and db += the sum of dy. Every product with a weight of the
// model goes through it, so how a matrix is kept is decided here alone.
type linear struct {
	weight  *region // [out][in], padded
	bias    *region // [out]; nil for none
	storage Dtype   // of the numbers that the passes read
}

// slice is the part of a linear that one tensor of the files holds: rows of its output.
type slice struct {
	name     string // but for its ending weight or bias
	out, in  int    // as in the file
	row, col func(int) int
}

// linear places a matrix of so many padded rows and columns that is made of slices.
func (l *layout) linear(out, in int, biased, projection bool, slices ...slice) linear {
	w := linear{weight: l.place(out, in, true), storage: l.dtype}
	for _, s := range slices {
		l.pieces = append(l.pieces, piece{name: s.name + "weight", shape: []int{s.out, s.in},
			region: w.weight, row: s.row, col: s.col, projection: projection})
	}
	if biased {
		w.bias = l.place(1, out, false)
		for _, s := range slices {
			l.vector(s.name+"bias", w.bias, 0, s.out, s.row, 0)
		}
	}
	return w
}

// forward records y = x W^T + b for n rows. x has the width of the matrix, y rows of ldy
// numbers, at least as many as the matrix has rows.
func (w linear) forward(p *pass, n int, x, y gpu.View, ldy int) {
	p.matmul(w.storage.kernel("matmul_nt"), n, w.weight.rows, w.weight.cols, w.weight.cols, w.weight.cols, ldy, x, p.m.params.matrix(w.weight), y)
	w.addBias(p, n, y)
}

// forwardAdded records y = (r + x W^T) + b for n rows. y must not overlap r.
func (w linear) forwardAdded(p *pass, n int, x, r, y gpu.View) {
	out, in := w.weight.rows, w.weight.cols
	p.matmul(w.storage.kernel("matmul_nt_residual"), n, out, in, in, in, out, x, p.m.params.matrix(w.weight), r, y)
	w.addBias(p, n, y)
}

func (w linear) addBias(p *pass, n int, y gpu.View) {
	if w.bias != nil {
		p.op("add_bias", w.bias.cols, n, []gpu.View{y, p.m.params.view(w.bias)}, u(n), u(w.bias.cols))
	}
}

// backward records dW += dy^T x, db += dy, and dx = dy W for n rows, or dx += dy W if
// continues is true. dy has rows of ldy numbers.
func (w linear) backward(p *pass, n int, x, dy gpu.View, ldy int, dx gpu.View, continues bool) {
	out, in := w.weight.rows, w.weight.cols
	p.matmulTN(out, in, n, ldy, in, in, dy, x, p.g.view(w.weight))
	if w.bias != nil {
		p.op("bias_backward", out, 1, []gpu.View{dy, p.g.view(w.bias)}, u(n), u(out))
	}
	p.matmulNN(w.storage, continues, n, in, out, ldy, in, in, dy, p.m.params.matrix(w.weight), dx)
}
