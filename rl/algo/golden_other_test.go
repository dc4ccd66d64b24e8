package algo

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// surrogate is a method of one surrogate and normaliser.
func surrogate(policy, loss string, p map[string]float64) Method {
	return Method{Parameters: p, Formulas: map[string]string{"policy": policy, "loss": loss}}
}

func TestFormulasOtherLosses(t *testing.T) {
	formulasOf(t, "other_losses", func(t *testing.T, f *goldenFile, g *golden) {
		if strings.Contains(g.Note, "float32") {
			f = f.wider(1e-5, 1e-6) // the file's float32_inside
		}
		h, in := g.Hyper, g.In
		mask := matrix(t, in, "mask")
		if in["sample_mask"] != nil {
			for i, keep := range value[row](t, in, "sample_mask") {
				for j := range mask[i] {
					mask[i][j] *= keep
				}
			}
		}
		var groups []int
		if h.has("prompt_boundaries") {
			for i, b := range h["prompt_boundaries"].([]any) {
				from, to := b.([]any)[0].(float64), b.([]any)[1].(float64)
				for range int(to - from) {
					groups = append(groups, i)
				}
			}
		}
		if h.str("reduction") == "token_mean_legacy" {
			for i := range groups {
				groups[i] = i / int(h.num("micro_batch_size"))
			}
		}
		s := newStep(t, f, mask, groups)
		s.tokens("logp", matrix(t, in, "logp"))
		s.tokens("ref", matrix(t, in, "ref_logp"))
		s.tokens("start", matrix(t, in, "old_logp"))
		if in["sampler_logp"] != nil {
			s.tokens("old", matrix(t, in, "sampler_logp"))
		}
		if in["advantages"] != nil {
			s.advantages(in["advantages"])
		}
		switch kind := h.str("loss_type"); {
		case strings.HasPrefix(kind, "prime"):
			s.prime(g, in)
		case strings.HasPrefix(kind, "open_instruct"):
			s.sameUpdate(g, openInstructMethod(h), nil)
		case strings.HasPrefix(kind, "nemo"):
			s.completions("reward", value[row](t, in, "rewards"))
			s.sameUpdate(g, nemoMethod(h), nil)
		case kind == "slime_kl":
			s.slimeKL(g)
		case strings.HasPrefix(kind, "slime"):
			s.sameUpdate(g, slimeMethod(h), nil)
		case kind == "openrlhf":
			m, metrics := openRLHFMethod(h)
			s.sameUpdate(g, m, metrics)
		case strings.HasPrefix(kind, "skyrl"):
			s.sameUpdate(g, skyRLMethod(h, len(mask)), nil)
		default:
			s.sameUpdate(g, plainLoss(h), nil)
		}
	})
}

// plainLoss are losses that the fixtures state as formulas of papers.
func plainLoss(h hyper) Method {
	switch h.str("loss_type") {
	case "topr":
		return surrogate("topr", "seq_sum(policy)", map[string]float64{"topr_low": h.num("lo"), "topr_high": h.num("hi")})
	case "raft":
		return surrogate("sft", "token_mean(policy, A > 0)", nil)
	case "w_reinforce":
		return surrogate("-if(A > 0, right_weight, if(A < 0, -wrong_weight, 0))*logp", "token_mean(policy)", map[string]float64{"right_weight": h.num("lambda"), "wrong_weight": 1})
	case "log_ratio_clamp":
		m := surrogate("importance", "token_mean(policy)", map[string]float64{"bound": h.num("c")})
		m.Formulas["log_ratio"] = "clip(logp - start, -bound, bound)"
		return m
	}
	return surrogate("unlikelihood", "token_mean(policy, A != 0)", map[string]float64{"unlikely": h.num("alpha")})
}

