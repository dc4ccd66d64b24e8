package algo

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/rl/settings"
)

// Config is one algorithm: the table [stage.algorithm] of a recipe. Start from
// [Default] or [Preset]; the zero value is not valid. A bound that is off is +Inf
// ("inf" in TOML). Package settings says what the tags mean.
type Config struct {
	// Advantage: (reward_scale·R + reward_offset − baseline) / scale, see Advantages.
	Estimator      string   `toml:"estimator" choice:"none,batch_mean,group_mean,group_std,batch_std,leave_one_out" about:"baseline and scale of the advantage"`
	StdEps         float64  `toml:"std_eps" range:"[0,inf)" unit:"reward units" about:"added to a standard deviation before dividing by it; usually 1e-4"`
	RewardScale    float64  `toml:"reward_scale" range:"(-inf,inf)" about:"factor of the rewards, not 0; 2 with reward_offset = -1 turns 0 and 1 into -1 and 1"`
	RewardOffset   float64  `toml:"reward_offset" range:"(-inf,inf)" unit:"reward units" about:"added to the scaled rewards"`
	PositiveWeight float64  `toml:"positive_weight" range:"[0,inf)" about:"factor of advantages above 0; 0 learns from mistakes only"`
	NegativeWeight float64  `toml:"negative_weight" range:"[0,inf)" about:"factor of advantages below 0; 0 learns from successes only"`
	Whiten         bool     `toml:"whiten" about:"finally subtract the mean of the step's advantages and divide by their standard deviation + std_eps"`
	Filters        []string `toml:"filters" choice:"uniform_groups,all_right,all_wrong,zero_advantage" about:"groups or completions that are not trained on"`
	FilterMode     string   `toml:"filter_mode" choice:"drop,mask" about:"drop: what is filtered leaves the batch and the normaliser; mask: it stays with advantage 0"`
	RightReward    float64  `toml:"right_reward" unit:"reward units" about:"a reward of at least this counts as right in the filters all_right and all_wrong"`

	// Policy term.
	Loss          string  `toml:"loss" choice:"clip,reinforce,cispo,sapo,geometric,topr" about:"the policy term of a token"`
	RatioLevel    string  `toml:"ratio_level" choice:"token,sequence,sequence_token,sequence_sum" about:"what the ratio of policy to old policy is taken over"`
	ClipLow       float64 `toml:"clip_low" range:"[0,inf]" about:"the ratio is kept at or above 1 - clip_low; inf: no lower bound"`
	ClipHigh      float64 `toml:"clip_high" range:"[0,inf]" about:"the ratio is kept at or below 1 + clip_high; inf: no upper bound"`
	RatioCap      float64 `toml:"ratio_cap" range:"(0,inf]" about:"upper bound of the unclipped ratio (TRL's delta), and of the weight of cispo; inf: off"`
	DualClip      float64 `toml:"dual_clip" range:"(1,inf]" about:"the loss of a negative advantage A is at most dual_clip * |A|; usually 3; inf: off"`
	LogRatioClamp float64 `toml:"log_ratio_clamp" range:"(0,inf]" unit:"nats" about:"the log-ratio is kept within ± this; inf: off"`
	SapoTauPos    float64 `toml:"sapo_tau_pos" range:"(0,inf)" about:"temperature of sapo for advantages above 0"`
	SapoTauNeg    float64 `toml:"sapo_tau_neg" range:"(0,inf)" about:"temperature of sapo for other advantages"`

	// Constant weights on the policy term.
	Mismatch        string  `toml:"mismatch" choice:"off,token_truncate,token_mask,sequence_truncate,sequence_mask" about:"correction of a sampler whose probabilities differ from the trainer's; in a run they never do, so a recipe can only say off"`
	MismatchMin     float64 `toml:"mismatch_min" range:"[0,inf)" about:"lower bound of exp(old - sampler), at most mismatch_cap"`
	MismatchCap     float64 `toml:"mismatch_cap" range:"(0,inf]" about:"upper bound of exp(old - sampler); inf: off"`
	OffPolicyKLMax  float64 `toml:"off_policy_kl_max" unit:"nats" about:"completions with a negative advantage and a mean of old - policy above this are masked; inf: off"`
	TopEntropyShare float64 `toml:"top_entropy_share" range:"(0,1]" about:"share of the tokens that is trained, those of highest entropy; 1: all"`

	// Normaliser, KL and entropy.
	Normalize           string  `toml:"normalize" choice:"token_mean,seq_mean,fixed_length,micro_token_mean,seq_sum,token_sum" about:"what the sum over the tokens is divided by; a recipe cannot say micro_token_mean"`
	MaxCompletionTokens int     `toml:"max_completion_tokens" range:"[0,inf)" unit:"tokens" about:"the length that fixed_length divides by; default: sampling.max_completion_tokens"`
	KLCoef              float64 `toml:"kl_coef" range:"[0,inf)" about:"weight of the KL divergence from the reference policy; 0: there is no reference policy"`
	KLEstimator         string  `toml:"kl_estimator" choice:"k1,k2,k3,abs,k1+,k2+,k3+,abs+" about:"estimator of the KL divergence; a trailing + gives its value the gradient of k2"`
	KLIn                string  `toml:"kl_in" choice:"loss,reward" about:"where the KL divergence is subtracted"`
	KLTimesRatio        bool    `toml:"kl_times_ratio" about:"multiply the KL divergence in the loss by the ratio (DeepSeek-V3.2)"`
	EntropyCoef         float64 `toml:"entropy_coef" range:"(-inf,inf)" about:"weight of a bonus on the mean entropy per token"`
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

// Validate returns a [settings.Error] for each value that is not accepted, joined;
// nil: the config is valid.
func (c Config) Validate() error {
	errs := []error{settings.Check(&c)}
	wrong := func(key, format string, args ...any) {
		errs = append(errs, &settings.Error{Key: key, Problem: fmt.Sprintf(format, args...)})
	}
	if c.RewardScale == 0 {
		wrong("reward_scale", "= 0 is out of range; accepted: a number other than 0")
	}
	if c.MismatchMin > c.MismatchCap {
		wrong("mismatch_min", "= %v is out of range; accepted: at most mismatch_cap = %v", c.MismatchMin, c.MismatchCap)
	}
	if c.Normalize == "fixed_length" && c.MaxCompletionTokens == 0 {
		wrong("max_completion_tokens", `= 0 is out of range; accepted: at least 1, as normalize = "fixed_length" divides by it`)
	}
	if c.Loss == "geometric" && c.RatioLevel != "sequence" {
		wrong("ratio_level", `= %q does not go with loss = "geometric"; accepted: sequence`, c.RatioLevel)
	}
	if c.KLIn == "reward" && c.KLTimesRatio {
		wrong("kl_times_ratio", `= true does not go with kl_in = "reward"; accepted: false, or kl_in = "loss"`)
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
