package algo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config is one algorithm: the [algo] table of a recipe. Start from [Default]
// or [Preset]; the zero value is not valid. A bound that is off is +Inf
// ("inf" in TOML).
type Config struct {
	// Advantage: (reward_scale·R + reward_offset − baseline) / scale, see Advantages.
	Estimator      string   `toml:"estimator"`       // baseline and scale: none, batch_mean, group_mean, group_std, batch_std, leave_one_out
	StdEps         float64  `toml:"std_eps"`         // added to a standard deviation before dividing, reward units
	RewardScale    float64  `toml:"reward_scale"`    // 2 and −1 turn 0/1 rewards into ±1
	RewardOffset   float64  `toml:"reward_offset"`   // reward units
	PositiveWeight float64  `toml:"positive_weight"` // factor of advantages > 0; 0 learns from mistakes only
	NegativeWeight float64  `toml:"negative_weight"` // factor of advantages < 0; 0 learns from successes only
	Whiten         bool     `toml:"whiten"`          // at last (A − mean)/(std + std_eps) over the scored completions of the step
	Filters        []string `toml:"filters"`         // uniform_groups, all_right, all_wrong, zero_advantage
	FilterMode     string   `toml:"filter_mode"`     // drop: leaves the batch and the normaliser; mask: stays with advantage 0
	RightReward    float64  `toml:"right_reward"`    // a reward at or above it counts as right (all_right, all_wrong)

	// Policy term.
	Loss          string  `toml:"loss"`            // clip, reinforce, cispo, sapo, geometric, topr
	RatioLevel    string  `toml:"ratio_level"`     // token, sequence, sequence_token, sequence_sum
	ClipLow       float64 `toml:"clip_low"`        // ratio kept in [1−clip_low, 1+clip_high]
	ClipHigh      float64 `toml:"clip_high"`       //
	RatioCap      float64 `toml:"ratio_cap"`       // absolute upper bound of the unclipped ratio (TRL's delta) and of CISPO's weight
	DualClip      float64 `toml:"dual_clip"`       // loss of a negative advantage is at most dual_clip·|A|
	LogRatioClamp float64 `toml:"log_ratio_clamp"` // log-ratio kept in ±this before exp, nats
	SapoTauPos    float64 `toml:"sapo_tau_pos"`    // SAPO's temperature where A > 0
	SapoTauNeg    float64 `toml:"sapo_tau_neg"`    // SAPO's temperature where A <= 0

	// Constant weights on the policy term.
	Mismatch        string  `toml:"mismatch"`          // sampler correction: off, token_truncate, token_mask, sequence_truncate, sequence_mask
	MismatchMin     float64 `toml:"mismatch_min"`      // lower bound of exp(old − sampler)
	MismatchCap     float64 `toml:"mismatch_cap"`      // upper bound of exp(old − sampler)
	OffPolicyKLMax  float64 `toml:"off_policy_kl_max"` // sequences with A < 0 and mean (old − policy) above it are masked, nats
	TopEntropyShare float64 `toml:"top_entropy_share"` // only this share of the tokens, those of highest entropy, is trained

	// Normaliser, KL and entropy.
	Normalize           string  `toml:"normalize"`             // token_mean, seq_mean, fixed_length, micro_token_mean, seq_sum, token_sum
	MaxCompletionTokens int     `toml:"max_completion_tokens"` // L of fixed_length
	KLCoef              float64 `toml:"kl_coef"`               // 0: no reference policy is needed
	KLEstimator         string  `toml:"kl_estimator"`          // k1, k2, k3, abs; a trailing + gives the value the gradient of k2
	KLIn                string  `toml:"kl_in"`                 // loss, reward
	KLTimesRatio        bool    `toml:"kl_times_ratio"`        // KL in the loss times the ratio (DeepSeek-V3.2)
	EntropyCoef         float64 `toml:"entropy_coef"`          // bonus on the mean entropy per token
}

// Default is plain policy gradient with a clipped ratio, group-normalised
// advantages and a mean over the tokens of the global batch; no KL.
func Default() Config {
	inf := math.Inf(1)
	return Config{
		Estimator: "group_std", StdEps: 1e-4, RewardScale: 1, PositiveWeight: 1, NegativeWeight: 1,
		FilterMode: "drop", RightReward: 1,
		Loss: "clip", RatioLevel: "token", ClipLow: 0.2, ClipHigh: 0.2,
		RatioCap: inf, DualClip: inf, LogRatioClamp: inf, SapoTauPos: 1, SapoTauNeg: 1.05,
		Mismatch: "off", MismatchCap: inf, OffPolicyKLMax: inf, TopEntropyShare: 1,
		Normalize: "token_mean", KLEstimator: "k3", KLIn: "loss",
	}
}

