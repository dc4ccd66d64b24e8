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

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// TestReplayRefused: a run is repeated by its schedule from the model that it started from. From
// another one, by a schedule that lets a group come too late, or by a file that is none, it is
// refused.
func TestReplayRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains four times")
	}
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

	text := scheduleText(t, []record.Arrived{group(2, 0), group(1, 1), group(1, 2), group(1, 3), group(1, 4)}, []record.Arrived{group(2, 1), group(2, 2), group(2, 3), group(2, 4), group(3, 0)})
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
	late := strings.ReplaceAll(text, `{"step":3,"prompt":0,"version":0}`, `{"step":3,"prompt":0,"version":2}`)
	refused("a group that comes too late", record.ScheduleFile, late, "schedule.jsonl: step 2 leaves out prompt 0 of step 1, but with lag = 1 it cannot come later")
	refused("no text", record.ScheduleFile, "\xff\n", "schedule.jsonl: line 1: not UTF-8 text")
	refused("no origin", originFile, "null", "found null; accepted: an object")
	for _, c := range checkpointDirs(t, base)[1:] {
		must(t, os.RemoveAll(c)) // the newest checkpoint is another one
	}
	refused("another model", originFile, "", "in whose place is now that in ")
}

// group is one that the initial weights drew.
func group(step, prompt int) record.Arrived { return record.Arrived{Step: step, Prompt: prompt} }

// scheduleText is a schedule file.
func scheduleText(t *testing.T, steps ...[]record.Arrived) string {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for i, groups := range steps {
		must(t, enc.Encode(record.Schedule{Step: i + 1, Stage: "rl", Groups: groups}))
	}
	return text.String()
}

// TestReplayResumed: a run that repeats another and is killed goes on by the same schedule, though
// that is in no folder but its own any more. Where its device computes other bits, it says so.
func TestReplayResumed(t *testing.T) {
	live, again := t.TempDir(), filepath.Join(t.TempDir(), "run")
	sets := append(slices.Clone(quiet), "stage.warm-up.skip=true", "stage.rl.steps=2", "stage.rl.lag=1", "stage.rl.order=arrival")
	trainIn(t, live, false, sets...)
	schedule := filepath.Join(live, record.ScheduleFile)
	inOrder, err := os.ReadFile(schedule)
	must(t, err)
	must(t, os.WriteFile(schedule, []byte(scheduleText(t, []record.Arrived{group(2, 0), group(1, 1), group(1, 2), group(1, 3), group(1, 4)},
		[]record.Arrived{group(2, 1), group(1, 0), group(2, 2), group(2, 3), group(2, 4)})), 0o600))
	dev := tester(t)
	_, err = Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: again, Replay: live, Device: dev, Show: &bytes.Buffer{}})
	must(t, err)
	want := runFiles(t, again)
	if want[record.ScheduleFile] == string(inOrder) {
		t.Fatal("the schedule is that of a run without one")
	}
	must(t, os.Remove(schedule))
	resumed := func(cleared ...string) {
		t.Helper()
		for _, c := range checkpointDirs(t, again) { // as if it was killed before its first one
			must(t, os.RemoveAll(c))
		}
		for _, log := range cleared {
			must(t, os.Truncate(filepath.Join(again, log), 0))
		}
		trainIn(t, again, true, sets...)
		sameRun(t, runFiles(t, again), want)
	}
	resumed("metrics.jsonl", record.ScheduleFile)
	// What it took after the end of the schedule that it repeats, it takes again.
	begin, _, _ := strings.Cut(want[record.ScheduleFile], "\n")
	must(t, os.WriteFile(filepath.Join(again, replayFile), []byte(begin+"\n"), 0o600))
	resumed("metrics.jsonl")

	here := NewState(dev.Caps())
	if notes := elsewhere(again, here); notes != nil {
		t.Errorf("%q on the same device", notes)
	}
	here.Device = "another"
	if notes := elsewhere(again, here); len(notes) != 1 || !strings.Contains(notes[0], "this is another, numerics version") {
		t.Errorf("%q on another device", notes)
	}
	if notes := elsewhere(t.TempDir(), here); notes != nil {
		t.Errorf("%q of a run that says nothing", notes)
	}
}
