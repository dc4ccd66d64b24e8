package train

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// learner makes updates from existing completions. It samples nothing.
type learner struct {
	*facts
	cast   *cast.Cast
	who    *cast.Trainee
	second *beside // a second loss of the policy; nil: there is none
}

// value computes what the method needs once for a step.
func (s *learner) value(a Asked) (Valued, error) {
	v := Valued{Asked: a}
	var err error
	if v.Step, err = s.method.StepBeside(a.Table, a.Held, s.shared(v.stage, a.all())); err != nil {
		return v, s.blamed(err)
	}
	if v.Metrics, err = v.Step.Metrics(); err != nil {
		return v, s.blamed(err)
	}
	cs := a.all()
	v.Advantage = make([]float64, len(cs))
	for i := range cs {
		if !math.IsNaN(cs[i].Score.Reward) && v.Step.Refused[i] != "" && v.Step.Refused[i] != algo.RefusedByKeep {
			v.Metrics["rollout/no_value"]++
		}
		v.Advantage[i] = math.NaN()
		if adv := v.Step.Advantage; adv.V != nil {
			var values []float64
			for _, at := range a.Table.Rows(i, adv.Level) {
				values = append(values, adv.V[at])
			}
			if v.Advantage[i] = values[0]; adv.Level == formula.Token {
				v.Advantage[i] = mean(values)
			}
		}
	}
	return v, nil
}

// course is a step that is being learned from: its prompts, in a random order, are dealt to
// updates_per_rollout updates, a group never being cut.
type course struct {
	s        *learner
	v        *Valued
	parts    [][]int // groups of the updates to come
	waiting  *batch  // whose gradient is there; nil: there is no update any more
	found    measured
	done     updates
	second   *secondLoss // nil: there is none
	slopes   [][]float64
	written  []map[string][]float64 // [number of a completion] parts of the recipe, where the step's tokens are recorded
	metrics  metrics.Row
	tokens   int     // trained
	outdated float64 // updates of the weights since completions were drawn, the mean of each update added up
}

// begin computes the gradient of the first update of a step. The weights are still what they were.
func (s *learner) begin(v *Valued) (*course, error) {
	cs := v.all()
	order := random.At(s.recipe.Seed, random.Stream(random.Order, s.index), uint64(v.At.Step)).Shuffled(groupsOf(cs))
	c := &course{s: s, v: v, slopes: make([][]float64, len(cs)), written: make([]map[string][]float64, len(cs)), metrics: metrics.Row{"optim/lr": s.settings(v).LR, "optim/tokens": 0, "optim/rows": 0}}
	for part, parts := 0, v.stage.RL.UpdatesPerRollout; part < parts; part++ {
		c.parts = append(c.parts, order[part*len(order)/parts:(part+1)*len(order)/parts])
	}
	if s.second != nil {
		var err error
		if c.second, err = s.second.rowsOf(v.At, len(c.parts)); err != nil {
			return nil, err
		}
	}
	return c, c.next()
}

// settings are those of the updates of a step.
func (s *learner) settings(v *Valued) learn.Optimizer {
	h := optimizer(v.stage.Optimizer, v.stage.LearningRate(v.At.Step))
	h.ValueLR = v.stage.ValueLearningRate(v.At.Step)
	return h
}

// next computes the gradient of the next update that has something to learn from.
func (c *course) next() (err error) {
	c.waiting = nil
	for c.waiting == nil && len(c.parts) > 0 {
		if c.waiting, err = c.s.deal(c.v, c.parts[0], c.slopes); err != nil {
			return err
		}
		c.parts = c.parts[1:]
	}
	if c.waiting == nil {
		return nil
	}
	if c.found, err = c.waiting.backward(len(c.done) == 0); err == nil && c.v.stage.RecordsTokens(c.v.At.Step) {
		err = c.waiting.note(c.written)
	}
	if err == nil && c.second != nil {
		err = c.second.add(len(c.parts))
	}
	return err
}

