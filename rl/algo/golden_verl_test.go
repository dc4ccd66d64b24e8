package algo

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/rl/formula"
)

// verlLoss is an aggregation mode of verl by name, with the counts of all processes.
func verlLoss(h hyper, width int, p map[string]float64) string {
	name := map[string]string{"token-mean": "verl_tokens", "token-sum": "verl_token_sum", "seq-mean-token-sum": "verl_sums", "seq-mean-token-mean": "verl_sequences"}[h.str("agg")]
	if name == "" {
		name, p["length_scale"] = "verl_fixed", h.or("loss_scale_factor", float64(width))
	}
	counted(h, p, name)
	return name
}

// verlMethod is a loss of verl as a method, with its names of the metrics.
func verlMethod(t *testing.T, h hyper, width int) (m Method, metrics map[string]string) {
	p, f := map[string]float64{}, map[string]string{}
	metrics = map[string]string{"actor/ppo_kl": "policy/update_kl", "actor/pg_clipfrac": "policy/clip_fraction"}
	clip := func() { p["clip_low"], p["clip_high"] = h.num("clip_ratio_low"), h.num("clip_ratio_high") }
	near := func() {
		p["move_low"], p["move_high"], p["dppo_cap"] = h.num("clip_ratio_low"), h.num("clip_ratio_high"), h.num("clip_ratio_c")
	}
	plain := func() { p["log_ratio_bound"] = math.Inf(1) }
	switch h.str("loss_mode") {
	case "vanilla":
		p["dual_cap"] = h.num("clip_ratio_c")
		clip()
		metrics["actor/pg_clipfrac_lower"] = "policy/dual_clip_share"
	case "dppo_tv", "dppo_kl":
		f["policy"] = h.str("loss_mode")
		near()
	case "gspo":
		f["policy"] = "gspo_verl"
		plain()
		clip()
	case "sapo":
		f["policy"], p["tau_pos"], p["tau_neg"] = "sapo", h.num("tau_pos"), h.num("tau_neg")
		h.all["agg"] = "seq-mean-token-mean"
		delete(metrics, "actor/pg_clipfrac") // always 0
	case "gpg":
		f["policy"] = "reinforce"
	case "cispo":
		f["policy"], p["ratio_low"], p["ratio_high"] = "cispo", 1-h.num("clip_ratio_low"), 1+h.num("clip_ratio_high")
	case "dro":
		f["policy"], p["beta"] = "dro", h.num("dro_beta")
		plain()
	case "kl_cov":
		f["policy"], p["kl_share"], p["cov_coef"] = "kl_cov", h.num("kl_cov_ratio"), h.num("ppo_kl_coef")
		plain()
		metrics["actor/ppo_kl"] = "policy/abs_log_ratio"
	case "clip_cov":
		f["policy"], p["cov_share"], p["cov_low"], p["cov_high"] = "clip_cov", h.num("clip_cov_ratio"), h.num("clip_cov_lb"), h.num("clip_cov_ub")
		plain()
		clip()
	case "geo_mean":
		f["policy"] = "gmpo_verl"
		metrics["actor/pg_clipfrac"], metrics["actor/pg_clipfrac_lower"] = "policy/clip_high_share", "policy/clip_low_share"
		plain()
		clip()
	}
	if h.has("is_weights") {
		f["weight"] = "is_weights"
	}
	if h.str("loss_mode") != "geo_mean" {
		f["loss"] = verlLoss(h, width, p)
		return chosen(t, "verl", p, f), metrics
	}
	if f["loss"] = "completion_loss"; h.has("is_weights") {
		f["weight"] = "geometric_weight(is_weights)"
	}
	return chosen(t, "verl", p, f), metrics
}

func TestFormulasVerlPolicyLosses(t *testing.T) {
	formulasOf(t, "verl_policy_losses", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		s, in := lossStep(t, f, g)
		s.tokens("old", matrix(t, in, "old_logp"))
		if h.str("loss_mode") == "bypass_mode" {
			s.verlBypass(g, matrix(t, in, "logp"))
			return
		}
		s.tokens("start", matrix(t, in, "old_logp"))
		if h.has("is_weights") {
			s.tokens("is_weights", matrix(t, in, "is_weights"))
		}
		m, metrics := verlMethod(t, h, len(s.mask[0]))
		if h.str("loss_mode") == "clip_cov" {
			s.verlChoice(g, m)
		}
		s.sameUpdate(g, m, metrics)
	})
}

