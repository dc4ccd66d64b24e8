package algo

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// randomStep has every fact of a run: groups of 4, completions of 1 to 5 tokens, rewards
// of 0 and 1, one of them missing. order are the places of the groups.
func randomStep(t *testing.T, order []int) (*formula.Table, []formula.Fact) {
	t.Helper()
	const size = 4
	facts := append(RunFacts(), formula.Fact{Name: "first", Level: formula.Completion}, formula.Fact{Name: "second", Level: formula.Completion})
	facts = slices.DeleteFunc(facts, func(f formula.Fact) bool { return strings.HasSuffix(f.Name, ".*") || f.Takes != nil }) // no method names a member of a family, or a pattern
	var groups []int
	var tokens [][]int
	values := map[string][]float64{}
	for _, g := range order {
		rng := rand.New(rand.NewPCG(uint64(g), 3)) // a group is the same wherever it stands
		add := func(name string, x float64) { values[name] = append(values[name], x) }
		add("prompt_tokens", float64(2+g))
		for _, name := range []string{"greedy_reward", "seen", "solved", "last_solved", "steps_since", "prompt_value"} {
			add(name, float64(g)/8)
		}
		for i := range size {
			n := 1 + rng.IntN(5)
			groups, tokens = append(groups, g), append(tokens, []int{n})
			reward := float64((g + i) % 2)
			if g == 2 && i == 0 {
				reward = math.NaN()
			}
			add("reward", reward)
			add("task", reward)
			add("first", rng.Float64())
			add("second", rng.Float64())
			add("truncated", float64(rng.IntN(2)))
			add("mismatched", 0.25*float64(i-g))
			add("gradient_norm", float64(1+i+g)/4)
			for range n {
				x := -0.1 - 2*rng.Float64()
				add("logp", x)
				add("old", x+0.6*(rng.Float64()-0.5))
				add("start", values["old"][len(values["old"])-1])
				add("ref", x+0.6*(rng.Float64()-0.5))
				add("entropy", rng.Float64())
				add("old_entropy", rng.Float64())
				add("uniform_logp", -3*rng.Float64())
				add("noise", rng.Float64())
				add("value", rng.Float64())
				add("old_value", rng.Float64())
				add("ema", x+0.6*(rng.Float64()-0.5))
				add("old_uniform_logp", -3*rng.Float64())
			}
		}
	}
	frame, err := formula.NewFrame(groups, tokens, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := formula.NewTable(frame)
	for _, f := range facts {
		v := values[f.Name]
		if f.Level == formula.Run {
			v = []float64{0.5}
		}
		if err := table.Add(f.Name, formula.Column{Level: f.Level, V: v}); err != nil {
			t.Fatal(err)
		}
	}
	return table, facts
}

// whole is all of a step as one update, with the states of the method as they begin.
func whole(t *testing.T, a *Algorithm, table *formula.Table) *Update {
	t.Helper()
	keys := func(string) []string { return make([]string, table.Size(formula.Group)) }
	for name, c := range new(States).Columns(a, keys) {
		if err := table.Add(name, c); err != nil {
			t.Fatal(err)
		}
	}
	step, err := a.Step(table)
	if err != nil {
		t.Fatal(err)
	}
	u, err := step.Update(nil)
	if err != nil || u == nil {
		t.Fatalf("no update: %v; completions are refused: %q", err, step.Refused)
	}
	return u
}

// eachTrainable runs a test for every method that a stage can train with.
func eachTrainable(t *testing.T, test func(t *testing.T, a *Algorithm)) {
	_, facts := randomStep(t, []int{0, 1, 2, 3})
	for _, name := range MethodNames() {
		m, err := LoadMethod(name)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := m.Compile(facts); err == nil {
			t.Run(name, func(t *testing.T) { test(t, a) })
		}
	}
}

// TestPartsAndOrder: a local loss has the same derivatives in parts, and no method's loss,
// derivatives or metrics depend on the order of the groups, not in their last bit.
func TestPartsAndOrder(t *testing.T) {
	eachTrainable(t, func(t *testing.T, a *Algorithm) {
		table, _ := randomStep(t, []int{0, 1, 2, 3})
		u := whole(t, a, table)
		loss, slopes, err := u.Loss()
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := u.Metrics()
		if err != nil {
			t.Fatal(err)
		}
		if local, _ := a.Local(); local {
			for c := range u.Table.Size(formula.Completion) {
				in := make([]bool, u.Table.Size(formula.Completion))
				in[c] = true
				part, err := u.Table.Select(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := u.PartSlopes(part)
				if err != nil {
					t.Fatal(err)
				}
				from, to := u.Table.Tokens(c)
				for fact, want := range slopes {
					if !slices.Equal(got[fact].V, want.V[from:to]) {
						t.Errorf("derivatives by %s of completion %d alone: %v, of the whole %v", fact, c, got[fact].V, want.V[from:to])
					}
				}
			}
		}
		other, _ := randomStep(t, []int{3, 1, 0, 2})
		v := whole(t, a, other)
		otherLoss, _, err := v.Loss()
		if err != nil {
			t.Fatal(err)
		}
		otherMetrics, err := v.Metrics()
		if err != nil {
			t.Fatal(err)
		}
		if otherLoss != loss {
			t.Errorf("loss %v in one order and %v in another", loss, otherLoss)
		}
		for name, x := range metrics {
			if otherMetrics[name] != x {
				t.Errorf("%s is %v in one order and %v in another", name, x, otherMetrics[name])
			}
		}
	})
}

// TestDerivatives: those of a method's loss equal finite differences. What stop cuts off
// has none, so methods with such weights are held by package formula and the reference
// figures.
func TestDerivatives(t *testing.T) {
	stopped := []string{"bco_pair", "mpo", "cispo", "clip_cov", "topr", "vespo", "dft", "areal", "tis", "mis", "nemo_rl"}
	eachTrainable(t, func(t *testing.T, a *Algorithm) {
		if slices.Contains(stopped, a.Method.Name) {
			return
		}
		table, facts := randomStep(t, []int{0, 1, 2, 3})
		u := whole(t, a, table)
		loss, slopes, err := u.Loss()
		if err != nil {
			t.Fatal(err)
		}
		at := func(token int, by float64) float64 {
			moved := formula.NewTable(table.Frame)
			for _, f := range facts {
				c, _ := table.Column(f.Name)
				if f.Name == "logp" {
					c.V = slices.Clone(c.V)
					c.V[token] += by
				}
				if err := moved.Add(f.Name, c); err != nil {
					t.Fatal(err)
				}
			}
			v := whole(t, a, moved)
			x, err := v.Value()
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		d := u.Table.Restore(slopes["logp"], table.Size(formula.Token)).V
		for token := 0; token < len(d); token += 3 {
			// Central differences: an error of h squared times the third derivative (bounded by
			// 64 for log-ratios below 0.5), and roundings of the loss over h.
			const h = 0x1p-17
			got := (at(token, h) - at(token, -h)) / (2 * h)
			if bound := 64*h*h + 1024*0x1p-53*(1+math.Abs(loss))/h; math.Abs(got-d[token]) > bound {
				t.Errorf("token %d: derivative %v, difference %v", token, d[token], got)
			}
		}
	})
}
