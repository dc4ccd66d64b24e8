package algo

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// trlCorrections are TRL's names of corrections of the sampler.
var trlCorrections = map[string]string{"token_truncate": "tis", "sequence_truncate": "tis_sequence", "token_mask": "icepop", "sequence_mask": "sequence_mask"}

// trlMethod is TRL's loss: its preset with the named parts that its options are.
func trlMethod(t *testing.T, h hyper, tokens int, perToken bool) Method {
	p, f := map[string]float64{}, map[string]string{}
	clip := func() { p["clip_low"], p["clip_high"] = h.num("epsilon"), h.num("epsilon_high") }
	if h.str("loss_type") == "gmpo" {
		f["policy"], f["normalised"], p["empty_ratio"] = "gmpo", "geometric_loss", 1
		if share := h.num("top_entropy_quantile"); share < 1 {
			f["policy"], p["focus_share"] = "gmpo_focus", share
		}
		clip()
		if h.num("beta") != 0 {
			f["penalty"], p["beta"] = "kl_k3", h.num("beta")
		}
		p["share"] = 1 / trlAccumulation(h)
		return chosen(t, "trl", p, f)
	}
	sequence := h.str("importance_sampling_level") == "sequence"
	if sequence {
		f["ratio"] = "seq_ratio"
	}
	switch kind := h.str("loss_type"); {
	case kind == "cispo":
		f["policy"], p["ratio_high"] = "cispo", h.num("epsilon_high")
	case kind == "sapo":
		f["policy"], p["tau_pos"], p["tau_neg"] = "sapo", h.num("sapo_temperature_pos"), h.num("sapo_temperature_neg")
	case kind == "vespo":
		f["policy"] = "vespo"
		p["k_pos"], p["k_neg"], p["lambda_pos"], p["lambda_neg"] = h.num("vespo_k_pos"), h.num("vespo_k_neg"), h.num("vespo_lambda_pos"), h.num("vespo_lambda_neg")
	case h.has("delta"):
		if f["policy"], p["ratio_cap"] = "clip_two_sided", h.num("delta"); sequence && !perToken {
			f["policy"] = "gspo_two_sided"
		}
		clip()
	case sequence && !perToken: // what is clipped is counted by rows
		f["policy"] = "gspo"
		clip()
	default:
		f["policy"] = "ppo_clip"
		clip()
	}
	trlWeights(h, p, f)
	if h.num("beta") != 0 {
		f["penalty"], p["beta"] = "kl_k3", h.num("beta")
		if h.has("use_bias_correction_kl") {
			f["penalty"] = "kl_ratio"
		}
	}
	trlLoss(h, p, f, tokens)
	return chosen(t, "trl", p, f)
}

// trlWeights are the masks and the sampler correction.
func trlWeights(h hyper, p map[string]float64, f map[string]string) {
	if h.has("is_mode") {
		part := trlCorrections[h.str("is_mode")]
		p["is_low"], p["is_high"] = h.or("is_min", 0), h.or("is_max", math.Inf(1))
		if h.str("loss_type") == "vespo" {
			f["vespo_correction"] = "vespo_" + part
		} else {
			f["correction"] = part
		}
	}
	if h.has("off_policy_mask_threshold") {
		f["off_policy_mask"], p["off_policy_bound"] = "opsm", h.num("off_policy_mask_threshold")
	}
	if share := h.num("top_entropy_quantile"); share < 1 {
		p["focus_share"], f["entropy_mask"] = share, "focus"
	}
}

// trlLoss is the normaliser with what TRL divides by beyond it for one
// micro-batch, which is taken as the whole: gradient accumulation, and for the
// mean over tokens those of all micro-batches and processes. The entropy bonus is
// divided by accumulation alone.
func trlLoss(h hyper, p map[string]float64, f map[string]string, tokens int) {
	accumulation := trlAccumulation(h)
	p["share"] = 1 / accumulation
	switch h.str("loss_type") {
	case "dapo", "cispo", "vespo":
		items := h.or("num_items_in_batch", float64(tokens))
		if p["share"] = float64(tokens) / items; h.str("mode") != "eval" {
			p["share"] = float64(tokens) / (items * accumulation / h.num("steps_per_generation"))
		}
	case "bnpo":
	case "dr_grpo":
		f["normalised"], p["max_tokens"] = "fixed_loss", h.num("max_completion_length")
	case "luspo":
		f["normalised"] = "sum_loss"
	default:
		f["normalised"] = "completion_loss"
	}
	if coef := h.num("entropy_coef"); coef != 0 {
		if f["bonus"], p["entropy_coef"] = "entropy_bonus", coef/accumulation; h.num("top_entropy_quantile") < 1 {
			f["bonus"] = "entropy_bonus_focus"
		}
	}
}

