package refdev

import "math"

// vocabStats: log-softmax statistics of each row of logits.
func vocabStats[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, target, invTemp, out := c.f[0], c.u[1], c.f[2], c.f[3]
	spread(rows, 16*v, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			x := logits[r*ld:][:v]
			it := invTemp[r]
			top := F(math.Inf(-1))
			for _, l := range x {
				top = max(top, l*it)
			}
			var sum, moment, total float64 // of exp(x-top), exp(x-top)*(x-top), x-top
			for _, l := range x {
				d := float64(F(l*it) - top)
				e := math.Exp(d)
				sum += e
				moment += float64(e * d)
				total += d
			}
			logSum := math.Log(sum)
			out[4*r] = F(float64(F(x[target[r]]*it)-top) - logSum)
			out[4*r+1] = F(logSum - moment/sum)
			out[4*r+2] = F(total/float64(v) - logSum)
			out[4*r+3] = F(float64(top) + logSum)
		}
	})
}

// vocabBackward turns logits into their gradient.
func vocabBackward[F real](c *call[F]) {
	rows, v, ld := c.n(0), c.n(1), c.n(2)
	logits, target, invTemp, stats, weights := c.f[0], c.u[1], c.f[2], c.f[3], c.f[4]
	spread(rows, 16*ld, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := logits[r*ld:][:ld]
			clear(row[v:])
			it, entropy, lse := invTemp[r], stats[4*r+1], stats[4*r+3]
			g, h, m := weights[4*r], weights[4*r+1], weights[4*r+2]
			for j, l := range row[:v] {
				logp := F(l*it) - lse
				p := exp(logp)
				var hit F
				if j == int(target[r]) {
					hit = 1
				}
				row[j] = it * (F(g*(hit-p)) - F(F(h*p)*(logp+entropy)) + F(m*(1/F(v)-p)))
			}
		}
	})
}
