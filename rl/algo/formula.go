package algo

import (
	"fmt"
	"math"
	"strings"
)

// Formula states what the config computes, in two or three lines of plain text
// for the head of a run's log: the loss with its normaliser, the advantage, and
// the options that are on.
func (c Config) Formula() string {
	lines := []string{
		fmt.Sprintf("loss = %s of %s%s%s", c.normText(), c.lossText(), c.klText(), c.entropyText()),
		fmt.Sprintf("A = %s%s", c.advantageText(), c.filterText()),
	}
	if extra := c.weightText(); extra != "" {
		lines = append(lines, extra)
	}
	return strings.Join(lines, "\n")
}

func (c Config) lossText() string {
	ratio := map[string]string{
		"token":          "r = exp(logp - old)",
		"sequence":       "r = exp(mean over tokens of logp - old)",
		"sequence_token": "r = exp(mean over tokens of logp - old), gradient per token",
		"sequence_sum":   "r = exp(sum over tokens of logp - old)",
	}[c.RatioLevel]
	if !math.IsInf(c.LogRatioClamp, 1) {
		ratio += fmt.Sprintf(" with |logp - old| <= %g", c.LogRatioClamp)
	}
	low, high := fmt.Sprintf("1-%g", c.ClipLow), fmt.Sprintf("1+%g", c.ClipHigh)
	if c.ClipLow >= 1 {
		low = "0"
	}
	if math.IsInf(c.ClipHigh, 1) {
		high = "inf"
	}
	span := low + ", " + high
	switch c.Loss {
	case "reinforce":
		return "-A*logp"
	case "cispo", "topr":
		weight := fmt.Sprintf("clip(r, %s)", span)
		if c.ClipLow >= 1 && math.IsInf(c.ClipHigh, 1) {
			weight = "r"
		}
		if !math.IsInf(c.RatioCap, 1) {
			weight = fmt.Sprintf("min(%s, %g)", weight, c.RatioCap)
		}
		if c.Loss == "topr" {
			weight += " for A < 0, else 1"
		}
		return fmt.Sprintf("-[%s]*A*logp, %s", weight, ratio)
	case "sapo":
		return fmt.Sprintf("-A*(4/tau)*sigmoid(tau*(r-1)), tau %g for A > 0, else %g, %s", c.SapoTauPos, c.SapoTauNeg, ratio)
	case "geometric":
		return fmt.Sprintf("-r*A, r = exp(mean over tokens of clip(logp - old, -%g, %g))", c.ClipLow, c.ClipHigh)
	}
	r := "r"
	if !math.IsInf(c.RatioCap, 1) {
		r = fmt.Sprintf("min(r, %g)", c.RatioCap)
	}
	text := fmt.Sprintf("-min(%s*A, clip(r, %s)*A)", r, span)
	if !math.IsInf(c.DualClip, 1) {
		text += fmt.Sprintf(", at most %g*|A| for A < 0", c.DualClip)
	}
	return text + ", " + ratio
}

func (c Config) normText() string {
	if c.Normalize == "fixed_length" {
		return fmt.Sprintf("sum/(sequences*%d)", c.MaxCompletionTokens)
	}
	return map[string]string{
		"token_mean":       "mean over all tokens",
		"seq_mean":         "mean over sequences of the token mean",
		"micro_token_mean": "mean over the micro-batch's tokens",
		"seq_sum":          "mean over sequences of the token sum",
		"token_sum":        "sum over all tokens",
	}[c.Normalize]
}

func (c Config) klText() string {
	if c.KLCoef == 0 || c.KLIn != "loss" {
		return ""
	}
	text := fmt.Sprintf(" + %g*%s(policy||ref)", c.KLCoef, c.KLEstimator)
	if c.KLTimesRatio {
		text += "*r"
	}
	return text
}

func (c Config) entropyText() string {
	if c.EntropyCoef == 0 {
		return ""
	}
	return fmt.Sprintf(" - %g*(mean entropy)", c.EntropyCoef)
}

func (c Config) advantageText() string {
	text := map[string]string{
		"none":          "R",
		"batch_mean":    "R - mean(step)",
		"group_mean":    "R - mean(group)",
		"group_std":     fmt.Sprintf("(R - mean(group))/(std(group) + %g)", c.StdEps),
		"batch_std":     fmt.Sprintf("(R - mean(group))/(std(step) + %g)", c.StdEps),
		"leave_one_out": "R - mean(others of the group)",
	}[c.Estimator]
	if c.RewardScale != 1 || c.RewardOffset != 0 {
		text += fmt.Sprintf(", R = %g*reward + %g", c.RewardScale, c.RewardOffset)
	}
	if c.KLCoef != 0 && c.KLIn == "reward" {
		text += fmt.Sprintf(", reward -= %g*sum over tokens of %s(old||ref)", c.KLCoef, c.KLEstimator)
	}
	if c.PositiveWeight != 1 {
		text += fmt.Sprintf(", times %g where > 0", c.PositiveWeight)
	}
	if c.NegativeWeight != 1 {
		text += fmt.Sprintf(", times %g where < 0", c.NegativeWeight)
	}
	if c.Whiten {
		text += fmt.Sprintf(", then (A - mean(step))/(std(step) + %g)", c.StdEps)
	}
	return text
}

func (c Config) filterText() string {
	if len(c.Filters) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s: %s", c.FilterMode, strings.Join(c.Filters, ", "))
}

func (c Config) weightText() string {
	var on []string
	if c.Mismatch != "off" {
		on = append(on, fmt.Sprintf("times exp(old - sampler), %s to [%g, %g]", c.Mismatch, c.MismatchMin, c.MismatchCap))
	}
	if !math.IsInf(c.OffPolicyKLMax, 1) {
		on = append(on, fmt.Sprintf("no sequence with A < 0 and mean(old - logp) > %g", c.OffPolicyKLMax))
	}
	if c.TopEntropyShare < 1 {
		on = append(on, fmt.Sprintf("only the %g %% of the tokens with the highest entropy", 100*c.TopEntropyShare))
	}
	return strings.Join(on, "; ")
}
