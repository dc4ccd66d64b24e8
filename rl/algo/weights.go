package algo

import (
	"math"
	"slices"
)

// weights is the constant factor of the policy term of every token of sequence
// i: the caller's own, times what mismatch, off_policy_kl_max and
// top_entropy_share say. 0 masks a token without changing the normaliser.
func weights(cfg Config, b Batch, g counts, i, n int) []float64 {
	w := mismatchWeights(cfg, b, i)
	masked := offPolicy(cfg, b, i, n)
	for t := range w {
		if b.Weight != nil {
			w[t] *= b.Weight[i][t]
		}
		if (masked && b.advantage(i, t) < 0) || lowEntropy(cfg, b, g, i, t) {
			w[t] = 0
		}
	}
	return w
}

// mismatchWeights corrects for a sampler whose probabilities differ from the
// trainer's at the same weights: ratio exp(log π_old − log μ) of the token or
// of the whole sequence (sum of the tokens), truncated into
// [mismatch_min, mismatch_cap] or set to 0 outside (TIS and IcePop;
// TRL's vllm_importance_sampling_mode). An unknown (NaN) sampler value counts as equal.
func mismatchWeights(cfg Config, b Batch, i int) []float64 {
	w := make([]float64, len(b.Logprob[i]))
	sum := 0.0
	for t := range w {
		if cfg.Mismatch != "off" && b.counts(i, t) && !math.IsNaN(b.SamplerLogprob[i][t]) {
			w[t] = b.old(i, t) - b.SamplerLogprob[i][t]
		}
		sum += w[t]
	}
	for t := range w {
		x := w[t]
		if cfg.Mismatch == "sequence_truncate" || cfg.Mismatch == "sequence_mask" {
			x = sum
		}
		r := math.Exp(x)
		switch bounded := math.Min(math.Max(r, cfg.MismatchMin), cfg.MismatchCap); {
		case cfg.Mismatch == "off":
			w[t] = 1
		case bounded == r, cfg.Mismatch == "token_truncate", cfg.Mismatch == "sequence_truncate":
			w[t] = bounded
		default:
			w[t] = 0
		}
	}
	return w
}

// offPolicy reports whether sequence i has left the policy that sampled it:
// the mean over its tokens of log μ − log π is above off_policy_kl_max, μ being
// the sampler where mismatch is corrected and the old policy elsewhere
// (DeepSeek-V3.2, arXiv 2512.02556; TRL's off_policy_mask_threshold).
func offPolicy(cfg Config, b Batch, i, n int) bool {
	sum := 0.0
	for t, now := range b.Logprob[i] {
		if !b.counts(i, t) {
			continue
		}
		before := b.old(i, t)
		if cfg.Mismatch != "off" && !math.IsNaN(b.SamplerLogprob[i][t]) {
			before = b.SamplerLogprob[i][t]
		}
		sum += before - now
	}
	return sum/float64(n) > cfg.OffPolicyKLMax
}

// lowEntropy reports whether top_entropy_share leaves the token out.
func lowEntropy(cfg Config, b Batch, g counts, i, t int) bool {
	return cfg.TopEntropyShare < 1 && b.Entropy[i][t] < g.EntropyThreshold
}

// entropyThreshold is the 1−top_entropy_share quantile, linearly interpolated,
// of the entropies under the mask (arXiv 2506.01939; TRL's top_entropy_quantile).
func entropyThreshold(cfg Config, b Batch) float64 {
	var all []float64
	for i := range b.Logprob {
		for t := range b.Logprob[i] {
			if b.counts(i, t) {
				all = append(all, b.Entropy[i][t])
			}
		}
	}
	if len(all) == 0 {
		return math.Inf(-1)
	}
	slices.Sort(all)
	at := (1 - cfg.TopEntropyShare) * float64(len(all)-1)
	below := int(at)
	above := min(below+1, len(all)-1)
	return all[below] + (at-float64(below))*(all[above]-all[below])
}