// verlChoice puts the random order of the candidates that verl drew into the
// noise: the first of them has the most.
func (s *step) verlChoice(g *golden, m Method) {
	s.t.Helper()
	flat := make([]float64, s.table.Size(formula.Token))
	if g.Out["permutation"] != nil {
		probe := *s
		probe.table = formula.NewTable(s.frame)
		probe.facts = nil
		for _, f := range s.facts {
			c, _ := s.table.Column(f.Name)
			probe.add(f.Name, c)
		}
		probe.add("noise", formula.Column{Level: formula.Token, V: make([]float64, len(flat))})
		open, err := probe.update(m).part("cov_open")
		if err != nil {
			s.t.Fatal(err)
		}
		var candidates []int
		for i, o := range open.V {
			if o == 1 && s.frame.Trained(i) {
				candidates = append(candidates, i)
			}
		}
		order := value[[]int](s.t, g.Out, "permutation")
		for place, c := range order {
			flat[candidates[c]] = 1 - float64(place)/float64(len(order)+1)
		}
	}
	s.add("noise", formula.Column{Level: formula.Token, V: flat})
}

// verlBypass trains against the sampler: old is the sampler's, start the policy's
// own log-prob as a constant, from which weights and rejection are made.
func (s *step) verlBypass(g *golden, start [][]float64) {
	s.t.Helper()
	s.tokens("start", start)
	m, metrics := verlBypassMethod(s.t, g.Hyper, len(s.mask[0]), fixtures.Unread("verl_policy_losses", g.Case))
	s.sameUpdate(g, m, metrics)
}

// verlBypassMethod is verl's bypass mode, with its names of the metrics; unread are options that
// it does not read.
func verlBypassMethod(t *testing.T, h hyper, width int, unread []string) (m Method, metrics map[string]string) {
	t.Helper()
	c := h.in("rollout_correction")
	defer func() { c.mapped(t, unread) }()
	p, f := map[string]float64{}, map[string]string{"log_ratio": "cut_rollout_log_ratio"}
	metrics = map[string]string{"actor/ppo_kl": "policy/update_kl"}
	if c.str("loss_type") == "reinforce" { // whose log-ratio is a metric alone, and uncut
		f["policy"], p["log_ratio_bound"] = "reinforce", 1e6
		if c.has("rollout_is") {
			f["weight"] = verlWeight(c, p)
		}
	} else {
		p["dual_cap"], p["clip_low"], p["clip_high"] = h.num("clip_ratio_c"), h.num("clip_ratio_low"), h.num("clip_ratio_high")
		metrics["actor/pg_clipfrac"], metrics["actor/pg_clipfrac_lower"] = "policy/clip_fraction", "policy/dual_clip_share"
	}
	f["loss"] = verlLoss(h, width, p)
	if c.has("rollout_rs") {
		f[keepPart] = verlKeep(c)
		verlKept(p, f)
	}
	return chosen(t, "verl", p, f), metrics
}

// verlKept counts what keep leaves in place of what was sampled: a rejected token leaves the
// divisors of verl too, where they are not given for all processes.
func verlKept(p map[string]float64, f map[string]string) {
	for count, kept := range map[string]string{"token_count": "kept_token_count", "row_count": "kept_row_count"} {
		if _, given := p[count]; !given {
			f[count] = kept
		}
	}
	if f["loss"] == "verl_sequences" {
		f["loss"] = "verl_sequences_kept"
	}
}

// verlWeight is the name of verl's correction of the sampler: a number is a cap, "a_b" are bounds
// outside of which the weight is 0.
func verlWeight(h hyper, p map[string]float64) string {
	names, normalised := [2]string{"tis_verl", "icepop_verl"}, "normalised_verl(%s)"
	if h.str("rollout_is") == "sequence" {
		names, normalised = [2]string{"tis_sequence_verl", "sequence_mask_verl"}, "normalised_sequence_verl(%s)"
	}
	name := names[0]
	if low, high, two := strings.Cut(h.str("rollout_is_threshold"), "_"); two {
		name = names[1]
		p["is_low"], _ = strconv.ParseFloat(low, 64)
		p["is_high"], _ = strconv.ParseFloat(high, 64)
	} else {
		p["is_high"] = h.num("rollout_is_threshold")
	}
	if h.has("rollout_is_batch_normalize") {
		return fmt.Sprintf(normalised, name)
	}
	return name
}

