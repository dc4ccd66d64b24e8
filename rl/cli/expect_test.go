package cli

import (
	"testing"

	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe/presets"
)

// TestDue: every expectation of a recipe can be measured: its control loads and shares model, task
// and the stages before RL. What counts is not due again; what was measured before a change comes
// first, in the order of the file.
func TestDue(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: opens every recipe with expectations, several times")
	}
	all := 0
	for _, p := range presets.All() {
		all += len(p.Expects)
	}
	due, err := dueOf(nil)
	if err != nil || len(due) != all || all < 20 {
		t.Fatalf("%d of %d expectations are due: %v", len(due), all, err)
	}
	of := func(e expected, own string) compare.Measured {
		return compare.Measured{Recipe: e.recipe, Metric: e.says.Metric, Than: e.says.Than, Direction: e.says.Direction, Own: own, Control: e.arms[0].recipe.Hash()}
	}
	last, first, other := due[len(due)-1], due[0], due[1]
	again, err := dueOf([]compare.Measured{of(last, "an older one"), of(first, "an older one"), of(other, other.arms[1].recipe.Hash())})
	if err != nil || len(again) != all-1 || again[0].recipe != last.recipe || again[1].recipe != first.recipe {
		t.Errorf("%d are due, first %s and %s: %v; want %d, first %s and %s", len(again), again[0].recipe, again[1].recipe, err, all-1, last.recipe, first.recipe)
	}
}
