package algo

import (
	"encoding/json"
	"fmt"
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

// pairParts are TRL's names of pair losses.
var pairParts = map[string]string{"sigmoid": "dpo", "robust": "dpo_robust", "hinge": "slic", "ipo": "ipo", "sigmoid_norm": "dpo_norm", "exo_pair": "exo", "nca_pair": "nca",
	"sppo_hard": "sppo", "apo_zero": "apo_zero", "apo_down": "apo_down", "discopop": "discopop", "bco_pair": "bco_pair"}

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
		m := Method{Parameters: map[string]float64{}, Formulas: map[string]string{}}
		h := g.Hyper
		switch g.Family() {
		case "dpo":
			s.dpo(h, &m)
		case "cpo":
			m = cpo(t, h)
		default:
			m = known(t, "orpo", map[string]float64{"beta": h.num("beta")}, nil)
		}
		if g.Family() == "dpo" {
			m.Metrics = map[string]string{"my/chosen": "batch_mean(beta*plain, best)", "my/rejected": "batch_mean(beta*plain, not best)", "my/accuracy": "prompts_mean(group_at(plain, best) > group_at(plain, not best))",
				"my/margin": "prompts_mean(beta*apart(plain))", "my/chosen_nats": "batch_mean(nats, best)", "my/rejected_nats": "batch_mean(nats, not best)"}
		}
		g.Out["dlogp"] = mustJSON(t, append(value[[]row](t, g.Out, "dlogp_chosen"), value[[]row](t, g.Out, "dlogp_rejected")...))
		s.sameUpdate(g, m, map[string]string{"rewards/chosen": "my/chosen", "rewards/rejected": "my/rejected", "rewards/accuracies": "my/accuracy", "rewards/margins": "my/margin",
			"logps/chosen": "my/chosen_nats", "logps/rejected": "my/rejected_nats"})
	})
}

// dpo is TRL's DPOTrainer: a weighted sum of losses with options on the gain.
func (s *step) dpo(h hyper, m *Method) {
	p, f := m.Parameters, m.Formulas
	p["beta"] = h.num("beta")
	var terms []string
	weights, _ := h["loss_weights"].([]any)
	for i, kind := range h["loss_types"].([]any) {
		name, part := fmt.Sprintf("pair_%d", i), pairParts[kind.(string)]
		term := "prompt_mean(" + name + ")"
		switch {
		case kind == "sft":
			term = "token_mean(-logp, best)"
		case kind == "bco_pair": // the first step
			f["bco_delta"] = "0"
		}
		if h.has("label_smoothing") && slices.Contains([]string{"dpo", "dpo_robust", "exo"}, part) {
			p["smooth"] = h.num("label_smoothing")
		}
		if h.has("discopop_tau") {
			p["discopop_tau"] = h.num("discopop_tau")
		}
		if part != "" {
			f[name] = part
		}
		if h.has("use_weighting") {
			f[name] = "pair_weight*" + part
		}
		if weights != nil {
			term = fmt.Sprintf("%v*%s", weights[i], term)
		}
		terms = append(terms, term)
	}
	f["plain"], f["nats"] = "sum(logp - ref)", "sum(logp)"
	if h.has("f_divergence") {
		f["gain"] = map[string]string{"forward_kl": "gain_forward_kl", "js_divergence": "gain_js", "alpha_divergence": "gain_alpha"}[h.str("f_divergence")]
	}
	if h.has("f_alpha") {
		p["f_alpha"] = h.num("f_alpha")
	}
	if x := h.num("ld_alpha"); !math.IsNaN(x) {
		p["ld_alpha"] = x
		f["gain"], f["plain"], f["nats"] = "gain_shared", "gain_shared", "sum(if(position <= group_min(tokens), 1, ld_alpha)*logp)"
	}
	f["loss"] = strings.Join(terms, " + ")
}

// cpo is TRL's CPOTrainer.
func cpo(t *testing.T, h hyper) Method {
	p := map[string]float64{"beta": h.num("beta"), "cpo_alpha": h.num("cpo_alpha")}
	f := map[string]string{"pair": map[string]string{"simpo": "simpo", "sigmoid": "cpo", "hinge": "cpo_hinge", "ipo": "cpo_ipo"}[h.str("loss_type")]}
	score, sum := "sum_score", "sum(logp)"
	if h.str("sequence_logp") == "mean" {
		score, sum = "mean_score", "mean(logp)"
	}
	if h.num("alphapo_alpha") != 0 {
		f[score], p["alphapo_alpha"] = "alphapo("+sum+")", h.num("alphapo_alpha")
	}
	if f["pair"] == "simpo" {
		p["margin"] = h.num("simpo_gamma")
	}
	if f["pair"] == "simpo" || f["pair"] == "cpo" {
		p["smooth"] = h.num("label_smoothing")
	}
	m := known(t, "cpo", p, f)
	m.Metrics = map[string]string{"my/chosen": "batch_mean(beta*" + score + ", best)", "my/rejected": "batch_mean(beta*" + score + ", not best)"}
	return m
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
	m := known(t, "kto", map[string]float64{"beta": h.num("beta"), "kto_good": h.num("desirable_weight"), "kto_bad": h.num("undesirable_weight")}, map[string]string{"policy": part})
	m.Metrics = map[string]string{"my/chosen": "batch_mean(beta*gain, right(reward))", "my/rejected": "batch_mean(beta*gain, wrong(reward))",
		"my/chosen_nats": "batch_mean(sum(logp), right(reward))", "my/rejected_nats": "batch_mean(sum(logp), wrong(reward))"}
	metrics := map[string]string{"rewards/chosen": "my/chosen", "rewards/rejected": "my/rejected", "logps/chosen": "my/chosen_nats", "logps/rejected": "my/rejected_nats"}
	if part == "kto" {
		m.Metrics["my/kl"] = "max(batch_mean(mismatched), 0)"
		metrics["kl"] = "my/kl"
	}
	s.sameUpdate(g, m, metrics)
}

func sft(t *testing.T, f *goldenFile, g *golden) {
	h, in := g.Hyper, g.In
	s := newStep(t, f, matrix(t, in, "mask"), nil)
	s.tokens("logp", matrix(t, in, "logp"))
	m := known(t, map[string]string{"nll": "sft", "dft": "dft"}[h.str("loss_type")], nil, nil)
	if h.has("num_items_in_batch") { // tokens of all processes
		m = m.With(map[string]float64{"items": h.num("num_items_in_batch")}, map[string]string{"loss": "token_sum(weight*policy)/items"}, nil)
	}
	s.sameUpdate(g, m, nil)
}

// crossEntropy is sft from logits: the loss's derivative by the log-prob goes on
// to the logits as 1 - p of the label and -p of the others.
func crossEntropy(t *testing.T, f *goldenFile, g *golden) {
	in := g.In
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
	u := s.update(known(t, "sft", nil, nil))
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