// verlKeep is verl's rejection: several of level and estimator, each with bounds.
func verlKeep(h hyper) string {
	var all []string
	bounds := strings.Split(h.str("rollout_rs_threshold"), ",")
	for i, option := range strings.Split(h.str("rollout_rs"), ",") {
		bound := bounds[min(i, len(bounds)-1)]
		if strings.HasSuffix(option, "k1") {
			low, high, two := strings.Cut(bound, "_")
			if !two {
				low, high = "1/"+low, low
			}
			bound = low + ", " + high
		}
		all = append(all, fmt.Sprintf("%s(%s)", option, bound))
	}
	return strings.Join(all, " and ")
}

func TestFormulasVerlRolloutCorrection(t *testing.T) {
	formulasOf(t, "verl_rollout_correction", func(t *testing.T, f *goldenFile, g *golden) {
		h := g.Hyper
		in := g.In
		s := newStep(t, f, matrix(t, in, "mask"), nil)
		s.tokens("start", matrix(t, in, "old_logp"))
		s.tokens("old", matrix(t, in, "sampler_logp"))
		p, parts := map[string]float64{"loss": 0}, map[string]string{"gap": "sampler_gap"}
		if h.has("rollout_is") {
			parts["weight"] = verlWeight(h, p)
		}
		if h.has("rollout_rs") {
			parts["refuse"] = verlKeep(h)
		}
		u := s.update(chosen(t, "", p, parts))
		s.sameMetrics(u, value[map[string]json.RawMessage](t, g.Out, "metrics"), map[string]string{
			"rollout_corr/kl": "sampler/kl", "rollout_corr/k3_kl": "sampler/k3", "rollout_corr/training_ppl": "sampler/trainer_perplexity", "rollout_corr/training_log_ppl": "sampler/trainer_nats",
			"rollout_corr/rollout_ppl": "sampler/perplexity", "rollout_corr/rollout_log_ppl": "sampler/nats", "rollout_corr/log_ppl_diff": "sampler/nats_gap",
			"rollout_corr/log_ppl_abs_diff": "sampler/nats_gap_abs", "rollout_corr/log_ppl_diff_max": "sampler/nats_gap_max", "rollout_corr/log_ppl_diff_min": "sampler/nats_gap_min",
			"rollout_corr/ppl_ratio": "sampler/perplexity_ratio", "rollout_corr/chi2_token": "sampler/chi2_token", "rollout_corr/chi2_seq": "sampler/chi2_sequence",
		})
		if h.has("rollout_is") {
			s.samePart(u, "weight", matrix(t, g.Out, "weights"))
		}
		if h.has("rollout_rs") {
			s.samePart(u, "refuse", matrix(t, g.Out, "mask"))
		}
	})
}

