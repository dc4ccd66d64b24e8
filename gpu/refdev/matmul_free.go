package refdev

// The sums of these products are eight chains, of every eighth k each, joined
// pairwise: an order that is not matmulNT's.

// matmulFree: c[i][j] = sum of a[i][k]*b[j][k].
func matmulFree[F real](c *call[F]) {
	d, out := c.dims(), c.f[2]
	freeSums(d, c.f[0], c.f[1], func(at int, s F) { out[at] = s })
}

// matmulFreeResidual: c[i][j] = r[i][j] + that sum.
func matmulFreeResidual[F real](c *call[F]) {
	d, r, out := c.dims(), c.f[2], c.f[3]
	freeSums(d, c.f[0], c.f[1], func(at int, s F) { out[at] = r[at] + s })
}

// freeSums hands each sum to put, with its place in the output.
func freeSums[F real](d dims, a, b []F, put func(at int, s F)) {
	spread(d.n, d.m*d.k, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			y := b[j*d.ldb:][:d.k]
			for i := range d.m {
				put(i*d.ldc+j, splitDot(a[i*d.lda:][:d.k], y))
			}
		}
	})
}

// splitDot sums in eight chains. The rows' length is a multiple of 8.
func splitDot[F real](x, y []F) F {
	var s [8]F
	for k := 0; k < len(x); k += 8 {
		for l := range s {
			s[l] += F(x[k+l] * y[k+l])
		}
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}
