package refdev

import "math"

// segment is the number of gradients behind one partial sum of grad_sumsq.
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

// gradClip: the norm of the gradient and the factor that brings it under
// maxNorm, as torch.nn.utils.clip_grad_norm_ has it.
func gradClip[F real](c *call[F]) {
	count, maxNorm := c.n(0), float64(c.real(1))
	part, ctl := c.f[0][:count], c.f[1]
	var sum float64
	for _, x := range part {
		sum += float64(x)
	}
	norm := math.Sqrt(sum)
	ctl[0], ctl[1] = 1, F(norm)
	if maxNorm > 0 {
		ctl[0] = F(min(1, maxNorm/(norm+1e-6)))
	}
}