// prime are prime-rl's losses, trained against the sampler.
func (s *step) prime(g *golden, in map[string]json.RawMessage) {
	s.t.Helper()
	h := g.Hyper
	p := map[string]float64{"kl_tau": h.num("kl_tau")}
	switch h.str("loss_type") {
	case "prime_dppo_kl":
		p["move_low"], p["move_high"], p["denominator"] = h.num("dppo_mask_low"), h.num("dppo_mask_high"), h.num("denominator")
		s.sameUpdate(g, surrogate("dppo_prime", "token_sum(policy)/denominator", p), nil)
		return
	case "prime_ipo":
		p["ipo_threshold"], p["denominator"] = h.num("ipo_threshold"), h.num("denominator")
		s.sameUpdate(g, surrogate("ipo_mask", "token_sum(policy)/denominator", p), nil)
		return
	}
	weights := value[map[string]json.RawMessage](s.t, in, "weights")
	for _, name := range []string{"rl", "ce", "ref_kl"} {
		s.tokens(name, matrix(s.t, weights, name))
	}
	p["move_low"], p["move_high"] = h.num("dppo_mask_low"), h.num("dppo_mask_high")
	p["rl_scale"], p["ce_scale"], p["kl_scale"] = h.num("rl_scale"), h.num("ce_scale"), h.num("ref_kl_scale")
	m := surrogate("rl*dppo_prime", "token_sum(policy)/rl_scale + token_sum(-logp*ce)/ce_scale + token_sum(distil*ref_kl)/kl_scale", p)
	// The step toward the reference as advantage, masked on the low side alone.
	m.Formulas["distil"] = "stop(k1)*exp(logp - old)*(exp(logp) - exp(old) >= -move_low) + kl_tau*square(logp - old)"
	s.sameUpdate(g, m, nil)
}

// openInstructMethod is open-instruct's loss with its correction of the sampler.
func openInstructMethod(h hyper) Method {
	p, f := map[string]float64{"beta": h.num("beta")}, map[string]string{}
	if f["policy"] = "ppo_clip"; strings.HasSuffix(h.str("loss_type"), "cispo") {
		f["policy"], p["ratio_high"] = "cispo", 1+h.num("clip_higher")
	} else {
		p["clip_low"], p["clip_high"] = h.num("clip_lower"), h.num("clip_higher")
	}
	kl := map[float64]string{0: "k1", 1: "k2", 2: "k3", 3: "k1*ratio"}[h.num("kl_estimator")]
	f["penalty"] = "beta*(" + kl + ")"
	f["loss"] = "token_mean(weight*policy + penalty)"
	if !h.has("use_rho_correction") {
		return Method{Parameters: p, Formulas: f}
	}
	p["is_low"], p["is_high"] = h.num("rho_clamp_lower_bound"), h.num("rho_clamp_upper_bound")
	f["weight"] = "tis"
	low, high := h.num("rho_mask_lower_bound"), h.num("rho_mask_upper_bound")
	if low != 0 || high != 0 {
		p["mask_low"], p["mask_high"] = low, high
		u := "exp(start - old)"
		if h.has("rho_mask_sequence_level") {
			f["tis"], u = "clip(exp(mean(start - old)), is_low, is_high)", "exp(mean(start - old))"
		}
		f["weight"] = fmt.Sprintf("u = %s; tis*(u >= mask_low and u <= mask_high)", u)
		if h.has("rho_mask_tv_divergence") {
			delete(p, "mask_low")
			v := "abs(exp(start) - exp(old))/2"
			if h.has("rho_mask_sequence_level") {
				v = "mean(" + v + ")"
			}
			f["weight"] = fmt.Sprintf("tis*(%s <= mask_high)", v)
		}
	}
	return Method{Parameters: p, Formulas: f}
}

