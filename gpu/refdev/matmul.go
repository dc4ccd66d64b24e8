package refdev

// Every sum of a matrix product is one chain in ascending k. The conversion
// around each product keeps compilers from fusing it with the addition, so the
// bits are the same on every architecture. Speed comes from working on several
// chains at once, never from cutting one.

// dot is the chain of one pair of rows, from 0.
func dot[F real](a, b []F) F {
	var s F
	b = b[:len(a)]
	for k, x := range a {
		s += F(x * b[k])
	}
	return s
}

// dot4 is dot of a with four rows.
func dot4[F real](a, b0, b1, b2, b3 []F) (s0, s1, s2, s3 F) {
	b0, b1, b2, b3 = b0[:len(a)], b1[:len(a)], b2[:len(a)], b3[:len(a)]
	for k, x := range a {
		s0 += F(x * b0[k])
		s1 += F(x * b1[k])
		s2 += F(x * b2[k])
		s3 += F(x * b3[k])
	}
	return s0, s1, s2, s3
}

// axpy adds a*x to y, element by element.
func axpy[F real](a F, x, y []F) {
	x = x[:len(y)]
	for i := range y {
		y[i] += F(a * x[i])
	}
}

// dims are the parameters that all products share.
type dims struct{ m, n, k, lda, ldb, ldc int }

func (c *call[F]) dims() dims {
	return dims{c.n(0), c.n(1), c.n(2), c.n(3), c.n(4), c.n(5)}
}

// matmulNT: c[i][j] = sum of a[i][k]*b[j][k].
func matmulNT[F real](c *call[F]) {
	d := c.dims()
	out := c.f[2]
	nt(d, c.f[0], c.f[1], func(i, j int, s F) { out[i*d.ldc+j] = s })
}

// matmulNTResidual: c[i][j] = r[i][j] + that sum.
func matmulNTResidual[F real](c *call[F]) {
	d := c.dims()
	r, out := c.f[2], c.f[3]
	nt(d, c.f[0], c.f[1], func(i, j int, s F) { out[i*d.ldc+j] = r[i*d.ldc+j] + s })
}

// nt hands each sum of an NT product to put. Rows of a are taken in blocks
// that stay in the second-level cache while all rows of b pass by.
func nt[F real](d dims, a, b []F, put func(i, j int, s F)) {
	const block = 64
	row := func(x []F, ld, i int) []F { return x[i*ld:][:d.k] }
	spread((d.n+3)/4, 4*d.m*d.k, func(lo, hi int) {
		for i0 := 0; i0 < d.m; i0 += block {
			for j := 4 * lo; j < min(4*hi, d.n); j += 4 {
				for i := i0; i < min(i0+block, d.m); i++ {
					x := row(a, d.lda, i)
					if j+4 > d.n {
						for jj := j; jj < d.n; jj++ {
							put(i, jj, dot(x, row(b, d.ldb, jj)))
						}
						continue
					}
					s0, s1, s2, s3 := dot4(x, row(b, d.ldb, j), row(b, d.ldb, j+1), row(b, d.ldb, j+2), row(b, d.ldb, j+3))
					put(i, j, s0)
					put(i, j+1, s1)
					put(i, j+2, s2)
					put(i, j+3, s3)
				}
			}
		}
	})
}

// matmulNN: c[i][j] = sum of a[i][k]*b[k][j].
func matmulNN[F real](c *call[F]) {
	d := c.dims()
	for i := range d.m {
		clear(c.f[2][i*d.ldc:][:d.n])
	}
	matmulNNAcc(c)
}

// matmulNNAcc: the chain of c[i][j] goes on with a[i][k]*b[k][j].
func matmulNNAcc[F real](c *call[F]) {
	d := c.dims()
	a, b, out := c.f[0], c.f[1], c.f[2]
	tiles(d, func(i0, i1, j0, j1 int) {
		chain(out[i0*d.ldc+j0:], d.ldc, i1-i0, j1-j0, d.k, a[i0*d.lda:], d.lda, 1, b[j0:], d.ldb)
	})
}

// matmulTNAcc: the chain of c[i][j] goes on with a[k][i]*b[k][j].
func matmulTNAcc[F real](c *call[F]) {
	d := c.dims()
	a, b, out := c.f[0], c.f[1], c.f[2]
	tiles(d, func(i0, i1, j0, j1 int) {
		chain(out[i0*d.ldc+j0:], d.ldc, i1-i0, j1-j0, d.k, a[i0:], 1, d.lda, b[j0:], d.ldb)
	})
}

// tiles cuts an [m][n] output into tiles and gives each to one goroutine.
func tiles(d dims, f func(i0, i1, j0, j1 int)) {
	const rows, cols = 16, 256
	across := (d.n + cols - 1) / cols
	down := (d.m + rows - 1) / rows
	spread(across*down, min(rows, d.m)*min(cols, d.n)*d.k, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i0, j0 := t/across*rows, t%across*cols
			f(i0, min(i0+rows, d.m), j0, min(j0+cols, d.n))
		}
	})
}

// chain continues acc[i][j] with a(i,k)*b[k][j] in ascending k, where a(i,k)
// is a[i*si+k*sk].
func chain[F real](acc []F, ld, rows, cols, depth int, a []F, si, sk int, b []F, ldb int) {
	k := 0
	for ; k+4 <= depth; k += 4 {
		b0, b1 := b[k*ldb:][:cols], b[(k+1)*ldb:][:cols]
		b2, b3 := b[(k+2)*ldb:][:cols], b[(k+3)*ldb:][:cols]
		for i := range rows {
			at := i*si + k*sk
			a0, a1, a2, a3 := a[at], a[at+sk], a[at+2*sk], a[at+3*sk]
			y := acc[i*ld:][:cols]
			for j, s := range y {
				s += F(a0 * b0[j])
				s += F(a1 * b1[j])
				s += F(a2 * b2[j])
				s += F(a3 * b3[j])
				y[j] = s
			}
		}
	}
	for ; k < depth; k++ {
		for i := range rows {
			axpy(a[i*si+k*sk], b[k*ldb:][:cols], acc[i*ld:][:cols])
		}
	}
}
