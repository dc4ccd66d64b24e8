package refdev

// embed copies the rows of one slab of the table.
func embed[F real](c *call[F]) {
	t, d, row0, rows := c.n(0), c.n(1), c.n(2), c.n(3)
	ids, table, out := c.u[0], c.f[1], c.f[2]
	for i, id := range ids[:t] {
		if r := int(id) - row0; r >= 0 && r < rows {
			copy(out[i*d:][:d], table[r*d:][:d])
		}
	}
}

// embedBackward adds, row by row of the slab, the gradients of the positions
// that used the row.
func embedBackward[F real](c *call[F]) {
	u, d, row0, count := c.n(0), c.n(1), c.n(2), c.n(3)
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
					sum[j] += g
				}
			}
		}
	})
}

// swiglu: y = silu(gate)*up.
func swiglu[F real](c *call[F]) {
	t, f := c.n(0), c.n(1)
	gu, y := c.f[0], c.f[1]
	spread(t, 16*f, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up, out := gu[2*i*f:][:f], gu[(2*i+1)*f:][:f], y[i*f:][:f]
			for j, g := range gate {
				out[j] = g / (1 + exp(-g)) * up[j]
			}
		}
	})
}

// swigluBackward: the gradients of gate and up.
func swigluBackward[F real](c *call[F]) {
	t, f := c.n(0), c.n(1)
	gu, dy, dgu := c.f[0], c.f[1], c.f[2]
	spread(t, 24*f, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gate, up := gu[2*i*f:][:f], gu[(2*i+1)*f:][:f]
			dGate, dUp := dgu[2*i*f:][:f], dgu[(2*i+1)*f:][:f]
			for j, d := range dy[i*f:][:f] {
				g := gate[j]
				s := 1 / (1 + exp(-g))
				dUp[j] = d * g * s
				dGate[j] = d * up[j] * s * (1 + F(g*(1-s)))
			}
		}
	})
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
