package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// proposing has the policy write problems, which it then solves.
//
//	prompts ─ say ─> proposals ─ the task ─> problems ─> completions ─ mean scores ─> rewards of the proposals
type proposing struct {
	recipe.Propose
	task    tasks.Poser
	reward  *reward.Program // of a proposal
	heldOut *HeldOut
	most    int // tokens of a problem's prompt
}

// newProposing is that of a stage; nil: its problems are the task's.
func newProposing(p Parts, st *recipe.Stage) (*proposing, error) {
	program, err := st.Paid()
	if program == nil || err != nil {
		return nil, err
	}
	return &proposing{st.Propose, p.Recipe.Task.Poser(), program, p.HeldOut, p.Recipe.Task.MaxPromptTokens}, nil
}

// validFact is the number of a proposal's verdict that says whether the task accepts it.
const validFact = "valid"

// ProposalKey has the random numbers of the problems that a step writes.
func ProposalKey(stage, step int) random.Key {
	return random.Key{Purpose: random.Propose, Stage: stage, Step: step * maxTries}
}

// proposed are the completions of a step in which the policy writes problems for prompts: those that solve what the
// task accepts, and after them the problems as they were written.
func (d *drawer) proposed(ctx context.Context, p *Plan, seeds []verify.Problem) ([]Completion, error) {
	asked := make([]verify.Problem, len(seeds))
	for i, seed := range seeds {
		var err error
		if asked[i], err = askedFor(seed, d.propose.Say); err != nil {
			return nil, err
		}
		if ids, err := d.collector.Renderer.Prompt(asked[i]); err == nil && len(ids) > d.propose.most {
			err := fmt.Errorf("say: prompt %s has %d tokens; accepted: at most task.max_prompt_tokens = %d", terminal.Quote(asked[i].Question), len(ids), d.propose.most)
			return nil, hint.With(err, "--set task.max_prompt_tokens=%d", len(ids))
		}
	}
	written, err := d.sampled(ctx, p, asked, d.propose.Count, ProposalKey(d.index, p.At.Step))
	if err == nil {
		err = d.collector.Read(ctx, written)
	}
	if err != nil {
		return nil, err
	}
	var problems []verify.Problem
	place := map[[2]int]int{} // of an accepted problem, by the group and the path that wrote it
	for g := range written {
		for path := range written[g].Paths {
			problem, verdict := d.pose(seeds[g], &written[g], path)
			if verdict.Values[validFact] == 1 {
				place[[2]int{g, path}] = len(problems)
				problems = append(problems, rollout.InSeat(problem, recipe.SolverSeat))
			}
			all := []verify.Verdict{verdict}
			for range d.program.Verifiers() {
				all = append(all, verify.Abstain("verifiers of the stage judge what solves a problem, and not the problem"))
			}
			written[g].Paths[path].Verdicts = all
		}
	}
	_, key := streams(d.index, p.At, 0)
	solving, err := d.sampled(ctx, p, problems, p.stage.RL.GroupSize, key)
	if err == nil {
		err = d.collector.Judge(ctx, solving, d.program.Verifiers()...)
	}
	if err != nil {
		return nil, err
	}
	solved := completionsOf(solving)
	for i := range solved {
		solved[i].Origin.Seat = recipe.SolverSeat
	}
	coins := d.coins(p.At, 0)
	if err := d.pay(p, solved, coins); err != nil {
		return nil, err
	}
	for at, number := range place {
		written[at[0]].Paths[at[1]].Verdicts[0] = verdictOfProblem(&solving[number])
	}
	proposals := completionsOf(written)
	for i := range proposals {
		proposals[i].Origin.Seat = recipe.ProposerSeat
	}
	err = d.payBy(d.propose.reward, nil, p, proposals, func(i int, c *Completion) uint64 { return coins(len(solved)+i, c) })
	for i := range proposals {
		proposals[i].Group += len(solving)
	}
	return append(solved, proposals...), err
}

// askedFor is a prompt as the policy reads it that is to write a problem.
func askedFor(seed verify.Problem, say string) (verify.Problem, error) {
	text, err := prompts.Filled(seed, say)
	if err != nil {
		return seed, fmt.Errorf("say: problem %s: %w", seed.ID, err)
	}
	seed.Question = text
	return rollout.InSeat(seed, recipe.ProposerSeat), nil
}

// sampled samples n completions of each problem.
func (d *drawer) sampled(ctx context.Context, p *Plan, problems []verify.Problem, n int, key random.Key) ([]rollout.Group, error) {
	starts, err := d.collector.Starts(problems)
	if err != nil || len(starts) == 0 {
		return nil, err
	}
	return d.collector.Draw(ctx, starts, n, StepParams(p.stage), key)
}

// pose is the problem that a path of a group poses, and the verdict on it before anybody solves it. Of an episode
// whose world broke it is that of the world.
func (d *drawer) pose(seed verify.Problem, g *rollout.Group, path int) (verify.Problem, verify.Verdict) {
	at := &g.Paths[path]
	if len(at.Verdicts) > 0 && at.Verdict().Verdict == verify.NotScored {
		return verify.Problem{}, at.Verdict()
	}
	problem, err := d.propose.task.Pose(seed, at.Text)
	if !g.Segments[at.Leaf].Ended() || at.Limit != "" {
		err = errors.New("it was cut off")
	}
	if err == nil {
		err = d.propose.heldOut.refuse(problem)
	}
	if err == nil {
		var ids []int
		if ids, err = d.collector.Renderer.Prompt(problem); err == nil && len(ids) > d.propose.most {
			err = fmt.Errorf("its prompt has %d tokens; accepted: at most task.max_prompt_tokens = %d", len(ids), d.propose.most)
		}
	}
	if err != nil {
		v := verify.Reject(at.Text, recipe.ProposerSeat, "%v", err)
		v.Values = map[string]float64{validFact: 0}
		return problem, v
	}
	return problem, verify.Verdict{Verdict: verify.Graded, Rule: recipe.ProposerSeat, Extracted: at.Text, Values: map[string]float64{validFact: 1}}
}

// verdictOfProblem is that on a problem which a group has solved: the mean of its scores.
func verdictOfProblem(g *rollout.Group) verify.Verdict {
	score := scoreOf(g)
	if math.IsNaN(score) {
		v := verify.Abstain("nothing that solves it is scored")
		v.Values = map[string]float64{validFact: 1}
		return v
	}
	return verify.Verdict{Score: score, Verdict: verify.Graded, Rule: recipe.ProposerSeat, Reason: "the task accepts it", Values: map[string]float64{validFact: 1}}
}

// proposalMetrics describe the problems that the policy wrote.
func proposalMetrics(cs []Completion, row metrics.Row) {
	n, valid, solved, scored := 0.0, 0.0, 0.0, 0.0
	distinct := map[string]bool{}
	for i := range cs {
		c := &cs[i]
		switch c.Origin.Seat {
		case recipe.ProposerSeat:
			n++
			valid += c.Verdict().Values[validFact]
			if v := c.Verdict(); v.Values[validFact] == 1 && !math.IsNaN(v.Score) {
				solved, scored = solved+v.Score, scored+1
			}
		case recipe.SolverSeat:
			distinct[keyOf(c.From.Problem)] = true
		}
	}
	if n == 0 {
		return
	}
	row["propose/valid_share"] = valid / n
	if valid > 0 {
		row["propose/distinct_share"] = float64(len(distinct)) / valid
	}
	if scored > 0 {
		row["propose/solved_mean"] = solved / scored
	}
}