func TestFormulasVerlMisc(t *testing.T) {
	formulasOf(t, "verl_misc", func(t *testing.T, f *goldenFile, g *golden) {
		h, in := g.Hyper, g.In
		if h.str("op") == "kl_controller" {
			klController(t, f, g)
			return
		}
		if h.str("op") == "entropy" {
			verlEntropy(t, f, g)
			return
		}
		s := newStep(t, f, matrix(t, in, "mask"), nil)
		p, parts := map[string]float64{}, map[string]string{}
		switch h.str("op") {
		case "agg":
			s.tokens("logp", matrix(t, in, "x"))
			parts["policy"], g.Out["dlogp"] = "logp", g.Out["dx"]
		case "kl", "kl_loss":
			s.tokens("logp", matrix(t, in, "logp"))
			s.tokens("ref", matrix(t, in, h.str("reference")))
			parts["policy"] = verlKL(h.str("kind"))
		case "value":
			s.tokens("value", matrix(t, in, "vpred"))
			s.tokens("old_value", matrix(t, in, "values"))
			s.tokens("returns", matrix(t, in, "returns"))
			parts["policy"], p["value_clip"] = "value_loss", h.num("cliprange_value")
		case "whiten":
			s.verlWhiten(g, in)
			return
		}
		if h.str("op") == "kl" {
			parts["loss"] = "total_loss"
			u := s.update(chosen(t, "", p, parts))
			s.samePart(u, "policy", matrix(t, g.Out, "kl"))
			_, slopes, err := u.Loss()
			if err != nil {
				t.Fatal(err)
			}
			got, want := s.matrixOf(u, slopes["logp"]), matrix(t, g.Out, "dkl_dlogp")
			for i := range want {
				for j := range want[i] {
					if s.mask[i][j] != 0 {
						f.same(t, "dkl", got[i][j], want[i][j])
					}
				}
			}
			return
		}
		parts["loss"] = verlLoss(h, len(s.mask[0]), p)
		m := chosen(t, "", p, parts)
		if h.str("op") != "value" {
			s.sameUpdate(g, m, nil)
			return
		}
		u := s.update(m)
		loss, slopes, err := u.Loss()
		if err != nil {
			t.Fatal(err)
		}
		f.same(t, "loss", loss, value[float64](t, g.Out, "loss"))
		f.sameMatrix(t, "dvpred", s.matrixOf(u, slopes["value"]), matrix(t, g.Out, "dvpred"))
		s.sameMetrics(u, value[map[string]json.RawMessage](t, g.Out, "metrics"), map[string]string{"vf_clipfrac": "value/clip_share"})
	})
}

// verlKL is the formula of a name of verl's; with a trailing + its slope is that
// of k2.
func verlKL(kind string) string {
	base, straight := strings.CutSuffix(kind, "+")
	f := map[string]string{"k1": "k1", "kl": "k1", "abs": "k_abs", "k2": "k2", "mse": "k2", "k3": "k3_clamped", "low_var_kl": "k3_clamped"}[base]
	if straight {
		return "k2_slope(" + f + ")"
	}
	return f
}

func (s *step) verlWhiten(g *golden, in map[string]json.RawMessage) {
	s.t.Helper()
	s.tokens("x", matrix(s.t, in, "x"))
	u := s.update(chosen(s.t, "", map[string]float64{"loss": 0}, map[string]string{"whitened": "token_whiten_verl(x)", "keeping": "token_whiten_verl_kept(x)", "middle": "mean_verl(x)",
		"unbiased": "variance_verl(x)", "biased": "variance_verl_n(x)"}))
	for part, out := range map[string]string{"whitened": "whitened", "keeping": "whitened_keep_mean"} {
		s.samePart(u, part, matrix(s.t, g.Out, out))
	}
	for part, out := range map[string]string{"middle": "mean", "unbiased": "var_unbiased", "biased": "var_biased"} {
		c, err := u.part(part)
		if err != nil {
			s.t.Fatal(err)
		}
		s.f.same(s.t, out, c.V[0], value[float64](s.t, g.Out, out))
	}
}

// klController follows verl's adaptive KL: the state of the preset.
func klController(t *testing.T, f *goldenFile, g *golden) {
	h := g.Hyper
	m := chosen(t, "adaptive_kl", map[string]float64{"kl_target": h.num("target"), "kl_horizon": h.num("horizon"), "kl_count": h.num("n_steps")}, map[string]string{"kl_seen": "kl"})
	m.State["kl_coef"] = State{Start: h.num("init"), Next: m.State["kl_coef"].Next}
	want := value[row](t, g.Out, "coef")
	var states States
	for i, kl := range value[row](t, g.In, "kl") {
		s := newStep(t, f, [][]float64{{1, 1}}, nil)
		for _, name := range []string{"logp", "old", "start", "ref"} {
			s.tokens(name, [][]float64{{-1, -2}})
		}
		s.completions("reward", []float64{1})
		s.add("kl", formula.Column{Level: formula.Run, V: []float64{kl}})
		s.moved(m, &states, nil, false)
		f.same(t, "kl_coef", states.Values["kl_coef"][""].Value, want[i])
	}
}