// nemoMethod is NeMo-RL's ClippedPGLossFn.
func nemoMethod(h hyper) Method {
	p := map[string]float64{"clip_low": h.or("ratio_clip_min", 0.2), "clip_high": h.or("ratio_clip_max", 0.2), "dual_cap": h.or("ratio_clip_c", math.Inf(1)),
		"beta": h.or("reference_policy_kl_penalty", 0.01), "token_count": h.num("global_valid_toks"), "rows": h.num("global_valid_seqs")}
	f := map[string]string{"policy": "dual_clip"}
	sequence := h.has("sequence_level_importance_ratios")
	switch {
	case h.has("force_on_policy_ratio"):
		f["ratio"] = "exp(logp - stop(logp))"
	case sequence:
		f["ratio"] = "exp(sum(log_ratio)/(tokens + 1e-8))"
	}
	switch {
	case h.has("disable_ppo_ratio"):
		f["policy"] = "reinforce"
	case h.has("use_cispo"):
		f["policy"], p["ratio_low"], p["ratio_high"] = "cispo", 1-p["clip_low"], 1+p["clip_high"]
	}
	if f["policy"] != "dual_clip" {
		delete(p, "clip_low")
		delete(p, "clip_high")
		delete(p, "dual_cap")
	}
	if h.has("use_importance_sampling_correction") {
		u := "exp(start - old)"
		if sequence {
			u = "exp(sum(start - old))"
		}
		bounds := func() {
			p["is_low"], p["is_high"] = h.or("truncated_importance_sampling_ratio_min", 0), h.num("truncated_importance_sampling_ratio")
		}
		switch kind := h.str("truncated_importance_sampling_type"); {
		case kind == "seq-mask-tis":
			f["weight"] = "g = exp(mean(start - old)); " + u + "*(g >= is_low and g <= is_high)"
			bounds()
		case kind == "icepop":
			f["weight"] = "u = " + u + "; u*(u >= is_low and u <= is_high)"
			bounds()
		case h.has("truncated_importance_sampling_ratio"):
			f["weight"] = "clip(" + u + ", is_low, is_high)"
			bounds()
		default:
			f["weight"] = u
		}
	}
	estimate := map[string]string{"k1": "k1", "k2": "k2", "": "k3_clamped", "k3": "k3_clamped"}[h.str("reference_policy_kl_type")]
	f["penalty"] = "exp(logp - stop(logp))*" + estimate
	if h.has("use_on_policy_kl_approximation") {
		f["penalty"] = "exp(logp - old)*" + estimate
	}
	f["loss"] = "token_sum(weight*policy)/(token_count + 1e-8) + beta*token_sum(penalty)/(token_count + 1e-8)"
	if level, ok := h["token_level_loss"].(bool); ok && !level {
		f["loss"] = "token_sum(weight*policy/(tokens + 1e-8))/(rows + 1e-8) + beta*token_sum(penalty/(tokens + 1e-8))/(rows + 1e-8)"
		delete(p, "token_count")
	} else {
		delete(p, "rows")
	}
	if h.has("positive_example_nll_weight") {
		p["nll"] = h.num("positive_example_nll_weight")
		f["loss"] += " - nll*token_sum(logp, right(reward))/(batch_token_count(right(reward)) + 1e-8)"
	}
	return Method{Parameters: p, Formulas: f}
}

// slimeMethod is slime's policy loss.
func slimeMethod(h hyper) Method {
	p, f := map[string]float64{}, map[string]string{"loss": "seq_mean(weight*policy)"}
	clip := func() { p["clip_low"], p["clip_high"] = h.num("eps_clip"), h.num("eps_clip_high") }
	switch h.str("loss_type") {
	case "slime_cispo":
		f["policy"], p["ratio_low"], p["ratio_high"] = "cispo", 1-h.num("eps_clip"), 1+h.num("eps_clip_high")
	case "slime_gspo":
		f["policy"] = "gspo"
		if h.has("eps_clip_c") {
			f["policy"], f["ratio"], p["dual_cap"] = "dual_clip", "seq_ratio", h.num("eps_clip_c")
		}
		clip()
	default:
		if f["policy"] = "ppo_clip"; h.has("eps_clip_c") {
			f["policy"], p["dual_cap"] = "dual_clip", h.num("eps_clip_c")
		}
		clip()
	}
	var weights []string
	if h.has("tis") {
		weights = append(weights, h.str("tis"))
		p["is_low"], p["is_high"] = h.num("tis_clip_low"), h.num("tis_clip")
	}
	if h.has("opsm_delta") {
		f["off_policy"] = "A >= 0 or mean(start - logp) <= off_policy_bound"
		weights = append(weights, "off_policy")
		p["off_policy_bound"] = h.num("opsm_delta")
	}
	if len(weights) > 0 {
		f["weight"] = strings.Join(weights, "*")
	}
	return Method{Parameters: p, Formulas: f}
}

