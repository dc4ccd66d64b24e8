package algo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFormulasOtherAdvantages(t *testing.T) {
	formulasOf(t, "other_advantages", func(t *testing.T, f *goldenFile, g *golden) {
		h, in := g.Hyper, g.In
		if strings.Contains(g.Note, "1e-7") {
			f = f.wider(1e-7, f.Tolerance.Abs) // as the note says
		}
		if h.str("estimator") == "rae" {
			rae(t, f, g)
			return
		}
		groups := value[[]int](t, in, "groups")
		mask := matrix(t, in, "mask")
		if mask == nil {
			for range groups {
				mask = append(mask, []float64{1})
			}
		}
		if h.str("estimator") == "grpo_length_penalty" {
			for i, n := range value[row](t, in, "output_tokens") {
				mask[i] = ones(int(n))
			}
		}
		s := newStep(t, f, mask, groups)
		if in["rewards"] != nil {
			s.completions("reward", value[row](t, in, "rewards"))
		}
		m := s.otherAdvantage(h, in)
		if h.str("estimator") == "nemo_reinforce_plus_plus" {
			s.tokens("old", matrix(t, in, "logp"))
			s.tokens("ref", matrix(t, in, "ref_logp"))
			a, err := m.Compile(s.facts)
			if err != nil {
				t.Fatal(err)
			}
			v, err := a.Step(s.table)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range matrix(t, g.Out, "advantages") {
				from, _ := s.frame.Tokens(i)
				for j := range want {
					if mask[i][j] != 0 {
						f.same(t, "advantage", v.Advantage.V[from+j], want[j])
					}
				}
			}
			return
		}
		s.sameAdvantages(m, value[row](t, g.Out, "advantages"))
	})
}

// bnpoFit is how the fixtures say that the density of BNPO follows the rates.
const bnpoFit = "a = (m(1-m)/var - 1) m, b = (m(1-m)/var - 1)(1-m), var with n-1 over prompts; alpha = max(1, 1+a/3), beta = max(1, 1+b/3); 1/pdf clamped to [0, 1e6]; one prompt: m = 0, var = 1"

// otherAdvantage is an estimator of NeMo-RL, SkyRL, prime-rl or of a paper.
func (s *step) otherAdvantage(h hyper, in map[string]json.RawMessage) Method {
	preset, p, f := "", map[string]float64{"loss": 0}, map[string]string{}
	// NeMo-RL's choice of baseline and deviation, for a reward x.
	nemo := func(x string) string {
		if h.has("normalize") {
			p["std_eps"] = h.num("std_eps")
		}
		return map[[2]bool]string{{false, false}: "nemo_centred", {true, false}: "nemo_others", {false, true}: "nemo_scaled", {true, true}: "nemo_others_scaled"}[[2]bool{h.has("leave_one_out"), h.has("normalize")}] + "(" + x + ")"
	}
	switch h.str("estimator") {
	case "nemo_grpo":
		f[advantagePart] = nemo("reward")
	case "nemo_gdpo":
		preset, p["policy"] = "gdpo", 0
		for k, rewards := range matrix(s.t, in, "rewards_per_key") {
			s.completions([]string{"first", "second"}[k], rewards)
			p[fmt.Sprintf("weight_%d", k+1)] = h.list("weights")[k].(float64)
		}
		f["standard(x)"], f[advantagePart] = nemo("x"), "nemo_whiten(scores)"
	case "nemo_reinforce_plus_plus":
		h.only(s.t, "kl", "k1")
		if h.has("minus_baseline") {
			f["base"] = "centred"
		}
		p["beta"] = h.num("kl_coef")
		f[advantagePart] = "token_whiten_n(kl_pay)"
	case "maxrl":
		f[advantagePart] = "maxrl"
	case "maxrl_skyrl":
		h.only(s.t, "epsilon", 1e-6) // as in the part
		f[advantagePart] = "maxrl_skyrl"
	case "grpo_length_penalty":
		written, all := value[row](s.t, in, "output_tokens"), value[row](s.t, in, "total_tokens")
		for i := range all {
			all[i] -= written[i]
		}
		s.completions("reward.read", all)
		s.completions("reward.turns", value[row](s.t, in, "turns"))
		p["by_output"], p["by_input"], p["by_turns"] = h.num("num_output_tokens_weight"), h.num("num_input_tokens_weight"), h.num("num_turns_weight")
		f["prime_cost"] = "prime_cost_turns"
		f[advantagePart] = "prime_length"
	case "bnpo":
		h.only(s.t, "fit", bnpoFit)
		if f[advantagePart] = "bnpo"; h.has("alpha") {
			f[advantagePart] = fmt.Sprintf("bnpo_at(%v, %v)", h.num("alpha"), h.num("beta"))
		}
	}
	return chosen(s.t, preset, p, f)
}

// rae follows the average of each agent, the state of the preset. A step of one completion moves it
// as prime-rl does, after every completion.
func rae(t *testing.T, f *goldenFile, g *golden) {
	agents, want := value[[]string](t, g.In, "agents"), value[row](t, g.Out, "advantages")
	m := chosen(t, "rae", map[string]float64{"rae_decay": g.Hyper.num("decay"), "loss": 0}, nil)
	m.State["baseline"] = State{By: "row.agent", Next: m.State["baseline"].Next}
	var states States
	for i, reward := range value[row](t, g.In, "rewards") {
		s := newStep(t, f, [][]float64{{1}}, nil)
		s.completions("reward", []float64{reward})
		s.tokens("logp", [][]float64{{-1}})
		v := s.moved(m, &states, []string{agents[i]}, false)
		f.same(t, "advantage", v.Advantage.V[0], want[i])
	}
	for name, b := range value[map[string]float64](t, g.Out, "baselines") {
		f.same(t, "baseline of "+name, states.Values["baseline"][name].Value, b)
	}
}
