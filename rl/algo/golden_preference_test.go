package algo

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// pairs are a step of chosen and rejected completions, one group each.
func pairs(t *testing.T, f *goldenFile, batch map[string]json.RawMessage) *step {
	t.Helper()
	var all [2]map[string]json.RawMessage
	for i, side := range []string{"chosen", "rejected"} {
		all[i] = value[map[string]json.RawMessage](t, batch, side)
	}
	both := func(key string) [][]float64 { return append(matrix(t, all[0], key), matrix(t, all[1], key)...) }
	mask := both("mask")
	n := len(mask) / 2
	var groups []int
	var reward []float64
	for i := range mask {
		groups = append(groups, i%n)
		reward = append(reward, map[bool]float64{true: 1}[i < n])
	}
	s := newStep(t, f, mask, groups)
	s.tokens("logp", both("logp"))
	s.tokens("ref", both("ref_logp"))
	s.completions("reward", reward)
	if all[0]["log_sum_sq_probs"] != nil {
		collision := both("log_sum_sq_probs")
		for _, row := range collision {
			for i := range row {
				row[i] = math.Exp(row[i])
			}
		}
		s.tokens("collision", collision)
	}
	return s
}

// pairPresets are TRL's names of pair losses.
var pairPresets = map[string]string{"sigmoid": "dpo", "robust": "dpo_robust", "hinge": "slic", "ipo": "ipo", "sigmoid_norm": "dpo_norm", "exo_pair": "exo", "nca_pair": "nca",
	"sppo_hard": "sppo", "apo_zero": "apo_zero", "apo_down": "apo_down", "discopop": "discopop", "bco_pair": "bco_pair"}

// preferenceMetrics are TRL's names of them.
var preferenceMetrics = map[string]string{"rewards/chosen": "preference/chosen", "rewards/rejected": "preference/rejected", "rewards/accuracies": "preference/accuracy", "rewards/margins": "preference/margin",
	"logps/chosen": "preference/chosen_nats", "logps/rejected": "preference/rejected_nats"}

// withoutReference are those of losses that compare no log-ratios.
var withoutReference = map[string]string{"rewards/chosen": "preference/chosen", "rewards/rejected": "preference/rejected", "rewards/accuracies": "preference/accuracy", "rewards/margins": "preference/margin"}

func TestFormulasPreference(t *testing.T) {
	formulasOf(t, "preference", func(t *testing.T, f *goldenFile, g *golden) {
		if strings.Contains(g.Note, "float32") {
			f = f.wider(1e-5, 1e-6) // the file's float32_inside
		}
		switch g.Family() {
		case "kto":
			kto(t, f, g)
			return
		case "sft":
			sft(t, f, g)
			return
		case "ce":
			crossEntropy(t, f, g)
			return
		}
		s := pairs(t, f, g.In)
		g.Out["dlogp"] = mustJSON(t, append(value[[]row](t, g.Out, "dlogp_chosen"), value[[]row](t, g.Out, "dlogp_rejected")...))
		switch h := g.Hyper; g.Family() {
		case "dpo":
			s.sameUpdate(g, dpo(t, h), preferenceMetrics)
		case "cpo":
			s.sameUpdate(g, cpo(t, h), withoutReference)
		default:
			h.only(t, "loss_type", "orpo")
			h.only(t, "sequence_logp", "mean")
			s.sameUpdate(g, chosen(t, "orpo", map[string]float64{"beta": h.num("beta")}, nil), withoutReference)
		}
	})
}

// dpo is TRL's DPOTrainer: one loss, or a weighted sum of several, with options on the gain.
func dpo(t *testing.T, h hyper) Method {
	p, f := map[string]float64{"beta": h.num("beta")}, map[string]string{}
	preset := "mpo"
	kinds := h.list("loss_types")
	if len(kinds) == 1 && kinds[0] != "sft" {
		preset = pairPresets[kinds[0].(string)]
	} else {
		share := map[any]float64{}
		weights := h.list("loss_weights")
		given := weights != nil
		for i, kind := range kinds {
			if share[kind] = 1; given {
				share[kind] = weights[i].(float64)
			}
		}
		p["preference_weight"], p["quality_weight"], p["likelihood_weight"] = share["sigmoid"], share["bco_pair"], share["sft"]
	}
	if slices.Contains(kinds, any("bco_pair")) {
		p["bco_delta"] = 0 // of the first step
	}
	if h.has("use_weighting") {
		preset = "wpo"
	}
	if h.has("label_smoothing") && slices.Contains([]string{"dpo", "dpo_robust", "exo"}, preset) {
		p["smooth"] = h.num("label_smoothing")
	}
	if h.has("discopop_tau") {
		p["discopop_tau"] = h.num("discopop_tau")
	}
	if h.has("f_divergence") {
		f["gain"] = map[string]string{"forward_kl": "gain_forward_kl", "js_divergence": "gain_js", "alpha_divergence": "gain_alpha"}[h.str("f_divergence")]
	}
	if h.has("f_alpha") {
		p["f_alpha"] = h.num("f_alpha")
	}
	if x := h.num("ld_alpha"); !math.IsNaN(x) {
		p["ld_alpha"], f["log_gain"], f["nats"] = x, "log_gain_shared", "nats_shared"
	}
	return chosen(t, preset, p, f)
}

