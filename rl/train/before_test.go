package train

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestChangedSettings: demonstrations of a step are of the settings that its formulas give, and a
// stage without formulas draws from the task as it is.
func TestChangedSettings(t *testing.T) {
	of := func(settings string) before {
		t.Helper()
		r, err := recipe.Parse("r.toml", "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"chain_sum\"\n[[stage]]\nkind = \"sft\"\nhold_steps = 8\ndecay_steps = 2\n"+settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFacts(Parts{Recipe: r}, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBefore(f, prompts.Of(r.Task.Settings))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const n = 6
	// terms counts the terms of the problems of a step.
	terms := func(b before, step int, row metrics.Row) (out [n]int) {
		t.Helper()
		sources, err := b.changed(Position{Step: step}, b.whole, n, row)
		if err != nil {
			t.Fatal(err)
		}
		for i, source := range sources {
			question := source.Draw(random.At(1, 2, uint64(i))).Question
			out[i] = 1 + strings.Count(question, "+") + strings.Count(question, "-")
		}
		return out
	}
	b := of("curriculum.settings = {terms = \"if(step < steps, 2, 3)\", max_number = \"if(prompt_chance < 0.5, 5, 20)\"}\n")
	for step, want := range map[int]int{0: 2, 8: 2, 9: 3} { // steps counts hold_steps and decay_steps
		row := metrics.Row{}
		if got := terms(b, step, row); got != [n]int{want, want, want, want, want, want} || math.Abs(row["curriculum/setting/terms"]-float64(want)) > n*float64(want)*0x1p-53 { // a sum of n rounded shares
			t.Errorf("step %d: %v terms, %v", step+1, got, row)
		}
		if mean := row["curriculum/setting/max_number"]; mean <= 5 || mean >= 20 {
			t.Errorf("step %d: all problems have the same largest number, %g", step+1, mean)
		}
	}
	row := metrics.Row{}
	if got := terms(of(""), 0, row); got != [n]int{4, 4, 4, 4, 4, 4} || len(row) != 0 {
		t.Errorf("without formulas: %v terms, %v", got, row)
	}
}