// trlAccumulation is what TRL divides the loss of a micro-batch by.
func trlAccumulation(h hyper) float64 {
	if h.str("mode") == "eval" {
		return 1
	}
	return h.num("gradient_accumulation_steps")
}

func TestFormulasTRLLosses(t *testing.T) {
	formulasOf(t, "trl_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		s, in := lossStep(t, f, g)
		start := matrix(t, in, "old_logp")
		if h.str("old") == "detached policy" {
			start = matrix(t, in, "logp")
		}
		s.tokens("start", start)
		old := start
		if h.has("is_mode") {
			old = withUnknown(matrix(t, in, "sampler_logp"), start)
		}
		s.tokens("old", old)
		tokens := 0
		for _, r := range s.mask {
			for _, m := range r {
				tokens += int(m)
			}
		}
		metrics := map[string]string{"entropy": "policy/entropy"}
		if !h.has("use_bias_correction_kl") {
			metrics["kl"] = "policy/kl_ref"
		}
		if h.str("importance_sampling_level") == "token" { // else TRL's is over rows
			metrics["cispo_clip_ratio"] = "policy/clip_high_share"
		}
		metrics["clip_ratio/low_mean"], metrics["clip_ratio/high_mean"], metrics["clip_ratio/region_mean"] = "policy/clip_low_share", "policy/clip_high_share", "policy/clip_fraction"
		advantage, _ := s.table.Column("A")
		u := s.sameUpdate(g, trlMethod(t, h, tokens, advantage.Level == formula.Token), metrics)
		if g.Out["importance_sampling_ratio"] != nil && h.str("loss_type") != "vespo" {
			s.sameCorrection(u, h, matrix(t, g.Out, "importance_sampling_ratio"))
		}
	})
}

// withUnknown takes sampler log-probs that are not known for equal.
func withUnknown(sampler, start [][]float64) [][]float64 {
	for i := range sampler {
		for j := range sampler[i] {
			if math.IsNaN(sampler[i][j]) {
				sampler[i][j] = start[i][j]
			}
		}
	}
	return sampler
}

// sameCorrection holds the sampler correction against rows of one value or of one
// for each token.
func (s *step) sameCorrection(u *Update, h hyper, want [][]float64) {
	s.t.Helper()
	part := trlCorrections[h.str("is_mode")]
	c, err := u.part(part)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, w := range want {
		if c.Level == formula.Completion {
			s.f.same(s.t, part, c.V[i], w[0])
			continue
		}
		from, _ := s.frame.Tokens(i)
		for j := range w {
			if s.mask[i][j] != 0 {
				s.f.same(s.t, part, c.V[from+j], w[j])
			}
		}
	}
}

func TestFormulasTRLSequenceLosses(t *testing.T) {
	formulasOf(t, "trl_sequence_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		s, in := lossStep(t, f, g)
		s.tokens("start", matrix(t, in, "old_logp"))
		if h.str("loss_type") == "rloo" {
			m := chosen(t, "rloo", map[string]float64{"clip_low": h.num("epsilon"), "clip_high": h.num("epsilon_high")}, nil)
			s.sameUpdate(g, m, map[string]string{"entropy": "policy/entropy", "clip_ratio/low_mean": "policy/clip_low_share", "clip_ratio/high_mean": "policy/clip_high_share", "clip_ratio/region_mean": "policy/clip_fraction"})
			return
		}
		// v_star is of samples from before the run, a group for each row.
		var mask [][]float64
		var groups []int
		var sampled []float64
		for i, samples := range matrix(t, in, "value_samples") {
			for _, x := range samples {
				mask, groups, sampled = append(mask, []float64{1}), append(groups, i), append(sampled, x)
			}
		}
		before := newStep(t, f, mask, groups)
		before.completions("reward", sampled)
		v, err := before.update(chosen(t, "", map[string]float64{"beta_1": h.num("beta1"), "loss": 0}, map[string]string{"part": "v_star"})).part("part")
		if err != nil {
			t.Fatal(err)
		}
		f.sameRow(t, "v_star", v.V, value[row](t, g.Out, "v_star"))
		s.completions("v_star", v.V)
		s.completions("reward", value[row](t, in, "rewards"))
		m := chosen(t, "a_star_po", map[string]float64{"beta_2": h.num("beta2")}, nil)
		u := s.sameUpdate(g, m, nil)
		metrics := value[map[string]json.RawMessage](t, g.Out, "metrics")
		for part, theirs := range map[string]string{"implied_reward": "implicit_reward", "above_v_star": "advantage"} {
			c, err := u.part(part)
			if err != nil {
				t.Fatal(err)
			}
			mean := 0.0
			for _, x := range c.V {
				mean += x / float64(len(c.V))
			}
			f.wider(metricRel, metricAbs).same(t, theirs, mean, value[float64](t, metrics, theirs))
		}
	})
}

