package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// drawer makes a step from a plan: it samples, judges and pays. It knows no optimizer and no
// advantage.
type drawer struct {
	*facts
	whole     *recipe.Stage // as the recipe has it
	collector *rollout.Collector
	program   *reward.Program
	truth     *reward.Program  // that is measured and not paid; nil: there is none
	when      *formula.Program // condition of a second chance; nil: there is none
	chooses   *formula.Program // which solutions of the rows it takes; nil: the first
	entries   *formula.Program // which share of lists each is shown in it; nil: all
	growth    *formula.Program // of a tree; nil: there is none
	propose   *proposing       // has the policy write the problems; nil: they are the task's
}

func newDrawer(p Parts, f *facts) (*drawer, error) {
	st := &p.Recipe.Stages[f.index]
	d := &drawer{facts: f, whole: st, collector: p.Collector}
	err := d.seat(p)
	if err != nil {
		return nil, fmt.Errorf("stage %s: seats: %w", st.Name, err)
	}
	if d.program, err = st.Program(); err != nil {
		return nil, fmt.Errorf("stage %s: reward: %w", st.Name, err)
	}
	if d.truth, err = st.Measure(); err != nil {
		return nil, fmt.Errorf("stage %s: truth: %w", st.Name, err)
	}
	if d.when, err = st.Condition("second_chance/when"); err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	if d.chooses, err = st.Condition("second_chance/choose"); err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	if d.entries, err = st.Condition("second_chance/entries"); err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	if d.growth, err = st.Growth(); err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	if d.propose, err = newProposing(p, st); err != nil {
		return nil, fmt.Errorf("stage %s: propose: %w", st.Name, err)
	}
	return d, nil
}

// begin lets workers begin with what draw samples first.
func (d *drawer) begin(ctx context.Context, p Plan) error {
	if d.propose != nil { // its problems are not there yet
		return nil
	}
	_, key := streams(d.index, p.At, 0)
	starts, err := d.startsOf(&p, p.Problems)
	if err != nil {
		return err
	}
	return d.collector.Begin(ctx, starts, p.stage.FirstDraw(), StepParams(p.stage), key)
}

// startsOf are what the completions of problems follow, each with how many the plan has for it.
func (d *drawer) startsOf(p *Plan, problems []verify.Problem) ([]rollout.Start, error) {
	starts, err := d.collector.Starts(problems)
	for i := range starts {
		if p.Sizes != nil {
			starts[i].N = p.Sizes[i]
		}
	}
	return starts, err
}

// requests are what a plan asks a sampler for first, and what the completions begin with.
func (d *drawer) requests(p Plan) ([]rollout.Start, []rollout.Request, error) {
	_, key := streams(d.index, p.At, 0)
	starts, err := d.startsOf(&p, p.Problems)
	return starts, d.collector.Requests(starts, p.stage.LargestGroup(), StepParams(p.stage), key), err
}

// draw samples the groups of a plan. With [stage.refill] other groups are drawn in place of those
// whose keep is false, for the number of tries that it allows; after them the step has fewer
// groups. If keep is false for every group, those of the first draw are the step.
func (d *drawer) draw(ctx context.Context, p Plan) (Drawn, error) {
	out := Drawn{Plan: p, Extra: p.Probed}
	first, err := d.collect(ctx, &out, 0, p.Problems)
	if err != nil {
		return out, err
	}
	if p.stage.Refill.Tries == 0 {
		return d.finished(out, first, nil)
	}
	var chosen, refused []Completion
	groups := 0
	for pending, try := first, 0; ; {
		kept, err := d.accepted(&p, pending)
		if err != nil {
			return out, err
		}
		for i := range pending {
			if c := pending[i]; kept[c.Group] {
				chosen = append(chosen, c)
				if c.Sample == 0 {
					groups++
				}
			} else {
				refused = append(refused, c)
			}
		}
		if try++; groups == len(p.Problems) || try > p.stage.Refill.Tries {
			break
		}
		problems, err := p.more(try, len(p.Problems)-groups)
		if err != nil {
			return out, err
		}
		if pending, err = d.collect(ctx, &out, try, problems); err != nil {
			return out, err
		}
	}
	if groups == 0 {
		chosen, refused = refused[:len(first)], refused[len(first):]
	}
	return d.finished(out, chosen, refused)
}

// drawn is the step of completions that a sampler drew after starts.
func (d *drawer) drawn(ctx context.Context, p Plan, starts []rollout.Start, segments [][]rollout.Segment) (Drawn, error) {
	out := Drawn{Plan: p}
	groups, err := d.collector.Judged(ctx, starts, segments, d.program.Verifiers()...)
	if err != nil {
		return out, err
	}
	cs := completionsOf(groups)
	if err := d.pay(&p, cs, d.coins(p.At, 0)); err != nil {
		return out, err
	}
	return d.finished(out, cs, nil)
}

// finished is the step with its completions: they get their places, and must have enough scores.
func (d *drawer) finished(out Drawn, chosen, refused []Completion) (Drawn, error) {
	out.Problems, out.more = nil, nil
	out.Completions, out.Refused = numbered(chosen, 0), numbered(refused, groupsOf(chosen))
	place := map[*rollout.Group]int{}
	for _, cs := range [][]Completion{out.Completions, out.Refused, out.Replaced} {
		for i := range cs {
			at, known := place[cs[i].From]
			if !known {
				at = len(out.Groups)
				place[cs[i].From] = at
				out.Groups = append(out.Groups, cs[i].From)
			}
			cs[i].Place = at
		}
	}
	return out, enoughScored(&out)
}

