package eval

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// judgedAs is a group whose completions have these verdicts.
func judgedAs(verdicts ...verify.Verdict) rollout.Group {
	g := rollout.Group{Segments: []rollout.Segment{{Parent: -1, IDs: []int{1}}}}
	for _, v := range verdicts {
		g.Paths = append(g.Paths, rollout.Path{Leaf: len(g.Segments), Verdicts: []verify.Verdict{v}})
		g.Segments = append(g.Segments, rollout.Segment{Author: rollout.Policy, IDs: []int{2, 3}, Stop: rollout.EOS})
	}
	return g
}

// TestSummary: figures of an evaluation by hand; what is not scored is left out
// of each, and never counted as wrong.
func TestSummary(t *testing.T) {
	right, wrong, none := verify.Accept("1", "", ""), verify.Reject("2", "", ""), verify.Abstain("no reference")
	ev := new(Evaluator).summarise([]rollout.Group{
		judgedAs(right, right, wrong, wrong), // pass@1 1/2, pass@2 1 - 1/6, pass@4 1
		judgedAs(right, none, none, wrong),   // pass@1 1/2, pass@2 1
		judgedAs(none, none, none, none),     // nothing
		judgedAs(wrong, wrong, wrong, none),  // 0
	}, 4, []int{1, 2, 4})
	const eps = 0x1p-50 // some roundings of numbers of at most 1
	for k, want := range map[int]float64{1: 1.0 / 3, 2: (5.0/6 + 1) / 3, 4: 1} {
		if math.Abs(ev.PassAt[k]-want) > eps {
			t.Errorf("pass@%d is %v, want %v", k, ev.PassAt[k], want)
		}
	}
	for k, want := range map[int]float64{1: 1.0 / 3, 2: (1.0 / 6) / 3, 4: 0} {
		if math.Abs(ev.passHat(k)-want) > eps {
			t.Errorf("pass^%d is %v, want %v", k, ev.passHat(k), want)
		}
	}
	if ev.NotScored != 7 || math.Abs(ev.Mean-1.0/3) > eps {
		t.Errorf("not scored %d, mean %v", ev.NotScored, ev.Mean)
	}
	ev = new(Evaluator).summarise([]rollout.Group{judgedAs(none)}, 1, []int{1})
	if !math.IsNaN(ev.PassAt[1]) || !math.IsNaN(ev.passHat(1)) || !math.IsNaN(ev.MajAt[1]) || ev.NotScored != 1 {
		t.Errorf("of nothing: %+v", ev)
	}
}

// TestEvaluationRow: a row of metrics says over how many problems and samples its
// figures are and how sure they are; the line for people leaves out what was not
// measured.
func TestEvaluationRow(t *testing.T) {
	cs := []rollout.Group{judgedAs(verify.Accept("1", "", ""), verify.Reject("2", "", ""))}
	formless, formed := new(Evaluator), &Evaluator{Valid: func(verify.Problem, string, bool) bool { return true }}
	ev := formless.summarise(cs, 2, []int{1, 2})
	row := ev.Metrics()
	if row["eval/problems"] != 1 || row["eval/samples"] != 2 || row["eval/mean"] != 0.5 {
		t.Errorf("row %v, want 1 problem of 2 samples with mean 0.5", row)
	}
	if low, high := row["eval/mean_low"], row["eval/mean_high"]; !(0 < low && low < 0.5 && 0.5 < high && high < 1) {
		t.Errorf("interval %v to %v, want one inside 0..1 with 0.5 in it", low, high)
	}
	if v, there := row["eval/valid"]; there {
		t.Errorf("eval/valid is %v for a task without a notion of form", v)
	}
	if got, want := ev.Line(), "pass@1 50.0 %  pass@2 100.0 %  (1 held-out problem x 2 samples)"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	if row := formed.summarise(cs, 2, []int{1}).Metrics(); row["eval/valid"] != 1 {
		t.Errorf("eval/valid is %v, want 1", row["eval/valid"])
	}
}

