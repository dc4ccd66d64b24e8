package algo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

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
			for i, b := range h.list("prompt_boundaries") {
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
			s.sameUpdate(g, openInstructMethod(t, h), nil)
		case strings.HasPrefix(kind, "nemo"):
			s.completions("reward", value[row](t, in, "rewards"))
			s.sameUpdate(g, nemoMethod(t, h), nil)
		case kind == "slime_kl":
			s.slimeKL(g)
		case strings.HasPrefix(kind, "slime"):
			s.sameUpdate(g, slimeMethod(t, h), nil)
		case kind == "openrlhf":
			m, metrics := openRLHFMethod(t, h)
			s.sameUpdate(g, m, metrics)
		case strings.HasPrefix(kind, "skyrl"):
			s.sameUpdate(g, skyRLMethod(t, h), nil)
		default:
			s.plainLoss(g, in)
		}
	})
}

// plainLoss are losses that the fixtures state as formulas of papers.
func (s *step) plainLoss(g *golden, in map[string]json.RawMessage) {
	s.t.Helper()
	h := g.Hyper
	preset, p, f := h.str("loss_type"), map[string]float64{}, map[string]string{}
	switch preset {
	case "topr":
		p["topr_low"], p["topr_high"] = h.num("lo"), h.num("hi")
	case "raft":
		s.completions("reward", value[row](s.t, in, "advantages"))
		f["policy"] = "sft"
	case "w_reinforce":
		f["policy"], p["right_weight"], p["wrong_weight"] = "signed_reinforce", h.num("lambda"), 1
	case "log_ratio_clamp":
		preset, f["policy"], f["log_ratio"], p["log_ratio_bound"] = "reinforce", "importance", "cut_log_ratio", h.num("c")
	case "unlikelihood":
		h.only(s.t, "p_max", 0.999999) // as in the part
		p["unlikely"] = h.num("alpha")
	}
	s.sameUpdate(g, chosen(s.t, preset, p, f), nil)
}

// prime are prime-rl's losses, trained against the sampler.
func (s *step) prime(g *golden, in map[string]json.RawMessage) {
	s.t.Helper()
	if in["weights"] != nil {
		weights := value[map[string]json.RawMessage](s.t, in, "weights")
		for theirs, ours := range map[string]string{"rl": "rl_share", "ce": "ce_share", "ref_kl": "ref_share"} {
			s.tokens(ours, matrix(s.t, weights, theirs))
		}
	}
	s.sameUpdate(g, primeMethod(s.t, g.Hyper), nil)
}

func primeMethod(t *testing.T, h hyper) Method {
	p := map[string]float64{"kl_tau": h.num("kl_tau"), "adv_tau": h.or("adv_tau", 1)}
	f := map[string]string{"keep": "true", "loss": "verl_tokens"}
	kind := h.str("loss_type")
	if kind == "prime_ipo" {
		f["policy"], p["ipo_threshold"] = "ipo_mask", h.num("ipo_threshold")
	} else {
		p["move_low"], p["move_high"] = h.num("dppo_mask_low"), h.num("dppo_mask_high")
	}
	if kind == "prime_mixed" {
		f["loss"] = "prime_mixed"
		p["rl_scale"], p["ce_scale"], p["ref_scale"] = h.num("rl_scale"), h.num("ce_scale"), h.num("ref_kl_scale")
	} else {
		p["token_count"] = h.num("denominator")
	}
	return chosen(t, "prime", p, f)
}

// openInstructMethod is open-instruct's loss with its correction of the sampler.
func openInstructMethod(t *testing.T, h hyper) Method {
	p, f := map[string]float64{"beta": h.num("beta")}, map[string]string{}
	if !h.has("use_rho_correction") {
		p["weight"] = 1
	}
	if strings.HasSuffix(h.str("loss_type"), "cispo") {
		f["policy"], p["ratio_high"] = "cispo", 1+h.num("clip_higher")
	} else {
		p["clip_low"], p["clip_high"] = h.num("clip_lower"), h.num("clip_higher")
	}
	f["penalty"] = map[float64]string{0: "kl_k1", 1: "kl_k2", 2: "kl_k3", 3: "kl_k1_ratio"}[h.num("kl_estimator")]
	if h.has("use_rho_correction") { // a bound of 0 is none
		bound := func(key string) float64 {
			if x := h.num(key); x > 0 {
				return x
			}
			return math.Inf(1)
		}
		p["is_low"], p["is_high"] = h.num("rho_clamp_lower_bound"), bound("rho_clamp_upper_bound")
		low, high := h.num("rho_mask_lower_bound"), bound("rho_mask_upper_bound")
		if h.has("rho_mask_tv_divergence") {
			p["tv_low"], p["tv_high"] = low, high
		} else {
			p["mask_low"], p["mask_high"] = low, high
		}
		f["weight"] = map[[2]bool]string{{false, false}: "tis_masked", {true, false}: "tis_sequence_masked", {false, true}: "tis_moved", {true, true}: "tis_sequence_moved"}[[2]bool{h.has("rho_mask_sequence_level"), h.has("rho_mask_tv_divergence")}]
	}
	return chosen(t, "open_instruct", p, f)
}

