package train

import (
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
)

// TestRunFacts: every fact that formulas may read is supplied by a column, by the trainer
// or by a supplier of package cast; and no column is there that they cannot name.
func TestRunFacts(t *testing.T) {
	supplied := []string{"ref", "ema", "old_value", "old_uniform_logp", "mismatched", "task", "task.*", "row.*", "reward.*"}
	for name := range patterns {
		supplied = append(supplied, name)
	}
	for name := range histories {
		supplied = append(supplied, name)
	}
	for name := range columns {
		supplied = append(supplied, name)
	}
	for _, f := range nowFacts {
		supplied = append(supplied, f.fact)
	}
	var facts []string
	for _, f := range append(algo.RunFacts(), algo.StaleFacts()...) {
		facts = append(facts, f.Name)
		if f.Now != isNow(f.Name) {
			t.Errorf("%s: of now is %v here and %v there", f.Name, isNow(f.Name), f.Now)
		}
	}
	slices.Sort(supplied)
	slices.Sort(facts)
	if !slices.Equal(supplied, facts) {
		t.Errorf("supplied are %v, facts of a run are %v", supplied, facts)
	}
}

// TestPlaces: rows of a table are found again in a selection of it, whatever their order.
func TestPlaces(t *testing.T) {
	in := []bool{false, true, true, false, true}
	got := placed(in, []member{{row: 4}, {row: 1}, {row: 2}})
	if want := []member{{row: 2}, {row: 0}, {row: 1}}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestUpdates: metrics of formulas are weighted by tokens, the loss and the norm are not,
// and what is of the first update stays so.
func TestUpdates(t *testing.T) {
	row := map[string]float64{}
	updates{
		{tokens: 3, loss: 1, norm: 2, metrics: map[string]float64{"policy/entropy": 4, "policy/ratio_mean": 1, "policy/equal": 3}},
		{tokens: 1, loss: 3, norm: 4, metrics: map[string]float64{"policy/entropy": 8, "policy/ratio_mean": 2, "policy/equal": 0}},
	}.into(row)
	for name, want := range map[string]float64{
		"optim/updates": 2, "policy/loss": 2, "policy/grad_norm": 3, "policy/entropy": 5, "policy/ratio_mean": 1.25, "policy/ratio_first": 1, "policy/equal": 3,
	} {
		if row[name] != want {
			t.Errorf("%s is %v, want %v", name, row[name], want)
		}
	}
}
