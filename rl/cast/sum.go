package cast

import (
	"errors"
	"io"
	"slices"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// summands are the models of a run whose logits are added in some sum, beside the policy.
type summands struct {
	names  []string
	models []*model.Model
}

// openSummands finds them among the members that are open, and gives the policy's trainer room for their logits.
func (c *Cast) openSummands(b blueprint) error {
	for _, w := range b.wants {
		if !w.summed {
			continue
		}
		m, err := c.member(w.name)
		if err != nil {
			return err
		}
		held, _ := m.(judged).judging()
		c.summands.names, c.summands.models = append(c.summands.names, w.name), append(c.summands.models, held)
	}
	if len(c.summands.models) == 0 {
		return nil
	}
	return c.Policy.trainer.Mix(c.summands.models)
}

// sum is a model that says the sum of what others say: of the policy's logits by a factor, and of others' by theirs. It
// has no weights of its own. Where a stage trains it, the policy draws, is measured and learns with the others' logits
// added to its own; elsewhere it is asked by a scorer.
type sum struct {
	cast    *Cast
	name    string
	own     float64   // 0: the policy is not in it
	factors []float64 // of the summands of the cast
	scorer  *model.Scorer
}

func openSum(o opening) (member, error) {
	s := &sum{cast: o.cast, name: o.name, factors: make([]float64, len(o.cast.summands.names))}
	for _, t := range o.terms {
		if t.Model == policyName {
			s.own = t.Factor
			continue
		}
		s.factors[slices.Index(o.cast.summands.names, t.Model)] = t.Factor
	}
	if len(o.facts) == 0 && !o.texts {
		return s, nil
	}
	s.scorer = o.policy.trainer.NewScorer(o.policy.Model, false)
	if err := s.scorer.Sum(s.own, o.cast.summands.models, s.factors); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sum) score(views []rollout.View) ([]seq.Stats, error) {
	if s.scorer == nil {
		return nil, errors.New("nothing was said to ask " + s.name)
	}
	stats, err := s.scorer.Score(sequences(views))
	return wholeOf(views, stats), err
}

// states implements member.
func (s *sum) states([]rollout.View, int, func(int, [][]float32) error) error {
	return errors.New("a sum of logits has no states")
}

func (s *sum) begin() error { return nil }

func (s *sum) close() {
	if s.scorer != nil {
		s.scorer.Close()
	}
}

// made implements learning: there is nothing to make.
func (s *sum) made(int) error { return nil }

// trade implements learning: the logits of others are added to the policy's, or no more.
func (s *sum) trade() error {
	p := s.cast.Policy
	p.version++ // what was drawn before is of another sum
	if p.summed == s.name {
		p.summed = ""
		p.trainer.Sum(1, nil)
		s.cast.Own.Engine.Sum(1, nil)
		return nil
	}
	p.summed = s.name
	p.trainer.Sum(s.own, s.factors)
	s.cast.Own.Engine.Sum(s.own, s.factors)
	return nil
}

// Save implements [Keeper]: the policy's file says who is summed.
func (s *sum) Save() (map[string]func(io.Writer) error, error) { return nil, nil }

// Load implements [Keeper].
func (s *sum) Load(dir string) error {
	state, err := readPolicyState(dir)
	if err != nil || state.Summed != s.name {
		return err
	}
	version := s.cast.Policy.version
	err = s.trade()
	s.cast.Policy.version = version
	return err
}
