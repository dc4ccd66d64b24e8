package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/train"
)

// TestReplayRefused: a run is repeated by its schedule from the model that it started from. From
// another one, by a schedule that lets a group come too late, or by a file that is none, it is
// refused.
func TestReplayRefused(t *testing.T) {
	base, live := t.TempDir(), t.TempDir()
	trainIn(t, base, false, append(slices.Clone(quiet), "stage.rl.steps=1")...)
	sets := append(slices.DeleteFunc(slices.Clone(quiet), func(set string) bool { return strings.HasPrefix(set, "model.") }),
		"model.path="+base, "stage.warm-up.skip=true", "stage.rl.steps=2", "stage.rl.lag=1", "stage.rl.order=arrival")
	trainIn(t, live, false, sets...)
	replay := func(dir string) (string, error) {
		again := filepath.Join(t.TempDir(), "run")
		_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: again, Replay: dir, Device: tester(t), Show: &bytes.Buffer{}})
		return again, err
	}
	again, err := replay(live)
	must(t, err)
	sameRun(t, runFiles(t, again), runFiles(t, live))

	group := func(step, prompt int) train.Arrived { return train.Arrived{Step: step, Prompt: prompt} }
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for step, groups := range [][]train.Arrived{
		{group(2, 0), group(1, 1), group(1, 2), group(1, 3), group(1, 4)}, {group(2, 1), group(2, 2), group(2, 3), group(2, 4), group(3, 0)},
	} {
		must(t, enc.Encode(train.ScheduleLine{Step: step + 1, Stage: "rl", Groups: groups}))
	}
	sets = append(sets, "stage.rl.steps=4")
	longer := t.TempDir()
	trainIn(t, longer, false, sets...)
	refused := func(name, file, text, want string) {
		t.Helper()
		file = filepath.Join(longer, file)
		was, err := os.ReadFile(file)
		must(t, err)
		if text != "" {
			must(t, os.WriteFile(file, []byte(text), 0o600))
		}
		again, err := replay(longer)
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := os.Stat(again); name != "a group that comes too late" && err == nil {
			t.Errorf("%s: there is a run folder", name)
		}
		must(t, os.WriteFile(file, was, 0o600))
	}
	late := strings.ReplaceAll(text.String(), `{"step":3,"prompt":0,"version":0}`, `{"step":3,"prompt":0,"version":2}`)
	refused("a group that comes too late", train.ScheduleFile, late, "schedule.jsonl: step 2 leaves prompt 0 of step 1, but lag = 1 lets none come later")
	refused("no text", train.ScheduleFile, "\xff\n", "schedule.jsonl: line 1: not UTF-8 text")
	refused("no origin", originFile, "null", "found null; accepted: an object")
	for _, c := range checkpointDirs(t, base)[1:] {
		must(t, os.RemoveAll(c)) // the newest checkpoint is another one
	}
	refused("another model", originFile, "", "which has changed since")
}
