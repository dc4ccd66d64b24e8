package algo

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// everyFact are all facts and the rewards that gdpo is about.
func everyFact() []formula.Fact {
	return append(Facts(), formula.Fact{Name: "first", Level: formula.Completion}, formula.Fact{Name: "second", Level: formula.Completion}, formula.Fact{Name: "third", Level: formula.Completion})
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
		name, arguments, call := strings.Cut(p.Name, "(")
		m := Method{Formulas: map[string]string{advantagePart: "reward", "policy": "reinforce"}}
		switch {
		case call:
			values, of := strings.Split(strings.TrimSuffix(arguments, ")"), ","), []string{}
			for _, v := range values {
				given, ok := map[string]string{"x": "mean(old)", "u": "exp(old)", "w": "exp(mean(old))", "c": "reward > 0.5", "p": "0.5", "a": "1.5", "b": "2", "low": "0.5", "high": "2", "bound": "0.1"}[strings.TrimSpace(v)]
				if !ok {
					t.Errorf("%s: no value for %s", p.Name, v)
				}
				of = append(of, given)
			}
			m.Formulas["extra"] = name + "(" + strings.Join(of, ", ") + ")"
		case p.Kind == "preference" || p.Kind == "ready":
			m.Formulas["extra"] = p.Name
		default:
			m.Formulas[p.Kind] = p.Name
		}
		if _, reads := p.Parameters["beta"]; reads {
			m.Parameters = map[string]float64{"beta": 0.1}
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
		{nil, map[string]string{"keep": "mean(entropy) > 1"}, "cannot read entropy, a value of now: write old"},
		{nil, map[string]string{"A": "2*reward"}, "A: other parts read the advantage by this name; write advantage = ..."},
		{nil, map[string]string{"penalty": "kl_k3"}, "penalty: kl_k3 reads beta, which has no value; write beta = 0.1, or beta = 0 to leave it out"},
		{nil, map[string]string{"loss": "prompt_mean(dpo)"}, "loss: dpo reads beta, which has no value"},
		{map[string]float64{"clip_hihg": 0.3}, nil, "clip_hihg: no formula in force reads this parameter"},
		{nil, map[string]string{"policy": "f = 2; -f*A*lopg"}, "policy: column 13: unknown name lopg; did you mean logp?"},
	} {
		_, err := grpo.With(c.parameters, c.formulas, nil).Compile(everyFact())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v, want %s", c.parameters, c.formulas, err, c.want)
		}
	}
}

// TestBetaOff: whoever says that beta is 0 means it.
func TestBetaOff(t *testing.T) {
	grpo, _ := LoadMethod("grpo")
	for _, m := range []Method{grpo.With(map[string]float64{"beta": 0}, map[string]string{"penalty": "kl_k3"}, nil),
		grpo.With(nil, map[string]string{"penalty": "kl_k3", "beta": "linear(0.1, 0, 1, steps)"}, nil)} {
		if _, err := m.Compile(everyFact()); err != nil {
			t.Error(err)
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