// finish makes the updates, and moves the states of the method after them.
func (c *course) finish() (*Event, error) {
	var made []record.Update
	for c.waiting != nil {
		version := c.s.models.Version()
		var err error
		if c.found.norm, err = c.waiting.apply(c.s.settings(c.v)); err != nil {
			return nil, err
		}
		c.done = append(c.done, c.found)
		c.outdated += float64(version) - c.v.meanVersion()
		c.tokens += c.found.tokens
		c.metrics["optim/rows"] += float64(c.s.who.Rows())
		for _, v := range c.waiting.read {
			c.metrics["optim/tokens"] += float64(len(v.IDs) - 1 - len(v.Fresh))
		}
		made = append(made, record.Update{Update: len(c.done), Groups: c.waiting.groups(), Tokens: c.found.tokens, Loss: c.found.loss, GradNorm: c.found.norm})
		if err := c.next(); err != nil {
			return nil, err
		}
	}
	c.done.into(c.metrics)
	if c.s.ownPrompt() != "" { // the trainer has read other prompts than the sampler
		for _, name := range atFirst {
			delete(c.metrics, name)
		}
	}
	if c.second != nil {
		c.second.into(c.metrics)
		c.tokens += c.second.tokens
	}
	if c.outdated > 0 {
		c.metrics["policy/lag_effective"] = c.outdated / float64(len(c.done))
	}
	sampled, problems := c.v.Sampled, problemsOf(slices.Concat(c.v.Completions, c.v.Refused))
	if sampled == nil {
		sampled = c.v.Step.Table
	}
	if !c.s.recipe.SeveralUpdates() {
		made = nil // the metrics of a step are those of its update
	}
	return &Event{Metrics: c.metrics, Tokens: c.tokens, Completions: c.v.Completions, Lessons: c.v.lessons(c.slopes, c.written), Updates: made}, c.s.afterStep(sampled, problems)
}

// once makes one update from the completions of rows, all together, in their order. Where
// keep leaves none, there is no update, and the batch is nil. A head that it trains learns at a rate of its own. States of
// the method stay.
func (s *learner) once(v *Valued, lr, headLR float64) (*batch, measured, error) {
	b, err := s.whole(v)
	if err != nil {
		return nil, measured{}, err
	}
	if b == nil {
		return nil, measured{}, nil
	}
	m, err := b.backward(false)
	if err != nil {
		return b, m, err
	}
	h := optimizer(v.stage.Optimizer, lr)
	if v.stage.Scores() { // else the head is one that other stages train
		h.ValueLR = headLR
	}
	if m.norm, err = b.apply(h); err != nil {
		return b, m, err
	}
	maps.Copy(m.metrics, v.Metrics)
	maps.DeleteFunc(m.metrics, func(name string, _ float64) bool { return !ofRows(name) })
	return b, m, nil
}

// rows is a step of completions that are rows of data, with what the method makes of them.
func (s *learner) rows(at Position, st *recipe.Stage, cs []Completion) (*Valued, error) {
	a := Asked{Drawn: Drawn{Plan: Plan{At: at, stage: st}, Completions: cs}, Now: atOnce(cs)}
	var err error
	if a.Table, err = s.of(&a.Plan, cs, a.Now).table(asked, s.reads); err != nil {
		return nil, err
	}
	v, err := s.value(a)
	return &v, err
}

// whole is an update of all completions, in their order.
func (s *learner) whole(v *Valued) (*batch, error) {
	groups := make([]int, groupsOf(v.all()))
	for i := range groups {
		groups[i] = i
	}
	return s.deal(v, groups, make([][]float64, len(v.all())))
}

// ofRows says whether a metric of a method tells something about rows of data. The others
// describe what the policy has sampled, or how far it has moved from there.
func ofRows(name string) bool {
	return name == "policy/entropy" || strings.HasPrefix(name, "preference/") || strings.HasPrefix(name, "my/")
}

// into adds what one update measured to a row of metrics.
func (m measured) into(row metrics.Row) {
	maps.Copy(row, m.metrics)
	row["policy/grad_norm"] = m.norm
}
