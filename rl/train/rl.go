package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
)

// reinforcement samples groups, judges them and learns from them, step by step.
type reinforcement struct {
	whole   *recipe.Stage // as the recipe has it
	index   int
	planner *planner
	drawer  *drawer
	queue   queue
	asker   *asker
	learner *learner
	besides []*beside // who learn beside the policy
	replay  *replay
	maker   *maker // nil: it makes no rows
	heldOut *HeldOut
	notes   notes
}

func newReinforcement(p Parts, index int) (Stage, error) {
	s := &reinforcement{whole: &p.Recipe.Stages[index], index: index, replay: &replay{}, heldOut: p.HeldOut}
	f, err := newFacts(p, index)
	if err != nil {
		return nil, err
	}
	d, err := newDrawer(p, f)
	if err != nil {
		return nil, err
	}
	if s.replay.store, err = s.whole.Condition("replay/store"); err == nil {
		s.planner, err = newPlanner(p, f)
	}
	if err == nil {
		s.maker, err = newMaker(p, f)
	}
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.whole.Name, err)
	}
	plan := func(ctx context.Context, at Position) (Plan, error) {
		if err := s.planner.pass(ctx, at, d.probe); err != nil {
			return Plan{}, err
		}
		return s.planner.plan(at, f.models.Version(), len(s.replay.groups))
	}
	s.drawer, s.queue = d, &inTurn{plan: plan, drawer: d}
	if s.whole.Arrives() {
		s.queue = &byArrival{plan: plan, drawer: d, schedule: p.Schedule}
	}
	s.asker, s.learner = &asker{f, s.replay}, &learner{facts: f, cast: p.Cast, who: p.Cast.Policy.Trainee}
	s.besides, s.learner.second, err = newBesides(p, index)
	return s, err
}

// keepers have what a checkpoint keeps of the stage.
func (s *reinforcement) keepers() []cast.Keeper {
	all := []cast.Keeper{s.replay, s.queue, s.learner, s.planner}
	if s.learner.second != nil {
		all = append(all, s.learner.second)
	}
	for _, b := range s.besides {
		all = append(all, b)
	}
	return all
}

// Save implements cast.Keeper.
func (s *reinforcement) Save() (map[string]func(io.Writer) error, error) {
	files := map[string]func(io.Writer) error{}
	for _, k := range s.keepers() {
		more, err := k.Save()
		if err != nil {
			return nil, err
		}
		maps.Copy(files, more)
	}
	return files, nil
}

// Load implements cast.Keeper.
func (s *reinforcement) Load(dir string) error {
	for _, k := range s.keepers() {
		if err := k.Load(dir); err != nil {
			return err
		}
	}
	return nil
}

func (s *reinforcement) Steps() int { return s.whole.RL.Steps }

