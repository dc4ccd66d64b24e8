package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
)

// scored are outcomes of problems with four samples, of which so many are right.
func scored(step int, right ...int) *Evaluation {
	line := record.HeldOut{Step: step, Stage: "rl", Samples: 4}
	for _, n := range right {
		line.Problems = append(line.Problems, record.Outcome{Scored: 4, Right: n, Score: float64(n)})
	}
	return evaluationOf(line)
}

// TestChoice: the last checkpoint is taken, unless it is below the best beyond the interval of their
// difference on the problems that both have.
func TestChoice(t *testing.T) {
	repeat := func(n int, right ...int) []int { return slices.Concat(slices.Repeat([][]int{right}, n)...) }
	up, down := repeat(8, 0, 4), repeat(8, 0, 3)
	for _, c := range []struct {
		name       string
		best, last *Evaluation
		take, why  string
	}{
		{"none is kept", nil, scored(9, 1, 2), store.TakeLast, "no best model is kept"},
		{"nothing since", scored(3, 1, 2), nil, store.TakeLast, "nothing was evaluated since the run continued"},
		{"the same", scored(9, 1, 2), scored(9, 1, 2), store.TakeLast, "no evaluation was better"},
		// Half of the problems are never right, so each mean has a wide interval, in which the other lies;
		// but each other problem fell by a quarter.
		{"fell problem by problem", scored(3, up...), scored(9, down...), store.TakeBest,
			"the last evaluation, at step 9, is below the best, at step 3: 37.5 % against 50.0 %, a difference of -12.5 points (95 %: -19.4 to -5.6, on the same 16 problems)"},
		{"fell and rose", scored(3, repeat(8, 0, 4)...), scored(9, repeat(4, 4, 0, 0, 3)...), store.TakeLast, "the last evaluation, at step 9, is not below the best, at step 3, beyond chance: 43.8 % against 50.0 %"},
		{"fewer problems at the best", scored(3, up[:4]...), scored(9, down...), store.TakeLast, "on the same 4 problems"},
		{"one problem", scored(3, 4), scored(9, 0), store.TakeLast, "no evaluation was better"},
	} {
		s := standing{keep: true, folder: newFolder(t)}
		s.Best, s.Last = c.best, c.last
		must(t, s.write())
		if s.Take != c.take || !strings.Contains(s.Why, c.why) {
			t.Errorf("%s: takes the %s: %s; want the %s: %s", c.name, s.Take, s.Why, c.take, c.why)
		}
	}
	for _, c := range []struct {
		start, last *Evaluation
		below       bool
	}{
		{scored(0, up...), scored(9, down...), true},
		{scored(0, down...), scored(9, up...), false},
		{scored(0, up...), scored(9, repeat(4, 4, 0, 0, 3)...), false},
		{scored(0, up...), scored(0, up...), false},
		{nil, scored(9, down...), false},
	} {
		s := standing{folder: newFolder(t)}
		s.Start, s.Last = c.start, c.last
		must(t, s.write())
		if s.BelowStart != c.below {
			t.Errorf("below its start: %v, want %v: %+v", s.BelowStart, c.below, s.Gain)
		}
	}
}

// newFolder is the folder of a run.
func newFolder(t *testing.T) *store.Run {
	t.Helper()
	folder, err := store.Create(store.OS(), t.TempDir())
	must(t, err)
	t.Cleanup(func() { folder.Close() })
	return folder
}

