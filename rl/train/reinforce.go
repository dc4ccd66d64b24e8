package train

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// reinforcement samples groups, judges them and learns from them, step by step.
type reinforcement struct {
	learner
	program *reward.Program
	when    *formula.Program // condition of a second chance; nil: there is none
	before  before
	replay  replay
	open    []*openStep // the next to learn from first
	pool    pool        // with order = "arrival"
	told    string      // the reason for not scoring that was told last
}

func newReinforcement(p Parts, index int) (Stage, error) {
	st := &p.Recipe.Stages[index]
	s := &reinforcement{}
	var err error
	if s.program, err = reward.Compile(st.Reward, st.Verifiers); err != nil {
		return nil, fmt.Errorf("stage %s: reward: %w", st.Name, err)
	}
	if s.learner, err = newLearner(p, index); err != nil {
		return nil, err
	}
	if s.when, err = st.Condition("second_chance/when"); err == nil {
		s.replay.store, err = st.Condition("replay/store")
	}
	if err == nil {
		s.before, err = newBefore(p, st)
	}
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	return s, nil
}

// Save implements cast.Keeper.
func (s *reinforcement) Save() (map[string]func(io.Writer) error, error) {
	files, err := s.learner.Save()
	if err == nil {
		s.replay.save(files)
		s.saveAhead(files)
		s.savePool(files)
	}
	return files, err
}

// Load implements cast.Keeper.
func (s *reinforcement) Load(dir string) error {
	if err := s.replay.load(dir); err != nil {
		return err
	}
	if err := s.loadAhead(dir); err != nil {
		return err
	}
	if err := s.loadPool(dir); err != nil {
		return err
	}
	return s.learner.Load(dir)
}

func (s *reinforcement) Steps() int { return s.stage.RL.Steps }

func (s *reinforcement) Opening() []string {
	return append([]string{s.method.Text()}, s.before.whole.Beside()...)
}

func (s *reinforcement) Step(ctx context.Context, at Position) (*Event, error) {
	if at.Step >= s.stage.RL.Steps {
		return nil, io.EOF
	}
	began, r := time.Now(), &rolls{}
	s.ageReplay()
	draw := s.fill
	if s.before.whole.Arrives() {
		draw = s.arrive
	}
	if err := draw(ctx, at, r); err != nil {
		return r.event(at), err
	}
	o := s.open[0]
	s.use(o)
	e, err := s.learn(o, func() error {
		err := s.finish(ctx, r)
		s.use(o)
		return err
	})
	if r.err != nil {
		return r.event(at), r.err
	}
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", at.Step+1, err)
	}
	s.open = s.open[1:]
	e.Completions, e.Arrived = o.cs, r.arrived
	e.Timing = r.rate(time.Since(began))
	s.notes(at, e)
	if every, done := s.stage.EvalEvery, at.Step+1; every > 0 && done%every == 0 && done < s.stage.RL.Steps {
		began := time.Now()
		// Not cut short by an interrupt: the step's updates have been made.
		r, err := s.HeldOut.Measure(context.WithoutCancel(ctx), s.index, done, s.stage.EvalProblems, false)
		if err != nil {
			return nil, err
		}
		for name, v := range r.Metrics() {
			e.Metrics[name] = v
		}
		e.Timing["time/eval_s"] = time.Since(began).Seconds()
	}
	return e, nil
}

// collect samples a group of completions for each of n problems, judges them and gives them
// rewards. try counts the draws of a step; statistics of a reward are over what is drawn
// together.
func (s *reinforcement) collect(ctx context.Context, at Position, try, n int) ([]Completion, error) {
	problems, err := s.problems(at, try, n)
	if err == nil {
		err = s.HeldOut.refuse(problems...)
	}
	if err != nil {
		return nil, err
	}
	_, key := s.streams(at, try)
	groups, err := s.HeldOut.Collector.Collect(ctx, problems, s.stage.RL.GroupSize, StepParams(s.stage), key, s.program.Verifiers()...)
	if err != nil {
		return nil, err
	}
	if err := s.sampleGreedy(ctx, at, try, problems, groups); err != nil {
		return nil, err
	}
	cs := completionsOf(groups)
	if err := s.score(at, cs, s.coins(at, try)); err != nil {
		return nil, err
	}
	return s.secondChance(ctx, at, try, cs)
}

