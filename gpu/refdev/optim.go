package refdev

import "math"

// segment is the number of gradients in one partial sum of grad_sumsq.
const segment = 4096

// adamw is one step of AdamW (Loshchilov and Hutter, arXiv 1711.05101).
func adamw[F real](c *call[F]) {
	n, b1, b2, eps, decay := c.n(0), c.real(1), c.real(2), c.real(3), c.n(4) == 1
	p, grad, m, v, ctl := c.f[0], c.f[1], c.f[2], c.f[3], c.f[4]
	factor, lr, wd, bias1, bias2, new1, new2 := ctl[0], ctl[2], ctl[3], ctl[4], ctl[5], ctl[6], ctl[7]
	keep := F(1)
	if decay {
		keep = 1 - F(lr*wd)
	}
	spread(n, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := grad[i] * factor
			m[i] = F(b1*m[i]) + F(new1*g)
			v[i] = F(b2*v[i]) + F(F(new2*g)*g)
			step := F(F(lr*bias1)*m[i]) / (F(sqrt(v[i])*bias2) + eps)
			p[i] = F(p[i]*keep) - step
		}
	})
}

// moments moves both moments of element i by a gradient.
func moments[F real](c *call[F], i int, g F) {
	b1, b2, m, v, ctl := c.real(1), c.real(2), c.f[2], c.f[3], c.f[len(c.f)-1]
	m[i] = F(b1*m[i]) + F(ctl[6]*g)
	v[i] = F(b2*v[i]) + F(F(ctl[7]*g)*g)
}

// adam is one step of Adam (Kingma and Ba, arXiv 1412.6980) with the decay in the gradient.
func adam[F real](c *call[F]) {
	n, eps, decay := c.n(0), c.real(3), F(c.n(4))
	p, grad, m, v, ctl := c.f[0], c.f[1], c.f[2], c.f[3], c.f[4]
	factor, lr, wd, bias1, bias2 := ctl[0], ctl[2], F(decay*ctl[3]), ctl[4], ctl[5]
	spread(n, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			moments(c, i, F(grad[i]*factor)+F(wd*p[i]))
			p[i] -= F(F(lr*bias1)*m[i]) / (F(sqrt(v[i])*bias2) + eps)
		}
	})
}

// amsgrad is one step of AdamW by the largest second moment so far (Reddi et al.,
// arXiv 1904.09237).
func amsgrad[F real](c *call[F]) {
	n, eps, decay := c.n(0), c.real(3), F(c.n(4))
	p, grad, m, v, x, ctl := c.f[0], c.f[1], c.f[2], c.f[3], c.f[4], c.f[5]
	factor, lr, wd, bias1, bias2 := ctl[0], ctl[2], F(decay*ctl[3]), ctl[4], ctl[5]
	keep := 1 - F(lr*wd)
	spread(n, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			moments(c, i, F(grad[i]*factor))
			x[i] = max(x[i], v[i])
			p[i] = F(p[i]*keep) - F(F(lr*bias1)*m[i])/(F(sqrt(x[i])*bias2)+eps)
		}
	})
}

// sgd is one step of gradient descent with momentum, in the form of torch.optim.SGD.
func sgd[F real](c *call[F]) {
	n, momentum, nesterov, decay := c.n(0), c.real(1), c.n(2) == 1, F(c.n(3))
	p, grad, m, ctl := c.f[0], c.f[1], c.f[2], c.f[3]
	factor, lr, wd, share := ctl[0], ctl[2], F(decay*ctl[3]), ctl[6]
	spread(n, 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := F(grad[i]*factor) + F(wd*p[i])
			m[i] = F(momentum*m[i]) + F(share*g)
			step := m[i]
			if nesterov {
				step = g + F(momentum*m[i])
			}
			p[i] -= F(lr * step)
		}
	})
}

// gradSumsq: the sum of squares of each segment.
func gradSumsq[F real](c *call[F]) {
	n, part0 := c.n(0), c.n(1)
	g, part := c.f[0][:n], c.f[1]
	spread((n+segment-1)/segment, segment, func(lo, hi int) {
		for s := lo; s < hi; s++ {
			var sum float64
			for _, x := range g[s*segment : min((s+1)*segment, n)] {
				sum += float64(float64(x) * float64(x))
			}
			part[part0+s] = F(sum)
		}
	})
}

// gradClip: the norm of the gradient and the factor that brings it under maxNorm.
func gradClip[F real](c *call[F]) {
	count, maxNorm := c.n(0), float64(c.real(1))
	part, ctl := c.f[0][:count], c.f[1]
	var sum float64
	for _, x := range part {
		sum += float64(x)
	}
	ctl[0], ctl[1] = clipFactor[F](math.Sqrt(sum), maxNorm)
}

// norm1 is the sum of x without signs, normMax the largest of it, NaN if one is.
func norm1[F real](x []F) (sum float64) {
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return sum
}

func normMax[F real](x []F) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}

// gradAbs: the sum or the largest of each segment, without signs.
func gradAbs[F real](c *call[F]) {
	n, part0, norm := c.n(0), c.n(1), norm1[F]
	if c.n(2) == 1 {
		norm = normMax[F]
	}
	g, part := c.f[0][:n], c.f[1]
	spread((n+segment-1)/segment, segment, func(lo, hi int) {
		for s := lo; s < hi; s++ {
			part[part0+s] = F(norm(g[s*segment : min((s+1)*segment, n)]))
		}
	})
}

// gradAbsClip is gradClip by the other norms.
func gradAbsClip[F real](c *call[F]) {
	count, maxNorm, norm := c.n(0), float64(c.real(1)), norm1[F]
	if c.n(2) == 1 {
		norm = normMax[F]
	}
	part, ctl := c.f[0][:count], c.f[1]
	ctl[0], ctl[1] = clipFactor[F](norm(part), maxNorm)
}

// clipFactor is what brings a norm under maxNorm, as torch.nn.utils.clip_grad_norm_ has it, and
// the norm.
func clipFactor[F real](norm, maxNorm float64) (factor, rounded F) {
	if maxNorm == 0 {
		return 1, F(norm)
	}
	return F(min(1, maxNorm/(norm+1e-6))), F(norm)
}
