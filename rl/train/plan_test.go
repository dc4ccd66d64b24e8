package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// plannerOf plans the steps of an rl stage of the smallest task.
func plannerOf(t *testing.T, sets ...string) *planner {
	t.Helper()
	r, err := recipe.Load("countdown-short", append([]string{"stage.rl.prompts_per_step=64"}, sets...))
	if err != nil {
		t.Fatal(err)
	}
	index := slices.IndexFunc(r.Stages, func(s recipe.Stage) bool { return s.Kind == recipe.KindRL })
	p := Parts{Recipe: r, Source: prompts.Of(r.Task.Settings), Record: NewRecord(r), HeldOut: &HeldOut{recipe: r}}
	f, err := newFacts(p, index)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newPlanner(p, f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// shares draws the problems of 200 steps and counts them by their place in the list.
func shares(t *testing.T, s *planner) []float64 {
	t.Helper()
	place, counts := map[string]int{}, make([]float64, len(s.listed))
	for i, one := range s.listed {
		place[one.Row.ID] = i
	}
	const steps = 200
	for step := range steps {
		plan, err := s.plan(Position{Step: step}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plan.Problems {
			counts[place[p.ID]] += 1.0 / (64 * steps)
		}
	}
	return counts
}

// TestShares: problems are drawn in proportion to their weights; arms by the mean weight of
// theirs, whatever their number; an order closes what comes late.
func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		set  string
		seen []int // of each problem before
		want []float64
	}{
		"weight":       {`pool = 4, weight = "1 + seen"`, []int{0, 1, 2, 3}, []float64{.1, .2, .3, .4}},
		"no value":     {`pool = 4, weight = "2*(1 + solved)"`, []int{0, 1, 1, 1}, []float64{1. / 7, 2. / 7, 2. / 7, 2. / 7}},
		"none":         {`pool = 4, weight = "0*seen"`, []int{0, 1, 2, 3}, []float64{.25, .25, .25, .25}},
		"order":        {`pool = 4, order = "-seen", share = "0.5"`, []int{2, 1, 5, 0}, []float64{.5, 0, .5, 0}},
		"order, equal": {`pool = 4, order = "0*seen", share = "0.3"`, []int{2, 1, 5, 0}, []float64{.5, .5, 0, 0}},
		"rank":         {`pool = 4, weight = "if(prompts_rank(seen) >= 0.6, 1, 0)"`, []int{2, 1, 5, 0}, []float64{.5, 0, .5, 0}},
	} {
		s := plannerOf(t, "stage.rl.curriculum={"+c.set+"}")
		for i, one := range s.listed {
			if n := c.seen[i]; n > 0 {
				s.record.prompts[keyOf(one.Row)] = &history{Seen: n, Judged: 1}
			}
		}
		for i, got := range shares(t, s) {
			// Five standard deviations of a share of 12,800 draws.
			if want := c.want[i]; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/12800) {
				t.Errorf("%s: problem %d has a share of %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestArms: an arm of one problem is drawn as often as one of three.
func TestArms(t *testing.T) {
	s := plannerOf(t, `stage.rl.curriculum={pool = 4, arms = "row.kind"}`)
	for i := range s.listed {
		s.listed[i].Row.Metadata["kind"] = []byte(`"many"`)
	}
	s.listed[2].Row.Metadata["kind"] = []byte(`"one"`)
	for i, got := range shares(t, s) {
		want := 1.0 / 6
		if i == 2 {
			want = 0.5
		}
		if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/12800) {
			t.Errorf("problem %d has a share of %v, want %v", i, got, want)
		}
	}
}

// lastID are models whose value head says the last token of a prompt.
type lastID struct{ *spoken }

func (lastID) Ends() []int { return []int{1} }
func (m lastID) Supply(fact string, views []rollout.View) ([][]float64, error) {
	if fact != "prompt_value" {
		return nil, errors.New("no model")
	}
	var out [][]float64
	for _, v := range views {
		n := len(v.IDs) - 1
		if v.IDs[n] != 1 || len(v.Spans) != 1 || v.Spans[0] != (rollout.Span{From: n, To: n + 1}) {
			return nil, fmt.Errorf("asked about %+v", v)
		}
		out = append(out, []float64{float64(v.IDs[n-2])}) // before the colon
	}
	return out, nil
}

// TestCandidates: of three candidates for each prompt the third with the lowest values is drawn, as it
// stands in what is drawn without an order; a later try draws others.
func TestCandidates(t *testing.T) {
	const critic = "stage.rl.algorithm.loss=token_mean(policy) + token_mean(square(value - reward))"
	l := plannerOf(t, critic, `stage.rl.curriculum={candidates = 3, order = "-prompt_value"}`)
	demonstrator := l.recipe.Task.Demonstrator()
	words, err := text.NewWords(demonstrator.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	if l.prompts, err = prompts.NewRenderer(words, []int{1}, prompts.Style{Form: prompts.Text}); err != nil {
		t.Fatal(err)
	}
	l.models = lastID{&spoken{}}
	all := prompts.Step(l.source, l.recipe.Seed, random.Stream(random.Draw, l.index), 2, 3*64)
	valueOf := func(p verify.Problem) float64 {
		ids, err := l.prompts.Prompt(p)
		if err != nil {
			t.Fatal(err)
		}
		return float64(ids[len(ids)-2])
	}
	var values []float64
	for _, p := range all {
		values = append(values, valueOf(p))
	}
	slices.Sort(values)
	least := values[2*64] // of those that are drawn
	plan, err := l.plan(Position{Step: 2}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Problems) != 64 || least == values[0] {
		t.Fatalf("%d problems; the values from %g to %g tell nothing apart", len(plan.Problems), values[0], values[len(values)-1])
	}
	at, sum := 0, 0.0
	for _, p := range plan.Problems {
		if valueOf(p) < least {
			t.Errorf("%s has the value %g; the lowest of the highest third is %g", p.ID, valueOf(p), least)
		}
		sum -= valueOf(p) / 64
		for at < len(all) && all[at].ID != p.ID {
			at++
		}
	}
	if at == len(all) {
		t.Error("the problems do not stand in the order of the candidates")
	}
	if got := plan.Metrics["curriculum/order_drawn"]; math.Abs(got-sum) > 2*64*0x1p-53*math.Abs(sum) || // two sums of 64 terms of one sign
		plan.Metrics["curriculum/order_all"] <= got {
		t.Errorf("the order is %g on average, want %g, and of all candidates %g", got, sum, plan.Metrics["curriculum/order_all"])
	}
	again, err := plan.more(1, 5)
	if err != nil || len(again) != 5 || again[0].ID == plan.Problems[0].ID {
		t.Errorf("a second try draws %d problems, %v", len(again), err)
	}
}

// TestKeys: what a state or an arm goes by is a member of the row, or its answer or question.
func TestKeys(t *testing.T) {
	rows := rowsOf(t, `{"question":"1+1","answer":"2","kind":"sum","level":3.0}`, `{"question":"2*2","answer":"4","kind":"sum","level":3}`)
	for by, want := range map[string]bool{"row": false, "row.question": false, "row.answer": false, "row.kind": true, "row.level": true, "row.other": true} {
		if got := keyBy(by, rows[0]) == keyBy(by, rows[1]); got != want {
			t.Errorf("by = %s: the keys %q and %q", by, keyBy(by, rows[0]), keyBy(by, rows[1]))
		}
	}
}
