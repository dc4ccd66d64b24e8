package algo

import (
	"encoding/json"
	"math"
	"testing"
)

// trlRewards sums the reward functions' columns with their weights; a row that
// no function scored is NaN.
func trlRewards(h hyper, columns [][]float64) []float64 {
	out := make([]float64, len(columns))
	weights := h["reward_weights"].([]any)
	for i, r := range columns {
		scored := false
		for k, x := range r {
			if !math.IsNaN(x) {
				out[i] += weights[k].(float64) * x
				scored = true
			}
		}
		if !scored {
			out[i] = math.NaN()
		}
	}
	return out
}

func consecutiveGroups(n, size int) []int {
	groups := make([]int, n)
	for i := range groups {
		groups[i] = i / size
	}
	return groups
}

func TestTRLAdvantages(t *testing.T) {
	run(t, "trl_advantages", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		rewards := trlRewards(h, matrix(t, g.In, "rewards"))
		groups := consecutiveGroups(len(rewards), int(h.num("group_size")))
		cfg := Default()
		cfg.StdEps = h.or("std_eps", 1e-4)
		switch h.str("estimator") {
		case "grpo":
			cfg.Estimator = map[string]string{"group": "group_std", "batch": "batch_std", "none": "group_mean"}[h.str("scale_rewards")]
		case "gdpo": // normalise each reward, then sum, then whiten: a composition of two calls
			sum := sumOfAdvantages(t, cfg, h, matrix(t, g.In, "rewards"), groups)
			for i := range rewards {
				rewards[i] += sum[i] - rewards[i] // NaN stays: no function scored it
			}
			cfg.Estimator, cfg.Whiten = "none", true
		case "rloo":
			cfg.Estimator, cfg.Whiten = "leave_one_out", h.has("normalize_advantages")
			rewards = rlooRewards(t, f, g, rewards)
		}
		adv, _, stats, err := Advantages(cfg, rewards, groups)
		if err != nil {
			t.Fatal(err)
		}
		f.sameRow(t, "advantages", adv, value[row](t, g.Out, "advantages"))
		if h.str("scale_rewards") == "group" && stats.NotScored == 0 { // "batch": TRL asks whether the step's deviation is 0
			want := value[map[string]json.RawMessage](t, g.Out, "metrics")
			f.same(t, "reward/mean", stats.RewardMean, value[float64](t, want, "reward"))
			f.same(t, "groups/uniform_share", stats.Means()["groups/uniform_share"], value[float64](t, want, "frac_reward_zero_std"))
		}
	})
}

func sumOfAdvantages(t *testing.T, cfg Config, h hyper, columns [][]float64, groups []int) []float64 {
	t.Helper()
	sum := make([]float64, len(columns))
	for k, w := range h["reward_weights"].([]any) {
		column := make([]float64, len(columns))
		for i := range columns {
			column[i] = columns[i][k]
		}
		adv, _, _, err := Advantages(cfg, column, groups)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sum {
			sum[i] += w.(float64) * adv[i]
		}
	}
	return sum
}

// rlooRewards clips the rewards and takes the KL off them.
func rlooRewards(t *testing.T, f *goldenFile, g *golden, rewards []float64) []float64 {
	t.Helper()
	if bounds, ok := g.Hyper["reward_clip_range"].([]any); ok {
		for i, r := range rewards {
			rewards[i] = math.Min(math.Max(r, bounds[0].(float64)), bounds[1].(float64))
		}
	}
	if beta := g.Hyper.num("beta"); beta > 0 {
		cfg := Default()
		cfg.KLCoef, cfg.KLEstimator, cfg.KLIn = beta, "k1", "reward"
		b := f.batch(t, g)
		b.Logprob = b.OldLogprob
		var err error
		if rewards, err = PenalizeRewards(cfg, rewards, b); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range value[row](t, g.Out, "rewards_after_kl_and_clip") {
		if !math.IsNaN(want) {
			f.same(t, "reward after KL", rewards[i], want)
		}
	}
	return rewards
}

func TestTRLMasks(t *testing.T) {
	run(t, "trl_masks", func(t *testing.T, f *goldenFile, g *golden) {
		h, b, cfg := g.Hyper, f.batch(t, g), Default()
		var got func(i, t int) float64
		var want [][]float64
		switch h.str("op") {
		case "vllm_is":
			cfg.Mismatch, cfg.MismatchMin, cfg.MismatchCap = h.str("mode"), h.or("clip_min", 0), h.or("clip_max", math.Inf(1))
			got = func(i, t int) float64 { return mismatchWeights(cfg, b, i)[t] }
			want = matrix(t, g.Out, "ratio")
		case "opsm":
			cfg.OffPolicyKLMax, cfg.Mismatch = h.num("threshold"), "token_mask" // any correction: against the sampler
			got = func(i, _ int) float64 {
				return indicator(!(offPolicy(cfg, b, i, b.tokens(i)) && b.Advantage[i] < 0))
			}
			want = matrix(t, g.Out, "keep")
		case "entropy_mask":
			cfg.TopEntropyShare = 1 - h.num("threshold_quantile")
			totals := counts{EntropyThreshold: entropyThreshold(cfg, b)}
			got = func(i, t int) float64 { return indicator(b.Entropy[i][t] >= totals.EntropyThreshold) }
			want = matrix(t, g.Out, "keep")
		}
		for i := range b.Logprob {
			for j := range b.Logprob[i] {
				if b.counts(i, j) {
					f.same(t, h.str("op"), got(i, j), want[i][min(j, len(want[i])-1)])
				}
			}
		}
	})
}

func indicator(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

func TestTRLSequenceLosses(t *testing.T) {
	run(t, "trl_sequence_losses", func(t *testing.T, f *goldenFile, g *golden) {
		cfg, err := Preset("rloo")
		if err != nil {
			t.Fatal(err)
		}
		cfg.ClipLow, cfg.ClipHigh = g.Hyper.num("epsilon"), g.Hyper.num("epsilon_high")
		b := f.batch(t, g)
		dropEmptyRows(t, g, b, 1)
		f.sameLoss(t, g, cfg, b, 1)
	})
}