// moved takes the step and moves the states of a method, by what reads values of now or by the
// others; keys are those of its groups. It returns the values of the step.
func (s *step) moved(m Method, states *States, keys []string, now bool) *StepValues {
	s.t.Helper()
	a, err := m.Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	of := func(string) []string { return keys }
	for name, c := range states.Columns(a, of) {
		if err := s.table.Add(name, c); err != nil {
			s.t.Fatal(err)
		}
	}
	v, err := a.Step(s.table)
	if err != nil {
		s.t.Fatal(err)
	}
	if !now {
		if err := states.AfterStep(a, v.Table, of); err != nil {
			s.t.Fatal(err)
		}
		return v
	}
	u, err := v.Update(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := states.AfterUpdate(u, of); err != nil {
		s.t.Fatal(err)
	}
	return v
}

func TestFormulasVerlAdvantages(t *testing.T) {
	formulasOf(t, "verl_advantages", func(t *testing.T, f *goldenFile, g *golden) {
		h, in := g.Hyper, g.In
		groups := value[[]int](t, in, "groups")
		s := newStep(t, f, matrix(t, in, "mask"), groups)
		pay := matrix(t, in, "rewards")
		var reward []float64
		for _, r := range pay {
			sum := 0.0
			for _, x := range r {
				sum += x
			}
			reward = append(reward, sum)
		}
		s.completions("reward", reward)
		if g.Out["token_rewards"] == nil {
			s.tokens("pay", pay)
		} else {
			s.tokens("ref", matrix(t, in, "ref_logp"))
		}
		s.tokens("old", matrix(t, in, "old_logp"))
		s.tokens("old_value", matrix(t, in, "values"))
		s.tokens("collision", matrix(t, in, "sum_pi_squared"))
		s.tokens("is_weights", matrix(t, in, "is_weights"))
		s.completions("greedy_reward", value[row](t, in, "greedy_rewards"))
		m := s.verlAdvantage(h, in)
		if _, refused := g.Out["error"]; refused {
			s.noAdvantage(m, groups)
			return
		}
		s.sameVerl(g, m, reward, groups)
	})
}

// verlAdvantage is an estimator of verl as a method.
func (s *step) verlAdvantage(h hyper, in map[string]json.RawMessage) Method {
	p, f := map[string]float64{"loss": 0}, map[string]string{"token_whiten(x)": "token_whiten_verl(x)"}
	preset, std := "", h.has("norm_by_std")
	h.only(s.t, "whiten_eps", 1e-8) // as in the parts
	h.only(s.t, "kl", "k1")
	switch h.str("estimator") {
	case "grpo", "grpo_vectorized":
		f[advantagePart] = map[bool]string{true: "grpo_verl", false: "dr_grpo_verl"}[std]
		if std {
			p["std_eps"] = h.num("epsilon")
		}
	case "grpo_passk":
		if f[advantagePart] = "passk_max_raw"; std {
			f[advantagePart], p["std_eps"] = "passk_max", h.num("epsilon")
		}
	case "rloo":
		f[advantagePart] = "rloo_verl"
	case "rloo_vectorized":
		f[advantagePart] = "rloo"
	case "opo":
		f[advantagePart] = "opo_verl"
	case "gpg":
		f[advantagePart] = "gpg_verl"
	case "reinforce_plus_plus_baseline":
		f[advantagePart] = "reinforce_pp_baseline_verl"
	case "reinforce_plus_plus":
		f[advantagePart], p["gamma"] = "reinforce_pp", h.num("gamma")
		if h.has("kl_coef") {
			p["beta"] = h.num("kl_coef")
		}
	case "remax":
		f[advantagePart] = "remax_token"
	case "gae":
		f[advantagePart], p["gamma"], p["lambda"] = "gae_advantage", h.num("gamma"), h.num("lambda")
	case "optimal_token_baseline", "tir_optimal_token_baseline":
		if f[advantagePart] = "optimal_token"; h.has("handle_zero_tail") {
			f[advantagePart] = "optimal_token_tail"
		}
		if h.has("rollout_is_weights") {
			f["otb_weight"] = "otb_weight_corrected"
		}
	case "gdpo":
		preset, p["policy"] = "gdpo", 0
		s.verlGDPO(h, in, p, f)
	}
	return chosen(s.t, preset, p, f)
}

func (s *step) verlGDPO(h hyper, in map[string]json.RawMessage, p map[string]float64, f map[string]string) {
	weights := h.list("weights")
	given := weights != nil
	for k, rewards := range matrix(s.t, in, "rewards_per_key") {
		if s.completions([]string{"first", "second"}[k], rewards); given {
			p[fmt.Sprintf("weight_%d", k+1)] = weights[k].(float64)
		}
	}
	if f["standard(x)"] = "centred_verl(x)"; h.has("norm_by_std") {
		f["standard(x)"], p["std_eps"] = "standard_verl(x)", h.num("epsilon")
	}
	f[advantagePart] = "token_whiten(scores)"
}

// noAdvantage holds that a lone completion has no value where verl refuses it.
func (s *step) noAdvantage(m Method, groups []int) {
	s.t.Helper()
	a, err := m.Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := a.Step(s.table)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, x := range v.Advantage.V {
		members := 0
		for _, g := range groups {
			if g == groups[i] {
				members++
			}
		}
		if (members == 1) != math.IsNaN(x) {
			s.t.Errorf("completion %d of a group of %d has advantage %v", i, members, x)
		}
	}
}

// sameVerl holds advantages against a case. Equal rewards give us exactly 0, and
// verl the rounding of their mean over the constant.
func (s *step) sameVerl(g *golden, m Method, reward []float64, groups []int) {
	s.t.Helper()
	f := s.f
	switch {
	case strings.Contains(g.Note, "float32"):
		f = f.wider(1e-5, 1e-5) // the file's float32_inside
	case g.Batch == "nearly":
		f = f.wider(1e-8, f.Tolerance.Abs) // README: group std of 2e-6
	}
	s.f = f
	a, err := m.Compile(s.facts)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := a.Step(s.table)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, want := range matrix(s.t, g.Out, "advantages") {
		from, _ := s.frame.Tokens(i)
		members := 0
		for _, x := range groups {
			if x == groups[i] {
				members++
			}
		}
		for j := range want {
			if s.mask[i][j] == 0 {
				continue
			}
			var got float64
			if got = v.Advantage.V[i%len(v.Advantage.V)]; v.Advantage.Level == formula.Token {
				got = v.Advantage.V[from+j]
			}
			const eps = 0x1p-52
			rounding := float64(members) * eps * math.Abs(reward[i]) / g.Hyper.or("epsilon", 1)
			if got != 0 || math.Abs(want[j]) > rounding {
				f.same(s.t, fmt.Sprintf("advantage[%d][%d]", i, j), got, want[j])
			}
		}
	}
}

// verlEntropy takes the entropies of logits, and the loss's derivative by them on
// to the logits: dH/dlogit = -p*(log p + H).
func verlEntropy(t *testing.T, f *goldenFile, g *golden) {
	in := g.In
	logits := value[[][]row](t, in, "logits")
	s := newStep(t, f, matrix(t, in, "mask"), nil)
	entropy, logp := make([][]float64, len(logits)), make([][][]float64, len(logits))
	for i := range logits {
		for _, z := range logits[i] {
			total, h := 0.0, 0.0
			for _, x := range z {
				total += math.Exp(x)
			}
			var lp []float64
			for _, x := range z {
				l := x - math.Log(total)
				lp = append(lp, l)
				h -= math.Exp(l) * l
			}
			entropy[i], logp[i] = append(entropy[i], h), append(logp[i], lp)
		}
	}
	f.sameMatrix(t, "token_entropy", entropy, matrix(t, g.Out, "token_entropy"))
	s.tokens("entropy", entropy)
	p := map[string]float64{}
	parts := map[string]string{"policy": "entropy", "loss": verlLoss(g.Hyper, len(s.mask[0]), p)}
	u := s.update(chosen(t, "", p, parts))
	loss, slopes, err := u.Loss()
	if err != nil {
		t.Fatal(err)
	}
	f.same(t, "loss", loss, value[float64](t, g.Out, "loss"))
	by := s.matrixOf(u, slopes["entropy"])
	for i, want := range value[[][]row](t, g.Out, "dlogits") {
		for j := range want {
			for k := range want[j] {
				l := logp[i][j][k]
				f.same(t, "dlogits", -by[i][j]*math.Exp(l)*(l+entropy[i][j]), want[j][k])
			}
		}
	}
}
