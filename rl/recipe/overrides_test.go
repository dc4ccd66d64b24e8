package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

// TestOverridesBlamed: an override that is wrong is blamed itself, not the line of a preset that it
// meets, with the override that is right, which can be pasted.
func TestOverridesBlamed(t *testing.T) {
	for _, c := range []struct {
		set, want, not string
		hints          []string // overrides that are right
	}{
		// A key without its place.
		{"lr=1e-4", "--set lr=1e-4: unknown key lr; did you mean stage.rl.optimizer.lr, ", "", []string{"stage.rl.optimizer.lr=1e-4"}},
		{"stage.rl.lr=1e-4", "--set stage.rl.lr=1e-4: unknown key stage.rl.lr; did you mean stage.rl.optimizer.lr?", "stage.sft", []string{"stage.rl.optimizer.lr=1e-4"}},
		{"optimizer.lr=1e-4", "--set optimizer.lr=1e-4: ", "", []string{"stage.rl.optimizer.lr=1e-4"}},
		{"group_size=4", "--set group_size=4: ", "", []string{"stage.rl.group_size=4"}},
		{"temperature=0.9", "--set temperature=0.9: ", "", []string{"stage.rl.sampling.temperature=0.9"}},
		{"layers=3", "--set layers=3: unknown key layers; did you mean model.layers?", "", []string{"model.layers=3"}},
		{"max_number=40", "--set max_number=40: ", "", nil},
		// A key of the whole recipe, and one of none.
		{"stage.rl.paper=x", "unknown key stage.rl.paper; did you mean paper?", "", []string{"paper=x"}},
		{"stage.rl.nosuch=1", "--set stage.rl.nosuch=1: unknown key stage.rl.nosuch", "did you mean", nil},
		// A value that fits no other.
		{"stage.rl.prompts_per_step=1", "--set stage.rl.prompts_per_step=1: stage.rl.updates_per_rollout", "countdown-tiny:", nil},
		{"model.head_dim=31", "--set model.head_dim=31: model.head_dim = 31; accepted: an even number", "countdown-tiny:", nil},
	} {
		_, err := Load("countdown-tiny", []string{c.set})
		if err == nil {
			t.Errorf("--set %s is taken", c.set)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("--set %s: %v; want %s, not %q", c.set, err, c.want, c.not)
		}
		hints := hint.All(err)
		for _, right := range c.hints {
			if !slices.Contains(hints, "--set "+right) {
				t.Errorf("--set %s: hints %q, want --set %s", c.set, hints, right)
			}
			if _, err := Load("countdown-tiny", []string{right}); err != nil {
				t.Errorf("the hint of --set %s: %v", c.set, err)
			}
		}
	}
}

// TestBends: what a preset has and nobody wrote bends to what is set; what is written in two
// places and does not fit is an error.
func TestBends(t *testing.T) {
	for set, want := range map[string][2]int{ // held-out problems of the task, and of the stage
		"task.eval_problems=4":        {4, 4},
		"stage.rl.eval_problems=1000": {1000, 1000},
	} {
		r, err := Load("countdown-tiny", []string{set})
		if err != nil {
			t.Errorf("--set %s: %v", set, err)
			continue
		}
		rl := r.Stages[slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Kind == KindRL })]
		if got := [2]int{r.Task.EvalProblems, rl.EvalProblems}; got != want {
			t.Errorf("--set %s: %v, want %v", set, got, want)
		}
		again, err := Parse("again", r.Resolved(), nil)
		if err != nil || again.Task.EvalProblems != want[0] {
			t.Errorf("--set %s, written and read again: %v", set, err)
		}
	}
	for _, sets := range [][]string{
		{"task.eval_problems=4", "stage.rl.eval_problems=5"},
	} {
		if _, err := Load("countdown-tiny", sets); err == nil {
			t.Errorf("%q is taken", sets)
		}
	}
	if _, err := Parse("own.toml", example, []string{"task.eval_problems=4"}); err == nil || !strings.Contains(err.Error(), "at most task.eval_problems = 4") {
		t.Errorf("the stage of the file says 50: %v", err)
	}
	based := "base = \"countdown-tiny\"\n[[stage]]\nname = \"rl\"\neval_problems = 1000\n"
	if r, err := Parse("own.toml", based, nil); err != nil || r.Task.EvalProblems != 1000 {
		t.Errorf("over a preset: %v", err)
	}
}