// cpo is TRL's CPOTrainer.
func cpo(t *testing.T, h hyper) Method {
	p := map[string]float64{"beta": h.num("beta"), "cpo_alpha": h.num("cpo_alpha")}
	f := map[string]string{"pair": map[string]string{"simpo": "simpo", "sigmoid": "cpo", "hinge": "cpo_hinge", "ipo": "cpo_ipo"}[h.str("loss_type")]}
	if of := h.str("sequence_logp"); h.num("alphapo_alpha") != 0 {
		f[of+"_score"], p["alphapo_alpha"] = "alphapo_"+of, h.num("alphapo_alpha")
	}
	if f["pair"] == "simpo" {
		p["margin"] = h.num("simpo_gamma")
	}
	if f["pair"] == "simpo" || f["pair"] == "cpo" {
		p["smooth"] = h.num("label_smoothing")
	}
	return chosen(t, "cpo", p, f)
}

func kto(t *testing.T, f *goldenFile, g *golden) {
	h, in := g.Hyper, g.In
	s := newStep(t, f, matrix(t, in, "mask"), nil)
	s.tokens("logp", matrix(t, in, "logp"))
	s.tokens("ref", matrix(t, in, "ref_logp"))
	s.completions("reward", value[row](t, in, "label"))
	anchor := value[row](t, in, "kl_logp_sum")
	for i, x := range value[row](t, in, "kl_ref_logp_sum") {
		anchor[i] -= x
	}
	s.completions("mismatched", anchor)
	part := "kto"
	if h.str("loss_type") == "apo_zero_unpaired" {
		part = "apo_zero_unpaired"
	}
	m := chosen(t, "kto", map[string]float64{"beta": h.num("beta"), "kto_good": h.num("desirable_weight"), "kto_bad": h.num("undesirable_weight")}, map[string]string{"policy": part})
	// TRL's margin is between the means of all good and all bad ones; ours is of pairs.
	u := s.sameUpdate(g, m, map[string]string{"rewards/chosen": "preference/chosen", "rewards/rejected": "preference/rejected", "logps/chosen": "preference/chosen_nats", "logps/rejected": "preference/rejected_nats"})
	if part == "kto" {
		anchor, err := u.part("kto_anchor")
		if err != nil {
			t.Fatal(err)
		}
		metrics := value[map[string]json.RawMessage](t, g.Out, "metrics")
		f.same(t, "kto_anchor", anchor.V[0], value[float64](t, metrics, "kl"))
	}
}

func sft(t *testing.T, f *goldenFile, g *golden) {
	h, in := g.Hyper, g.In
	s := newStep(t, f, matrix(t, in, "mask"), nil)
	s.tokens("logp", matrix(t, in, "logp"))
	p, parts := map[string]float64{}, map[string]string{}
	if h.has("num_items_in_batch") { // tokens of all processes
		p["token_count"], parts["loss"] = h.num("num_items_in_batch"), "verl_tokens"
	}
	s.sameUpdate(g, chosen(t, map[string]string{"nll": "sft", "dft": "dft"}[h.str("loss_type")], p, parts), nil)
}

// crossEntropy is sft from logits: the loss's derivative by the log-prob goes on
// to the logits as 1 - p of the label and -p of the others.
func crossEntropy(t *testing.T, f *goldenFile, g *golden) {
	in := g.In
	g.Hyper.only(t, "loss_type", "cross_entropy")
	logits, labels := matrix(t, in, "logits"), value[[]int](t, in, "labels")
	var logp, mask []float64
	all := make([][]float64, len(logits))
	for i, z := range logits {
		total := 0.0
		for _, x := range z {
			total += math.Exp(x)
		}
		for _, x := range z {
			all[i] = append(all[i], x-math.Log(total))
		}
		logp, mask = append(logp, 0), append(mask, 0)
		if labels[i] >= 0 {
			logp[i], mask[i] = all[i][labels[i]], 1
		}
	}
	s := newStep(t, f, [][]float64{mask}, nil)
	s.tokens("logp", [][]float64{logp})
	u := s.update(chosen(t, "sft", nil, nil))
	loss, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	f.same(t, "loss", loss, value[float64](t, g.Out, "loss"))
	for i, want := range matrix(t, g.Out, "dlogits") {
		by := s.matrixOf(u, slopes["logp"])[0][i]
		for k := range want {
			one := 0.0
			if k == labels[i] {
				one = 1
			}
			f.same(t, "dlogits", by*(one-math.Exp(all[i][k])), want[k])
		}
	}
}