// nemoMethod is NeMo-RL's ClippedPGLossFn.
func nemoMethod(t *testing.T, h hyper) Method {
	p, f := map[string]float64{"beta": h.or("reference_policy_kl_penalty", 0.01)}, map[string]string{"loss": "nemo_tokens"}
	low, high := h.or("ratio_clip_min", 0.2), h.or("ratio_clip_max", 0.2)
	sequence := h.has("sequence_level_importance_ratios")
	switch {
	case h.has("force_on_policy_ratio"):
		f["ratio"] = "on_policy_ratio"
	case sequence:
		f["ratio"] = "nemo_ratio"
	}
	switch {
	case h.has("disable_ppo_ratio"):
		f["policy"] = "reinforce"
	case h.has("use_cispo"):
		f["policy"], p["ratio_low"], p["ratio_high"] = "cispo", 1-low, 1+high
	default:
		p["clip_low"], p["clip_high"], p["dual_cap"] = low, high, h.or("ratio_clip_c", math.Inf(1))
	}
	if h.has("use_importance_sampling_correction") {
		p["is_low"], p["is_high"] = h.or("truncated_importance_sampling_ratio_min", 0), h.or("truncated_importance_sampling_ratio", math.Inf(1))
		switch kind := h.str("truncated_importance_sampling_type"); {
		case kind == "seq-mask-tis":
			f["weight"] = "geometric_mask"
		case kind == "icepop":
			f["weight"] = "icepop"
		case sequence:
			f["weight"] = "tis_sequence"
		default:
			f["weight"] = "tis"
		}
	}
	if kind := h.str("reference_policy_kl_type"); kind == "k1" || kind == "k2" {
		f["penalty"] = "kl_nemo_" + kind
	}
	if h.has("use_on_policy_kl_approximation") {
		f["penalty"] = "kl_nemo_rollout"
	}
	if level, ok := h.get("token_level_loss").(bool); ok && !level {
		f["loss"], p["row_count"] = "nemo_sequences", h.num("global_valid_seqs")
	} else {
		p["token_count"] = h.num("global_valid_toks")
	}
	if h.has("positive_example_nll_weight") {
		p["right_nll"] = h.num("positive_example_nll_weight")
	}
	return chosen(t, "nemo_rl", p, f)
}

// slimeMethod is slime's policy loss.
func slimeMethod(t *testing.T, h hyper) Method {
	p, f := map[string]float64{}, map[string]string{}
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
		if h.has("eps_clip_c") {
			f["policy"], p["dual_cap"] = "dual_clip", h.num("eps_clip_c")
		}
		clip()
	}
	if h.has("tis") {
		f["correction"] = h.str("tis")
		p["is_low"], p["is_high"] = h.num("tis_clip_low"), h.num("tis_clip")
	}
	if h.has("opsm_delta") {
		f["off_policy_mask"], p["off_policy_bound"] = "opsm_slime", h.num("opsm_delta")
	}
	return chosen(t, "slime", p, f)
}

func (s *step) slimeKL(g *golden) {
	s.t.Helper()
	h := g.Hyper
	penalty := map[string]string{"k1": "kl_k1", "k2": "kl_k2", "k3": "kl_k3", "low_var_kl": "kl_low_var"}[h.str("kind")]
	if h.has("importance_ratio") {
		if penalty += "_ratio"; penalty == "kl_k3_ratio" {
			penalty = "kl_ratio"
		}
	}
	u := s.update(chosen(s.t, "slime", map[string]float64{"policy": 0, "advantage": 0, "beta": 1}, map[string]string{"penalty": penalty, "loss": "total_loss"}))
	_, slopes, err := u.Loss()
	if err != nil {
		s.t.Fatal(err)
	}
	s.samePart(u, "penalty", matrix(s.t, g.Out, "kl"))
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
func openRLHFMethod(t *testing.T, h hyper) (m Method, metrics map[string]string) {
	p, f := map[string]float64{"clip_low": h.or("clip_eps_low", 0.2), "clip_high": h.or("clip_eps_high", 0.2)}, map[string]string{"loss": "verl_tokens"}
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
		f["weight"] = map[string]string{"": "tis", "tis": "tis", "icepop": "icepop", "seq-mask-tis": "geometric_mask"}[kind]
		p["is_low"], p["is_high"] = 0.5, 5
		if bounds := h.list("vllm_is_truncated_threshold"); bounds != nil {
			p["is_low"], p["is_high"] = bounds[0].(float64), bounds[1].(float64)
		}
		metrics = nil
	}
	if level, ok := h.get("token_level_loss").(bool); ok && !level || sequence {
		f["loss"] = "verl_sequences"
	}
	counted(h, p, f["loss"])
	return chosen(t, "openrlhf", p, f), metrics
}