// learn makes the step's updates: the prompts, in a random order, are dealt to
// updates_per_rollout updates, a group never being cut. between is called before the first.
func (s *reinforcement) learn(o *openStep, between func() error) (*Event, error) {
	at, all := o.at, &o.gathered
	all.stored = min(all.stored, len(s.replay.groups)) // some may have become too old since
	replayed, err := s.again(at, all.stored, groupsOf(all.cs))
	if err != nil {
		return nil, err
	}
	if err := s.overtake(o); err != nil {
		return nil, err
	}
	e := &Event{Metrics: rolloutMetrics(all.cs, s.aside.replaced)}
	cs := slices.Concat(all.cs, replayed)
	if s.stage.Refill.Tries > 0 {
		e.Metrics["rollout/refused_groups"], e.Metrics["rollout/refused_tokens"] = float64(groupsOf(all.refused)), tokensOf(all.refused)
	}
	maps.Copy(e.Metrics, o.told)
	if s.replay.store != nil {
		e.Metrics["rollout/replayed_groups"], e.Metrics["rollout/stored_groups"] = float64(all.stored), float64(len(s.replay.groups))
	}
	if s.when != nil {
		e.Metrics["rollout/second_chances"] = float64(s.aside.second)
	}
	if s.aside.tokens > 0 {
		e.Metrics["rollout/extra_tokens"] = float64(s.aside.tokens)
	}
	step, row, err := s.advantages(at, cs)
	if err != nil {
		return nil, err
	}
	sampled, err := s.sampled(at, step, *all)
	if err != nil {
		return nil, err
	}
	maps.Copy(e.Metrics, row)
	h := optimizer(s.stage.Optimizer, s.stage.LearningRate(at.Step))
	h.ValueLR = s.stage.ValueLearningRate(at.Step)
	e.Metrics["optim/lr"], e.Metrics["optim/tokens"], e.Metrics["optim/rows"] = h.LR, 0, 0
	order := random.At(s.Recipe.Seed, random.Stream(random.Order, s.index), uint64(at.Step)).Shuffled(groupsOf(cs))
	var done updates
	behind := 0.0
	for part, parts := 0, s.stage.RL.UpdatesPerRollout; part < parts; part++ {
		b, err := s.deal(step, cs, order[part*len(order)/parts:(part+1)*len(order)/parts])
		if err != nil {
			return nil, err
		}
		if b.u == nil {
			continue
		}
		version := s.Cast.Policy.Version()
		m, err := s.update(step, b, len(done) == 0, h, between)
		if err != nil {
			return nil, err
		}
		done = append(done, m)
		behind += float64(version) - o.meanVersion()
		if err := s.move(b.u.Table, cs, b.u.Rows, true); err != nil {
			return nil, err
		}
		e.Tokens += m.tokens
		e.Metrics["optim/rows"] += float64(s.Cast.Policy.Rows())
		for _, m := range b.members {
			e.Metrics["optim/tokens"] += float64(len(m.View.IDs) - 1)
		}
	}
	if err := between(); err != nil { // there may have been no update
		return nil, err
	}
	done.into(e.Metrics)
	if behind > 0 {
		e.Metrics["policy/lag_effective"] = behind / float64(len(done))
	}
	copy(all.cs, cs)
	if err := s.keepForReplay(step, all.cs, o.version); err != nil {
		return nil, err
	}
	return e, s.moveAfter(at, sampled, *all)
}

// deal makes the update of some groups, in the order in which they are trained. It has
// none if nothing is left to learn from.
func (s *learner) deal(step *algo.StepValues, cs []Completion, groups []int) (batch, error) {
	in := make([]bool, groupsOf(cs))
	for _, g := range groups {
		in[g] = true
	}
	b := batch{s: s}
	var err error
	if b.u, err = step.Update(in); b.u == nil || err != nil {
		return b, err
	}
	var members []member // with their rows in the step's table, in the order of training
	for _, g := range groups {
		for i := range cs {
			if cs[i].Group == g && b.u.Rows[i] {
				members = append(members, member{&cs[i], i})
			}
		}
	}
	b.members = placed(b.u.Rows, members)
	return b, nil
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
		if c.View.Stop == rollout.Length {
			truncated++
		}
	}
	for _, c := range slices.Concat(cs, replaced) {
		if v := c.Verdict(); c.Origin.fresh() && !math.IsNaN(v.Score) {
			right += v.Score
			scored++
		}
	}
	row := metrics.Row{"rollout/tokens": float64(tokens), "rollout/length_mean": float64(tokens) / max(1, n), "rollout/truncated_share": float64(truncated) / max(1, n)}
	if scored > 0 {
		row["rollout/right_share"] = right / float64(scored)
	}
	rewardHints(cs, row)
	for t, term := range cs[0].Terms {
		sum, have := 0.0, 0
		for i := range cs {
			if v := cs[i].Terms[t].Value; !math.IsNaN(v) {
				sum += v
				have++
			}
		}
		row["reward/term/"+term.Name] = sum / float64(have)
	}
	return row
}

// notes adds what people should be told about the step: a completion every so often, and
// why some were not scored where the reason is new.
func (s *reinforcement) notes(at Position, e *Event) {
	if u := unscoredOf(e.Completions); u.count > 0 && u.commonest != s.told {
		s.told = u.commonest
		e.Notes = append(e.Notes, fmt.Sprintf("  step %d: not scored: %s", at.Step+1, u.commonest))
	}
	if every := s.stage.SampleEvery; every > 0 && at.Step%every == 0 {
		c := &e.Completions[0]
		v := c.Verdict()
		e.Notes = append(e.Notes, fmt.Sprintf("  step %d: %s  %s   %s: %s", at.Step+1, terminal.Line(c.From.Problem.Question, 120), terminal.Line(c.Path().Text, 120), v.Verdict, terminal.Line(v.Reason, 60)))
	}
}

// failed explains an update that was refused.
func failed(err error, lr, clipNorm float64) error {
	return hint.With(fmt.Errorf("%w: no weights were updated", err), "resume from the last checkpoint with a lower learning rate (now %v) or clip_norm (now %v)", lr, clipNorm)
}
