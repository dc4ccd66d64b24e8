package run

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
)

// sampledTokens are those of the steps that learn from rewards.
func sampledTokens(t *testing.T, dir string) []int {
	t.Helper()
	var out []int
	for _, row := range metricRows(t, dir, "rollout/tokens") {
		if n, ok := row["rollout/tokens"].(float64); ok {
			out = append(out, int(n))
		}
	}
	return out
}

// TestBudget: a stage ends after the step that samples its last token, also where the
// run was cut before; the log of held-out problems has one outcome for each.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	dir := t.TempDir()
	trainIn(t, dir, false, smallRun...)
	all := sampledTokens(t, dir)
	if len(all) < 4 {
		t.Fatalf("%d steps", len(all))
	}
	set := append(slices.Clone(smallRun), fmt.Sprintf("stage.rl.max_sampled_tokens=%d", all[0]+all[1]+1))
	limited := t.TempDir()
	trainIn(t, limited, false, set...)
	if got := sampledTokens(t, limited); !slices.Equal(got, all[:3]) {
		t.Errorf("tokens %v under a budget, %v without", got, all)
	}
	for _, line := range linesOf(t, filepath.Join(limited, "heldout.jsonl")) {
		if n := len(line["problems"].([]any)); n != shortRecipe(t, set...).Task.EvalProblems {
			t.Errorf("outcomes of %d problems", n)
		}
	}
	want := runFiles(t, limited)
	n := len(checkpointDirs(t, limited))
	for keep := n - 2; keep < n; keep++ { // in the middle of the stage, and at its end
		cut := copyRun(t, limited)
		for _, c := range checkpointDirs(t, cut)[keep:] {
			if err := os.RemoveAll(c); err != nil {
				t.Fatal(err)
			}
		}
		trainIn(t, cut, true, set...)
		sameRun(t, runFiles(t, cut), want)
	}
}

// TestBudgetOfEachStage: a stage does not pay for the tokens of the one before.
func TestBudgetOfEachStage(t *testing.T) {
	r := &run{state: State{Sampled: 5, Began: true}}
	r.state.At.Step = 3
	r.next()
	if r.state.Sampled != 0 || r.state.Began || r.state.At.Step != 0 || r.state.At.Stage != 1 {
		t.Errorf("%+v", r.state)
	}
}

// TestPatience: a stage ends once the accuracy of so many evaluations in a row has not risen. This policy is never right,
// so that the first evaluation is the best one. A run that was cut before comes to the same bytes, and one that goes on
// with more patience to those of a run that had as much from the beginning.
func TestPatience(t *testing.T) {
	var s *stall
	if s.heard(math.NaN()) != nil {
		t.Error("nothing was scored, and it is the best")
	}
	for _, c := range []struct {
		accuracy, best float64
		since          int
	}{{0.2, 0.2, 0}, {0.2, 0.2, 1}, {0.1, 0.2, 2}, {0.3, 0.3, 0}, {0.2, 0.3, 1}, {math.NaN(), 0.3, 1}} {
		if s = s.heard(c.accuracy); s.Best != c.best || s.Since != c.since {
			t.Errorf("%+v after %v, want %v, %d", *s, c.accuracy, c.best, c.since)
		}
	}
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	with := func(patience string) []string { return append(slices.Clone(smallRun), "stage.rl.patience="+patience) }
	dir := t.TempDir()
	_, shown := trainIn(t, dir, false, with("1")...)
	if n := len(sampledTokens(t, dir)); n != 2 || !strings.Contains(shown, "stage rl ends after step 2: accuracy has not risen above its best, 0.0 %, for 1 evaluation (patience)\n") {
		t.Fatalf("%d steps:\n%s", n, shown)
	}
	want := runFiles(t, dir)
	n := len(checkpointDirs(t, dir))
	for keep := n - 2; keep < n; keep++ { // before the last evaluation, and at the end of the stage
		cut := copyRun(t, dir)
		for _, c := range checkpointDirs(t, cut)[keep:] {
			must(t, os.RemoveAll(c))
		}
		trainIn(t, cut, true, with("1")...)
		sameRun(t, runFiles(t, cut), want)
	}

	_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, append(with("1"), "stage.rl.steps=9")...)), Dir: dir, Resume: true, Device: tester(t), Show: new(strings.Builder)})
	if err == nil || !strings.Contains(err.Error(), "stage rl is over: accuracy has not risen above its best, 0.0 %, for 1 evaluation") || !slices.Contains(hint.All(err), "to go on, add --set stage.rl.patience=2") {
		t.Errorf("%v, %q", err, hint.All(err))
	}
	sameRun(t, runFiles(t, dir), want)
	whole := t.TempDir()
	trainIn(t, dir, true, with("2")...)
	trainIn(t, whole, false, with("2")...)
	got, all := runFiles(t, dir), runFiles(t, whole)
	if n := len(sampledTokens(t, whole)); n != 3 || got["completions.jsonl"] != all["completions.jsonl"] || !slices.Equal(unmeasured(t, got), unmeasured(t, all)) {
		t.Errorf("%d steps, or other bytes", n)
	}

	for _, c := range []struct{ from, to, says string }{
		{"stage.rl.patience=0", "stage.rl.patience=1", "would differ: evaluations were not counted without patience"},
		{"stage.rl.patience=9", "stage.rl.patience=9", "would differ: patience would have counted an evaluation after step 4"},
	} {
		dir := t.TempDir()
		trainIn(t, dir, false, append(slices.Clone(smallRun), c.from)...)
		if _, shown := trainIn(t, dir, true, append(slices.Clone(smallRun), c.to, "stage.rl.steps=5")...); !strings.Contains(shown, c.says) {
			t.Errorf("from %s to %s it does not say %q:\n%s", c.from, c.to, c.says, shown)
		}
	}
}
