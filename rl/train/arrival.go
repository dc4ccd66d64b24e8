package train

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
)

// byArrival learns from the groups that are there first.
type byArrival struct {
	plan     func(context.Context, Position) (Plan, error) // by the weights of now
	drawer   *drawer
	schedule *Schedule  // that the steps follow as far as it goes; nil: none
	plans    []Plan     // of the steps that are not learned from, the next one first
	groups   []*waiting // that are asked for and not learned from, by step and place
	since    int        // version of the first weights that may draw them: those of the last checkpoint
}

// waiting is a group that is asked for.
type waiting struct {
	At      Position // of the step that it is drawn for
	Place   int      // in that step
	Start   rollout.Start
	Request rollout.Request
	Drawn   []rollout.Segment // its completions; nil: they are not there yet
}

// arrived is the group as the schedule names it.
func (w *waiting) arrived() record.Arrived {
	return record.Arrived{Step: w.At.Total + 1, Prompt: w.Place, Version: w.Drawn[0].Drawn.Version}
}

// Next asks for the groups that the current policy has to draw, as inTurn does, and makes the step
// at a position from the first groups that have arrived. It waits for those whose step was lag
// steps ago, so that none comes later, and for no others once there are enough. The oldest groups
// are taken first.
func (q *byArrival) Next(ctx context.Context, at Position, t *waits) (Drawn, error) {
	whole := q.drawer.whole
	t.since = time.Now()
	defer func() {
		t.waited = time.Since(t.since)
		t.spans = t.waited
	}()
	for n := len(q.plans); n <= whole.Lag && at.Step+n < whole.RL.Steps; n++ {
		if err := q.askFor(ctx, Position{at.Stage, at.Step + n, at.Total + n}); err != nil {
			return Drawn{}, err
		}
	}
	chosen, err := q.choose(ctx, at)
	if err != nil {
		return Drawn{}, err
	}
	var starts []rollout.Start
	var segments [][]rollout.Segment
	var arrived []record.Arrived
	for _, w := range chosen {
		starts, segments = append(starts, w.Start), append(segments, w.Drawn)
		arrived = append(arrived, w.arrived())
	}
	d, err := q.drawer.drawn(ctx, q.plans[0], starts, segments)
	if err != nil {
		return d, err
	}
	d.Arrived = arrived
	q.plans = q.plans[1:]
	q.groups = slices.DeleteFunc(q.groups, func(w *waiting) bool { return slices.Contains(chosen, w) })
	t.tokens = tokensOf(d.Completions)
	return d, nil
}

// Collect implements queue: what comes is taken by Next.
func (q *byArrival) Collect(context.Context, *waits) error { return nil }

// askFor adds the groups of a step.
func (q *byArrival) askFor(ctx context.Context, at Position) error {
	p, err := q.plan(ctx, at)
	if err != nil {
		return err
	}
	starts, requests, err := q.drawer.requests(p)
	if err != nil {
		return err
	}
	for i := range starts {
		q.groups = append(q.groups, &waiting{At: at, Place: i, Start: starts[i], Request: requests[i]})
	}
	p.Problems, p.more = nil, nil
	q.plans = append(q.plans, p)
	return nil
}