func TestFormulasTRLAdvantages(t *testing.T) {
	formulasOf(t, "trl_advantages", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		in := g.In
		rewards := matrix(t, in, "rewards")
		weights := value[row](t, map[string]json.RawMessage{"w": mustJSON(t, h.get("reward_weights"))}, "w")
		var groups []int
		mask := matrix(t, in, "mask")
		for i := range rewards {
			groups = append(groups, i/int(h.num("group_size")))
			if in["mask"] == nil {
				mask = append(mask, []float64{1})
				if in["old_logp"] != nil {
					mask[i] = ones(len(matrix(t, in, "old_logp")[i]))
				}
			}
		}
		s := newStep(t, f, mask, groups)
		p, parts := map[string]float64{"loss": 0}, map[string]string{"reward": "three_rewards"}
		for k, name := range []string{"first", "second", "third"} {
			column := make([]float64, len(rewards))
			for i := range rewards {
				if column[i] = math.NaN(); k < len(weights) {
					column[i], p[fmt.Sprintf("weight_%d", k+1)] = rewards[i][k], weights[k]
				}
			}
			s.completions(name, column)
		}
		preset := ""
		h.only(t, "multi_objective_aggregation", map[bool]any{true: "normalize_then_sum", false: "sum_then_normalize"}[h.str("estimator") == "gdpo"])
		switch h.str("estimator") {
		case "grpo":
			parts[advantagePart] = map[string]string{"group": "grpo", "batch": "batch_scaled", "none": "dr_grpo"}[h.str("scale_rewards")]
			if h.str("scale_rewards") != "none" {
				p["std_eps"] = h.num("std_eps")
			}
		case "gdpo":
			preset, p["policy"], p["std_eps"] = "gdpo", 0, h.num("std_eps")
			parts = map[string]string{"scores": "gdpo_three"}
		default:
			s.trlRLOO(h, in, p, parts)
		}
		s.sameAdvantages(chosen(t, preset, p, parts), value[row](t, g.Out, "advantages"))
	})
}

