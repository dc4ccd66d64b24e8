package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
