package algo

import "math"

// level is the log-ratio log π/π_old of one sequence at the granularity that
// ratio_level names, with the rule by which a derivative with respect to it
// becomes one with respect to the tokens' log-probabilities.
type level struct {
	x     []float64 // [token] log-ratio each token is judged by, nats
	slope []float64 // [token] d x / d logprob of that token (sequence levels: of the shared x)
	held  []int8    // [token] −1 or +1: loss = "geometric" clipped the token below or above
	share bool      // all tokens share one x: derivatives are summed, then spread by slope
}

// ratioLevel computes the log-ratios of sequence i.
//
//	token           x_t = log π_t − log π_old,t
//	sequence        x   = mean over the tokens of x_t          (GSPO, arXiv 2507.18071)
//	sequence_token  x   as sequence, but each token's gradient goes to its own
//	                    log-probability (GSPO-token, same paper)
//	sequence_sum    x   = Σ x_t: the true ratio of sequences   (TRL's RLOO); grows with length
//
// loss = "geometric" clips every x_t to [−clip_low, clip_high] on the side its
// advantage pushes to before the mean (GMPO, arXiv 2507.20673).
// Log-ratios beyond log_ratio_clamp are cut and pass no gradient.
func ratioLevel(cfg Config, b Batch, i, n int) level {
	l := level{x: make([]float64, len(b.Logprob[i])), slope: make([]float64, len(b.Logprob[i])), held: make([]int8, len(b.Logprob[i]))}
	sum := 0.0
	for t := range l.x {
		if !b.counts(i, t) {
			continue
		}
		x := b.Logprob[i][t] - b.old(i, t)
		l.x[t], l.slope[t] = clampLog(x, cfg.LogRatioClamp)
		if cfg.Loss == "geometric" {
			l.clipLog(t, b.advantage(i, t), cfg.ClipLow, cfg.ClipHigh)
		}
		sum += l.x[t]
	}
	scale := 1.0
	switch cfg.RatioLevel {
	case "token":
		return l
	case "sequence", "sequence_token":
		sum /= float64(n)
		scale = 1 / float64(n)
	}
	l.share = cfg.RatioLevel != "sequence_token"
	for t := range l.x {
		l.x[t] = sum
		if l.share {
			l.slope[t] *= scale
		}
	}
	return l
}

// clampLog is x within ±bound, and 1 or 0 as x moves the result.
func clampLog(x, bound float64) (value, slope float64) {
	if math.Abs(x) > bound {
		return math.Copysign(bound, x), 0
	}
	return x, 1
}

// clipLog clips x_t to [−low, high] only where that makes the objective
// smaller: above for a positive advantage, below for a negative one.
func (l *level) clipLog(t int, adv, low, high float64) {
	switch {
	case adv > 0 && l.x[t] > high:
		l.x[t], l.slope[t], l.held[t] = high, 0, 1
	case adv < 0 && l.x[t] < -low:
		l.x[t], l.slope[t], l.held[t] = -low, 0, -1
	}
}
