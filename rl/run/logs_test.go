package run

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
)

// openedLogs are the logs of a run on a disk.
func openedLogs(t *testing.T, fsys store.FS) (*logs, *store.Run) {
	t.Helper()
	folder, err := store.Create(fsys, "run")
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLogs(folder, &recipe.Recipe{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, folder
}

// answered is a completion of a problem with a verdict.
func answered(p verify.Problem, ids []int, stop rollout.Stop, text string, v verify.Verdict) train.Completion {
	g := &rollout.Group{
		Problem:  p,
		Segments: []rollout.Segment{{Parent: -1, IDs: []int{9}}, {Author: rollout.Policy, IDs: ids, Stop: stop}},
		Paths:    []rollout.Path{{Leaf: 1, Text: text, Verdicts: []verify.Verdict{v}}},
	}
	return train.Completion{From: g, View: g.View(0), Score: reward.Score{Reward: v.Score}}
}

func logged(t *testing.T, fsys store.FS, name string) string {
	t.Helper()
	in, err := fsys.Open("run/" + name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCompletionLines(t *testing.T) {
	disk := store.NewMem()
	l, _ := openedLogs(t, disk)
	cs := []train.Completion{
		answered(verify.Problem{ID: "1+1", Question: "1 + 1 >"}, []int{5, 6, 1}, rollout.EOS, "<b> & 2", verify.Accept("2", "number", "equal")),
		answered(verify.Problem{Question: "?"}, []int{5}, rollout.Length, "", verify.Abstain("no answer")),
	}
	cs[0].Group, cs[1].Group, cs[1].Score.NotScored = 2, 3, "task: no answer"
	learned := []train.Lesson{{Advantage: 0.5}, {}}
	if err := l.on(event{Kind: stepped, Stage: "rl", At: train.Position{Total: 7}, Event: &train.Event{Completions: cs, Lessons: learned}}); err != nil {
		t.Fatal(err)
	}
	want := `{"step":7,"stage":"rl","prompt_id":"1+1","group":2,"sample":0,"prompt":"1 + 1 >","completion":"<b> & 2","reward":1,"verdict":"right","reason":"equal","advantage":0.5,"tokens":3,"stop":"eos"}
{"step":7,"stage":"rl","prompt_id":"","group":3,"sample":0,"prompt":"?","completion":"","reward":null,"verdict":"not_scored","reason":"no answer","advantage":0,"tokens":1,"stop":"length","not_scored":"task: no answer"}
`
	if got := logged(t, disk, "completions.jsonl"); got != want {
		t.Errorf("completions.jsonl holds\n%s, want\n%s", got, want)
	}
}

// The first sample of each problem, of so many problems at most.
func TestEvaluationLines(t *testing.T) {
	disk := store.NewMem()
	l, _ := openedLogs(t, disk)
	r := &eval.Result{}
	for i := range evaluationLines + 5 {
		g := rollout.Group{Problem: verify.Problem{Question: fmt.Sprint(i)}}
		for j := range 2 {
			g.Paths = append(g.Paths, rollout.Path{Leaf: -1, Text: fmt.Sprint(j), Verdicts: []verify.Verdict{verify.Reject("", "", "no")}})
		}
		r.Groups = append(r.Groups, g)
	}
	if err := l.on(event{Kind: measured, Stage: "warm-up", At: train.Position{Total: 9}, Result: r, Event: &train.Event{}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(logged(t, disk, "evaluations.jsonl"), "\n")
	lines = lines[:len(lines)-1]
	if len(lines) != evaluationLines {
		t.Fatalf("%d lines, want %d", len(lines), evaluationLines)
	}
	for i, line := range lines {
		if want := fmt.Sprintf(`{"step":9,"stage":"warm-up","prompt":"%d","completion":"0","verdict":"wrong","reason":"no"}`+"\n", i); line != want {
			t.Errorf("line %d is %s, want %s", i, line, want)
		}
	}
}

// After a rewind every log is what it was at the checkpoint, timing too: no step
// stands in it twice.
func TestLogsRewind(t *testing.T) {
	disk := store.NewMem()
	l, folder := openedLogs(t, disk)
	names := []string{"metrics.jsonl", "timing.jsonl", "completions.jsonl", "evaluations.jsonl"}
	step := func(n int) {
		t.Helper()
		c := answered(verify.Problem{}, []int{1}, rollout.EOS, "", verify.Abstain("no answer"))
		at := train.Position{Total: n}
		for _, e := range []event{
			{Kind: stepped, Stage: "rl", At: at, Event: &train.Event{Completions: []train.Completion{c}, Metrics: metrics.Row{"reward/mean": 1}, Timing: metrics.Row{"time/train_s": float64(n)}}},
			{Kind: measured, Stage: "rl", At: at, Result: &eval.Result{Groups: []rollout.Group{*c.From}}, Event: &train.Event{}},
		} {
			if err := l.on(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	step(1)
	if err := folder.SaveCheckpoint(1, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range names {
		want[name] = logged(t, disk, name)
	}
	step(2)
	ckpt, _, err := folder.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Rewind(ckpt); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if got := logged(t, disk, name); got == "" || got != want[name] {
			t.Errorf("%s holds %q, want %q", name, got, want[name])
		}
	}
	if err := folder.Rewind(nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if got := logged(t, disk, name); got != "" {
			t.Errorf("rewound to the start, %s holds %q", name, got)
		}
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}