// choose gives the groups of a step: those of the schedule, as far as it goes, or the first that
// have arrived.
func (q *byArrival) choose(ctx context.Context, at Position) ([]*waiting, error) {
	if line := q.schedule.Groups(at.Total + 1); line != nil {
		return q.follow(ctx, at, line)
	}
	count, first := q.drawer.whole.RL.PromptsPerStep, 0
	var asked []*waiting
	for _, w := range q.groups {
		switch {
		case w.Drawn != nil:
			count--
		default:
			asked = append(asked, w)
			if w.At.Step+q.drawer.whole.Lag <= at.Step {
				first++
			}
		}
	}
	if err := draw(asked, func(requests []rollout.Request) ([][]rollout.Segment, error) {
		if early, can := q.drawer.collector.Sampler.(rollout.Early); can {
			return early.Pick(ctx, requests, first, max(first, count), q.since)
		}
		return q.drawer.collector.Sampler.Sample(ctx, requests)
	}); err != nil {
		return nil, err
	}
	var chosen []*waiting
	for _, w := range q.groups {
		if w.Drawn != nil && len(chosen) < q.drawer.whole.RL.PromptsPerStep {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

// draw gives groups their completions, as far as a sampler has them.
func draw(groups []*waiting, by func([]rollout.Request) ([][]rollout.Segment, error)) error {
	if len(groups) == 0 {
		return nil
	}
	requests := make([]rollout.Request, len(groups))
	for i, w := range groups {
		requests[i] = w.Request
	}
	drawn, err := by(requests)
	for i := range drawn {
		groups[i].Drawn = drawn[i]
	}
	return err
}

// follow gives the groups of a step by the schedule. All groups that it has by the weights
// of now are drawn now, whenever they are learned from.
func (q *byArrival) follow(ctx context.Context, at Position, line []record.Arrived) ([]*waiting, error) {
	version := q.drawer.models.Version()
	open := map[[2]int]*waiting{}
	var due []*waiting
	for _, w := range q.groups {
		place := [2]int{w.At.Total + 1, w.Place}
		open[place] = w
		if by, known := q.schedule.by[place]; known && by == version && w.Drawn == nil {
			due = append(due, w)
		}
	}
	err := draw(due, func(requests []rollout.Request) ([][]rollout.Segment, error) {
		return q.drawer.collector.Sampler.Sample(ctx, requests)
	})
	if err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) error {
		err := fmt.Errorf("%w: %s: step %d %s", lines.ErrInput, q.schedule.name, at.Total+1, fmt.Sprintf(format, args...))
		return hint.With(err, "the file is not the schedule of this run, or has changed: restore it")
	}
	if want := q.drawer.whole.RL.PromptsPerStep; len(line) != want {
		return nil, fail("has %d groups; accepted: prompts_per_step = %d", len(line), want)
	}
	var chosen []*waiting
	for _, a := range line {
		w := open[[2]int{a.Step, a.Prompt}]
		switch {
		case w == nil:
			return nil, fail("has prompt %d of step %d, which is not open at that point", a.Prompt, a.Step)
		case w.Drawn == nil:
			return nil, fail("has prompt %d of step %d by the weights after update %d, with which the run has not drawn yet: it is at update %d", a.Prompt, a.Step, a.Version, version)
		case w.arrived() != a:
			return nil, fail("has prompt %d of step %d by the weights after update %d, but the weights after update %d drew it", a.Prompt, a.Step, a.Version, w.arrived().Version)
		}
		chosen = append(chosen, w)
	}
	for _, w := range q.groups {
		if w.At.Step+q.drawer.whole.Lag <= at.Step && !slices.Contains(chosen, w) {
			return nil, fail("leaves out prompt %d of step %d, but with lag = %d it cannot come later", w.Place, w.At.Total+1, q.drawer.whole.Lag)
		}
	}
	return chosen, nil
}

// savedPool is what a checkpoint keeps.
type savedPool struct {
	Plans  []Plan
	Groups []waiting
}

// Save implements cast.Keeper. A run that continues from the checkpoint has no weights before the
// current ones, so groups that these are still drawing are drawn by later weights. Groups that the
// current weights have drawn can be drawn again. Whether they have arrived is left out, so that a
// checkpoint is a function of the schedule.
func (q *byArrival) Save() (map[string]func(io.Writer) error, error) {
	q.since = q.drawer.models.Version()
	saved := savedPool{Plans: append([]Plan{}, q.plans...), Groups: []waiting{}}
	for _, w := range q.groups {
		one := *w
		if w.Drawn != nil && w.arrived().Version == q.since {
			one.Drawn = nil
		}
		saved.Groups = append(saved.Groups, one)
	}
	return map[string]func(io.Writer) error{stepsFile: writeSteps(saved)}, nil
}

// Load implements cast.Keeper.
func (q *byArrival) Load(dir string) error {
	var saved savedPool
	if err := readSteps(dir, &saved); err != nil {
		return err
	}
	q.plans, q.groups = saved.Plans, nil
	for i := range q.plans {
		if err := q.plans[i].under(q.drawer.whole); err != nil {
			return fmt.Errorf("%s: %w", stepsFile, err)
		}
	}
	for i := range saved.Groups {
		q.groups = append(q.groups, &saved.Groups[i])
	}
	return nil
}
