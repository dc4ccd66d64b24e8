package algo

import (
	"encoding/json"
	"math"
	"testing"
)

// verlNormalize maps an aggregation mode of verl; the factor is what verl
// divides by differently: it leaves rows without tokens out, and takes the
// global counts of all dp_size processes.
func verlNormalize(cfg *Config, h hyper, b Batch) (factor float64) {
	rows, nonEmpty, tokens, width := len(b.Logprob), 0, 0, 0
	for i := range b.Logprob {
		n := b.tokens(i)
		tokens += n
		width = len(b.Logprob[i])
		if n > 0 {
			nonEmpty++
		}
	}
	dp := h.or("dp_size", 1)
	perRow := float64(rows) * dp / h.or("global_batch_size", dp*float64(nonEmpty))
	switch h.str("agg") {
	case "token-mean":
		cfg.Normalize = "token_mean"
		return float64(tokens) * dp / h.or("batch_num_tokens", dp*float64(tokens))
	case "token-sum":
		cfg.Normalize = "token_sum"
		return dp
	case "seq-mean-token-sum":
		cfg.Normalize = "seq_sum"
	case "seq-mean-token-mean":
		cfg.Normalize = "seq_mean"
	case "seq-mean-token-sum-norm":
		cfg.Normalize, cfg.MaxCompletionTokens = "fixed_length", int(h.or("loss_scale_factor", float64(width)))
	}
	return perRow
}

// verlTokenCount undoes that verl's mean over the tokens of a row divides by
// n + 1e-8.
func verlTokenCount(b *Batch) {
	weight := zeros(b.Logprob)
	for i := range weight {
		n := float64(b.tokens(i))
		for t := range weight[i] {
			weight[i][t] = n / (n + 1e-8)
			if b.Weight != nil {
				weight[i][t] *= b.Weight[i][t]
			}
		}
	}
	b.Weight = weight
}

func TestVerlPolicyLosses(t *testing.T) {
	run(t, "verl_policy_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h, b, cfg := g.Hyper, f.batch(t, g), Default()
		factor := verlNormalize(&cfg, h, b)
		cfg.ClipLow, cfg.ClipHigh, cfg.LogRatioClamp = h.num("clip_ratio_low"), h.num("clip_ratio_high"), 20
		switch h.str("loss_mode") {
		case "vanilla":
			cfg.DualClip = h.num("clip_ratio_c")
		case "gspo":
			cfg.RatioLevel, cfg.LogRatioClamp = "sequence_token", math.Inf(1)
		case "sapo": // always seq-mean-token-mean
			cfg.Loss, cfg.SapoTauPos, cfg.SapoTauNeg = "sapo", h.num("tau_pos"), h.num("tau_neg")
			h["agg"] = "seq-mean-token-mean"
			factor = verlNormalize(&cfg, h, b)
		case "gpg":
			cfg.Loss = "reinforce"
		case "cispo":
			cfg.Loss = "cispo"
		}
		if h.has("is_weights") {
			b.Weight = matrix(t, f.inputs(g), "is_weights")
		}
		if cfg.Normalize == "seq_mean" {
			verlTokenCount(&b)
		}
		res := f.sameLoss(t, g, cfg, b, factor)
		if h.str("loss_mode") == "vanilla" {
			metrics := value[map[string]json.RawMessage](t, g.Out, "metrics")
			want, got := value[float64](t, metrics, "actor/pg_clipfrac"), res.Metrics.Means()["policy/clip_fraction"]
			const rel, abs = 1e-6, 1e-7 // README
			if math.Abs(got-want) > abs+rel*math.Abs(want) {
				t.Errorf("policy/clip_fraction = %v, want %v", got, want)
			}
		}
	})
}

func TestVerlAdvantages(t *testing.T) {
	run(t, "verl_advantages", func(t *testing.T, f *goldenFile, g *golden) {
		h, in := g.Hyper, f.inputs(g)
		mask, groups := matrix(t, in, "mask"), value[[]int](t, in, "groups")
		var rewards []float64
		members := map[int]int{}
		for i, tokens := range matrix(t, in, "rewards") {
			sum := 0.0
			for _, r := range tokens {
				sum += r
			}
			rewards = append(rewards, sum)
			members[groups[i]]++
		}
		cfg := Default()
		switch h.str("estimator") {
		case "grpo":
			cfg.StdEps = h.num("epsilon")
			if !h.has("norm_by_std") {
				cfg.Estimator = "group_mean"
			}
		case "rloo", "rloo_vectorized":
			cfg.Estimator = "leave_one_out"
		}
		adv, _, _, err := Advantages(cfg, rewards, groups)
		if err != nil {
			t.Fatal(err)
		}
		if g.Batch == "nearly" {
			wider := *f
			wider.Tolerance.Rel = 1e-8 // README: group std of 2e-6
			f = &wider
		}
		for i, want := range matrix(t, g.Out, "advantages") {
			if members[groups[i]] == 1 && h.str("estimator") != "rloo_vectorized" {
				continue // a group of one: verl gives R, we 0 (see Advantages)
			}
			for j := range want {
				switch {
				case mask[i][j] == 0:
				case adv[i] == 0 && cfg.Estimator == "group_std":
					// Equal rewards give us exactly 0 and verl the rounding of the mean over std_eps.
					const eps = 0x1p-52
					if bound := float64(members[groups[i]]) * eps * math.Abs(rewards[i]) / cfg.StdEps; math.Abs(want[j]) > bound {
						t.Errorf("advantage of %d = 0, want %v", i, want[j])
					}
				default:
					f.same(t, "advantage", adv[i], want[j])
				}
			}
		}
	})
}

func TestVerlMisc(t *testing.T) {
	kinds := map[string]string{"kl": "k1", "kl+": "k1+", "mse": "k2", "mse+": "k2+", "low_var_kl": "k3", "low_var_kl+": "k3+"}
	run(t, "verl_misc", func(t *testing.T, f *goldenFile, g *golden) {
		h, b, cfg := g.Hyper, f.batch(t, g), Default()
		in := f.inputs(g)
		kind := h.str("kind")
		if ours, ok := kinds[kind]; ok {
			kind = ours
		}
		switch h.str("op") {
		case "agg": // −A·logp with A = −1 is logp itself
			b.Logprob = matrix(t, in, "x")
			factor := verlNormalize(&cfg, h, b)
			b.Advantage = make([]float64, len(b.Logprob))
			for i := range b.Advantage {
				b.Advantage[i] = -1
			}
			cfg.Loss = "reinforce"
			if cfg.Normalize == "seq_mean" {
				verlTokenCount(&b)
			}
			g.Out["dlogp"] = g.Out["dx"]
			f.sameLoss(t, g, cfg, b, factor)
		case "kl":
			ref := matrix(t, in, h.str("reference"))
			values, slopes := matrix(t, g.Out, "kl"), matrix(t, g.Out, "dkl_dlogp")
			for i := range b.Logprob {
				for j := range b.Logprob[i] {
					if b.counts(i, j) {
						value, slope := kl(kind, b.Logprob[i][j]-ref[i][j])
						f.same(t, "kl", value, values[i][j])
						f.same(t, "dkl", slope, slopes[i][j])
					}
				}
			}
		case "kl_loss":
			factor := verlNormalize(&cfg, h, b)
			b.RefLogprob = matrix(t, in, h.str("reference"))
			b.Advantage = make([]float64, len(b.Logprob))
			cfg.KLCoef, cfg.KLEstimator = 1, kind
			f.sameLoss(t, g, cfg, b, factor)
		}
	})
}
