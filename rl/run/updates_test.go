package run

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestUpdates: of a step with several updates the log has the groups, the loss and the gradient of each,
// and the tokens of a step have what the parts that the recipe writes came to in the update that they
// were in. A run that is cut and resumed comes to the same files.
func TestUpdates(t *testing.T) {
	dir := resumed(t, "stage.rl.updates_per_rollout=2", "stage.rl.token_every=2", "stage.rl.algorithm.preset=",
		"stage.rl.algorithm.advantage=reward - group_mean(reward)", "stage.rl.algorithm.moved=logp - start", "stage.rl.algorithm.twice=2*reward", "stage.rl.algorithm.policy=-A*exp(moved) + 0*twice")
	loss, norm, updates := map[int]float64{}, map[int]float64{}, map[int]int{}
	in := map[[2]int]int{} // update by step and group
	log, err := record.Open(filepath.Join(dir, record.UpdatesFile))
	must(t, err)
	for step := 1; step <= 4; step++ {
		must(t, record.Lines(log, step, record.AllGroups, func(_ int, u record.Update) error {
			updates[u.Step]++
			if u.Update != updates[u.Step] || u.Stage != "rl" || u.Tokens == 0 {
				t.Errorf("update %d of the step: %+v", updates[u.Step], u)
			}
			loss[u.Step], norm[u.Step] = loss[u.Step]+u.Loss/2, norm[u.Step]+u.GradNorm/2
			for _, g := range u.Groups {
				in[[2]int{u.Step, g}] = u.Update
			}
			return nil
		}))
	}
	if len(in) != 16 {
		t.Fatalf("%d groups of four steps are in an update, want 16", len(in))
	}
	for i, row := range metricRows(t, dir, "policy/loss") {
		if row["optim/updates"] != 2.0 || row["policy/loss"] != loss[i+1] || row["policy/grad_norm"] != norm[i+1] {
			t.Errorf("step %d: %v updates, loss %v and gradient %v; those of its updates have the means %v and %v", i+1, row["optim/updates"], row["policy/loss"], row["policy/grad_norm"], loss[i+1], norm[i+1])
		}
	}
	rewards := map[[3]int]float64{}
	for _, l := range linesOf(t, filepath.Join(dir, record.CompletionsFile)) {
		rewards[[3]int{int(l["step"].(float64)), int(l["group"].(float64)), int(l["sample"].(float64))}] = l["reward"].(float64)
	}
	log, err = record.Open(filepath.Join(dir, record.TokensFile))
	must(t, err)
	seen, steps := 0, []int{}
	for step := 1; step <= 4; step++ {
		must(t, record.Lines(log, step, record.AllGroups, func(_ int, l record.Tokens) error {
			if !slices.Contains(steps, l.Step) {
				steps = append(steps, l.Step)
			}
			moved, twice := l.Parts["moved"], l.Parts["twice"]
			if len(l.Parts) != 4 || len(moved) != len(l.IDs) || len(twice) != 1 || *twice[0] != 2*rewards[[3]int{l.Step, l.Group, l.Sample}] {
				t.Fatalf("step %d, group %d: the parts are %v", l.Step, l.Group, l.Parts)
			}
			for i, v := range moved {
				seen++
				if first := in[[2]int{l.Step, l.Group}] == 1; first != (*v == 0) {
					t.Errorf("step %d, group %d: in update %d the log-prob of token %d has moved by %v since the step began", l.Step, l.Group, in[[2]int{l.Step, l.Group}], i, *v)
				}
				if slope := -(*l.Parts["advantage"][0]) * math.Exp(*v); slope != *l.Parts["policy"][i] {
					t.Errorf("policy is %v, want %v", *l.Parts["policy"][i], slope)
				}
			}
			return nil
		}))
	}
	if seen == 0 || !slices.Equal(steps, []int{1, 3}) {
		t.Errorf("%d tokens of the steps %v", seen, steps)
	}
	plain := resumed(t)
	if _, err := os.Stat(filepath.Join(plain, record.UpdatesFile)); !os.IsNotExist(err) {
		t.Errorf("a run with one update a step has %s: %v", record.UpdatesFile, err)
	}
}
