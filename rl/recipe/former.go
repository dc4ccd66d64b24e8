package recipe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
)

// errFormer marks a recipe with keys of [stage.algorithm] from before methods were
// formulas. Each fault says what to write instead.
var errFormer = errors.New("recipe of an older version of rlzero")

// former are the keys that a method had when each was a choice of words, and what to
// write for a value. "": it was the default.
var former = map[string]func(value string) string{
	"estimator": choice(map[string]string{
		"none": `advantage = "reward"`, "batch_mean": `advantage = "batch_baseline"`, "group_mean": `advantage = "dr_grpo"`,
		"group_std": `advantage = "grpo"`, "batch_std": `advantage = "batch_scaled"`, "leave_one_out": `advantage = "rloo"`}),
	"reward_scale":    unless("1.0", `the factor into the advantage, such as advantage = "%s*reward - 1"`),
	"reward_offset":   unless("0.0", `the number into the advantage, such as advantage = "2*reward + %s"`),
	"positive_weight": unless("1.0", `advantage = "a = grpo; if(a > 0, %s*a, a)"`),
	"negative_weight": unless("1.0", `advantage = "a = grpo; if(a < 0, %s*a, a)"`),
	"whiten":          choice(map[string]string{"true": `advantage = "whiten(grpo)"`, "false": ""}),
	"filters":         filters,
	"filter_mode":     choice(map[string]string{"drop": "", "mask": `the condition into weight in place of keep, such as weight = "group_std(reward) > 0"`}),
	"right_reward":    unless("1.0", `the number into keep, such as keep = "group_max(reward) >= %s"`),

	"loss": choice(map[string]string{"clip": `policy = "ppo_clip"`, "reinforce": `policy = "reinforce"`, "cispo": `policy = "cispo"`,
		"sapo": `policy = "sapo"`, "geometric": `policy = "gmpo"`, "topr": `policy = "topr"`}),
	"ratio_level": choice(map[string]string{"token": "", "sequence": `policy = "gspo"`, "sequence_token": `policy = "gspo_token"`,
		"sequence_sum": `policy = "sequence_clip"`}),
	"ratio_cap":       unless("inf", `policy = "clip_two_sided" beside ratio_cap = %s`),
	"dual_clip":       unless("inf", `policy = "dual_clip" and dual_cap = %s`),
	"log_ratio_clamp": unless("inf", `log_ratio = "clip(logp - start, -%[1]s, %[1]s)"`),
	"sapo_tau_pos":    unless("1.0", "tau_pos = %s"),
	"sapo_tau_neg":    unless("1.05", "tau_neg = %s"),

	"mismatch": choice(map[string]string{"off": "", "token_truncate": `weight = "tis"`, "token_mask": `weight = "icepop"`,
		"sequence_truncate": `weight = "tis_sequence"`, "sequence_mask": `weight = "sequence_mask"`}),
	"mismatch_min":      unless("0.0", "is_low = %s"),
	"mismatch_cap":      unless("inf", "is_high = %s"),
	"off_policy_kl_max": unless("inf", `weight = "opsm" and off_policy_bound = %s`),
	"top_entropy_share": unless("1.0", `weight = "focus" and focus_share = %s`),

	"normalize": choice(map[string]string{"token_mean": normalised("token_mean"), "micro_token_mean": normalised("token_mean"),
		"seq_mean": normalised("seq_mean"), "seq_sum": normalised("seq_sum"), "token_sum": normalised("token_sum"),
		"fixed_length": `loss = "fixed_length(weight*policy + penalty, max_tokens)"`}),
	"max_completion_tokens": unless("", `the number into the loss: loss = "fixed_length(weight*policy + penalty, %s)"`),
	"kl_coef":               unless("0.0", `penalty = "kl_k3" and beta = %s`),
	"kl_estimator": choice(map[string]string{"k1": `penalty = "kl_k1"`, "k2": `penalty = "kl_k2"`, "k3": `penalty = "kl_k3"`, "abs": `penalty = "kl_abs"`,
		"k1+": `penalty = "beta*straight(k1, k2)"`, "k2+": `penalty = "kl_k2"`, "k3+": `penalty = "kl_k3_straight"`, "abs+": `penalty = "beta*straight(abs(k1), k2)"`}),
	"kl_in":          choice(map[string]string{"loss": "", "reward": `advantage = "standard(kl_reward)", or advantage = "rloo_kl", with beta`}),
	"kl_times_ratio": choice(map[string]string{"true": `penalty = "kl_ratio"`, "false": ""}),
	"entropy_coef":   unless("0.0", `loss = "token_mean(weight*policy + penalty) - %s*token_mean(entropy)"`),
}

func normalised(by string) string { return `loss = "` + by + `(weight*policy + penalty)"` }

// choice is what each word of a key became. Another word never was one.
func choice(words map[string]string) func(string) string {
	return func(value string) string {
		if text, ok := words[value]; ok {
			return text
		}
		all := slices.DeleteFunc(slices.Sorted(maps.Values(words)), func(text string) bool { return text == "" })
		return strings.Join(all, ", or ")
	}
}

// unless is what a number became; the default became nothing.
func unless(plain, text string) func(string) string {
	return func(value string) string {
		if value == plain {
			return ""
		}
		return fmt.Sprintf(text, value)
	}
}

// filters became conditions of keep.
func filters(value string) string {
	var all []string
	for _, f := range []struct{ name, keep string }{
		{"uniform_groups", "group_std(reward) > 0"}, {"all_right", "group_min(reward) < 1"},
		{"all_wrong", "group_max(reward) >= 1"}, {"zero_advantage", "A != 0"},
	} {
		if strings.Contains(value, f.name) {
			all = append(all, f.keep)
		}
	}
	if all == nil {
		return ""
	}
	return `keep = "` + strings.Join(all, " and ") + `"`
}

// former refuses keys of older recipes. A word that is a part of today's methods as well
// (loss, ratio_cap, dual_clip) is one of them where its value was.
func (d decoder) former(table map[string]any, at settings.Path) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		instead := former[key]
		text, isText := table[key].(string)
		switch {
		case instead == nil, key == "ratio_cap", key == "dual_clip" && isText,
			key == "loss" && !slices.Contains([]string{"clip", "reinforce", "cispo", "sapo", "geometric", "topr"}, text):
			continue
		}
		p := at.With(key)
		if better := instead(settings.Text(table[key])); better != "" {
			d.Fail(p, "%s is no longer a key, since methods are formulas: write %s", d.Name(p), better)
		} else {
			d.Fail(p, "%s is no longer a key, since methods are formulas: leave it out, %s was the default", d.Name(p), settings.Text(table[key]))
		}
		*d.old = true
	}
}
