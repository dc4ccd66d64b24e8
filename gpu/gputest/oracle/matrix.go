package oracle

import (
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// For returns the cases of a kernel with the bounds of what a device runs: those of matrix
// cores (shaders/matmul_t2.wgsl) where its tier has them for this kernel.
func For(dev gpu.Device, kernel string) []Case {
	tier := dev.Caps().Tier
	if tier.Matrices() && matrixRows[kernel] != nil && shaders.Variants(kernel, string(tier))[0].Tier == string(tier) {
		return matrixRows[kernel]()
	}
	return Cases(kernel)
}

// unitF16 is the unit roundoff of f16: 11 significant bits.
const unitF16 = 1.0 / (1 << 11)

// left is operand a of a product: matrix cores get its rows, of which the first k numbers
// count, rounded. A number below 2^-28 of the greatest of its row becomes 0.
func (d *data) left(a []float32, ld, k int) []Value {
	out := values(a)
	for row := 0; d.cores && row < len(a); row += ld {
		greatest := 0.0
		for _, v := range out[row : row+k] {
			greatest = max(greatest, math.Abs(v.X))
		}
		for i := range out[row : row+k] {
			v := &out[row+i]
			v.Err = unitF16*math.Abs(v.X) + 0x1p-28*greatest
		}
	}
	return out
}

// right is operand b: for matrix cores rounded, and 0 below 2^-22.
func (d *data) right(b []float32) []Value {
	out := values(b)
	for i, v := range out {
		if d.cores {
			out[i].Err = unitF16*math.Abs(v.X) + 0x1p-22
		}
	}
	return out
}

// dot is a sum of products. In an MMA of matrix cores the products are exact, and each
// addend, the sum so far among them, loses at most two roundings when it is aligned to the
// greatest and cut (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor
// cores, PeerJ Computer Science 7:e330, 2021). The smallest blocks have 8 products.
func (d *data) dot(a, b []Value) Value {
	sum := Dot(a, b)
	if !d.cores {
		return sum
	}
	var abs float64
	for i, v := range a {
		abs += v.abs() * b[i].abs()
	}
	addends := len(a) + (len(a)+7)/8
	sum.Err += Tolerance(2*addends, abs)
	return sum
}