// collect samples a group of completions for each of some problems, judges them and gives them
// rewards. try counts the draws of a step; statistics of a reward are over what is drawn together.
// What it samples besides goes to the step.
func (d *drawer) collect(ctx context.Context, out *Drawn, try int, problems []verify.Problem) ([]Completion, error) {
	p := &out.Plan
	if d.propose != nil {
		return d.proposed(ctx, p, problems)
	}
	_, key := streams(d.index, p.At, try)
	starts, err := d.startsOf(p, problems)
	if err != nil {
		return nil, err
	}
	groups, err := d.collector.Draw(ctx, starts, p.stage.FirstDraw(), StepParams(p.stage), key)
	if err == nil && p.stage.Grows() {
		groups, err = d.grow(ctx, p, try, groups)
	}
	if err == nil {
		err = d.collector.Judge(ctx, groups, d.program.Verifiers()...)
	}
	if err != nil {
		return nil, err
	}
	cs := completionsOf(groups)
	if slices.Contains(d.reads, greedyFact) {
		key := random.Key{Purpose: random.Greedy, Stage: d.index, Step: p.At.Step*maxTries + try}
		greedy, err := d.greedy(ctx, p, d.baseline(), key, problems, d.coins(p.At, try))
		if err != nil {
			return nil, err
		}
		for i := range cs {
			cs[i].Greedy = greedy[cs[i].Group].Score
		}
		out.Extra += int(tokensOf(greedy))
	}
	if err := d.pay(p, cs, d.coins(p.At, try)); err != nil {
		return nil, err
	}
	return d.secondChance(ctx, out, try, cs)
}

// baseline draws what greedy_reward is the reward of: by the best policy so far, if the stage has one.
func (d *drawer) baseline() rollout.Sampler {
	if d.whole.Best.Every > 0 {
		return d.models.Best()
	}
	return d.collector.Sampler
}

// greedy has a sampler draw the most likely completion of each problem. Each is a group of its own to
// the reward, and place has its random numbers.
func (d *drawer) greedy(ctx context.Context, p *Plan, by rollout.Sampler, key random.Key, problems []verify.Problem, place func(int, *Completion) uint64) ([]Completion, error) {
	params := StepParams(p.stage)
	params.Temperature, params.TopK, params.TopP, params.MinP = 0, 0, 0, 0
	collector := *d.collector
	collector.Sampler = by
	groups, err := collector.Collect(ctx, problems, 1, params, key, d.program.Verifiers()...)
	if err != nil {
		return nil, err
	}
	cs := completionsOf(groups)
	for i := range cs {
		cs[i].View.Temperature = 1 // log-probs are of the model's own distribution
	}
	return cs, d.pay(p, cs, func(i int, c *Completion) uint64 { return 1<<63 | place(i, c) })
}

// accepted tells which groups have something that keep accepts.
func (d *drawer) accepted(p *Plan, cs []Completion) (map[int]bool, error) {
	facts, _ := d.method.KeepReads()
	t, err := d.of(p, cs, atOnce(cs)).table(asked, facts)
	if err != nil {
		return nil, err
	}
	kept, err := d.method.Keeps(t)
	if err != nil {
		return nil, d.blamed(err)
	}
	groups := map[int]bool{}
	for i := range cs {
		groups[cs[i].Group] = groups[cs[i].Group] || kept[i]
	}
	return groups, nil
}

// numbered gives groups their places in the step, in the order in which they stand.
func numbered(cs []Completion, from int) []Completion {
	for i := range cs {
		if i > 0 && cs[i].Sample == 0 {
			from++
		}
		cs[i].Group, cs[i].View.Group = from, from+1
	}
	return cs
}

// ErrNotScored: a step had more completions without a score than its stage accepts.
var ErrNotScored = errors.New("too many completions are not scored")

// notScored is ErrNotScored of a step.
type notScored struct {
	drawn *Drawn
	why   string
}

func (e *notScored) Error() string { return fmt.Sprintf("%v: %s", ErrNotScored, e.why) }
func (e *notScored) Unwrap() error { return ErrNotScored }

// enoughScored refuses a step that would learn from too few of its completions: what
// failed is the verifier or the data, not the model. Those that the reward leaves out
// itself do not count, unless nothing else is left.
func enoughScored(d *Drawn) error {
	u, st, n := unscoredOf(d.Completions), d.stage, len(d.Completions)
	why := u.tooMany(n, st)
	if why == "" {
		return nil
	}
	return &notScored{d, fmt.Sprintf("%d of the %d completions in step %d of stage %s have no score, %s", u.count, n, d.At.Step+1, st.Name, why)}
}

// unscored counts the completions of a step without a reward, or verdicts without a score.
type unscored struct {
	count     int
	why       map[string]int // completions by reason
	commonest string         // reason; the first of several as common
}

// add counts one with a reason.
func (u *unscored) add(why string) {
	u.count++
	if u.why[why]++; u.why[why] > u.why[u.commonest] {
		u.commonest = why
	}
}

// tooMany says why so many of n are more than a stage accepts; "": they are not.
func (u *unscored) tooMany(n int, st *recipe.Stage) string {
	left := u.why[reward.LeftOut]
	if u.count < n && float64(u.count-left) <= st.RL.MaxNotScored*float64(n-left) {
		return ""
	}
	limit := fmt.Sprintf("but max_not_scored is %v", st.RL.MaxNotScored)
	if st.RL.MaxNotScored == 1 {
		limit = "so that none is left"
	}
	return fmt.Sprintf("%s; the reason of %d of them: %s", limit, u.why[u.commonest], u.commonest)
}

func unscoredOf(cs []Completion) unscored {
	u := unscored{why: map[string]int{}}
	for i := range cs {
		if why := cs[i].Score.NotScored; math.IsNaN(cs[i].Score.Reward) {
			u.add(why)
		}
	}
	return u
}