// TestVotes: majority votes stand in a row of metrics, and by problem, only where they are asked for; a problem without a
// verdict has none.
func TestVotes(t *testing.T) {
	ev := new(Evaluator).summarise([]rollout.Group{
		judgedAs(verify.Accept("1", "", ""), verify.Accept("1", "", ""), verify.Reject("2", "", "")),
		judgedAs(verify.Accept("1", "", ""), verify.Reject("2", "", ""), verify.Reject("2", "", "")),
		judgedAs(verify.Abstain(""), verify.Abstain(""), verify.Abstain("")),
	}, 3, []int{1, 3})
	if _, there := ev.Metrics()["eval/maj@3"]; there || ev.Outcomes()[0].Voted {
		t.Error("votes that nobody asked for")
	}
	ev.Votes = true
	if got := ev.Metrics()["eval/maj@3"]; got != 0.5 {
		t.Errorf("maj@3 is %v, want 0.5", got)
	}
	for i, want := range [][2]bool{{true, true}, {true, false}, {false, false}} {
		if o := ev.Outcomes()[i]; [2]bool{o.Voted, o.Elects} != want {
			t.Errorf("problem %d: %+v, want %v", i, o, want)
		}
	}
}

// TestNothingJudged: a result without a verdict is an error, and a table has no figure that was not
// measured.
func TestNothingJudged(t *testing.T) {
	none := verify.Abstain("no reference")
	if err := judged(new(Evaluator).summarise([]rollout.Group{judgedAs(none, none)}, 2, []int{1})); err == nil || !strings.HasSuffix(err.Error(), "none of the 2 completions could be judged: no reference") {
		t.Errorf("error %v", err)
	}
	some := new(Evaluator).summarise([]rollout.Group{judgedAs(none, verify.Accept("1", "", ""))}, 2, []int{1, 2})
	if err := judged(some); err != nil {
		t.Error(err)
	}
	if table := (Report{Task: "task", Result: some, ks: []int{1, 2}}).Table(); strings.Contains(table, "NaN") || !strings.Contains(table, "pass@1") || strings.Contains(table, "pass@2") {
		t.Errorf("table:\n%s", table)
	}
}

// TestTasksOfMixture: a report has what was reached on each task of a mixture, and none where there is one task.
func TestTasksOfMixture(t *testing.T) {
	right, wrong := verify.Accept("1", "", ""), verify.Reject("2", "", "")
	r := Report{Task: "mixture", Result: new(Evaluator).summarise([]rollout.Group{judgedAs(right, wrong), judgedAs(right, right), judgedAs(wrong, wrong)}, 2, []int{1}), ks: []int{1}}
	if table := r.Table(); strings.Contains(table, "sums") {
		t.Errorf("one task:\n%s", table)
	}
	r.kinds = []string{"sums", "programs", "sums"}
	table := r.Table()
	for _, want := range []string{"sums           25.0 %", "programs      100.0 %", "of 2 problems", "of 1 problem"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	r.kinds = []string{"countdown_search", "sums", "sums"}
	for _, want := range []string{"\ncountdown_search   50.0 %", "\nsums               50.0 %", "\nmean@2             50.0 %", "\nlength              2.0 tokens"} {
		if table := r.Table(); !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	r.kinds = []string{"sums", "programs", "sums"}
	if raw, err := r.MarshalJSON(); err != nil || !strings.Contains(string(raw), `"tasks":{"programs":1,"sums":0.25}`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestDoubtNamesFlag: rows that a verifier reads otherwise than they may be meant are told with the flag
// that has an effect beside those that were given.
func TestDoubtNamesFlag(t *testing.T) {
	var rows strings.Builder
	for i := range 8 {
		fmt.Fprintf(&rows, "{\"question\":\"When, %d?\",\"answer\":\"08:%02d\"}\n", i, i)
	}
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(data, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Subject{
		"; --verifier exact compares the texts":          {Data: data, Verifier: "math"},
		"; --set task.verifier=exact compares the texts": {Data: data, Set: []string{"task.verifier=math"}},
	} {
		var told []string
		e := &Evaluator{Collector: &rollout.Collector{}}
		_, err := e.fileProblems(Options{Subject: c, Problems: 8, Note: func(line string) { told = append(told, line) }})
		if err != nil || !strings.HasSuffix(strings.Join(told, "\n"), want) {
			t.Errorf("%+v: %q (%v), want %q", c, told, err, want)
		}
	}
}