// wandering makes runs whose held-out figure goes up and down: a model of random weights is right when
// it writes little. Checkpoints and evaluations are not of the same steps.
func wandering(t *testing.T) func(dir string, resume bool, sets ...string) {
	t.Helper()
	folder := t.TempDir()
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, `{"prompt":"say %d"}`+"\n", i)
	}
	must(t, os.WriteFile(filepath.Join(folder, "rows.jsonl"), []byte(rows.String()), 0o644))
	ends := make([]string, 100) // tokens that end a completion
	for i := range ends {
		ends[i] = fmt.Sprint(2 * i)
	}
	text := fmt.Sprintf(`model.path = %q
[task]
data = "rows.jsonl"
verifier = "format"
options = {pattern = '(?s).?'}
max_prompt_tokens = 64
held_out = 0.5
eval_problems = 20
eval_samples = 2
[checkpoint]
keep = 100
[[stage]]
kind = "rl"
steps = 9
prompts_per_step = 2
group_size = 2
eval_every = 1
eval_problems = 12
checkpoint_every = 4
sampling.max_completion_tokens = 12
sampling.stop_tokens = [%s]
reward = "random"
optimizer.lr = 1e-4
`, chatModel(t), strings.Join(ends, ", "))
	file := filepath.Join(folder, "recipe.toml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	return func(dir string, resume bool, sets ...string) {
		t.Helper()
		r, err := recipe.Load(file, sets)
		must(t, err)
		var shown strings.Builder
		if _, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: resume, Device: tester(t), Show: &shown}); err != nil {
			t.Fatalf("%v after\n%s", err, shown.String())
		}
	}
}

// standingIn is the result of a run.
func standingIn(t *testing.T, dir string) (s Standing) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, store.ResultFile))
	must(t, err)
	must(t, json.Unmarshal(text, &s))
	return s
}

// TestKeepBest: the best model is kept beside the logs and the checkpoints, which are the same without
// it; and it is that of the best evaluation.
func TestKeepBest(t *testing.T) {
	with, without, run := t.TempDir(), t.TempDir(), wandering(t)
	run(with, false)
	run(without, false, "checkpoint.keep_best=false")
	got, want := runFiles(t, with), runFiles(t, without)
	for _, files := range []map[string]string{got, want} {
		for name := range files {
			if strings.HasPrefix(name, "best/") || name == store.ResultFile || name == recipe.File {
				delete(files, name)
			}
		}
		editReceipt(t, files, func(r *receipt.Receipt) {
			r.Recipe, r.Best = "", nil
			r.Logs = slices.DeleteFunc(r.Logs, func(h receipt.Hash) bool { return h.Name == store.ResultFile })
		})
	}
	sameRun(t, got, want)

	s := standingIn(t, with)
	if s.Best == nil || s.Start.Step != 0 || s.Last.Step != 9 || standingIn(t, without).Best != nil {
		t.Fatalf("%+v", s)
	}
	most, at := -1.0, 0
	for _, row := range metricRows(t, with, "eval/mean") {
		if mean := row["eval/mean"].(float64); row["eval/problems"] == 12.0 && mean > most {
			most, at = mean, int(row["step"].(float64))
		}
	}
	if s.Best.Step != at || at == 9 || at == 0 {
		t.Errorf("the best is that of step %d, and step %d came to %v: %+v", s.Best.Step, at, most, s)
	}
	model, err := store.BestModel(store.OS(), with)
	must(t, err)
	if model.Step() != s.Best.Step {
		t.Errorf("the model is that of step %d, want %d", model.Step(), s.Best.Step)
	}
	// Its weights are those of the checkpoint of its step, where there is one.
	every := t.TempDir()
	run(every, false, "stage.rl.checkpoint_every=1", "checkpoint.keep_best=false")
	weights := func(dir string) string {
		data, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
		must(t, err)
		return string(data)
	}
	if weights(model.Dir()) != weights(filepath.Join(every, "checkpoints", fmt.Sprintf("step-%06d", model.Step()))) {
		t.Error("the best model has other weights than the policy had after its step")
	}
}

// TestBestIsKeptOnResume: whatever checkpoint a run goes on from, its best model and its result are
// those of an undisturbed one.
func TestBestIsKeptOnResume(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: resumes from each checkpoint")
	}
	base, run := t.TempDir(), wandering(t)
	run(base, false, "stage.rl.checkpoint_every=2")
	want, n := runFiles(t, base), len(checkpointDirs(t, base))
	for keep := range n {
		dir := copyRun(t, base)
		for _, c := range checkpointDirs(t, dir)[keep:] {
			must(t, os.RemoveAll(c))
		}
		if keep == 0 {
			must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
		}
		run(dir, true, "stage.rl.checkpoint_every=2")
		sameRun(t, runFiles(t, dir), want)
		if t.Failed() {
			t.Fatalf("resumed from checkpoint %d of %d", keep, n)
		}
	}
}
