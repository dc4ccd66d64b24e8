package algo

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
)

// TRL's loss types as compositions.
func trlConfig(h hyper) Config {
	c := Default()
	c.ClipLow, c.ClipHigh = h.num("epsilon"), h.num("epsilon_high")
	c.RatioLevel = h.str("importance_sampling_level")
	switch h.str("loss_type") {
	case "grpo":
		c.Normalize = "seq_mean"
	case "bnpo":
		c.Normalize = "micro_token_mean"
	case "dr_grpo":
		c.Normalize, c.MaxCompletionTokens = "fixed_length", int(h.num("max_completion_length"))
	case "luspo":
		c.Normalize = "seq_sum"
	case "cispo":
		c.Loss, c.ClipLow, c.ClipHigh, c.RatioCap = "cispo", 1, math.Inf(1), h.num("epsilon_high")
	case "sapo":
		c.Loss, c.Normalize = "sapo", "seq_mean"
		c.SapoTauPos, c.SapoTauNeg = h.num("sapo_temperature_pos"), h.num("sapo_temperature_neg")
	case "gmpo":
		c.Loss, c.RatioLevel, c.Normalize = "geometric", "sequence", "seq_mean"
	}
	if h.str("loss_type") != "cispo" {
		c.RatioCap = h.or("delta", math.Inf(1))
	}
	c.KLCoef, c.KLTimesRatio = h.num("beta"), h.has("use_bias_correction_kl")
	c.EntropyCoef, c.TopEntropyShare = h.num("entropy_coef"), h.num("top_entropy_quantile")
	c.OffPolicyKLMax = h.or("off_policy_mask_threshold", math.Inf(1))
	if h.has("is_mode") {
		c.Mismatch, c.MismatchMin, c.MismatchCap = h.str("is_mode"), h.or("is_min", 0), h.or("is_max", math.Inf(1))
	}
	return c
}

// trlScale is what TRL divides by beyond our normaliser, for one micro-batch
// taken as the whole: gradient accumulation, and for the global token mean the
// tokens of all processes' micro-batches.
func trlScale(h hyper, tokens int) float64 {
	accumulation := h.num("gradient_accumulation_steps")
	switch h.str("loss_type") {
	case "dapo", "cispo":
		items := h.or("num_items_in_batch", float64(tokens))
		return float64(tokens) / (items * accumulation / h.num("steps_per_generation"))
	}
	return 1 / accumulation
}

func TestTRLLosses(t *testing.T) {
	run(t, "trl_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h, b := g.Hyper, f.batch(t, g)
		cfg := trlConfig(h)
		if h.str("old") == "detached policy" {
			b.OldLogprob = nil
		}
		totals := totals(cfg, b)
		scale := trlScale(h, totals.Tokens)
		// TRL takes the entropy bonus over the tokens of the micro-batch that the
		// entropy mask keeps, divided by gradient accumulation alone.
		if cfg.EntropyCoef != 0 {
			kept := 0
			for i := range b.Logprob {
				for j := range b.Logprob[i] {
					if b.counts(i, j) && !lowEntropy(cfg, b, totals, i, j) {
						kept++
					}
				}
			}
			cfg.EntropyCoef *= float64(totals.Tokens) / float64(kept) / h.num("gradient_accumulation_steps") / scale
		}
		if h.str("loss_type") == "gmpo" {
			dropEmptyRows(t, g, b, scale)
		}
		res := f.sameLoss(t, g, cfg, b, scale)
		if g.Out["importance_sampling_ratio"] != nil {
			for i, want := range matrix(t, g.Out, "importance_sampling_ratio") {
				got := mismatchWeights(cfg, b, i)
				for j := range got {
					if b.counts(i, j) {
						f.same(t, "importance_sampling_ratio", got[j], want[min(j, len(want)-1)])
					}
				}
			}
		}
		trlMetrics(t, h, res.Metrics.Means(), value[map[string]json.RawMessage](t, g.Out, "metrics"))
	})
}

// trlMetrics compares the metrics that both sides define alike: TRL averages
// clip fractions over rows at sequence level.
func trlMetrics(t *testing.T, h hyper, got map[string]float64, want map[string]json.RawMessage) {
	t.Helper()
	names := map[string]string{"entropy": "policy/entropy"}
	if !h.has("use_bias_correction_kl") {
		names["kl"] = "policy/kl_ref"
	}
	if h.str("importance_sampling_level") == "token" {
		names["clip_ratio/low_mean"] = "policy/clip_low_share"
		if h.or("delta", math.Inf(1)) > 1+h.num("epsilon_high") { // TRL counts ratios after delta has cut them
			names["clip_ratio/high_mean"] = "policy/clip_high_share"
			names["clip_ratio/region_mean"] = "policy/clip_fraction"
		}
		names["cispo_clip_ratio"] = "policy/clip_high_share"
	}
	for theirs, ours := range names {
		if want[theirs] == nil {
			continue
		}
		const rel, abs = 1e-6, 1e-7 // README: some pass through float32 counters
		w := value[float64](t, want, theirs)
		if math.Abs(got[ours]-w) > abs+rel*math.Abs(w) {
			t.Errorf("%s = %v, want %s = %v", ours, got[ours], theirs, w)
		}
	}
}

// dropEmptyRows takes out of a GMPO case's loss what TRL gives rows without
// tokens: −A each, the ratio being 1. Ours is 0, as verl's; the gradient is the same.
func dropEmptyRows(t *testing.T, g *golden, b Batch, scale float64) {
	t.Helper()
	loss := value[float64](t, g.Out, "loss")
	for i := range b.Logprob {
		if b.tokens(i) == 0 {
			loss += scale * b.advantage(i, 0) / float64(len(b.Logprob))
		}
	}
	g.Out["loss"] = json.RawMessage(strconv.FormatFloat(loss, 'g', -1, 64))
}
