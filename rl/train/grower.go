package train

import (
	"context"
	"fmt"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Tree draws completions as the tree of a stage says, of a model that is measured and not trained. The error is
// that a formula of the tree reads what only a run knows.
func Tree(r *recipe.Recipe, stage int, renderer *prompts.Renderer, c *rollout.Collector, params rollout.Params, vocab int) (eval.Growth, error) {
	st := r.Stages[stage]
	st.Sampling = recipe.Sampling{Temperature: params.Temperature, TopK: params.TopK, TopP: params.TopP, MinP: params.MinP,
		MaxCompletionTokens: params.MaxTokens, Stop: params.StopText, StopTokens: params.StopIDs}
	f, err := factsFor(Parts{Recipe: r, Prompts: renderer, Record: NewRecord(r)}, &st, stage)
	if err != nil {
		return nil, err
	}
	f.models = unmodelled{vocab: vocab}
	d := &drawer{facts: f, whole: &st, collector: c}
	if d.program, err = st.Program(); err != nil {
		return nil, fmt.Errorf("reward: %w", err)
	}
	if d.growth, err = st.Growth(); err != nil {
		return nil, err
	}
	if err := d.measurable(); err != nil {
		return nil, err
	}
	p := &Plan{stage: &st}
	return func(ctx context.Context, problems []verify.Problem, key random.Key) (groups []rollout.Group, paths [][]int, err error) {
		starts, err := c.Starts(problems)
		if err == nil {
			groups, err = c.Draw(ctx, starts, st.Tree.Roots, params, key)
		}
		for round := 0; err == nil; round++ {
			var n []int
			for i := range groups {
				n = append(n, len(groups[i].Paths))
			}
			if paths = append(paths, n); round == st.Tree.Rounds {
				break
			}
			groups, err = d.round(ctx, p, 0, round, groups)
		}
		if err == nil {
			err = c.Judge(ctx, groups)
		}
		return groups, paths, err
	}, nil
}

// measurable refuses a tree that grows by what only a run knows.
func (d *drawer) measurable() error {
	for _, part := range []string{algo.TreeAt, algo.TreeChoose} {
		if _, _, there := d.growth.Level(part); !there {
			continue
		}
		for _, fact := range d.growth.Needs(part) {
			if row, later := d.supplierOf(fact, drawn); row == nil && later || histories[fact] != nil {
				return fmt.Errorf("%s of stage %s reads %s, which only a run knows; accepted: facts of completions, of nodes and of verdicts", part, d.stage.Name, fact)
			}
		}
	}
	if _, rewards := d.stage.ChoosesBy(); rewards && (len(d.program.Asks()) > 0 || d.program.Needs("old_uniform_logp")) {
		return fmt.Errorf("choose of the tree of stage %s reads the reward, which asks models that only a run has; accepted: a reward by verdicts, or another choose", d.stage.Name)
	}
	return nil
}

// unmodelled are no models but a vocabulary: whoever asks more of them was not refused.
type unmodelled struct {
	models
	vocab int
}

func (m unmodelled) Vocabulary() int { return m.vocab }
