package run

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
)

// unmeasured are the rows of a run's metrics without evaluations: where a run ended, it measured the
// policy as it does at an end.
func unmeasured(t *testing.T, files map[string]string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(files["metrics.jsonl"]) {
		var row map[string]any
		must(t, json.Unmarshal([]byte(line), &row))
		maps.DeleteFunc(row, func(name string, _ any) bool { return strings.HasPrefix(name, "eval/") })
		if len(row) > 2 { // step and stage
			text, err := json.Marshal(row)
			must(t, err)
			out = append(out, string(text))
		}
	}
	return out
}

// TestLonger: a finished run that goes on with more steps learns what one run of that length learns, to
// the bit: steps that read what earlier ones have left, and the optimizer that goes on. Where what a step
// does depends on the length, it says so.
func TestLonger(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains ten times")
	}
	const same, other = "each step from here on has the bytes of a run that had this length from the beginning", "! a run that had this length from the beginning would differ: "
	for _, c := range []struct {
		name string
		sets []string
		says string
	}{
		{"replay, states, curriculum", slices.Concat(lagged, []string{"stage.rl.lag=0"}), same},
		{"lag", slices.Concat(lagged, []string{"stage.rl.lag=1"}), other + "with lag = 1 the next steps would have been drawn already; the 4 steps before had the old length"},
		{"cosine", slices.Concat(small, []string{"stage.rl.optimizer.schedule=cosine"}), other + "schedule = \"cosine\" depends on the number of steps; the 4 steps before had the old length\n  learning rate: 0.00477 in the last step, 0.0154 in the next\n"},
		{"progress", slices.Concat(small, []string{"stage.rl.reward=random*progress"}), other + "its formulas read progress"},
		{"steps of numbers", slices.Concat(small, []string{`stage.rl.numbers={temperature = "1 + 1/steps"}`}), other + "its formulas read steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, whole := t.TempDir(), t.TempDir()
			trainIn(t, dir, false, append(slices.Clone(c.sets), "stage.rl.steps=4")...)
			first := runFiles(t, dir)
			_, shown := trainIn(t, dir, true, append(slices.Clone(c.sets), "stage.rl.steps=7")...)
			trainIn(t, whole, false, append(slices.Clone(c.sets), "stage.rl.steps=7")...)
			got, want := runFiles(t, dir), runFiles(t, whole)
			if !strings.Contains(shown, "going on with stage.rl.steps = 7, which was 4; the optimizer keeps its state\n") || !strings.Contains(shown, c.says) {
				t.Errorf("it does not say %q:\n%s", c.says, shown)
			}
			if got["recipe.toml"] != want["recipe.toml"] {
				t.Error("the recipe is another one")
			}
			if !strings.HasPrefix(got["completions.jsonl"], first["completions.jsonl"]) || !strings.HasPrefix(got["metrics.jsonl"], first["metrics.jsonl"]) {
				t.Error("what the run had written has changed")
			}
			last := filepath.Base(checkpointDirs(t, dir)[len(checkpointDirs(t, dir))-1])
			if got["completions.jsonl"] == first["completions.jsonl"] {
				t.Error("it did not go on")
			}
			var differ []string
			got["rows"], want["rows"] = strings.Join(unmeasured(t, got), "\n"), strings.Join(unmeasured(t, want), "\n")
			for _, name := range []string{"rows", "completions.jsonl", "tokens.jsonl", "checkpoints/" + last + "/model.safetensors", "checkpoints/" + last + "/trainer/optimizer.safetensors"} {
				if got[name] != want[name] {
					differ = append(differ, name+firstDifference(got[name], want[name]))
				}
			}
			if (differ == nil) != (c.says == same) {
				t.Errorf("differs from one run in %s", differ)
			}
			done, err := receipt.Read(dir)
			must(t, err)
			if n := len(done.Continued); n != 1 || done.Continued[0].Stage != "rl" || !slices.Equal(done.Continued[0].Changes, []receipt.Changed{{Key: "stage.rl.steps", From: "4", To: "7"}}) {
				t.Errorf("the receipt says %+v", done.Continued)
			}
			if audit, err := done.Audit(dir, nil); err != nil || slices.ContainsFunc(audit, func(a receipt.Audited) bool { return a.Err != nil }) {
				t.Errorf("%+v, %v", audit, err)
			}
		})
	}
}