// counted are the counts of all processes, where a case has them, for a loss that reads them.
func counted(h hyper, p map[string]float64, loss string) {
	p["processes"] = h.or("dp_size", 1)
	name, key := "row_count", "global_batch_size"
	if loss == "verl_tokens" {
		name, key = "token_count", "batch_num_tokens"
	}
	if h.has(key) && loss != "verl_token_sum" {
		p[name] = h.num(key)
	}
}

// skyRLMethod is SkyRL's losses; its reduction is folded into the advantages, and the
// loss a sum.
func skyRLMethod(t *testing.T, h hyper) Method {
	p, f := map[string]float64{}, map[string]string{}
	clip := func() { p["clip_low"], p["clip_high"] = h.or("eps_clip_low", 0.2), h.or("eps_clip_high", 0.2) }
	switch h.str("loss_type") {
	case "skyrl_regular":
		if h.str("policy_loss_type") == "dual_clip" {
			f["policy"], p["dual_cap"] = "dual_clip", h.num("clip_ratio_c")
		}
		clip()
	case "skyrl_dual_clip":
		h.only(t, "policy_loss_type", "dual_clip")
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
		f["policy"] = "rollout_is_band"
		clip()
	case "skyrl_dppo":
		f["policy"] = "dppo_tv_ratio"
		if h.str("dppo_type") == "binary_kl" {
			f["policy"] = "dppo_kl_ratio"
		}
		p["move_low"], p["move_high"] = h.num("delta_low"), h.num("delta_high")
	}
	if h.str("anchor") == "rollout" {
		f["ratio"] = "rollout_ratio"
	}
	skyRLWeight(h, p, f)
	switch h.str("reduction") {
	case "token_mean":
		if f["loss"] = "token_loss"; h.str("loss_type") == "skyrl_cross_entropy" {
			f["loss"] = "total_loss" // no advantage that a reduction could be folded into
		}
	case "token_mean_legacy": // the mean of those of the micro-batches
		f["loss"] = "prompt_loss" // each micro-batch is taken for a group
	case "sequence_mean":
		f["loss"] = "completion_loss"
	case "prompt_mean":
		f["loss"] = "prompt_loss"
	default:
		f["loss"], p["max_tokens"] = "fixed_loss", h.num("max_seq_len")
	}
	return chosen(t, "skyrl", p, f)
}

// skyRLWeight is its corrections of the sampler and masks.
func skyRLWeight(h hyper, p map[string]float64, f map[string]string) {
	add := func(of, part string, numbers map[string]string) {
		f[of] = part
		for name, key := range numbers {
			p[name] = h.num(key)
		}
	}
	switch h.str("off_tis_ratio_type") {
	case "token":
		add("correction", "tis", map[string]string{"is_high": "off_token_tis_ratio_clip_high"})
	case "sequence":
		add("correction", "tis_sequence", map[string]string{"is_high": "off_sequence_tis_ratio_clip_high"})
	}
	switch h.str("off_sequence_mask_metric") {
	case "geometric":
		add("completion_mask", "geometric_near", map[string]string{"geometric_low": "off_geo_mask_low", "geometric_high": "off_geo_mask_high"})
	case "product":
		add("completion_mask", "product_near", map[string]string{"product_low": "off_product_mask_low", "product_high": "off_product_mask_high"})
	}
	if h.has("off_outlier_token_is_threshold_low") {
		add("outliers", "outlier_near", map[string]string{"outlier_low": "off_outlier_token_is_threshold_low", "outlier_high": "off_outlier_token_is_threshold_high"})
	}
	if h.has("off_token_mask_is_threshold_low") {
		add("token_mask", "token_near", map[string]string{"near_low": "off_token_mask_is_threshold_low", "near_high": "off_token_mask_is_threshold_high"})
	}
}
