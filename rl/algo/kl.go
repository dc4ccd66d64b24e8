package algo

import (
	"fmt"
	"math"
	"strings"
)

// kl is the estimate of KL(π‖π_ref) at one token from x = log π − log π_ref,
// and its derivative with respect to log π (http://joschu.net/blog/kl-approx.html):
//
//	k1   x               unbiased; as a loss its expected gradient is 0, use kl_in = "reward"
//	k2   x²/2            biased value, on-policy the right gradient
//	k3   e^−x + x − 1    unbiased and >= 0 (verl: low_var_kl, with clamps this has not)
//	abs  |x|
//
// With a trailing + the value keeps its own formula and the derivative is that
// of k2 (verl's straight-through form).
func kl(estimator string, x float64) (value, slope float64) {
	base, straight := strings.CutSuffix(estimator, "+")
	switch base {
	case "k1":
		value, slope = x, 1
	case "k2":
		value, slope = x*x/2, x
	case "k3":
		value, slope = k3(x), -math.Expm1(-x)
	case "abs":
		value = math.Abs(x)
		if x != 0 {
			slope = math.Copysign(1, x)
		}
	}
	if straight {
		slope = x
	}
	return value, slope
}

// k3 is e^−x + x − 1, without the cancellation for small x.
func k3(x float64) float64 { return math.Expm1(-x) + x }

// PenalizeRewards subtracts kl_coef × the KL of each sequence, summed over its
// tokens between the policy at rollout and the reference, from its reward
// (kl_in = "reward"). In any other case the rewards are returned as they are.
// Rewards that are NaN (not scored) stay so.
func PenalizeRewards(cfg Config, rewards []float64, b Batch) ([]float64, error) {
	if cfg.KLCoef == 0 || cfg.KLIn != "reward" {
		return rewards, nil
	}
	if err := sameShape("RefLogprob", b.RefLogprob, b.Logprob); err != nil {
		return nil, err
	}
	if len(rewards) != len(b.Logprob) {
		return nil, fmt.Errorf("%d rewards for %d sequences in Logprob", len(rewards), len(b.Logprob))
	}
	out := make([]float64, len(rewards))
	for i, r := range rewards {
		sum := 0.0
		for t := range b.Logprob[i] {
			if b.counts(i, t) {
				value, _ := kl(cfg.KLEstimator, b.old(i, t)-b.RefLogprob[i][t])
				sum += value
			}
		}
		out[i] = r - cfg.KLCoef*sum
	}
	return out, nil
}
