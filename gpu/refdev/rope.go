package refdev

// heads are the parameters of the kernels around rotary position embedding:
// a row of qkv holds h query heads, then kv key heads, then kv value heads.
type heads[F real] struct {
	t, h, kv, hd, n int
	eps, plus       F
	norm            bool
}

func headsOf[F real](c *call[F]) heads[F] {
	return heads[F]{c.n(0), c.n(1), c.n(2), c.n(3), c.n(4), c.real(5), c.real(7), c.n(6) == 1}
}

// weight is the norm weight of head i, which is a query or a key head.
func (p *heads[F]) weight(norm []F, i int) []F {
	if i < p.h {
		return norm[:p.hd]
	}
	return norm[p.hd:][:p.hd]
}

// rotate turns the pairs (i, i+hd/2) of x by the angles of one row of the
// rope table; sign -1 turns them back.
func rotate[F real](x, rope []F, sign F) {
	half := len(x) / 2
	for i := range half {
		cos, sin := rope[i], sign*rope[half+i]
		a, b := x[i], x[half+i]
		x[i] = F(a*cos) - F(b*sin)
		x[half+i] = F(b*cos) + F(a*sin)
	}
}

// qkRope normalises and rotates queries and keys, and stores keys and values
// in their slots.
func qkRope[F real](c *call[F]) {
	p := headsOf(c)
	qkv, norm, rope, meta := c.f[0], c.f[1], c.f[2], c.u[3]
	q, k, v, rstd := c.f[4], c.f[5], c.f[6], c.f[7]
	all := p.h + 2*p.kv
	spread(p.t, 8*all*p.hd, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			position, slot := int(meta[2*t]), int(meta[2*t+1])
			for i := range all {
				x := qkv[(t*all+i)*p.hd:][:p.hd]
				if i >= p.h+p.kv {
					copy(v[(slot*p.kv+i-p.h-p.kv)*p.hd:][:p.hd], x)
					continue
				}
				var y []F
				if i < p.h {
					y = q[(t*p.h+i)*p.hd:][:p.hd]
				} else {
					y = k[(slot*p.kv+i-p.h)*p.hd:][:p.hd]
				}
				r := F(1)
				if p.norm {
					r = rstdOf(x, p.n, p.eps)
				}
				rstd[t*(p.h+p.kv)+i] = r
				w := p.weight(norm, i)
				for j := range y {
					y[j] = x[j]
					if p.norm {
						y[j] = F(x[j]*r) * (w[j] + p.plus)
					}
				}
				rotate(y, rope[position*p.hd:][:p.hd], 1)
			}
		}
	})
}

// qkRopeBackward undoes the rotation on dq and dk in place and puts the
// gradient of qkv together.
func qkRopeBackward[F real](c *call[F]) {
	p := headsOf(c)
	qkv, norm, rope, meta := c.f[0], c.f[1], c.f[2], c.u[3]
	dq, dk, dv, dqkv := c.f[4], c.f[5], c.f[6], c.f[7]
	all := p.h + 2*p.kv
	spread(p.t, 12*all*p.hd, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			angles := rope[int(meta[2*t])*p.hd:][:p.hd]
			for i := range all {
				out := dqkv[(t*all+i)*p.hd:][:p.hd]
				if i >= p.h+p.kv {
					copy(out, dv[(t*p.kv+i-p.h-p.kv)*p.hd:][:p.hd])
					continue
				}
				var dy []F
				if i < p.h {
					dy = dq[(t*p.h+i)*p.hd:][:p.hd]
				} else {
					dy = dk[(t*p.kv+i-p.h)*p.hd:][:p.hd]
				}
				rotate(dy, angles, -1)
				if !p.norm {
					copy(out, dy)
					continue
				}
				x := qkv[(t*all+i)*p.hd:][:p.hd]
				normGrad(out, dy, x, p.weight(norm, i), p.plus, rstdOf(x, p.n, p.eps), p.n)
			}
		}
	})
}

// qkNormBackwardDw: the chain of dw[dw0+j] goes on over the rows, then the heads.
func qkNormBackwardDw[F real](c *call[F]) {
	t, h, hd := c.n(0), c.n(1), c.n(2)
	ldq, off, ldr, roff := c.n(3), c.n(4), c.n(5), c.n(6)
	dy, qkv, rstd, dw := c.f[0], c.f[1], c.f[2], c.f[3][c.n(7):]
	spread(hd, 2*t*h, func(lo, hi int) {
		for i := range t {
			for k := range h {
				r := rstd[i*ldr+roff+k]
				for j := lo; j < hi; j++ {
					dw[j] += F(dy[(i*h+k)*hd+j] * F(qkv[i*ldq+off+k*hd+j]*r))
				}
			}
		}
	})
}
