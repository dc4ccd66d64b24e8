package refdev

import "math"

// embed copies the rows of one slab of the table, times a scale.
func embed[F real](c *call[F]) {
	t, d, row0, rows, scale := c.n(0), c.n(1), c.n(2), c.n(3), c.real(4)
	ids, table, out := c.u[0], c.f[1], c.f[2]
	for i, id := range ids[:t] {
		if r := int(id) - row0; r >= 0 && r < rows {
			for j, x := range table[r*d:][:d] {
				out[i*d+j] = x * scale
			}
		}
	}
}

// embedBackward adds, row by row of the slab, the gradients of the positions
// that used the row.
func embedBackward[F real](c *call[F]) {
	u, d, row0, count, scale := c.n(0), c.n(1), c.n(2), c.n(3), c.real(4)
	rows, start, order, dx, dtable := c.u[0], c.u[1], c.u[2], c.f[3], c.f[4]
	spread(u, 4*d, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r := int(rows[i]) - row0
			if r < 0 || r >= count {
				continue
			}
			sum := dtable[r*d:][:d]
			for _, at := range order[start[i]:start[i+1]] {
				for j, g := range dx[int(at)*d:][:d] {
					sum[j] += F(g * scale)
				}
			}
		}
	})
}

// sigmoid is 1/(1+exp(-x)).
func sigmoid[F real](x F) F { return 1 / (1 + exp(-x)) }

// swiglu: y = silu(gate)*up.
func swiglu[F real](c *call[F]) {
	gated(c, func(g F) F { return g / (1 + exp(-g)) })
}

// swigluBackward: the gradients of gate and up.
func swigluBackward[F real](c *call[F]) {
	gatedBackward(c, sigmoid[F], func(F) F { return 1 })
}

// gelu's tanh form is g*sigmoid(a), a = g*(geluLinear + geluCubic*g^2), see
// shaders/swiglu.wgsl.
const (
	geluLinear = 2 / math.SqrtPi * math.Sqrt2
	geluCubic  = 0.044715 * geluLinear
)

// geluSigmoid is the share of g that gelu lets through.
func geluSigmoid[F real](g F) F { return sigmoid(g * (geluLinear + F(geluCubic*F(g*g)))) }

// geglu: y = gelu(gate)*up.
func geglu[F real](c *call[F]) {
	gated(c, func(g F) F { return g * geluSigmoid(g) })
}

// gegluBackward: the gradients of gate and up.
func gegluBackward[F real](c *call[F]) {
	gatedBackward(c, geluSigmoid[F], func(g F) F { return geluLinear + F(3*geluCubic*F(g*g)) })
}

// gated is an activation of the gates, times the ups.
func gated[F real](c *call[F], activation func(g F) F) {
	t, f := c.n(0), c.n(1)
	gu, y := c.f[0], c.f[1]
	spread(t, 16*f, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up, out := gu[2*i*f:][:f], gu[(2*i+1)*f:][:f], y[i*f:][:f]
			for j, g := range gate {
				out[j] = activation(g) * up[j]
			}
		}
	})
}

// gatedBackward is the gradient of gated for an activation g*share(g), where share is
// the sigmoid of a function with a slope.
func gatedBackward[F real](c *call[F], share, slope func(g F) F) {
	t, f := c.n(0), c.n(1)
	gu, dy, dgu := c.f[0], c.f[1], c.f[2]
	spread(t, 24*f, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up := gu[2*i*f:][:f], gu[(2*i+1)*f:][:f]
			dGate, dUp := dgu[2*i*f:][:f], dgu[(2*i+1)*f:][:f]
			for j, d := range dy[i*f:][:f] {
				g := gate[j]
				s := share(g)
				dUp[j] = d * g * s
				dGate[j] = d * up[j] * s * (1 + F(F(g*(1-s))*slope(g)))
			}
		}
	})
}

// addBias adds a row to every row.
func addBias[F real](c *call[F]) {
	t, n := c.n(0), c.n(1)
	for i := range t {
		axpy(1, c.f[1][:n], c.f[0][i*n:][:n])
	}
}

// biasBackward: the chain of db[j] goes on over the rows.
func biasBackward[F real](c *call[F]) {
	t, n := c.n(0), c.n(1)
	for i := range t {
		axpy(1, c.f[0][i*n:][:n], c.f[1][:n])
	}
}

// addColumns adds rows, times a scale, to a range of columns of wider rows.
func addColumns[F real](c *call[F]) {
	t, n, ld, off, scale := c.n(0), c.n(1), c.n(2), c.n(3), c.real(4)
	dst, src := c.f[0], c.f[1]
	for i := range t {
		to := dst[i*ld+off:][:n]
		for j, x := range src[i*n:][:n] {
			to[j] += F(x * scale)
		}
	}
}

// takeColumns copies a range of columns of wide rows, times a scale.
func takeColumns[F real](c *call[F]) {
	t, n, ld, off, scale := c.n(0), c.n(1), c.n(2), c.n(3), c.real(4)
	src, dst := c.f[0], c.f[1]
	for i := range t {
		to := dst[i*n:][:n]
		for j, x := range src[i*ld+off:][:n] {
			to[j] = x * scale
		}
	}
}

// gatherRows: dst[r] = src[idx[r]].
func gatherRows[F real](c *call[F]) {
	r, d := c.n(0), c.n(1)
	src, idx, dst := c.f[0], c.u[1], c.f[2]
	for i, at := range idx[:r] {
		copy(dst[i*d:][:d], src[int(at)*d:][:d])
	}
}

// scatterRows: dst[t] = the sum of src[start[t]:start[t+1]].
func scatterRows[F real](c *call[F]) {
	t, d := c.n(0), c.n(1)
	src, start, dst := c.f[0], c.u[1], c.f[2]
	for i := range t {
		row := dst[i*d:][:d]
		clear(row)
		for r := int(start[i]); r < int(start[i+1]); r++ {
			for j, x := range src[r*d:][:d] {
				row[j] += x
			}
		}
	}
}

// fill sets every element.
func fill[F real](c *call[F]) {
	dst, value := c.f[0][:c.n(0)], c.real(1)
	for i := range dst {
		dst[i] = value
	}
}

// add adds src to dst.
func add[F real](c *call[F]) {
	axpy(1, c.f[1], c.f[0][:c.n(0)])
}

// blend moves dst a share of the way to src.
func blend[F real](c *call[F]) {
	dst, src, share := c.f[0][:c.n(0)], c.f[1], c.real(1)
	for i, x := range dst {
		dst[i] = x + share*(src[i]-x)
	}
}
