package train

import (
	"math"

	"github.com/rlzero/rlzero/internal/random"
)

// gaussian is a part of a mixture of normal distributions.
type gaussian struct {
	Share  float64     `json:"share"`  // of the mixture
	Mean   []float64   `json:"mean"`   // [dimension]
	Factor [][]float64 `json:"factor"` // [dimension][dimension] lower triangle whose product with its transpose is the covariance
}

const (
	emRounds = 100  // of a fit at most
	emGain   = 1e-3 // nats per point: a smaller gain of a round ends a fit
	// spread is added to the variances, so that Gaussians on equal points have some. These three are the
	// defaults of scikit-learn's GaussianMixture, with which the authors of arXiv 1910.07224 fit.
	spread = 1e-6
)

// fitMixture fits mixtures of 2 to most Gaussians to points by EM and takes the one with the least
// AIC, as in arXiv 1910.07224, algorithm 1. There are no more Gaussians than points.
// points is [point][dimension].
func fitMixture(points [][]float64, most int, dice *random.Rand) []gaussian {
	var best []gaussian
	least := math.Inf(1)
	d := float64(len(points[0]))
	for k := 2; k <= min(most, len(points)); k++ {
		m, fit := em(begunAt(points, k, dice), points)
		parameters := float64(k)*(1+d+d*(d+1)/2) - 1
		if aic := 2*parameters - 2*fit; aic < least {
			best, least = m, aic
		}
	}
	return best
}

// begunAt are k Gaussians with the covariance of all points. Their means are points that lie apart: the
// first is any of them, and each later one is drawn by its squared distance from the nearest (k-means++).
func begunAt(points [][]float64, k int, dice *random.Rand) []gaussian {
	all := make([]float64, len(points))
	far := make([]float64, len(points))
	for i := range all {
		all[i], far[i] = 1, math.Inf(1)
	}
	whole := moved(points, all)
	var m []gaussian
	at := dice.Between(0, len(points)-1)
	for {
		m = append(m, gaussian{1 / float64(k), points[at], whole.Factor})
		if len(m) == k {
			return m
		}
		for i, p := range points {
			far[i] = min(far[i], squaredDistance(p, points[at]))
		}
		at = placeBy(far, dice)
	}
}

// placeBy is a place, as likely as its weight says; any, if all weights are 0.
func placeBy(weights []float64, dice *random.Rand) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	place := dice.Unit()
	if sum == 0 {
		return int(place * float64(len(weights)))
	}
	place *= sum
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if last = i; place < w {
			break
		}
		place -= w
	}
	return last
}

// em improves a mixture until a round gains too little. fit is its log-likelihood of the points, nats.
func em(m []gaussian, points [][]float64) (_ []gaussian, fit float64) {
	fit = math.Inf(-1)
	for round := 0; ; round++ {
		shares := make([][]float64, len(m)) // of each point that a Gaussian is responsible for
		for k := range shares {
			shares[k] = make([]float64, len(points))
		}
		now := 0.0
		for i, p := range points {
			logs, top := make([]float64, len(m)), math.Inf(-1)
			for k, g := range m {
				logs[k] = math.Log(g.Share) + g.logDensity(p)
				top = max(top, logs[k])
			}
			sum := 0.0
			for _, l := range logs {
				sum += math.Exp(l - top)
			}
			total := top + math.Log(sum)
			for k, l := range logs {
				shares[k][i] = math.Exp(l - total)
			}
			now += total
		}
		if round == emRounds || now-fit < emGain*float64(len(points)) {
			return m, now
		}
		fit = now
		next := make([]gaussian, len(m))
		for k := range m {
			next[k] = moved(points, shares[k])
		}
		m = next
	}
}

// moved is the Gaussian of points that count as much as their weights say.
func moved(points [][]float64, weights []float64) gaussian {
	d, sum := len(points[0]), 10*0x1p-52 // a Gaussian that no point belongs to has a share above 0
	for _, w := range weights {
		sum += w
	}
	mean := make([]float64, d)
	for i, p := range points {
		for a := range mean {
			mean[a] += weights[i] * p[a] / sum
		}
	}
	covariance := make([][]float64, d)
	for a := range covariance {
		covariance[a] = make([]float64, d)
		covariance[a][a] = spread
	}
	for i, p := range points {
		for a := range d {
			for b := range a + 1 {
				covariance[a][b] += weights[i] * (p[a] - mean[a]) * (p[b] - mean[b]) / sum
			}
		}
	}
	return gaussian{sum / float64(len(points)), mean, triangle(covariance)}
}

// triangle is the Cholesky factor of a covariance of which the lower triangle is read. What rounding
// takes below spread has that variance.
func triangle(c [][]float64) [][]float64 {
	l := make([][]float64, len(c))
	for a := range c {
		l[a] = make([]float64, len(c))
		for b := range a + 1 {
			x := c[a][b]
			for i := range b {
				x -= l[a][i] * l[b][i]
			}
			if a == b {
				l[a][a] = math.Sqrt(max(x, spread))
			} else {
				l[a][b] = x / l[b][b]
			}
		}
	}
	return l
}

// logDensity is the logarithm of a Gaussian's density at a point, nats.
func (g gaussian) logDensity(p []float64) float64 {
	z, sum := make([]float64, len(p)), -float64(len(p))/2*math.Log(2*math.Pi)
	for a := range p {
		z[a] = p[a] - g.Mean[a]
		for b := range a {
			z[a] -= g.Factor[a][b] * z[b]
		}
		z[a] /= g.Factor[a][a]
		sum -= z[a]*z[a]/2 + math.Log(g.Factor[a][a])
	}
	return sum
}

// draw is a point of the Gaussian's first n dimensions.
func (g gaussian) draw(n int, dice *random.Rand) []float64 {
	p, z := make([]float64, n), make([]float64, n)
	for a := range p {
		z[a] = math.Sqrt(-2*math.Log(dice.Unit())) * math.Cos(2*math.Pi*dice.Unit()) // Box and Muller, 1958
		p[a] = g.Mean[a]
		for b := range a + 1 {
			p[a] += g.Factor[a][b] * z[b]
		}
	}
	return p
}

func squaredDistance(p, q []float64) float64 {
	sum := 0.0
	for a := range p {
		sum += (p[a] - q[a]) * (p[a] - q[a])
	}
	return sum
}
