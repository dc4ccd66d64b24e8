package train

import (
	"context"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// HeldOut measures the policy on problems that are never drawn for training.
type HeldOut struct {
	eval.Evaluator
	Problems []verify.Problem
	known    prompts.HeldOut // these, and all others that data hold out
	recipe   *recipe.Recipe
}

// NewHeldOut makes the evaluations of a run, whose completions a collector draws.
func NewHeldOut(r *recipe.Recipe, source prompts.Source, collector *rollout.Collector) (*HeldOut, error) {
	h := &HeldOut{recipe: r}
	h.Collector = collector
	if d := r.Task.Demonstrator(); d != nil {
		h.Valid = d.Valid
	}
	var err error
	h.Problems, err = source.HeldOut(r.Task.EvalProblems)
	_, others := source.Rows()
	h.known = prompts.TextsOf(slices.Concat(h.Problems, others))
	if r.Task.Episodic() != nil || r.Task.World.Given() {
		h.known = prompts.IDsOf(h.Problems)
	}
	return h, err
}

// refuse returns prompts.ErrLeak where a training problem is held out, unless the recipe
// allows it.
func (h *HeldOut) refuse(training ...verify.Problem) error {
	if h.recipe.Task.AllowLeaks {
		return nil
	}
	return h.known.Refuse(training...)
}

// AfterStage as a step: the evaluation of all problems after a stage.
const AfterStage = math.MaxInt

// Measure samples completions of the first n held-out problems, as long as those of a
// stage may be. step tells the evaluations of a stage apart; greedy adds the most likely
// completions.
func (h *HeldOut) Measure(ctx context.Context, stage, step, n int, greedy bool) (*eval.Result, error) {
	q := eval.Question{
		Problems: h.Problems[:min(n, len(h.Problems))], N: h.recipe.Task.EvalSamples, K: []int{1}, Greedy: greedy,
		Votes:  h.recipe.Task.EvalVotes && h.recipe.Task.EvalSamples > 1,
		Params: EvalParams(h.recipe, &h.recipe.Stages[stage]),
		Key:    random.Key{Purpose: random.HeldOut, Stage: stage, Step: step},
	}
	if q.N > 1 {
		q.K = append(q.K, q.N)
	}
	return h.Evaluator.Measure(ctx, q)
}