// trlRLOO adds the clip of the reward, the KL in it and the whitening.
func (s *step) trlRLOO(h hyper, in map[string]json.RawMessage, p map[string]float64, f map[string]string) {
	if bounds := h.list("reward_clip_range"); bounds != nil {
		p["reward_low"], p["reward_high"] = bounds[0].(float64), bounds[1].(float64)
	}
	f[advantagePart] = "rloo"
	if h.num("beta") != 0 {
		f[advantagePart] = "rloo_kl"
		p["beta"] = h.num("beta")
		s.tokens("old", matrix(s.t, in, "old_logp"))
		s.tokens("ref", matrix(s.t, in, "ref_logp"))
	}
	if h.has("normalize_advantages") {
		f[advantagePart] += "_whitened"
	}
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func mustJSON(t *testing.T, x any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sameAdvantages holds advantages of completions against a case, in which 0
// stands for what has no value.
func (s *step) sameAdvantages(m Method, want []float64) {
	s.t.Helper()
	a, err := m.Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	values, err := a.Step(s.table)
	if err != nil {
		s.t.Fatal(err)
	}
	got := make([]float64, len(want))
	for i, x := range values.Advantage.V {
		if !math.IsNaN(x) {
			got[i] = x
		}
	}
	s.f.sameRow(s.t, "advantages", got, want)
}

func TestFormulasTRLMasks(t *testing.T) {
	formulasOf(t, "trl_masks", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		switch h.str("op") {
		case "adaptive_entropy":
			adaptiveEntropy(t, f, g)
			return
		case "mask_truncated":
			maskTruncated(t, f, g)
			return
		}
		s, in := lossStep(t, f, g)
		start := matrix(t, in, "old_logp")
		s.tokens("start", start)
		old := start
		if h.str("op") == "vllm_is" {
			old = withUnknown(matrix(t, in, "sampler_logp"), start)
		} else if h.has("is") || h.str("op") == "opsm" {
			old = matrix(t, in, "sampler_logp")
		}
		s.tokens("old", old)
		p, parts := map[string]float64{"loss": 0}, map[string]string{}
		name, out := "", ""
		switch h.str("op") {
		case "vllm_is":
			name, out = trlCorrections[h.str("mode")], "ratio"
			p["is_low"], p["is_high"] = h.or("clip_min", 0), h.or("clip_max", math.Inf(1))
		case "opsm":
			name, out = "opsm", "keep"
			p["off_policy_bound"] = h.num("threshold")
		case "entropy_mask":
			name, out = "focus", "keep"
			p["focus_share"] = 1 - h.num("threshold_quantile")
		case "vespo_phi":
			name, out = "vespo_weight", "phi"
			for _, number := range []string{"k_pos", "k_neg", "lambda_pos", "lambda_neg"} {
				p[number] = h.num(number)
			}
			if h.has("is") {
				parts["vespo_correction"], p["is_high"] = "vespo_tis", 2
			}
		}
		parts["part"] = name
		s.samePart(s.update(chosen(t, "", p, parts)), "part", matrix(t, g.Out, out))
	})
}

// samePart holds a part against rows of one value or of one for each token; rows
// and tokens without a value are not compared.
func (s *step) samePart(u *Update, name string, want [][]float64) {
	s.t.Helper()
	c, err := u.part(name)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, w := range want {
		from, _ := s.frame.Tokens(i)
		for j := range w {
			switch {
			case len(w) == len(s.mask[i]) && s.mask[i][j] == 0:
			case c.Level == formula.Completion && !math.IsNaN(c.V[i]):
				s.f.same(s.t, name, c.V[i], w[j])
			case c.Level == formula.Token:
				s.f.same(s.t, name, c.V[from+j], w[j])
			}
		}
	}
}

// adaptiveEntropy follows TRL's controller: a state whose next value is a formula.
func adaptiveEntropy(t *testing.T, f *goldenFile, g *golden) {
	h := g.Hyper
	h.only(t, "last_entropy", 0.0) // before the first step
	batches := value[[]map[string]json.RawMessage](t, g.In, "micro_batches")
	m := chosen(t, "adaptive_entropy", map[string]float64{"entropy_target": h.num("target"), "entropy_move": h.num("delta"), "entropy_least": h.num("min"), "entropy_most": h.num("max")}, nil)
	m.State["entropy_coef"] = State{Start: h.num("start"), Next: m.State["entropy_coef"].Next}
	per := int(h.num("gradient_accumulation_steps"))
	var states States
	for i, want := range value[[]map[string]json.RawMessage](t, g.Out, "steps") {
		var mask, entropy [][]float64
		for _, b := range batches[i*per : (i+1)*per] {
			mask, entropy = append(mask, matrix(t, b, "mask")...), append(entropy, matrix(t, b, "entropy")...)
		}
		s := newStep(t, f, mask, nil)
		s.tokens("entropy", entropy)
		for _, name := range []string{"logp", "start"} {
			s.tokens(name, mask)
		}
		s.completions("A", ones(len(mask)))
		s.moved(m, &states, nil, true)
		f.same(t, "entropy_coef", states.Values["entropy_coef"][""].Value, value[float64](t, want, "entropy_coef"))
	}
}

// maskTruncated holds the tokens that a filter leaves: keep is TRL's option, and
// whether a completion was cut off is told by its last token.
func maskTruncated(t *testing.T, f *goldenFile, g *golden) {
	h, in := g.Hyper, g.In
	want := matrix(t, g.Out, "loss_mask")
	tools := matrix(t, in, "tool_mask")
	var mask [][]float64
	var truncated []float64
	ended := append([]any{h.get("pad_token")}, h.list("end_tokens")...)
	for i, ids := range matrix(t, in, "completion_ids") {
		row := make([]float64, len(want[i]))
		for j := range ids {
			if row[j] = 1; tools != nil {
				row[j] = tools[i][j]
			}
		}
		mask = append(mask, row)
		cut := 1.0
		if slices.Contains(ended, any(ids[len(ids)-1])) {
			cut = 0
		}
		truncated = append(truncated, cut)
	}
	s := newStep(t, f, mask, nil)
	s.add("truncated", formula.Column{Level: formula.Completion, V: truncated})
	parts := map[string]string{}
	if h.has("on") {
		parts[keepPart] = "not_cut"
	}
	u := s.update(chosen(t, "", map[string]float64{"loss": 0}, parts))
	left := 0.0
	for i := range mask {
		for j := range mask[i] {
			if !u.Rows[i] {
				mask[i][j] = 0
			}
			left += mask[i][j]
		}
	}
	f.same(t, "num_items_in_batch", left, value[float64](t, g.Out, "num_items_in_batch"))
	f.sameMatrix(t, "loss_mask", mask, want)
}
