package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/rollout"
)

// pool has the groups of a stage with order = "arrival" that are asked for and not learned
// from yet.
type pool struct {
	groups []*waiting // by step and place
	since  int        // version of the first weights that may draw them: those of the last checkpoint
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
func (w *waiting) arrived() Arrived {
	return Arrived{Step: w.At.Total + 1, Prompt: w.Place, Version: w.Drawn[0].Drawn.Version}
}

// arrive asks for what the policy of now has to draw, as fill does, and makes the step at a
// position of the first groups that are there. It waits for those whose step was lag steps
// ago, so that none comes later, and for no others once there are enough. What has come is
// taken oldest first.
func (s *reinforcement) arrive(ctx context.Context, at Position, r *rolls) error {
	r.since = time.Now()
	defer func() {
		r.waited = time.Since(r.since)
		r.spans = r.waited
	}()
	for n := len(s.open); n <= s.before.whole.Lag && at.Step+n < s.before.whole.RL.Steps; n++ {
		if err := s.askFor(Position{at.Stage, at.Step + n, at.Total + n}); err != nil {
			return err
		}
	}
	chosen, err := s.choose(ctx, at)
	if err != nil {
		return err
	}
	var starts []rollout.Start
	var drawn [][]rollout.Segment
	for _, w := range chosen {
		starts, drawn = append(starts, w.Start), append(drawn, w.Drawn)
		r.arrived = append(r.arrived, w.arrived())
	}
	o := s.open[0]
	s.use(o)
	groups, err := s.HeldOut.Collector.Judged(ctx, starts, drawn, s.program.Verifiers()...)
	if err != nil {
		return err
	}
	cs := completionsOf(groups)
	if err := s.score(at, cs, s.coins(at, 0)); err != nil {
		return err
	}
	o.cs = cs
	if err := s.enoughScored(at, cs); err != nil {
		r.refused = o
		return err
	}
	s.pool.groups = slices.DeleteFunc(s.pool.groups, func(w *waiting) bool { return slices.Contains(chosen, w) })
	r.tokens = tokensOf(cs)
	return nil
}

// askFor adds the groups of a step to the pool.
func (s *reinforcement) askFor(at Position) error {
	if err := s.prepare(at); err != nil {
		return err
	}
	o := &openStep{at: at, version: s.Cast.Policy.Version(), numbers: s.before.numbers, stage: s.stage, told: metrics.Row{}, aside: newAside()}
	s.before.tell(o.told)
	problems, err := s.problems(at, 0, s.stage.RL.PromptsPerStep)
	if err == nil {
		err = s.HeldOut.refuse(problems...)
	}
	if err != nil {
		return err
	}
	_, key := s.streams(at, 0)
	starts, requests, err := s.HeldOut.Collector.Requests(problems, s.stage.RL.GroupSize, StepParams(s.stage), key)
	if err != nil {
		return err
	}
	for i := range starts {
		s.pool.groups = append(s.pool.groups, &waiting{At: at, Place: i, Start: starts[i], Request: requests[i]})
	}
	s.open = append(s.open, o)
	return nil
}

// choose gives the groups of a step: those of the schedule, as far as it goes, or the first
// that are there.
func (s *reinforcement) choose(ctx context.Context, at Position) ([]*waiting, error) {
	if line := s.Schedule.Groups(at.Total + 1); line != nil {
		return s.follow(ctx, at, line)
	}
	count, first := s.before.whole.RL.PromptsPerStep, 0
	var asked []*waiting
	for _, w := range s.pool.groups {
		switch {
		case w.Drawn != nil:
			count--
		default:
			asked = append(asked, w)
			if w.At.Step+s.before.whole.Lag <= at.Step {
				first++
			}
		}
	}
	if err := s.draw(asked, func(requests []rollout.Request) ([][]rollout.Segment, error) {
		if early, can := s.Cast.Sampler.(rollout.Early); can {
			return early.Pick(ctx, requests, first, max(first, count), s.pool.since)
		}
		return s.Cast.Sampler.Sample(ctx, requests)
	}); err != nil {
		return nil, err
	}
	var chosen []*waiting
	for _, w := range s.pool.groups {
		if w.Drawn != nil && len(chosen) < s.before.whole.RL.PromptsPerStep {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

// draw gives groups their completions, as far as a sampler has them.
func (s *reinforcement) draw(groups []*waiting, by func([]rollout.Request) ([][]rollout.Segment, error)) error {
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
func (s *reinforcement) follow(ctx context.Context, at Position, line []Arrived) ([]*waiting, error) {
	version := s.Cast.Policy.Version()
	open := map[[2]int]*waiting{}
	var due []*waiting
	for _, w := range s.pool.groups {
		place := [2]int{w.At.Total + 1, w.Place}
		open[place] = w
		if by, known := s.Schedule.by[place]; known && by == version && w.Drawn == nil {
			due = append(due, w)
		}
	}
	err := s.draw(due, func(requests []rollout.Request) ([][]rollout.Segment, error) {
		return s.Cast.Sampler.Sample(ctx, requests)
	})
	if err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) error {
		err := fmt.Errorf("%w: %s: step %d %s", lines.ErrInput, s.Schedule.name, at.Total+1, fmt.Sprintf(format, args...))
		return hint.With(err, "the file is not the schedule of this run, or has changed: restore it")
	}
	if want := s.before.whole.RL.PromptsPerStep; len(line) != want {
		return nil, fail("has %d groups; accepted: prompts_per_step = %d", len(line), want)
	}
	var chosen []*waiting
	for _, a := range line {
		w := open[[2]int{a.Step, a.Prompt}]
		switch {
		case w == nil:
			return nil, fail("has prompt %d of step %d, which is not open then", a.Prompt, a.Step)
		case w.Drawn == nil:
			return nil, fail("has prompt %d of step %d by the weights after update %d, which the run has not drawn by then: it is at update %d", a.Prompt, a.Step, a.Version, version)
		case w.arrived() != a:
			return nil, fail("has prompt %d of step %d by the weights after update %d, but those after update %d drew it", a.Prompt, a.Step, a.Version, w.arrived().Version)
		}
		chosen = append(chosen, w)
	}
	for _, w := range s.pool.groups {
		if w.At.Step+s.before.whole.Lag <= at.Step && !slices.Contains(chosen, w) {
			return nil, fail("leaves prompt %d of step %d, but lag = %d lets none come later", w.Place, w.At.Total+1, s.before.whole.Lag)
		}
	}
	return chosen, nil
}

// poolFile keeps the pool in a checkpoint.
const poolFile = "trainer/pool.json"

// savePool adds the pool to a checkpoint. A run that continues from there has none of the
// weights before it: what these are still drawing is drawn by later ones. What those of now
// have drawn can be drawn again, so whether it has come already is left out: a checkpoint is a
// function of the schedule.
func (s *reinforcement) savePool(files map[string]func(io.Writer) error) {
	if !s.before.whole.Arrives() {
		return
	}
	s.pool.since = s.Cast.Policy.Version()
	groups := []waiting{}
	for _, w := range s.pool.groups {
		one := *w
		if w.Drawn != nil && w.arrived().Version == s.pool.since {
			one.Drawn = nil
		}
		groups = append(groups, one)
	}
	files[poolFile] = func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // logs have rows as they were read
		return enc.Encode(groups)
	}
}

// loadPool reads it.
func (s *reinforcement) loadPool(dir string) error {
	if !s.before.whole.Arrives() {
		return nil
	}
	return readJSON(dir, poolFile, &s.pool.groups)
}