func (s *step) slimeKL(g *golden) {
	s.t.Helper()
	h := g.Hyper
	estimate := map[string]string{"k1": "k1", "k2": "k2", "k3": "k3", "low_var_kl": "clip(k3, -10, 10)"}[h.str("kind")]
	if h.has("importance_ratio") {
		estimate = "ratio*" + estimate
		if h.str("kind") == "low_var_kl" {
			estimate = "clip(ratio*k3, -10, 10)"
		}
	}
	u := s.update(surrogate(estimate, "token_sum(policy)", nil))
	_, slopes, err := u.Loss()
	if err != nil {
		s.t.Fatal(err)
	}
	s.samePart(u, "policy", matrix(s.t, g.Out, "kl"))
	got := s.matrixOf(u, slopes["logp"])
	for i, want := range matrix(s.t, g.Out, "dlogp") {
		for j := range want {
			if s.mask[i][j] != 0 {
				s.f.same(s.t, "dkl", got[i][j], want[j])
			}
		}
	}
}

// openRLHFMethod is OpenRLHF's PolicyLoss.
func openRLHFMethod(h hyper) (m Method, metrics map[string]string) {
	p := map[string]float64{"clip_low": h.or("clip_eps_low", 0.2), "clip_high": h.or("clip_eps_high", 0.2)}
	f := map[string]string{"policy": "ppo_clip"}
	metrics = map[string]string{"clip_ratio": "policy/clip_fraction", "ppo_kl": "policy/update_kl"}
	sequence := h.str("policy_loss_type") == "gspo"
	if sequence {
		f["ratio"] = "seq_ratio"
		metrics = nil
	}
	if h.has("dual_clip") {
		f["policy"], p["dual_cap"] = "dual_clip", h.num("dual_clip")
	}
	if h.has("enable_vllm_is_correction") {
		kind := h.str("vllm_is_correction_type")
		if kind == "" {
			kind = "tis"
		}
		f["weight"] = map[string]string{"tis": "tis", "icepop": "icepop", "seq-mask-tis": "geometric_mask"}[kind]
		p["is_low"], p["is_high"] = 0.5, 5
		if bounds, ok := h["vllm_is_truncated_threshold"].([]any); ok {
			p["is_low"], p["is_high"] = bounds[0].(float64), bounds[1].(float64)
		}
		if sequence {
			f["weight"] = "g = exp(mean(start - old)); g*(g >= is_low and g <= is_high)"
		}
		metrics = nil
	}
	p["processes"] = h.or("dp_size", 1)
	f["loss"] = "token_mean(weight*policy)"
	if level, ok := h["token_level_loss"].(bool); ok && !level || sequence {
		f["loss"] = "token_sum(weight*policy/(tokens + 1e-8))/batch_count(tokens > 0)"
	}
	if h.has("batch_num_tokens") {
		if p["token_count"] = h.num("batch_num_tokens"); f["loss"] == "token_mean(weight*policy)" {
			f["loss"] = "token_sum(weight*policy)*processes/token_count"
		}
	}
	if h.has("global_batch_size") {
		if p["rows"] = h.num("global_batch_size"); strings.HasSuffix(f["loss"], "> 0)") {
			f["loss"] = "token_sum(weight*policy/(tokens + 1e-8))*processes/rows"
		}
	}
	for _, name := range []string{"processes", "token_count", "rows"} {
		if !strings.Contains(f["loss"], name) {
			delete(p, name)
		}
	}
	return Method{Parameters: p, Formulas: f}, metrics
}

