package cast

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// reads is a judge's model that keeps the tokens that reach it.
type reads struct {
	panel.Member
	asked [][]int
}

func (r *reads) Heads(views []rollout.View) ([]float64, bool, error) {
	r.keep(views)
	return r.Member.Heads(views)
}

func (r *reads) Logprobs(views []rollout.View) ([]float64, error) {
	r.keep(views)
	return r.Member.Logprobs(views)
}

func (r *reads) keep(views []rollout.View) {
	for _, v := range views {
		r.asked = append(r.asked, v.IDs)
	}
}

func (r *reads) Write(ctx context.Context, asked []panel.Asked) ([][]judge.Said, error) {
	for _, a := range asked {
		r.asked = append(r.asked, a.IDs)
	}
	return r.Member.Write(ctx, asked)
}

// tally is a device that counts the rows of the passes that are submitted, by the embeddings that they look up.
type tally struct {
	gpu.Device
	of   map[gpu.Program]int
	rows int
}

func (d *tally) Record(label string, ops []gpu.Op) (gpu.Program, error) {
	p, err := d.Device.Record(label, ops)
	for _, op := range ops {
		if op.Kernel == "embed" { // of a table in f32 that is one binding
			d.of[p] += op.Size[1]
		}
	}
	return p, err
}

func (d *tally) Submit(p gpu.Program) error {
	d.rows += d.of[p]
	return d.Device.Submit(p)
}

// TestJudgeRows: for the questions of a step a judge of each kind computes at most as many rows as these have distinct
// tokens, each after what stands before it, and 64 for each question: a rubric that they begin with is not read for each.
// What it draws is computed besides.
func TestJudgeRows(t *testing.T) {
	const prompts, group = 16, 8
	text := `base = "chain-sum-tiny"
micro_batch_tokens = 2048
[models.past]
copy = "policy"
[models.rm]
copy = "policy"
head = true
[[stage]]
name = "warm-up"
[[stage]]
name = "rm"
kind = "rl"
trains = "rm"
steps = 1
eval_every = 0
reward = "random"
[stage.algorithm]
preset = "pointwise"
[[stage]]
name = "rl"
reward = "answers"
truth = "task"
`
	source := strings.Repeat("1+2=3", 75) + ":{question}" // 75 times four tokens, and two
	kinds := []string{"answers", "scores", "pairs", "items", "writes"}
	for i, options := range []string{
		`model = "past", source = "` + source + `{completion}", read = {1 = 1, 2 = 0, 3 = 0.5}`,
		`model = "rm", source = "` + source + `{completion}", read = "head"`,
		`model = "past", source = "` + source + `{a}:{b}", shows = "pairs", against = "anchor", read = {1 = 1, 2 = 0}`,
		`model = "past", source = "` + source + `{completion}:{item}", shows = "items", items = "asks", read = {1 = 1, 2 = 0}`,
		`model = "past", source = "` + source + `{completion}", read = "[0-9]", between = [0, 9], max_tokens = 3`,
	} {
		text += fmt.Sprintf("[[stage.verifier]]\nname = %q\nverifier = \"judge\"\noptions = {%s, context = 330}\n", kinds[i], options)
	}
	r, err := recipe.Parse("mine.toml", text, []string{"model.layers=1", "model.width=16", "model.heads=1", "model.head_dim=16", "model.mlp=16"})
	if err != nil {
		t.Fatal(err)
	}
	dev := &tally{Device: refdev.New(), of: map[gpu.Program]int{}}
	c, err := Open(r, "", dev)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Begin(r, 2); err != nil {
		t.Fatal(err)
	}
	var groups []rollout.Group
	for i := range prompts {
		g := rollout.Group{Problem: verify.Problem{Question: fmt.Sprintf("%d+1=", i), Metadata: map[string]json.RawMessage{"asks": json.RawMessage(`["1", "2", "3"]`)}}}
		for k := range group {
			g.Paths = append(g.Paths, rollout.Path{Text: fmt.Sprintf("%d+%d", k, i)})
		}
		groups = append(groups, g)
	}
	for i, j := range r.Judges() {
		t.Run(kinds[i], func(t *testing.T) {
			model, err := c.Writer(j.Model)
			if err != nil {
				t.Fatal(err)
			}
			reads := &reads{Member: model}
			p := &panel.Panel{Models: func(string) (panel.Model, error) { return reads, nil }, Seed: r.Seed}
			dev.rows = 0
			if _, err := p.Judge(t.Context(), j.Judge, groups); err != nil {
				t.Fatal(err)
			}
			counts, distinct, all := p.Take(), map[string]bool{}, 0
			for _, ids := range reads.asked {
				var before strings.Builder
				for _, id := range ids {
					fmt.Fprint(&before, id, " ")
					distinct[before.String()] = true
				}
				all += len(ids)
			}
			most := len(distinct) + 64*counts.Questions + counts.Tokens
			if rows := dev.rows; rows == 0 || rows > most || counts.Questions < prompts*group || all < 3*most {
				t.Errorf("%d rows for %d questions with %d tokens, of which %d are distinct, and answers of %d; accepted: at most %d", rows, counts.Questions, all, len(distinct), counts.Tokens, most)
			}
		})
	}
}
