package cast

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// reads is a judge's model that keeps what it is asked.
type reads struct {
	panel.Member
	views []rollout.View
}

func (r *reads) Logprobs(views []rollout.View) ([]float64, error) {
	r.views = append(r.views, views...)
	return r.Member.Logprobs(views)
}

// TestJudgeRows: for the questions of a step a judge computes at most as many rows as these have distinct tokens, each
// after what stands before it, and 64 for each question: a rubric that they begin with is not read for each.
func TestJudgeRows(t *testing.T) {
	const questions = 256
	rubric := strings.Repeat("1+2=3", 30)
	r, err := recipe.Parse("mine.toml", `base = "chain-sum-tiny"
micro_batch_tokens = 2048
[models.past]
copy = "policy"
[[stage]]
name = "rl"
reward = "good"
truth = "task"
[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "past", source = "`+rubric+`{question}{completion}", read = {1 = 1, 2 = 0, 3 = 0.5}, context = 300}
`, []string{"model.layers=1", "model.width=16", "model.heads=1", "model.head_dim=16", "model.mlp=16"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(r, "", refdev.New())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Begin(r, 1); err != nil {
		t.Fatal(err)
	}
	var groups []rollout.Group
	for i := range questions {
		g := rollout.Group{Problem: verify.Problem{Question: fmt.Sprintf("%d+1=", i/64)}, Paths: []rollout.Path{{Text: fmt.Sprintf("%d+%d", i%16, i/16)}}}
		groups = append(groups, g)
	}
	past, err := c.Writer("past")
	if err != nil {
		t.Fatal(err)
	}
	asked := &reads{Member: past}
	p := &panel.Panel{Models: func(string) (panel.Model, error) { return asked, nil }, Seed: r.Seed}
	verdicts, err := p.Judge(t.Context(), r.Judges()[0].Judge, groups)
	if err != nil || len(verdicts) != questions || len(asked.views) != 3*questions {
		t.Fatalf("%d verdicts from %d texts, %v", len(verdicts), len(asked.views), err)
	}
	distinct, all := map[string]bool{}, 0
	for _, v := range asked.views {
		var before strings.Builder
		for _, id := range v.IDs {
			fmt.Fprint(&before, id, " ")
			distinct[before.String()] = true
		}
		all += len(v.IDs)
	}
	batches, err := c.Policy.Model.Decoder().Pack(sequences(asked.views), sizesOf(r).trainRows)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, b := range batches {
		rows += b.T
	}
	if most := len(distinct) + 64*questions; rows > most || 3*rows > all || all < 3*most {
		t.Errorf("%d rows for %d questions with %d tokens, of which %d are distinct; accepted: at most %d", rows, questions, all, len(distinct), most)
	}
}
