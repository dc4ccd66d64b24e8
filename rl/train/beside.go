package train

import (
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
)

// beside is one who learns beside the method of a stage: a model of the recipe, by updates of its own, or the
// policy, by a second loss that is part of the updates of the method.
type beside struct {
	rowStage
	recipe.Beside
	found metrics.Row // what the step measured
}

// besideStream is the least number of who learns beside a stage in streams of random numbers: no recipe has as many
// stages.
const besideStream = 1 << 16

// beside says whether the formulas are those of one who learns beside the method of the stage.
func (f *facts) beside() bool { return f.index >= besideStream }

// newBesides makes those who learn beside the method of the stage with an index.
func newBesides(p Parts, index int) (others []*beside, second *beside, err error) {
	for k, l := range p.Recipe.Stages[index].Learners() {
		f, err := factsFor(p, l.Stage, index+(k+1)*besideStream)
		if err != nil {
			return nil, nil, err
		}
		who, err := p.Cast.Learner(l.Trains)
		if err != nil {
			return nil, nil, err
		}
		rows, err := rowsFor(p, f, who, index)
		if err != nil {
			return nil, nil, err
		}
		b := &beside{rowStage: rows, Beside: l}
		if l.Trains == recipe.PolicyModel {
			second = b
			continue
		}
		who.Scores(l.Scores())
		others = append(others, b)
	}
	return others, second, nil
}

// learnBeside lets those learn from a step who do so first, or the others.
func (s *reinforcement) learnBeside(a *Asked, first bool) error {
	for _, b := range s.besides {
		if b.First != first {
			continue
		}
		if err := b.learn(a); err != nil {
			return err
		}
	}
	return nil
}

// due says whether it learns in a step.
func (b *beside) due(at Position) bool { return at.Step%b.Every == 0 }

// learn makes its updates from what it learns from in a step, of which the last one is measured, and moves the states of
// its method after them. Where there is nothing yet, or keep leaves nothing, there is no update.
func (b *beside) learn(a *Asked) error {
	b.found = metrics.Row{}
	if !b.due(a.At) {
		return nil
	}
	var last *Valued
	for range b.Updates {
		v, err := b.lesson(a)
		if err != nil || v == nil {
			return err
		}
		if err := b.update(v); err != nil {
			return err
		}
		last = v
	}
	sampled := last.Sampled
	if sampled == nil {
		sampled = last.Step.Table
	}
	return b.afterStep(sampled, problemsOf(last.Completions))
}

// update makes one of them.
func (b *beside) update(v *Valued) error {
	lr := b.stage.LearningRate(v.At.Step)
	made, m, err := b.once(v, lr, b.stage.ValueLearningRate(v.At.Step))
	if err != nil || made == nil {
		return err
	}
	name := b.stage.Learner() + "/"
	m.of(name, b.found)
	b.found[name+"grad_norm"], b.found[name+"lr"] = m.norm, lr
	return nil
}

// lesson is what it learns from in a step, with what its loss makes of that: the completions, or rows; nil: there are
// no rows yet.
func (b *beside) lesson(a *Asked) (*Valued, error) {
	if b.stage.Kind != recipe.KindRL {
		cs, err := b.examples(a.At)
		if err != nil || len(cs) == 0 {
			return nil, err
		}
		return b.rows(a.At, b.stage, cs)
	}
	own := Asked{Drawn: a.Drawn, Now: a.Now[:len(a.Completions)]}
	if b.Stored {
		own.Replayed, own.Now = a.Replayed, a.Now
	}
	if own.stage = b.stage; b.ByTruth {
		own.Completions = slices.Clone(own.Completions)
		for i := range own.Completions {
			own.Completions[i].Score = *own.Completions[i].Truth
		}
	}
	var err error
	if own.Table, err = b.of(&own.Plan, own.all(), own.Now).table(asked, b.reads); err != nil {
		return nil, err
	}
	if len(own.Replayed) > 0 && len(b.method.Method.State) > 0 { // nothing replayed moves a state
		if own.Sampled, err = b.of(&own.Plan, own.Completions, own.Now[:len(own.Completions)]).table(asked, b.reads); err != nil {
			return nil, err
		}
	}
	v, err := b.value(own)
	return &v, err
}

// of adds to a row of metrics what was measured, by names that begin as it is said.
func (m measured) of(name string, row metrics.Row) {
	row[name+"loss"] += m.loss
	row[name+"tokens"] += float64(m.tokens)
	for full, v := range m.metrics {
		if area, own, _ := strings.Cut(full, "/"); area != "my" {
			full = name + own
		}
		row[full] = v
	}
}

// into adds what the last step measured to a row of metrics.
func (b *beside) into(row metrics.Row) {
	for name, v := range b.found {
		row[name] = v
	}
}

// examples are the rows of a step as completions.
func (s *rowStage) examples(at Position) ([]Completion, error) {
	if s.stage.Kind != recipe.KindPreference {
		return s.shown(at, metrics.Row{}) // it has no curriculum
	}
	rows, err := s.drawRows(at.Step)
	if err != nil {
		return nil, err
	}
	return s.choices(rows)
}

// secondLoss is a second loss of the policy in a step. Its rows are dealt to the updates of the step.
type secondLoss struct {
	b      *beside
	at     Position
	parts  [][]Completion // of the updates, the last one first
	found  metrics.Row
	made   int // updates that it was part of
	tokens int
}

// rowsOf is the second loss in a step of so many updates; nil: it has no part in the step.
func (b *beside) rowsOf(at Position, updates int) (*secondLoss, error) {
	if !b.due(at) {
		return nil, nil
	}
	cs, err := b.examples(at)
	if err != nil {
		return nil, err
	}
	s := &secondLoss{b: b, at: at, parts: make([][]Completion, updates), found: metrics.Row{}}
	groups, part := groupsOf(cs), 0
	for _, c := range cs { // in the order of their groups
		for c.Group >= (part+1)*groups/updates {
			part++
		}
		c.Group -= part * groups / updates
		s.parts[updates-1-part] = append(s.parts[updates-1-part], c)
	}
	return s, nil
}

// add adds the gradient of the rows of an update to that which is there. left is the number of updates after it.
func (s *secondLoss) add(left int) error {
	cs := s.parts[left]
	if len(cs) == 0 {
		return nil
	}
	v, err := s.b.rows(s.at, s.b.stage, cs)
	if err != nil {
		return err
	}
	own, err := s.b.whole(v)
	if err != nil || own == nil {
		return err
	}
	own.weight = s.b.Weight
	m, err := own.backward(false)
	if err != nil {
		return err
	}
	for name := range m.metrics {
		if !ofRows(name) {
			delete(m.metrics, name)
		}
	}
	one := metrics.Row{}
	m.of(secondArea, one)
	s.made, s.tokens = s.made+1, s.tokens+m.tokens
	for name, x := range one { // means over the updates
		s.found[name] += (x - s.found[name]) / float64(s.made)
	}
	return s.b.afterStep(v.Step.Table, problemsOf(v.Completions))
}

// secondArea begins the names of the metrics of a second loss of the policy.
const secondArea = recipe.SecondLoss + "/"

// into adds what was measured to the metrics of a step.
func (s *secondLoss) into(row metrics.Row) {
	for name, x := range s.found {
		row[name] = x
	}
	if s.made > 0 {
		row[secondArea+"tokens"] = float64(s.tokens)
	}
}
