package rl

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/verify"
)

// loggedSession is a session of which only the logs exist.
func loggedSession(t *testing.T, fsys store.FS) *session {
	t.Helper()
	run, err := store.Create(fsys, "run")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{recipe: &recipe.Recipe{Stages: []recipe.Stage{{Name: "warm-up"}, {Name: "rl"}}}, run: run}
	if s.logs, err = openLogs(run); err != nil {
		t.Fatal(err)
	}
	return s
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
	s := loggedSession(t, disk)
	s.state.Stage, s.state.Total = 1, 6
	cs := []completion{
		{
			Completion: model.Completion{IDs: []int{5, 6, 1}, Stop: "eos"}, group: 2, sample: 1, row: verify.Problem{ID: "1+1", Question: "1 + 1 >"},
			text: "<b> & 2", verdict: verify.Accept("2", "number", "equal"),
		},
		{Completion: model.Completion{IDs: []int{5}, Stop: "length"}, group: 3, row: verify.Problem{Question: "?"}, verdict: verify.Abstain("no answer")},
	}
	scores := reward.Scores{Reward: []float64{1, math.NaN()}, Why: []string{"", "task: no answer"}}
	if err := s.logCompletions(cs, scores, []float64{0.5, 0}); err != nil {
		t.Fatal(err)
	}
	want := `{"step":7,"stage":"rl","prompt_id":"1+1","group":2,"sample":1,"prompt":"1 + 1 >","completion":"<b> & 2","reward":1,"verdict":"right","reason":"equal","advantage":0.5,"tokens":3,"stop":"eos"}
{"step":7,"stage":"rl","prompt_id":"","group":3,"sample":0,"prompt":"?","completion":"","reward":null,"verdict":"not_scored","reason":"no answer","advantage":0,"tokens":1,"stop":"length","not_scored":"task: no answer"}
`
	if got := logged(t, disk, "completions.jsonl"); got != want {
		t.Errorf("completions.jsonl holds\n%s, want\n%s", got, want)
	}
}

// The first sample of each problem, of so many problems at most.
func TestEvaluationLines(t *testing.T) {
	disk := store.NewMem()
	s := loggedSession(t, disk)
	s.state.Total = 9
	ev := &evaluation{}
	for i := range evaluationLines + 5 {
		for j := range 2 {
			ev.Completion = append(ev.Completion, completion{group: i, sample: j, row: verify.Problem{Question: fmt.Sprint(i)}, text: fmt.Sprint(j), verdict: verify.Reject("", "", "no")})
		}
	}
	if err := s.logEvaluation(&s.recipe.Stages[0], ev); err != nil {
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
	s := loggedSession(t, disk)
	names := []string{"metrics.jsonl", "timing.jsonl", "completions.jsonl", "evaluations.jsonl"}
	step := func(n int) {
		t.Helper()
		s.state.Total = n
		cs := []completion{{verdict: verify.Abstain("no answer")}}
		for _, err := range []error{
			s.logs.metrics.Append(n, "rl", metrics.Row{"reward/mean": 1}), s.logs.timing.Append(n, "rl", metrics.Row{"time/train_s": float64(n)}),
			s.logCompletions(cs, reward.Scores{Reward: []float64{0}, Why: []string{""}}, []float64{0}), s.logEvaluation(&s.recipe.Stages[1], &evaluation{Completion: cs}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	step(1)
	if err := s.run.SaveCheckpoint(1, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, name := range names {
		want[name] = logged(t, disk, name)
	}
	step(2)
	ckpt, _, err := s.run.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.logs.rewind(ckpt); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if got := logged(t, disk, name); got == "" || got != want[name] {
			t.Errorf("%s holds %q, want %q", name, got, want[name])
		}
	}
	if err := s.logs.rewind(nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if got := logged(t, disk, name); got != "" {
			t.Errorf("rewound to the start, %s holds %q", name, got)
		}
	}
	if err := s.logs.close(); err != nil {
		t.Error(err)
	}
}