// Step plans, draws, asks, values and learns. Workers draw what the queue asked for while the first
// gradient is computed.
func (s *reinforcement) Step(ctx context.Context, at Position) (*Event, error) {
	if at.Step >= s.whole.RL.Steps {
		return nil, io.EOF
	}
	began, times := time.Now(), &waits{}
	s.replay.age(s.learner.models.Version(), s.whole.Replay.MaxAge)
	drawn, err := s.queue.Next(ctx, at, times)
	if err != nil {
		return s.refused(at, err), err
	}
	early := slices.ContainsFunc(s.besides, func(b *beside) bool { return b.First })
	if early { // they change weights, which no interrupt may come after
		if err := s.queue.Collect(ctx, times); err != nil {
			return s.refused(at, err), err
		}
	}
	v, lessons, err := s.begin(drawn)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	if !early {
		if err := s.queue.Collect(ctx, times); err != nil {
			return s.refused(at, err), err
		}
	}
	e, err := s.finish(v, lessons)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	if err := s.contest(context.WithoutCancel(ctx), at, e.Metrics); err != nil { // the step's updates have been made
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	if s.maker != nil {
		if err := s.maker.into(context.WithoutCancel(ctx), v, e); err != nil {
			return nil, err
		}
	}
	e.Timing = times.row(time.Since(began))
	s.judged(e.Timing)
	s.notes.add(s.whole, at, e)
	return e, s.evaluate(ctx, at, e)
}

// begin lets those learn who do so first, asks the models about a step, values it and computes the first gradient.
func (s *reinforcement) begin(d Drawn) (*Valued, *course, error) {
	a, err := s.asker.again(d)
	if err == nil {
		err = s.learnBeside(&a, true)
	}
	if err == nil {
		err = s.asker.complete(&a)
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := s.learner.value(a)
	if err != nil {
		return nil, nil, err
	}
	lessons, err := s.learner.begin(&v)
	return &v, lessons, err
}

// finish makes the updates of a step and remembers what later steps want to know of it.
func (s *reinforcement) finish(v *Valued, lessons *course) (*Event, error) {
	row := stepMetrics(v, s.replay)
	e, err := lessons.finish()
	if err != nil {
		return nil, err
	}
	if err := s.learnBeside(&v.Asked, false); err != nil {
		return nil, err
	}
	for _, b := range s.besides {
		b.into(row)
	}
	maps.Copy(row, e.Metrics)
	e.Metrics, e.Arrived = row, v.Arrived
	if err := s.replay.keep(v); err != nil {
		return nil, err
	}
	s.planner.record.note(slices.Concat(v.Completions, v.Refused, v.Replaced), v.At.Total+1)
	return e, s.planner.note(slices.Concat(v.Completions, v.Refused))
}

// refused is the event of a step that has too few scores; nil: the error is another one.
func (s *reinforcement) refused(at Position, err error) *Event {
	var few *notScored
	if !errors.As(err, &few) {
		return nil
	}
	return &Event{Completions: few.drawn.Completions, Ahead: few.drawn.At.Step - at.Step}
}

// evaluate adds an evaluation on held-out problems, if the step is one in eval_every.
func (s *reinforcement) evaluate(ctx context.Context, at Position, e *Event) error {
	every, done := s.whole.EvalEvery, at.Step+1
	if every == 0 || done%every != 0 || done >= s.whole.RL.Steps {
		return nil
	}
	began := time.Now()
	// Not cut short by an interrupt: the step's updates have been made.
	r, err := s.heldOut.Measure(context.WithoutCancel(ctx), s.index, done, s.whole.EvalProblems, false)
	if err != nil {
		return err
	}
	e.HeldOut = r
	maps.Copy(e.Metrics, r.Metrics())
	e.Timing["time/eval_s"] = time.Since(began).Seconds()
	return nil
}

// stepMetrics describe a step beside its updates.
func stepMetrics(v *Valued, r *replay) metrics.Row {
	row := rolloutMetrics(v.Completions, v.Replaced)
	unreadMetrics(v.stage, v.Completions, row)
	if v.stage.Grows() {
		treeMetrics(v.Completions, row)
	}
	if v.stage.Refill.Tries > 0 {
		row["rollout/refused_groups"], row["rollout/refused_tokens"] = float64(groupsOf(v.Refused)), tokensOf(v.Refused)
	}
	maps.Copy(row, v.Plan.Metrics)
	if r.store != nil {
		row["rollout/replayed_groups"], row["rollout/stored_groups"] = float64(v.Stored), float64(len(r.groups))
	}
	if v.stage.SecondChance.When != "" {
		row["rollout/second_chances"] = float64(v.Chances)
	}
	if v.Extra > 0 {
		row["rollout/extra_tokens"] = float64(v.Extra)
	}
	maps.Copy(row, v.Metrics)
	return row
}

// rolloutMetrics describe what was sampled.
// replaced are those that a second chance replaced.
func rolloutMetrics(cs, replaced []Completion) metrics.Row {
	tokens, truncated, right, scored, n := 0, 0, 0.0, 0, 0.0
	for i := range cs {
		c := &cs[i]
		if c.Origin.Foreign {
			continue
		}
		n++
		tokens += c.View.Tokens()
		if c.View.Cut() {
			truncated++
		}
	}
	for _, c := range slices.Concat(cs, replaced) {
		if v := c.Verdict(); c.Origin.fresh() && c.Origin.Seat != recipe.ProposerSeat && !math.IsNaN(v.Score) {
			right += v.Score
			scored++
		}
	}
	row := metrics.Row{"rollout/tokens": tokensOf(cs), "rollout/length_mean": float64(tokens) / max(1, n), "rollout/truncated_share": float64(truncated) / max(1, n)}
	if scored > 0 {
		row["rollout/right_share"] = right / float64(scored)
	}
	turnMetrics(cs, row)
	seatMetrics(cs, row)
	proposalMetrics(cs, row)
	rewardHints(cs, row)
	truthMetrics(cs, row)
	termMetrics(cs, row)
	return row
}

// termMetrics describe the terms of the stage's reward, by which written problems are not paid.
func termMetrics(cs []Completion, row metrics.Row) {
	type mean struct{ sum, n float64 }
	terms := map[string]mean{}
	for i := range cs {
		if cs[i].Origin.Seat == recipe.ProposerSeat {
			continue
		}
		for _, term := range cs[i].Score.Terms {
			m := terms[term.Name]
			if !math.IsNaN(term.Value) {
				m = mean{m.sum + term.Value, m.n + 1}
			}
			terms[term.Name] = m
		}
	}
	for name, m := range terms {
		row["reward/term/"+name] = m.sum / m.n
	}
}

// notes are what people are told about the steps of a stage.
type notes struct {
	told string // the reason for not scoring that was told last
}

// add adds them to the event of a step: a completion every so often, and why some were not scored where
// the reason is new.
func (n *notes) add(st *recipe.Stage, at Position, e *Event) {
	if u := unscoredOf(e.Completions); u.count > 0 && u.commonest != n.told {
		n.told = u.commonest
		e.Notes = append(e.Notes, fmt.Sprintf("  step %d: not scored: %s", at.Step+1, u.commonest))
	}
	if every := st.SampleEvery; every > 0 && at.Step%every == 0 {
		c := &e.Completions[0]
		v := c.Verdict()
		e.Notes = append(e.Notes, fmt.Sprintf("  step %d: %s  %s   %s: %s", at.Step+1, terminal.Line(c.From.Problem.Question, 120), terminal.Line(c.Path().Text, 120), v.Verdict, terminal.Line(v.Reason, 60)))
	}
}
