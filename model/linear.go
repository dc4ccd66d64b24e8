package model

import "github.com/rlzero/rlzero/gpu"

// linear is a matrix as both passes use it: y = x W^T, and in the backward pass
// dx = dy W and dW += dy^T x. Every product with a weight of the model goes through
// it, so how a matrix is kept is decided here alone.
type linear struct {
	weight  *region // [out][in], padded
	storage Dtype   // of the numbers that the passes read
}

// linear places a matrix of so many padded rows and columns.
func (l *layout) linear(out, in int) linear {
	return linear{weight: l.place(out, in, true), storage: l.dtype}
}

// forward records y = x W^T for n rows. x has the width of the matrix, y rows of ldy
// numbers, at least as many as the matrix has rows.
func (w linear) forward(p *pass, n int, x, y gpu.View, ldy int) {
	p.matmul(w.storage.kernel("matmul_nt"), n, w.weight.rows, w.weight.cols, w.weight.cols, w.weight.cols, ldy, x, p.m.params.matrix(w.weight), y)
}

// forwardAdded records y = r + x W^T for n rows. y must not overlap r.
func (w linear) forwardAdded(p *pass, n int, x, r, y gpu.View) {
	out, in := w.weight.rows, w.weight.cols
	p.matmul(w.storage.kernel("matmul_nt_residual"), n, out, in, in, in, out, x, p.m.params.matrix(w.weight), r, y)
}

// backward records dW += dy^T x and dx = dy W for n rows, or dx += dy W if continues
// is true. dy has rows of ldy numbers.
func (w linear) backward(p *pass, n int, x, dy gpu.View, ldy int, dx gpu.View, continues bool) {
	out, in := w.weight.rows, w.weight.cols
	p.matmulTN(out, in, n, ldy, in, in, dy, x, p.g.view(w.weight))
	p.matmulNN(w.storage, continues, n, in, out, ldy, in, in, dy, p.m.params.matrix(w.weight), dx)
}
