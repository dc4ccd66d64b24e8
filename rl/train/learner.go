package train

import (
	"fmt"
	"maps"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
)

// learner is what the stages that learn by formulas have in common.
type learner struct {
	Parts
	stage  *recipe.Stage // with the numbers of the step
	index  int
	method *algo.Algorithm
	reads  []string // facts, those of a reward apart
	states algo.States
	aside  *aside // of the step; nil: the stage samples nothing
}

func newLearner(p Parts, index int) (learner, error) {
	st := &p.Recipe.Stages[index]
	l := learner{Parts: p, stage: st, index: index}
	var err error
	if l.method, err = st.Compiled(); err == nil {
		l.reads, err = st.Reads()
	}
	if err != nil {
		return learner{}, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	return l, nil
}

// steps is how many steps the stage has at most. The keys of other kinds are 0.
func (s *learner) steps() int {
	return s.stage.RL.Steps + s.stage.SFT.HoldSteps + s.stage.SFT.DecaySteps
}

// blamed says in which table the formula of an error stands.
func (s *learner) blamed(err error) error {
	return fmt.Errorf("[stage.algorithm] of stage %s: %w", s.stage.Name, err)
}

// once makes one update from the completions of rows, all together, in their order. Where
// keep leaves none, there is no update, and that of the batch is nil.
func (s *learner) once(at Position, cs []Completion, lr float64) (batch, measured, error) {
	step, row, err := s.advantages(at, cs)
	if err != nil {
		return batch{}, measured{}, err
	}
	b, err := s.whole(step, cs)
	if err != nil {
		return b, measured{}, err
	}
	if b.u == nil {
		return b, measured{}, s.move(step.Table, cs, nil, false)
	}
	m, err := s.update(step, b, false, optimizer(s.stage.Optimizer, lr), nil)
	if err != nil {
		return b, m, err
	}
	if err := s.move(b.u.Table, cs, b.u.Rows, true); err != nil {
		return b, m, err
	}
	maps.Copy(m.metrics, row)
	maps.DeleteFunc(m.metrics, func(name string, _ float64) bool { return !ofRows(name) })
	return b, m, s.move(step.Table, cs, nil, false)
}

// whole is an update of all completions, in their order.
func (s *learner) whole(step *algo.StepValues, cs []Completion) (batch, error) {
	groups := make([]int, groupsOf(cs))
	for i := range groups {
		groups[i] = i
	}
	return s.deal(step, cs, groups)
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
