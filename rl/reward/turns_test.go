package reward

import (
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestSummaries: a summary is a segment of which the world tells nothing, which statistics leave out.
func TestSummaries(t *testing.T) {
	turns := []*rollout.Segment{
		{IDs: []int{1, 2}, Turn: &rollout.Turn{At: 1, Facts: map[string]float64{"left": 3}}},
		{IDs: []int{3}, Turn: &rollout.Turn{At: 1, Sums: true}},
		{IDs: []int{4}, Turn: &rollout.Turn{At: 2, Facts: map[string]float64{"left": 1}}},
	}
	view := rollout.View{IDs: []int{0, 1, 2, 3, 4}, Spans: []rollout.Span{{From: 1, To: 3}, {From: 3, To: 4}, {From: 4, To: 5}}}
	c := Completion{Turns: turns, View: view, Path: rollout.Path{Verdicts: []verify.Verdict{{Verdict: verify.Right, Score: 1}}}}
	for text, want := range map[string]float64{
		"sum(turn.left)":                     4,
		"last(if(summary, 9, turn.left))":    1,
		"sum(default(turn.left, 5))":         9,
		"count(summary) + turns":             4,
		"highest(if(summary, 9, turn.left))": 9,
		"sum(turns, turn.left > 2)":          3,
	} {
		p, err := Compile(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := p.Score(Batch{Completions: []Completion{c}})
		if err != nil {
			t.Fatal(err)
		}
		if got := scores[0].Reward; got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
		if bare := p.Bare("turn.left", "summary"); bare != "" {
			t.Errorf("%s has a value, and is said to have none: %s", text, bare)
		}
	}
}