// TestLongerResumes: killed in between, a run that goes on comes to the same bytes, whatever of the two
// files that say so was written; and it may go on again.
func TestLongerResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: resumes a longer run from every checkpoint")
	}
	at := func(steps string) []string { return append(slices.Clone(quiet), "stage.rl.steps="+steps) }
	base := t.TempDir()
	trainIn(t, base, false, at("2")...)
	finished := runFiles(t, base)
	dir := copyRun(t, base)
	trainIn(t, dir, true, at("4")...)
	want := runFiles(t, dir)

	t.Run("interrupted", func(t *testing.T) {
		dir := copyRun(t, base)
		interruptAt(t, dir, true, "step 4: ", at("4"))
		trainIn(t, dir, true, at("4")...)
		got := runFiles(t, dir)
		withoutExtra(t, got, want)
		sameRun(t, got, want)
	})
	t.Run("killed before its first step", func(t *testing.T) {
		dir := copyRun(t, base)
		for _, name := range []string{recipe.File, continuedFile} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(want[name]), 0o644))
		}
		must(t, os.Remove(filepath.Join(dir, receipt.File)))
		trainIn(t, dir, true, at("4")...)
		sameRun(t, runFiles(t, dir), want)
	})
	t.Run("killed before its recipe was written", func(t *testing.T) {
		dir := copyRun(t, base)
		must(t, os.WriteFile(filepath.Join(dir, continuedFile), []byte(want[continuedFile]), 0o644))
		trainIn(t, dir, true, at("2")...)
		got := runFiles(t, dir)
		delete(got, continuedFile)
		sameRun(t, got, finished)
		trainIn(t, dir, true, at("4")...)
		sameRun(t, runFiles(t, dir), want)
	})
	t.Run("again", func(t *testing.T) {
		trainIn(t, dir, true, at("5")...)
		done, err := receipt.Read(dir)
		must(t, err)
		if len(done.Continued) != 2 || done.Continued[1].From != done.Continued[0].To || done.Continued[1].Step != 12 {
			t.Errorf("%+v", done.Continued)
		}
	})
	t.Run("unfinished", func(t *testing.T) {
		dir, whole := t.TempDir(), t.TempDir()
		interruptAt(t, dir, false, "step 2: ", at("3"))
		trainIn(t, dir, true, at("4")...)
		trainIn(t, whole, false, at("4")...)
		got, want := runFiles(t, dir), runFiles(t, whole)
		for name := range want { // states before it went on name the recipe that it had
			if strings.HasPrefix(name, "checkpoints/") && !strings.Contains(name, "/step-000012/") || name == receipt.File {
				delete(want, name)
			}
		}
		maps.DeleteFunc(got, func(name, _ string) bool { _, there := want[name]; return !there })
		sameRun(t, got, want)
	})
}

// TestNotLonger: anything else that changes is refused with its key; nothing is written.
func TestNotLonger(t *testing.T) {
	base := t.TempDir()
	trainIn(t, base, false, quiet...)
	want := runFiles(t, base)
	for _, c := range []struct{ set, want string }{
		{"stage.rl.group_size=2", `recipe.toml has "stage.rl.group_size = 4", the given recipe has "stage.rl.group_size = 2"`},
		{"seed=7", `has "seed = 1", the given recipe has "seed = 7"`},
		{"stage.rl.optimizer.schedule=cosine", `has "stage.rl.optimizer.schedule = constant", the given recipe has "stage.rl.optimizer.schedule = cosine"`},
		{"stage.rl.steps=3", "with stage.rl.steps = 3 stage rl has 3 steps, and 4 are done; accepted: a length that leaves steps to do"},
		{"stage.warm-up.decay_steps=9", "stage.warm-up.decay_steps = 9 comes too late: the stage is over, and had 3"},
	} {
		sets := append(slices.Clone(quiet), c.set)
		_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: base, Resume: true, Device: tester(t), Show: new(strings.Builder)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.set, err, c.want)
		}
		sameRun(t, runFiles(t, base), want)
	}
	// A run of a release that did not keep where its last stage stood.
	state := filepath.Join(checkpointDirs(t, base)[len(checkpointDirs(t, base))-1], "trainer", "state.json")
	r := &run{want: State{Recipe: "new"}}
	r.parts.Recipe = shortRecipe(t, quiet...)
	found, err := ReadState(filepath.Dir(filepath.Dir(state)))
	must(t, err)
	if found.Ended == nil || found.Ended.Step != 4 {
		t.Errorf("the last checkpoint says %+v", found.Ended)
	}
	found.Ended = nil
	if err := r.goesOn(&found, "run"); err == nil || !strings.Contains(err.Error(), "is finished and cannot go on") || !strings.Contains(strings.Join(hint.All(err), ""), "--set model.path=run") {
		t.Errorf("%v", err)
	}
}
