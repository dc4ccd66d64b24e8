package algo

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// everyFact are all facts and the two rewards that gdpo is about.
func everyFact() []formula.Fact {
	return append(Facts(), formula.Fact{Name: "first", Level: formula.Completion}, formula.Fact{Name: "second", Level: formula.Completion})
}

func TestEveryMethodCompiles(t *testing.T) {
	used := map[string]bool{}
	for _, name := range MethodNames() {
		m, err := LoadMethod(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.Compile(everyFact())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.About == "" {
			t.Errorf("%s says nothing about itself", name)
		}
		for _, f := range a.Formulas() {
			used[f.Name] = true
		}
		local, why := a.Local()
		across := slices.Contains([]string{"clip_cov", "kl_cov"}, name) || strings.Contains(m.Formulas[lossPart], "pair")
		if local == across {
			t.Errorf("%s: local is %v %s", name, local, why)
		}
	}
}

// Every named formula compiles where it is meant for, and numbers of one name are
// the same everywhere.
func TestLibrary(t *testing.T) {
	numbers := map[string]float64{}
	for _, p := range Library() {
		for name, v := range p.Parameters {
			if old, known := numbers[name]; known && old != v {
				t.Errorf("%s: %s is %v, elsewhere %v", p.Name, name, v, old)
			}
			numbers[name] = v
		}
		name, _, call := strings.Cut(p.Name, "(")
		m := Method{Formulas: map[string]string{advantagePart: "reward", "policy": "reinforce"}}
		switch {
		case call:
			m.Formulas["extra"] = map[string]string{
				"standard": "standard(reward)", "whiten": "whiten(reward)", "token_whiten": "token_whiten(old)", "token_whiten_n": "token_whiten_n(old)", "token_whiten_verl": "token_whiten_verl(old)",
				"beta_weight": "beta_weight(reward, 1, 1)", "batch_normalised": "batch_normalised(old)", "near_k1": "near_k1(old, 0.5, 2)", "apart": "apart(reward)", "canon": "canon(reward > 0.5)", "alphapo": "alphapo(reward)", "of_most": "of_most(tokens)", "nemo_centred": "nemo_centred(reward)", "nemo_scaled": "nemo_scaled(reward)", "nemo_others": "nemo_others(reward)", "nemo_others_scaled": "nemo_others_scaled(reward)",
				"nemo_whiten": "nemo_whiten(reward)", "bnpo_at": "bnpo_at(1, 1)", "normalised_verl": "normalised_verl(old)", "normalised_sequence_verl": "normalised_sequence_verl(mean(old))", "geometric_weight": "geometric_weight(exp(old))", "at_most": "at_most(old, 0)", "between_k1": "between_k1(old, 0.5, 2)",
			}[name]
		case p.Kind == "preference" || p.Kind == "ready":
			m.Formulas["extra"] = p.Name
		default:
			m.Formulas[p.Kind] = p.Name
		}
		if _, err := m.Compile(everyFact()); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestMethodFaults(t *testing.T) {
	grpo, _ := LoadMethod("grpo")
	for _, c := range []struct {
		parameters map[string]float64
		formulas   map[string]string
		want       string
	}{
		{nil, map[string]string{"loss": "policy"}, "loss: one value for each token where one value for the run is wanted"},
		{nil, map[string]string{"keep": "group_std(reward)"}, "keep: a number where a condition is wanted"},
		{nil, map[string]string{"keep": "mean(entropy) > 1"}, "keep: it is computed once, after sampling"},
		{nil, map[string]string{"segments": "old"}, "segments: a number where a condition is wanted"},
		{nil, map[string]string{"segments": "reward > 0"}, "segments: one value for each completion where a condition on tokens is wanted"},
		{nil, map[string]string{"segments": "entropy > 1"}, "segments: completions are cut once, after sampling"},
		{nil, map[string]string{"segments": "old > segment_mean(old)"}, "segments: it makes the segments, and cannot read values of segments: segments: column 7: segment_mean has"},
		{nil, map[string]string{"advantage": "segment_mean(old)"}, "own*(...) is the value of a segment at each of its tokens"},
		{nil, map[string]string{"segments": "begins('(')"}, "takes a regular expression in quotes; \"(\" is none"},
		{nil, map[string]string{"policy": "ppo_clipp"}, "unknown name ppo_clipp; did you mean ppo_clip?"},
		{map[string]float64{"clip_hihg": 0.3}, nil, "clip_hihg: no formula in force reads this parameter"},
		{nil, map[string]string{"policy": "f = 2; -f*A*lopg"}, "policy: column 13: unknown name lopg; did you mean logp?"},
	} {
		_, err := grpo.With(c.parameters, c.formulas, nil).Compile(everyFact())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v, want %s", c.parameters, c.formulas, err, c.want)
		}
	}
}

// TestSegmentsIdle: a cut that no formula in force looks at does nothing, and is told.
func TestSegmentsIdle(t *testing.T) {
	grpo, _ := LoadMethod("grpo")
	for advantage, want := range map[string]bool{"reward": true, "own*(segment_mean(old) + reward)": false} {
		a, err := grpo.With(nil, map[string]string{"segments": "forks", "advantage": advantage}, nil).Compile(everyFact())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(a.Idle(), segmentsPart); got != want {
			t.Errorf("advantage %s: segments is idle: %v, want %v", advantage, got, want)
		}
		_, resolved := a.Resolved().Formulas[segmentsPart]
		if resolved == want || slices.Contains(a.Reads(), "old_entropy") == want {
			t.Errorf("advantage %s: reads %v, resolved to %v", advantage, a.Reads(), a.Resolved().Formulas)
		}
	}
}