// skyRLMethod is SkyRL's losses; its reduction is folded into the advantages, and the
// loss a sum.
func skyRLMethod(h hyper, rows int) Method {
	p, f := map[string]float64{}, map[string]string{}
	clip := func() { p["clip_low"], p["clip_high"] = h.or("eps_clip_low", 0.2), h.or("eps_clip_high", 0.2) }
	switch h.str("loss_type") {
	case "skyrl_regular":
		if f["policy"] = "ppo_clip"; h.str("policy_loss_type") == "dual_clip" {
			f["policy"], p["dual_cap"] = "dual_clip", h.num("clip_ratio_c")
		}
		clip()
	case "skyrl_dual_clip":
		f["policy"], p["dual_cap"] = "dual_clip", h.or("clip_ratio_c", 3)
		clip()
	case "skyrl_cispo":
		f["policy"], p["ratio_low"], p["ratio_high"] = "cispo", 1-h.or("eps_clip_low", 0.2), 1+h.or("eps_clip_high", 0.2)
	case "skyrl_importance_sampling":
		f["policy"] = "importance"
	case "skyrl_cross_entropy":
		f["policy"] = "sft"
	case "skyrl_gspo":
		f["policy"] = "gspo_token"
		clip()
	case "skyrl_sapo":
		f["policy"], p["tau_pos"] = "sapo", h.or("tau_pos", 1)
		if h.has("tau_neg") {
			p["tau_neg"] = h.num("tau_neg")
		}
	case "skyrl_rollout_is":
		f["policy"], f["ratio"] = "-stop(ratio*(ratio >= 1 - clip_low and ratio <= 1 + clip_high))*A*logp", "exp(logp - old)"
		clip()
	case "skyrl_dppo":
		f["policy"] = "-A*ratio*(A == 0 or tv_near)"
		if h.str("dppo_type") == "binary_kl" {
			f["policy"] = "-A*ratio*(A == 0 or kl_near)"
		}
		f["ratio"] = "exp(logp - old)"
		p["move_low"], p["move_high"] = h.num("delta_low"), h.num("delta_high")
	}
	if h.str("anchor") == "rollout" {
		f["ratio"] = "exp(logp - old)"
	}
	skyRLWeight(h, p, f)
	x := "weight*policy"
	switch h.str("reduction") {
	case "token_mean":
		if f["loss"] = "token_mean(" + x + ")"; h.str("loss_type") == "skyrl_cross_entropy" {
			f["loss"] = "token_sum(" + x + ")" // no advantage that a reduction could be folded into
		}
	case "token_mean_legacy": // the mean of those of the micro-batches
		f["loss"] = "prompt_mean(" + x + ")" // each micro-batch is taken for a group
	case "sequence_mean":
		f["loss"] = "seq_mean(" + x + ")"
	case "prompt_mean":
		f["loss"] = "prompt_mean(" + x + ")"
	default:
		f["loss"], p["max_length"] = "fixed_length("+x+", max_length)", h.num("max_seq_len")
	}
	return Method{Parameters: p, Formulas: f}
}

// skyRLWeight is its corrections of the sampler and masks.
func skyRLWeight(h hyper, p map[string]float64, f map[string]string) {
	var weights []string
	bound := func(name, key string) string {
		p[name] = h.num(key)
		return name
	}
	switch h.str("off_tis_ratio_type") {
	case "token":
		weights = append(weights, "min(exp(start - old), "+bound("tis_cap", "off_token_tis_ratio_clip_high")+")")
	case "sequence":
		weights = append(weights, "min(exp(sum(start - old)), "+bound("tis_cap", "off_sequence_tis_ratio_clip_high")+")")
	}
	inside := func(x, low, high string) {
		weights = append(weights, fmt.Sprintf("(%[1]s >= %[2]s and %[1]s <= %[3]s)", x, low, high))
	}
	switch h.str("off_sequence_mask_metric") {
	case "geometric":
		inside("exp(mean(start - old))", bound("geo_low", "off_geo_mask_low"), bound("geo_high", "off_geo_mask_high"))
	case "product":
		inside("exp(sum(start - old))", bound("product_low", "off_product_mask_low"), bound("product_high", "off_product_mask_high"))
	}
	if h.has("off_outlier_token_is_threshold_low") {
		low, high := bound("outlier_low", "off_outlier_token_is_threshold_low"), bound("outlier_high", "off_outlier_token_is_threshold_high")
		weights = append(weights, fmt.Sprintf("(default(lowest(exp(start - old)) >= %s and highest(exp(start - old)) <= %s, true))", low, high))
	}
	if h.has("off_token_mask_is_threshold_low") {
		inside("exp(start - old)", bound("token_low", "off_token_mask_is_threshold_low"), bound("token_high", "off_token_mask_is_threshold_high"))
	}
	if len(weights) > 0 {
		f["weight"] = strings.Join(weights, "*")
	}
}
