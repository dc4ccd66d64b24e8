package refdev

// Sums over a row whose order the table leaves open are taken in float64 and
// rounded once: the value that every order approaches.

// rstdOf is 1/sqrt(mean(x^2)+eps) over the n real elements of x; the others,
// wherever they are, hold zeros.
func rstdOf[F real](x []F, n int, eps F) F {
	var sum float64
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return 1 / sqrt(F(sum/float64(n)+float64(eps)))
}

// normGrad puts the input gradient of y = x*rstd*(w+plus) into g; n elements are real.
func normGrad[F real](g, dy, x, w []F, plus, rstd F, n int) {
	var sum float64
	for j := range x {
		sum += float64(float64(w[j]+plus) * float64(dy[j]) * float64(x[j]) * float64(rstd))
	}
	mean := F(sum / float64(n))
	for j := range g {
		g[j] = rstd * (F((w[j]+plus)*dy[j]) - F(F(x[j]*rstd)*mean))
	}
}

// rmsnorm: y = x*rstd*(w+plus), row by row.
func rmsnorm[F real](c *call[F]) {
	t, n, ld, eps, plus := c.n(0), c.n(1), c.n(2), c.real(3), c.real(4)
	x, w, y, rstd := c.f[0], c.f[1][:ld], c.f[2], c.f[3]
	spread(t, 4*ld, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, out := x[i*ld:][:ld], y[i*ld:][:ld]
			rstd[i] = rstdOf(row, n, eps)
			for j, v := range row {
				out[j] = F(v*rstd[i]) * (w[j] + plus)
			}
		}
	})
}

// rmsnormResidual: y = r + the norm of x.
func rmsnormResidual[F real](c *call[F]) {
	r, y := c.f[2], c.f[3]
	rmsnorm(&call[F]{f: [][]F{c.f[0], c.f[1], y, c.f[4]}, p: c.p})
	for i := range c.n(0) * c.n(2) {
		y[i] = r[i] + y[i]
	}
}

// rmsnormBackwardDx: the gradient of x, set or added.
func rmsnormBackwardDx[F real](c *call[F]) {
	t, n, ld, add, plus := c.n(0), c.n(1), c.n(2), c.n(3) == 1, c.real(4)
	dy, x, w, rstd, dx := c.f[0], c.f[1], c.f[2][:ld], c.f[3], c.f[4]
	spread(t, 8*ld, func(lo, hi int) {
		g := make([]F, ld)
		for i := lo; i < hi; i++ {
			normGrad(g, dy[i*ld:][:ld], x[i*ld:][:ld], w, plus, rstd[i], n)
			out := dx[i*ld:][:ld]
			if add {
				for j, v := range g {
					out[j] += v
				}
			} else {
				copy(out, g)
			}
		}
	})
}

// rmsnormBackwardDw: the chain of dw[j] goes on over the rows.
func rmsnormBackwardDw[F real](c *call[F]) {
	t, ld := c.n(0), c.n(1)
	dy, x, rstd, dw := c.f[0], c.f[1], c.f[2], c.f[3]
	spread(ld, 2*t, func(lo, hi int) {
		for i := range t {
			for j := lo; j < hi; j++ {
				dw[j] += F(dy[i*ld+j] * F(x[i*ld+j]*rstd[i]))
			}
		}
	})
}