// choices lists the accepted names of every key that takes one.
var choices = map[string][]string{
	"estimator":    {"none", "batch_mean", "group_mean", "group_std", "batch_std", "leave_one_out"},
	"filters":      {"uniform_groups", "all_right", "all_wrong", "zero_advantage"},
	"filter_mode":  {"drop", "mask"},
	"loss":         {"clip", "reinforce", "cispo", "sapo", "geometric", "topr"},
	"ratio_level":  {"token", "sequence", "sequence_token", "sequence_sum"},
	"mismatch":     {"off", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"},
	"normalize":    {"token_mean", "seq_mean", "fixed_length", "micro_token_mean", "seq_sum", "token_sum"},
	"kl_estimator": {"k1", "k2", "k3", "abs", "k1+", "k2+", "k3+", "abs+"},
	"kl_in":        {"loss", "reward"},
}

// Validate reports every value that is not accepted, one error per key, each
// with the key, the value found and what is accepted. Nil: the config is valid.
func (c Config) Validate() error {
	var errs []error
	name := func(key, got string) {
		if !slices.Contains(choices[key], got) {
			errs = append(errs, fmt.Errorf("%s = %q is not known; accepted: %s", key, got, strings.Join(choices[key], ", ")))
		}
	}
	number := func(key string, got float64, ok bool, accepted string) {
		if !ok || math.IsNaN(got) {
			errs = append(errs, fmt.Errorf("%s = %v is out of range; accepted: %s", key, got, accepted))
		}
	}
	finite := func(x float64) bool { return !math.IsInf(x, 0) }

	name("estimator", c.Estimator)
	name("filter_mode", c.FilterMode)
	name("loss", c.Loss)
	name("ratio_level", c.RatioLevel)
	name("mismatch", c.Mismatch)
	name("normalize", c.Normalize)
	name("kl_estimator", c.KLEstimator)
	name("kl_in", c.KLIn)
	for _, f := range c.Filters {
		name("filters", f)
	}

	number("std_eps", c.StdEps, c.StdEps >= 0 && finite(c.StdEps), "a number >= 0, usually 1e-4")
	number("reward_scale", c.RewardScale, c.RewardScale != 0 && finite(c.RewardScale), "a number other than 0")
	number("reward_offset", c.RewardOffset, finite(c.RewardOffset), "a finite number")
	number("positive_weight", c.PositiveWeight, c.PositiveWeight >= 0 && finite(c.PositiveWeight), "a number >= 0")
	number("negative_weight", c.NegativeWeight, c.NegativeWeight >= 0 && finite(c.NegativeWeight), "a number >= 0")
	number("right_reward", c.RightReward, true, "a number, usually 1")
	number("clip_low", c.ClipLow, c.ClipLow >= 0, "a number >= 0; inf = no lower bound")
	number("clip_high", c.ClipHigh, c.ClipHigh >= 0, "a number >= 0; inf = no upper bound")
	number("ratio_cap", c.RatioCap, c.RatioCap > 0, "a number > 0; inf = off")
	number("dual_clip", c.DualClip, c.DualClip > 1, "a number > 1, usually 3; inf = off")
	number("log_ratio_clamp", c.LogRatioClamp, c.LogRatioClamp > 0, "a number > 0 in nats; inf = off")
	number("sapo_tau_pos", c.SapoTauPos, c.SapoTauPos > 0 && finite(c.SapoTauPos), "a number > 0")
	number("sapo_tau_neg", c.SapoTauNeg, c.SapoTauNeg > 0 && finite(c.SapoTauNeg), "a number > 0")
	number("mismatch_min", c.MismatchMin, c.MismatchMin >= 0 && c.MismatchMin <= c.MismatchCap, "a number from 0 to mismatch_cap")
	number("mismatch_cap", c.MismatchCap, c.MismatchCap > 0, "a number > 0; inf = off")
	number("off_policy_kl_max", c.OffPolicyKLMax, true, "a number in nats; inf = off")
	number("top_entropy_share", c.TopEntropyShare, c.TopEntropyShare > 0 && c.TopEntropyShare <= 1, "a number above 0, up to 1 = all tokens")
	number("kl_coef", c.KLCoef, c.KLCoef >= 0 && finite(c.KLCoef), "a number >= 0")
	number("entropy_coef", c.EntropyCoef, finite(c.EntropyCoef), "a finite number")

	if c.Normalize == "fixed_length" && c.MaxCompletionTokens <= 0 {
		errs = append(errs, fmt.Errorf("max_completion_tokens = %d is out of range; accepted: a number > 0, as normalize = \"fixed_length\" divides by it", c.MaxCompletionTokens))
	}
	if c.Loss == "geometric" && c.RatioLevel != "sequence" {
		errs = append(errs, fmt.Errorf("ratio_level = %q does not go with loss = \"geometric\"; accepted: sequence", c.RatioLevel))
	}
	if c.KLIn == "reward" && c.KLTimesRatio {
		errs = append(errs, errors.New("kl_times_ratio = true does not go with kl_in = \"reward\"; accepted: false, or kl_in = \"loss\""))
	}
	return errors.Join(errs...)
}

// Needs lists the facts about tokens that the method reads and that another model
// than the policy supplies.
func (c Config) Needs() []string {
	if c.KLCoef > 0 {
		return []string{"ref"}
	}
	return nil
}

// Penalises says whether a KL is taken off the rewards.
func (c Config) Penalises() bool { return c.KLCoef > 0 && c.KLIn == "reward" }
