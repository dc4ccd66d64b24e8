package algo

import (
	"slices"
	"strings"
)

// The one list of reference figures this package does not reproduce, with the
// reason. A case that no row covers must match.
var notCovered = []struct {
	file, family string // family "": every one
	when         func(g *golden) bool
	reason       string
}{
	{"trl_losses", "", loss("vespo"), "VESPO's sequence weight is not part of the library yet"},
	{"trl_losses", "", func(g *golden) bool { return g.Hyper.str("mode") == "eval" }, "what TRL divides by in evaluation is the trainer's; the losses are covered in training"},
	{"trl_losses", "gmpo", func(g *golden) bool { return g.Hyper.num("top_entropy_quantile") < 1 }, "TRL's GMPO takes the entropy mask inside its mean; ours masks the token's loss"},
	{"trl_sequence_losses", "", loss("a2po"), "A*-PO is a regression on values, not a policy gradient; later"},
	{"trl_advantages", "rloo", whitenedUnscored, "TRL whitens over completions that were not scored too, as 0; ours leaves them out"},
	{"trl_masks", "vespo_phi", nil, "VESPO, see above"},
	{"trl_masks", "mask_truncated", nil, "a mask made from token ids: the trainer's work, before this package"},
	{"trl_masks", "adaptive_entropy", nil, "a controller with state over steps: the trainer's work"},
	{"verl_policy_losses", "", loss("dppo_tv", "dppo_kl", "clip_cov", "kl_cov", "dro", "bypass_mode"), "not part of the library yet"},
	{"verl_policy_losses", "", loss("geo_mean"), "verl's GMPO averages token advantages and ignores the normaliser; TRL's is covered"},
	{"verl_advantages", "", estimator("grpo_vectorized", "gdpo"), "float32 inside; the same formulas are covered by grpo and by TRL's gdpo"},
	{"verl_advantages", "", estimator("grpo_passk", "opo", "gpg", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "gae", "optimal_token_baseline", "tir_optimal_token_baseline"), "not part of the library yet"},
	{"verl_misc", "kl", clampedKL, "verl clamps k3; ours has no clamp, as TRL's"},
	{"verl_misc", "klloss", func(g *golden) bool { return g.Hyper.str("agg") == "seq-mean-token-mean" }, "verl divides by n + 1e-8, more than the tolerance; family agg covers the mode"},
	{"verl_misc", "value", nil, "no value model yet"},
	{"verl_misc", "whiten", nil, "whitening over tokens, not over completions; later"},
	{"verl_misc", "entropy", nil, "derivative with respect to logits: the model's work"},
	{"verl_misc", "klcontroller", nil, "a controller with state over steps: the trainer's work"},
	{"other_losses", "", loss("prime_dppo_kl", "prime_ipo", "prime_mixed", "nemo_clipped_pg", "unlikelihood"), "not part of the library yet"},
	{"other_losses", "slime", func(g *golden) bool { return g.Hyper.has("opsm_delta") }, "slime's off-policy mask compares with the old policy, ours as TRL's with the sampler where that is corrected; TRL's is covered"},
	{"other_losses", "topr", func(g *golden) bool { return g.Hyper.num("hi") <= 0.5 }, "figures for caps this low differ from the paper's formula, which TestTOPR holds for every cap"},
	{"other_losses", "slime_kl", nil, "float32 inside; the estimators are covered by verl_misc"},
	{"other_losses", "skyrl", nil, "ratios in float32; the losses are those of TRL and verl, the reductions are folded into advantages"},
	{"other_losses", "open_instruct", func(g *golden) bool {
		return g.Hyper.has("use_rho_correction") && (g.Hyper.num("rho_mask_upper_bound") != 0 || g.Hyper.num("rho_mask_lower_bound") != 0)
	}, "its masks by sampler ratio change the normaliser; later"},
	{"other_losses", "openrlhf", func(g *golden) bool {
		return g.Hyper.has("enable_vllm_is_correction") && g.Hyper.str("policy_loss_type") == "gspo"
	}, "its GSPO with sampler correction differs from both corrections here; later"},
	{"other_losses", "openrlhf", func(g *golden) bool { return g.Hyper.str("vllm_is_correction_type") == "seq-mask-tis" }, "a sequence mask with token weights; later"},
}

// outOfScope is the reason why a case is left out, or "".
func outOfScope(file string, g *golden) string {
	for _, row := range notCovered {
		if row.file == file && (row.family == "" || row.family == g.family()) && (row.when == nil || row.when(g)) {
			return row.reason
		}
	}
	return ""
}

// loss matches cases of these losses, estimator of these advantage estimators.
func loss(names ...string) func(*golden) bool {
	return func(g *golden) bool {
		return slices.Contains(names, g.Hyper.str("loss_type")) || slices.Contains(names, g.Hyper.str("loss_mode"))
	}
}

func estimator(names ...string) func(*golden) bool {
	return func(g *golden) bool { return slices.Contains(names, g.Hyper.str("estimator")) }
}

// clampedKL matches verl's k3 where its clamps act: on a log-ratio of 20, on a value of 10.
func clampedKL(g *golden) bool {
	return slices.Contains([]string{"low_var_kl", "low_var_kl+", "k3", "k3+"}, g.Hyper.str("kind")) && g.Hyper.str("reference") == "far_ref_logp"
}

func whitenedUnscored(g *golden) bool {
	return g.Hyper.has("normalize_advantages") && strings.Contains(string(g.Out["rewards_after_kl_and_clip"]), "null")
}
