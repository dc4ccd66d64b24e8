package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// blocks are the problems of a list in the order in which steps use them. Before every block of steps the policy draws
// completions of those that come next, and they are sorted again (ADCL, arXiv 2505.08364). It is what the next plan
// depends on; a checkpoint has it as JSON.
type blocks struct {
	Step   int     `json:"step"`   // of the stage, from 1, before which the last fresh pass was; 0: there was none
	Order  []int   `json:"order"`  // places in the list
	Tokens int     `json:"tokens"` // of the last pass
	Mean   float64 `json:"mean"`   // score of the last pass; 0: nothing was scored
	Moved  float64 `json:"moved"`  // share of its problems that stand elsewhere after it
}

// tokensAt are those of a fresh pass before a step; 0: there was none.
func (b *blocks) tokensAt(at Position) int {
	if b.Step != at.Step+1 {
		return 0
	}
	return b.Tokens
}

// prober draws completions of problems by the policy of now. scores are the means of the task's verdicts, NaN where
// none is scored.
type prober func(ctx context.Context, at Position, st *recipe.Stage, problems []verify.Problem) (scores []float64, tokens int, err error)

// pass draws completions of the problems of the block that begins at a step, and sorts them; at the beginning of the
// list, of all problems. An error has changed nothing.
func (l *planner) pass(ctx context.Context, at Position, probe prober) error {
	each, block := l.whole.RL.PromptsPerStep, l.whole.Curriculum.Block
	if block == 0 || l.blocks.Step == at.Step+1 {
		return nil
	}
	steps := len(l.listed) / each // of the list
	if steps == 0 {
		return l.blamed(fmt.Errorf("curriculum.block: %d problems fill no step; accepted: at least prompts_per_step = %d", len(l.listed), each))
	}
	step := at.Step % steps
	if step%block != 0 {
		return nil
	}
	next := blocks{Step: at.Step + 1, Order: slices.Clone(l.blocks.Order)}
	from, to := step*each, min(step+block, steps)*each
	if step == 0 {
		next.Order = make([]int, len(l.listed))
		for i := range next.Order {
			next.Order[i] = i
		}
		from, to = 0, len(l.listed)
	}
	places := next.Order[from:to]
	problems := make([]verify.Problem, len(places))
	for i, place := range places {
		problems[i] = l.listed[place].Row
	}
	numbers, err := l.numbers(at)
	if err != nil {
		return err
	}
	st, err := l.whole.With(numbers)
	if err != nil {
		return l.blamed(err)
	}
	scores, tokens, err := probe(ctx, at, st, problems)
	if err != nil {
		return l.blamed(fmt.Errorf("curriculum.block: %w", err))
	}
	next.Tokens, next.Mean = tokens, meanOf(scores)
	before := l.probed
	l.probed = maps.Clone(before)
	if step == 0 {
		l.probed = map[string]float64{}
	}
	for i, score := range scores {
		if delete(l.probed, keyOf(problems[i])); !math.IsNaN(score) {
			l.probed[keyOf(problems[i])] = score
		}
	}
	values, err := l.values(at, st, problems, nil)
	var order []float64
	if err == nil {
		order, err = l.curriculum(values, "order")
	}
	if err != nil {
		l.probed = before
		return l.blamed(err)
	}
	sorted := make([]int, len(places))
	for i, k := range inOrder(order) {
		if sorted[i] = places[k]; k != i {
			next.Moved += 1 / float64(len(places))
		}
	}
	copy(places, sorted)
	l.blocks = next
	return nil
}

// byBlock takes problems from the list as they are sorted.
func (l *planner) byBlock(at Position, row metrics.Row) func(try, n int) ([]verify.Problem, error) {
	if l.blocks.Step == at.Step+1 {
		row["curriculum/probed"], row["curriculum/moved"] = l.blocks.Mean, l.blocks.Moved
	}
	return func(_, n int) ([]verify.Problem, error) {
		each := l.whole.RL.PromptsPerStep
		from := at.Step % (len(l.listed) / each) * each
		problems := make([]verify.Problem, n)
		for i, place := range l.blocks.Order[from : from+n] {
			problems[i] = l.listed[place].Row
		}
		return problems, nil
	}
}

// probe is the prober of a run.
func (d *drawer) probe(ctx context.Context, at Position, st *recipe.Stage, problems []verify.Problem) (scores []float64, tokens int, err error) {
	key := random.Key{Purpose: random.FreshPass, Stage: d.index, Step: at.Step}
	groups, err := d.collector.Collect(ctx, problems, st.Curriculum.Probe, StepParams(st), key)
	if err != nil {
		return nil, 0, err
	}
	for i := range groups {
		scores = append(scores, scoreOf(&groups[i]))
	}
	return scores, int(tokensOf(completionsOf(groups))), nil
}

// blocksFile keeps the blocks of a list in a checkpoint.
const blocksFile = "trainer/blocks.json"

// savedBlocks is what a checkpoint keeps.
type savedBlocks struct {
	blocks
	Probed map[string]float64 `json:"probed"`
}
