package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/stats"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Tree makes what draws completions as the tree of a stage says, with the parameters given in place of the
// stage's. Package train has one, which this package cannot import.
type Tree func(r *recipe.Recipe, stage int, renderer *prompts.Renderer, c *rollout.Collector, params rollout.Params, vocab int) (Growth, error)

// Growth draws completions of problems as trees, which key gives their random numbers, and judges them by the task.
// paths are the numbers of completions that each tree has after each round, [round][problem]; round 0 draws the
// first ones.
type Growth func(ctx context.Context, problems []verify.Problem, key random.Key) (groups []rollout.Group, paths [][]int, err error)

// Grown is what the tree of a stage reached.
type Grown struct {
	Stage  string  `json:"stage"`
	Rounds []Round `json:"rounds"` // the first has the completions before the tree grows
}

// Round is what a tree had reached after a round; means are over the problems. Best and Rival are over those that have
// both, where any has.
type Round struct {
	Leaves float64 // completions of a problem
	Tokens float64 // in them: each once, however many share it, and also if it was drawn again, as the first one with distinct
	Best   float64 // score of the best completion; NaN without a problem of which one is scored
	Mean   float64 // of the completions' scores; likewise
	Plain  int     // completions drawn from the beginning that have as many tokens, at least 1
	Rival  float64 // expected score of the best of so many; NaN where no problem has both
}

// MarshalJSON writes figures that could not be measured as null.
func (r Round) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Leaves float64  `json:"leaves"`
		Tokens float64  `json:"tokens"`
		Best   *float64 `json:"best"`
		Mean   *float64 `json:"mean"`
		Plain  int      `json:"plain"`
		Rival  *float64 `json:"best_of_plain"`
	}{r.Leaves, r.Tokens, known(r.Best), known(r.Mean), r.Plain, known(r.Rival)})
}

// growing is the last stage of a recipe that has a tree; name is that of the task.
func growing(r *recipe.Recipe, name string, vocab int) (int, error) {
	last := -1
	for i := len(r.Stages) - 1; i >= 0; i-- {
		if st := &r.Stages[i]; st.Grows() && !st.Skip {
			return i, cast.DistinctTokens(r, vocab)
		} else if last < 0 && st.Kind == recipe.KindRL {
			last = i
		}
	}
	if last < 0 {
		return 0, fmt.Errorf("%w: --tree draws as the tree of a stage says, and %s has no stage of kind rl", lines.ErrInput, name)
	}
	return 0, hint.With(fmt.Errorf("%w: --tree draws as the tree of a stage says, and no stage of %s has one", lines.ErrInput, name), "--set stage.%s.tree.rounds=1 --set stage.%[1]s.group_size=12 gives it one", r.Stages[last].Name)
}

// grow draws the problems by a tree, and compares it with completions that were drawn one by one.
func (e *Evaluator) grow(ctx context.Context, r *recipe.Recipe, stage int, renderer *prompts.Renderer, problems []verify.Problem, vocab int, o Options, plain *Result) (*Grown, error) {
	draw, err := o.Tree(r, stage, renderer, e.Collector, o.Params, vocab)
	if err != nil {
		return nil, fmt.Errorf("%w: --tree: %w", lines.ErrInput, err)
	}
	groups, paths, err := draw(ctx, problems, random.Key{Purpose: random.HeldOut, Stage: stage})
	if err != nil {
		return nil, err
	}
	if len(groups) != len(problems) {
		return nil, errors.New("--tree: groups are not those of the problems")
	}
	out := &Grown{Stage: r.Stages[stage].Name}
	for _, counts := range paths {
		out.Rounds = append(out.Rounds, roundOf(groups, counts, plain))
	}
	return out, nil
}

// roundOf is what trees have reached with so many completions each, beside completions drawn one by one.
func roundOf(groups []rollout.Group, paths []int, plain *Result) Round {
	var r Round
	var all, mean, best, rival []float64 // all: the best of each tree; best: of those that have a rival
	tops := map[int]float64{}            // [problem]
	for i := range groups {
		part := groups[i]
		part.Paths = part.Paths[:paths[i]]
		t := tallyOf(&part)
		r.Leaves += float64(len(part.Paths)) / float64(len(groups))
		for at, leaves := range part.Leaves() {
			if s := &part.Segments[at]; leaves > 0 && s.Author == rollout.Policy {
				r.Tokens += float64(len(s.IDs)) / float64(len(groups))
			}
		}
		if t.scored() > 0 {
			tops[i] = slices.Max(t.scores)
			all, mean = append(all, tops[i]), append(mean, t.sum/float64(t.scored()))
		}
	}
	r.Mean, r.Plain = meanOf(mean), max(1, int(r.Tokens/plain.Length))
	for i := range plain.Groups {
		x := stats.BestOfK(tallyOf(&plain.Groups[i]).scores, r.Plain)
		if top, scored := tops[i]; scored && !math.IsNaN(x) {
			best, rival = append(best, top), append(rival, x)
		}
	}
	if len(best) == 0 {
		best = all
	}
	r.Best, r.Rival = meanOf(best), meanOf(rival)
	return r
}

// table is what a tree reached, for people.
func (g *Grown) table() string {
	var b strings.Builder
	share := func(x float64) string {
		if math.IsNaN(x) {
			return "-"
		}
		return fmt.Sprintf("%.1f %%", 100*x)
	}
	fmt.Fprintf(&b, "tree of stage %s: of a problem\n%-12s %8s %8s %8s %8s   %s\n", g.Stage, "", "leaves", "tokens", "best", "mean", "best of as many tokens drawn one by one")
	for i, r := range g.Rounds {
		name := "first"
		if i > 0 {
			name = fmt.Sprintf("round %d", i)
		}
		fmt.Fprintf(&b, "%-12s %8.1f %8.1f %8s %8s   %s of %d\n", name, r.Leaves, r.Tokens, share(r.Best), share(r.Mean), share(r.Rival), r.Plain)
	}
	if n := len(g.Rounds); n > 1 && g.Rounds[n-1].Leaves == g.Rounds[0].Leaves {
		fmt.Fprintf(&b, "No tree has grown: no completion has a second node (stage.%s.tree.at), or none with a value (tree.choose).\n", g.Stage)
	}
	return b.String()
}
