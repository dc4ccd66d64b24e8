package cast

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/rl/recipe"
)

// besides is what a member that learns beside the policy does so by.
type besides struct {
	optimizes []learn.Rule // of its stages
	head      bool         // a loss reads what its head says
}

// besideOf finds out by what a member learns beside the policy; nil: it does not.
func besideOf(r *recipe.Recipe, name string) *besides {
	var found *besides
	for i := range r.Stages {
		for _, l := range r.Stages[i].Learners() {
			if l.Trains != name {
				continue
			}
			if found == nil {
				found = &besides{}
			}
			found.optimizes = append(found.optimizes, learn.Rule(l.Optimizer.Rule))
			found.head = found.head || l.Scores()
		}
	}
	return found
}

// Learner is who learns under a name by a trainer of its own: the policy, a member that learns beside it, or one of a
// shape of its own. A copy that a stage trains has the place of the policy.
func (c *Cast) Learner(name string) (*Trainee, error) {
	if name == policyName {
		return c.Policy.Trainee, nil
	}
	m, err := c.member(name)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *average:
		if m.trainee != nil {
			return m.trainee, nil
		}
	case *novice:
		return m.trainee, nil
	}
	return nil, fmt.Errorf("the model %s learns in no step", name)
}

// apprentice gives a member a trainer of its own, which takes turns with that of the policy.
func (a *average) apprentice(o opening) error {
	options := []learn.Option{learn.Optimizes(o.beside.optimizes...), learn.Beside(o.policy.trainer)}
	if o.recipe.Recompute {
		options = append(options, learn.Recompute)
	}
	if o.beside.head {
		options = append(options, learn.ValueHead)
	}
	t, err := learn.NewTrainer(a.weights.Model, o.trainRows, options...)
	if err != nil {
		return err
	}
	a.trainee = &Trainee{trainer: t}
	if o.beside.head { // others ask for what the head says through a
		a.trainee.changed = func() (err error) { a.head, err = t.Head(); return err }
	}
	return nil
}

// forget prepares for a stage: the optimizer forgets, and the head that learns is what it is by now.
func (a *average) forget() error {
	if err := a.trainee.trainer.ResetOptimizer(); err != nil {
		return err
	}
	return a.takeHead()
}

// takeHead gives the trainer the head that the member has.
func (a *average) takeHead() error {
	if a.trainee.changed == nil {
		return nil
	}
	return a.trainee.trainer.SetHead(a.head)
}

// save adds the files of a checkpoint that have the state of the optimizer of the member of a name.
func (t *Trainee) save(name string, files map[string]func(io.Writer) error) {
	moments, updates := t.trainer.OptimizerState()
	state := progress{updates, t.version}
	files[recipe.MemberOptimizer(name)] = tensorFile(moments)
	files[recipe.MemberState(name)] = func(w io.Writer) error { return json.NewEncoder(w).Encode(state) }
}

// load continues from such files. Weights are loaded before.
func (t *Trainee) load(name, dir string) error {
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	var state progress
	if err := readState(path(recipe.MemberState(name)), &state, &state); err != nil {
		return err
	}
	t.version = state.Version
	return readTensors(path(recipe.MemberOptimizer(name)), func(ts *hf.TensorSet) error {
		return t.trainer.SetOptimizerState(ts, state.Updates)
	})
}
