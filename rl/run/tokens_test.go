package run

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
)

// letters are a tokenizer: id 0 is "a".
type letters struct{}

func (letters) Encode(string) ([]int, error) { return nil, nil }

func (letters) Decode(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(byte('a' + id))
	}
	return b.String()
}

// TestTokenLines: what a step taught each token, at every n-th step of a stage from its
// first on.
func TestTokenLines(t *testing.T) {
	disk := store.NewMem()
	l, _ := openedLogs(t, disk)
	g := &rollout.Group{Paths: []rollout.Path{{Leaf: 1, Verdicts: []verify.Verdict{{}}}, {Leaf: 2, Verdicts: []verify.Verdict{{}}}}, Segments: []rollout.Segment{
		{Parent: -1, IDs: []int{9, 8}},
		{Author: rollout.Policy, IDs: []int{1, 2}, Logprob: []float32{-0.5, -0.1}, Entropy: []float32{0.7, 0}, Stop: rollout.EOS},
		{Author: rollout.Policy, IDs: []int{3}, Logprob: []float32{-2}, Entropy: []float32{1}, Stop: rollout.Length},
	}}
	cs := []train.Completion{
		{From: g, View: g.View(0)},
		{From: g, View: g.View(1), Sample: 1},
	}
	learned := []train.Lesson{{Advantage: 1.5, Slope: []float64{-0.25, 0}}, {Advantage: math.NaN()}}
	o := &tokens{l.tokens, &recipe.Recipe{Stages: []recipe.Stage{{}, {RL: recipe.RL{TokenEvery: 3}}}}, letters{}.Decode}
	for step := 1; step <= 5; step++ {
		must(t, o.on(event{Kind: stepped, Stage: "rl", At: train.Position{Stage: 1, Step: step, Total: 10 + step}, Event: &train.Event{Completions: cs, Lessons: learned}}))
	}
	line := `,"stage":"rl","group":0,"sample":0,"prompt_ids":[9,8],"ids":[1,2],"text":["b","c"],"logprob":[-0.5,-0.1],"entropy":[0.7,0],"weight":[-0.25,0],"clipped":[1]}
`
	other := `,"stage":"rl","group":0,"sample":1,"prompt_ids":[9,8],"ids":[3],"text":["d"],"logprob":[-2],"entropy":[1],"weight":null}
`
	want := `{"step":11` + line + `{"step":11` + other + `{"step":14` + line + `{"step":14` + other
	if got := logged(t, disk, "tokens.jsonl"); got != want {
		t.Errorf("tokens.jsonl holds\n%s, want\n%s", got, want)
	}
	o.recipe.Stages[1].TokenEvery = 0
	must(t, o.on(event{Kind: stepped, At: train.Position{Stage: 1, Step: 1}, Event: &train.Event{Completions: cs, Lessons: learned}}))
	if got := logged(t, disk, "tokens.jsonl"); got != want {
		t.Error("token_every = 0 records tokens")
	}
}
