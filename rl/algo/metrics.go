package algo

import "math"

// Metrics are sums over the tokens under the loss mask; those of micro-batches
// add up with Add, and Means turns them into the published numbers.
type Metrics struct {
	Tokens        int     // tokens under the mask
	Loss          float64 // the loss itself: parts add up, no division
	Ratio         float64 // Σ ratio π/π_old at ratio_level
	ClipLow       int     // tokens with A < 0 below the clip range
	ClipHigh      int     // tokens with A > 0 above it
	KLRef         float64 // Σ k3 toward the reference, nats
	Entropy       float64 // Σ entropy, nats
	MismatchKL    float64 // Σ k3 between sampler and policy now, nats
	Equal         int     // tokens whose log-prob has the sampler's bits
	RefTokens     int     // tokens KLRef is over
	EntropyTokens int     // tokens Entropy is over
	SamplerTokens int     // tokens MismatchKL and Equal are over
}

// Add returns the metrics of two parts of a batch together.
func (m Metrics) Add(o Metrics) Metrics {
	m.Tokens += o.Tokens
	m.Loss += o.Loss
	m.Ratio += o.Ratio
	m.ClipLow += o.ClipLow
	m.ClipHigh += o.ClipHigh
	m.KLRef += o.KLRef
	m.Entropy += o.Entropy
	m.MismatchKL += o.MismatchKL
	m.Equal += o.Equal
	m.RefTokens += o.RefTokens
	m.EntropyTokens += o.EntropyTokens
	m.SamplerTokens += o.SamplerTokens
	return m
}

// Means gives token means under their published names. A metric whose stream
// was not in the batch is absent.
//
//	policy/loss            the loss of the global batch
//	policy/ratio_mean      mean ratio π/π_old; exactly 1 on-policy
//	policy/clip_low_share   share of tokens with A < 0 whose ratio is below the range
//	policy/clip_high_share  share of tokens with A > 0 whose ratio is above it
//	policy/clip_fraction   their sum
//	policy/kl_ref          mean k3 of log π − log π_ref, nats, whatever kl_estimator is
//	policy/entropy         mean entropy, nats
//	policy/mismatch_kl     mean of k3 = r − 1 − log r, r = π/μ: the policy now against
//	                       the sampler's own report. At the first update after a
//	                       rollout the weights are equal and it is the numerical
//	                       mismatch of the two paths, exactly 0 if there is none;
//	                       later updates add the policy's movement
//	policy/compared        tokens that mismatch_kl is over, a count
//	policy/equal           those whose two log-probs are the same float64, a count:
//	                       opposite errors cannot cancel in it
func (m Metrics) Means() map[string]float64 {
	out := map[string]float64{"policy/loss": m.Loss}
	mean := func(name string, sum float64, n int) {
		if n > 0 {
			out[name] = sum / float64(n)
		}
	}
	mean("policy/ratio_mean", m.Ratio, m.Tokens)
	mean("policy/clip_low_share", float64(m.ClipLow), m.Tokens)
	mean("policy/clip_high_share", float64(m.ClipHigh), m.Tokens)
	mean("policy/clip_fraction", float64(m.ClipLow+m.ClipHigh), m.Tokens)
	mean("policy/kl_ref", m.KLRef, m.RefTokens)
	mean("policy/entropy", m.Entropy, m.EntropyTokens)
	mean("policy/mismatch_kl", m.MismatchKL, m.SamplerTokens)
	if m.SamplerTokens > 0 {
		out["policy/compared"], out["policy/equal"] = float64(m.SamplerTokens), float64(m.Equal)
	}
	return out
}

// addToken counts one token under the mask.
func (m *Metrics) addToken(ratio float64, low, high bool) {
	m.Tokens++
	m.Ratio += ratio
	if low {
		m.ClipLow++
	}
	if high {
		m.ClipHigh++
	}
}

// observe adds what is measured on sequence i but not trained on.
func (res *Result) observe(b Batch, i int) {
	m := &res.Metrics
	for t, now := range b.Logprob[i] {
		if !b.counts(i, t) {
			continue
		}
		if b.RefLogprob != nil {
			m.KLRef += k3(now - b.RefLogprob[i][t])
			m.RefTokens++
		}
		if b.Entropy != nil {
			m.Entropy += b.Entropy[i][t]
			m.EntropyTokens++
		}
		if b.SamplerLogprob != nil && !math.IsNaN(b.SamplerLogprob[i][t]) {
			m.MismatchKL += k3(b.SamplerLogprob[i][t] - now)
			m.SamplerTokens++
			if math.Float64bits(b.SamplerLogprob[i][t]) == math.Float64bits(now) {
				m.Equal++
			}
		}
	}
}
