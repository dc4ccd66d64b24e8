package train

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestAnew: what is of one sequence, or shows something once, is refused where a world begins a context anew, which
// a program of others may do at any time.
func TestAnew(t *testing.T) {
	g := rollout.Group{Problem: verify.Problem{ID: "seven"}, Segments: []rollout.Segment{{Parent: -1}, {Fresh: true}}}
	st := &recipe.Stage{Name: "rl"}
	x := subject{facts: &facts{stage: st}, cs: []Completion{{From: &g}, {From: &g, View: rollout.View{Fresh: []int{3}}}}}
	refused := func(what string, err error, want ...string) {
		t.Helper()
		if err == nil || len(hint.All(err)) == 0 {
			t.Fatalf("%s: %v", what, err)
		}
		for _, w := range append(want, "stage rl", "problem seven", "anew") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v lacks %q", what, err, w)
			}
		}
	}
	for _, fact := range []string{algo.GradientNormFact, algo.InfluenceFact + "(1)", algo.OwnInfluenceFact + "(1)",
		algo.NetFact + "(ref, 1)", algo.WayFact + "(ref, 1)", algo.TowardFact + "(ref, 1)", "mismatched"} {
		refused(fact, x.add(formula.NewTable(new(formula.Frame)), fact, asked), "[stage.algorithm]", fact)
	}
	if err := x.oneContext("contexts"); err != nil {
		t.Error(err)
	}
	if x.cs = x.cs[:1]; x.oneContext("mismatched") != nil {
		t.Error("completions of one context are refused")
	}
	if err := remembered(st, []rollout.Group{g}); err != nil {
		t.Error(err)
	}
	st.SecondChance.Show = "{question}"
	refused("show", remembered(st, []rollout.Group{g}), "second_chance.show")
	if g.Segments = slices.Clone(g.Segments[:1]); remembered(st, []rollout.Group{g}) != nil {
		t.Error("an episode in one context is refused")
	}
}
