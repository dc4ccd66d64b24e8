package algo

import (
	"math"
	"strings"
	"testing"
)

func TestOtherLosses(t *testing.T) {
	run(t, "other_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h, b, cfg, factor := g.Hyper, f.batch(t, g), Default(), 1.0
		name := h.str("loss_type")
		switch {
		case name == "raft", name == "w_reinforce":
			pipeline(t, f, g, b)
			return
		case name == "topr":
			cfg.Loss, cfg.RatioLevel, cfg.Normalize = "topr", "sequence_sum", "seq_sum"
			cfg.ClipLow, cfg.ClipHigh, cfg.RatioCap = 1-h.num("lo"), 0, h.num("hi")
			b.OldLogprob = b.SamplerLogprob
		case name == "log_ratio_clamp":
			cfg.ClipLow, cfg.ClipHigh, cfg.LogRatioClamp = math.Inf(1), math.Inf(1), h.num("c")
		case strings.HasPrefix(name, "open_instruct"):
			openInstruct(&cfg, h)
		case strings.HasPrefix(name, "slime"):
			slime(&cfg, h)
		case name == "openrlhf":
			factor = openRLHF(&cfg, h, &b)
		default:
			t.Fatalf("no composition for loss_type %q: add one, or a row with the reason to notCovered", name)
		}
		f.sameLoss(t, g, cfg, b, factor)
	})
}

// pipeline runs a preset from rewards to loss, the sign of the case's
// advantage being the reward.
func pipeline(t *testing.T, f *goldenFile, g *golden, b Batch) {
	t.Helper()
	cfg, err := Preset("raft")
	if err != nil {
		t.Fatal(err)
	}
	if g.Hyper.str("loss_type") == "w_reinforce" {
		cfg, _ = Preset("reinforce")
		cfg.RewardScale, cfg.RewardOffset, cfg.PositiveWeight = 1, 0, g.Hyper.num("lambda")
	}
	rewards, groups := make([]float64, len(b.Logprob)), make([]int, len(b.Logprob))
	for i, a := range b.Advantage {
		rewards[i] = indicator(a > 0) - indicator(a < 0)
	}
	adv, keep, _, err := Advantages(cfg, rewards, groups)
	if err != nil {
		t.Fatal(err)
	}
	kept := Batch{}
	for i := range keep {
		if keep[i] {
			kept.Logprob = append(kept.Logprob, b.Logprob[i])
			kept.Mask = append(kept.Mask, b.Mask[i])
			kept.Advantage = append(kept.Advantage, adv[i])
		}
	}
	res, err := Loss(cfg, kept)
	if err != nil {
		t.Fatal(err)
	}
	f.same(t, "loss", res.Loss, value[float64](t, g.Out, "loss"))
	got := zeros(b.Logprob)
	for i, at := 0, 0; i < len(keep); i++ {
		if keep[i] {
			got[i] = res.DLogprob[at]
			at++
		}
	}
	f.sameMatrix(t, "dlogp", got, matrix(t, g.Out, "dlogp"))
}

// open-instruct: clip or a weight with an upper bound only; token mean; KL with
// numbered estimators.
func openInstruct(cfg *Config, h hyper) {
	cfg.ClipLow, cfg.ClipHigh = h.num("clip_lower"), h.num("clip_higher")
	if h.str("loss_type") == "open_instruct_cispo" {
		cfg.Loss, cfg.ClipLow = "cispo", 1
	}
	cfg.KLCoef = h.num("beta")
	cfg.KLEstimator = []string{"k1", "k2", "k3", "k1"}[int(h.or("kl_estimator", 0))]
	cfg.KLTimesRatio = h.num("kl_estimator") == 3
	if h.has("use_rho_correction") {
		cfg.Mismatch, cfg.MismatchMin, cfg.MismatchCap = "token_truncate", h.num("rho_clamp_lower_bound"), h.num("rho_clamp_upper_bound")
	}
}

// slime: the mean over sequences of the token mean, with sampler correction.
func slime(cfg *Config, h hyper) {
	cfg.Normalize, cfg.ClipLow, cfg.ClipHigh = "seq_mean", h.num("eps_clip"), h.num("eps_clip_high")
	cfg.DualClip = h.or("eps_clip_c", math.Inf(1))
	switch h.str("loss_type") {
	case "slime_gspo":
		cfg.RatioLevel = "sequence"
	case "slime_cispo":
		cfg.Loss = "cispo"
	}
	if h.has("tis") {
		cfg.Mismatch = map[string]string{"tis": "token_truncate", "icepop": "token_mask"}[h.str("tis")]
		cfg.MismatchMin, cfg.MismatchCap = h.num("tis_clip_low"), h.num("tis_clip")
	}
}

// OpenRLHF: token mean, or mean over sequences of the token mean.
func openRLHF(cfg *Config, h hyper, b *Batch) float64 {
	h["agg"] = "token-mean"
	if h["token_level_loss"] == false || h.str("policy_loss_type") == "gspo" {
		h["agg"] = "seq-mean-token-mean"
	}
	factor := verlNormalize(cfg, h, *b)
	if cfg.Normalize == "seq_mean" {
		verlTokenCount(b)
	}
	cfg.ClipLow, cfg.ClipHigh = h.or("clip_eps_low", 0.2), h.or("clip_eps_high", 0.2)
	cfg.DualClip = h.or("dual_clip", math.Inf(1))
	if h.str("policy_loss_type") == "gspo" {
		cfg.RatioLevel = "sequence"
	}
	if h.has("enable_vllm_is_correction") {
		cfg.Mismatch = "token_truncate"
		if h.str("vllm_is_correction_type") == "icepop" {
			cfg.Mismatch = "token_mask"
		}
		bounds := h["vllm_is_truncated_threshold"].([]any)
		cfg.MismatchMin, cfg.MismatchCap = bounds[0].(float64), bounds[1].(float64)
	}
	return factor
}

// TestTOPR: the mean over sequences of -w·A·Σ log π with w = 1 for A >= 0, else the
// sequence's ratio kept between the bounds (arXiv 2503.14286).
func TestTOPR(t *testing.T) {
	b := randomBatch(5, 16)
	for _, bounds := range [][2]float64{{0, 1}, {0, 0.5}, {0.1, 0.8}, {0.6, 0.9}} {
		cfg := Default()
		cfg.Loss, cfg.RatioLevel, cfg.Normalize = "topr", "sequence_sum", "seq_sum"
		cfg.ClipLow, cfg.ClipHigh, cfg.RatioCap = 1-bounds[0], 0, bounds[1]
		want, size := 0.0, 0.0
		for i := range b.Logprob {
			logRatio, logprob, w := 0.0, 0.0, 1.0
			for k, counts := range b.Mask[i] {
				if counts {
					logRatio += b.Logprob[i][k] - b.OldLogprob[i][k]
					logprob += b.Logprob[i][k]
				}
			}
			if b.Advantage[i] < 0 {
				w = math.Min(math.Max(math.Exp(logRatio), bounds[0]), bounds[1])
			}
			term := w * b.Advantage[i] * logprob / float64(len(b.Logprob))
			want, size = want-term, size+math.Abs(term)
		}
		// Sums of some 16 x 16 numbers, whose rounding errors are at most 2^-53 of size each.
		if res := mustLoss(t, cfg, b); math.Abs(res.Loss-want) > 512*0x1p-53*size {
			t.Errorf("bounds %v: loss %v, want %v", bounds, res.Loss, want)
		}
	}
}
