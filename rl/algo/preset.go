package algo

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// presets are the published methods this package knows by name, as changes to
// Default. None has a KL term: kl_coef = 0.001 and the like are for the recipe.
var presets = []struct {
	name   string
	change func(c *Config)
}{
	// arXiv 2402.03300; std_eps as TRL.
	{"grpo", func(c *Config) { c.Normalize = "seq_mean" }},
	// arXiv 2503.20783: no std, constant divisor. max_completion_tokens must be set.
	{"dr_grpo", func(c *Config) {
		c.Estimator, c.Normalize, c.MaxCompletionTokens = "group_mean", "fixed_length", 512
	}},
	// arXiv 2503.14476: higher upper clip, token mean, uniform groups resampled.
	{"dapo", func(c *Config) { c.ClipHigh, c.Filters = 0.28, []string{"uniform_groups"} }},
	// TRL's loss_type "bnpo": token mean of each micro-batch.
	{"bnpo", func(c *Config) { c.Normalize = "micro_token_mean" }},
	// arXiv 2507.18071 with the clip range of its experiments.
	{"gspo", func(c *Config) {
		c.RatioLevel, c.Normalize, c.ClipLow, c.ClipHigh = "sequence", "seq_mean", 3e-4, 4e-4
	}},
	// arXiv 2506.13585; the cap of ScaleRL (arXiv 2510.13786), as TRL's docs.
	{"cispo", func(c *Config) { c.Loss, c.ClipLow, c.ClipHigh, c.RatioCap = "cispo", 1, math.Inf(1), 5 }},
	// arXiv 2511.20347.
	{"sapo", func(c *Config) { c.Loss, c.Normalize = "sapo", "seq_mean" }},
	// arXiv 2507.20673, clip e^±0.4.
	{"gmpo", func(c *Config) {
		c.Loss, c.RatioLevel, c.Normalize, c.ClipLow, c.ClipHigh = "geometric", "sequence", "seq_mean", 0.4, 0.4
	}},
	// arXiv 2402.14740 with TRL's clipped ratio of whole sequences.
	{"rloo", func(c *Config) {
		c.Estimator, c.RatioLevel, c.Normalize = "leave_one_out", "sequence_sum", "seq_mean"
		c.KLIn, c.KLEstimator = "reward", "k1"
	}},
	// arXiv 2504.11343 (RAFT: arXiv 2304.06767): likelihood of the right answers.
	{"raft", func(c *Config) {
		c.Loss, c.Estimator, c.NegativeWeight, c.Filters = "reinforce", "none", 0, []string{"zero_advantage"}
	}},
	// arXiv 2504.11343: the same with ratio and clip.
	{"raft++", func(c *Config) {
		c.Estimator, c.NegativeWeight, c.Filters = "none", 0, []string{"zero_advantage"}
	}},
	// Williams 1992, 0/1 rewards taken as ±1, no baseline: estimator = "batch_mean" adds one.
	// Why ±1: RATIONALE.md#why-does-the-reinforce-preset-take-rewards-as-1.
	{"reinforce", func(c *Config) {
		c.Loss, c.Estimator, c.RewardScale, c.RewardOffset = "reinforce", "none", 2, -1
	}},
	// arXiv 2504.11343: ±1 rewards, ratio and clip, all-right and all-wrong groups dropped.
	{"reinforce-rej", func(c *Config) {
		c.Estimator, c.RewardScale, c.RewardOffset = "none", 2, -1
		c.Filters = []string{"all_right", "all_wrong"}
	}},
}

// Preset returns the config of a published method by name.
func Preset(name string) (Config, error) {
	for _, p := range presets {
		if p.name == name {
			cfg := Default()
			p.change(&cfg)
			return cfg, nil
		}
	}
	return Config{}, fmt.Errorf("algorithm preset %q is not known; accepted: %s", name, strings.Join(PresetNames(), ", "))
}

// PresetNames lists the names that Preset accepts, sorted.
func PresetNames() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}
