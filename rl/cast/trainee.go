package cast

import (
	"slices"

	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Trainee is a model that learns.
type Trainee struct {
	trainer *learn.Trainer
	version int            // updates since the run began
	rows    int            // of the last update
	passed  []rollout.View // of the last Forward
	changed func() error   // is told of each update; nil: nobody is
}

// Accumulate adds the gradient of a local loss over the tokens that the policy wrote,
// see [learn.Trainer.Accumulate].
func (t *Trainee) Accumulate(views []rollout.View, weigh func(first int, stats []seq.Stats) ([]learn.Weights, error)) error {
	if !slices.ContainsFunc(views, func(v rollout.View) bool { return v.Fresh != nil }) {
		return t.trainer.Accumulate(sequences(views), weigh)
	}
	stats, err := t.Forward(views) // the contexts of a view may be of several batches
	if err != nil {
		return err
	}
	weights, err := weigh(0, stats)
	if err != nil {
		return err
	}
	return t.Backward(weights)
}

// Forward computes the statistics of the tokens that the policy wrote, before any
// gradient, see [learn.Trainer.Forward].
func (t *Trainee) Forward(views []rollout.View) ([]seq.Stats, error) {
	t.passed = views
	stats, err := t.trainer.Forward(sequences(views))
	return wholeOf(views, stats), err
}

// Backward adds the gradient of the views of the last Forward.
func (t *Trainee) Backward(weights []learn.Weights) error {
	return t.trainer.Backward(partsOf(t.passed, weights))
}

// Influence is, for each token that the policy wrote, the sum over all such tokens of its set of views of x times
// the inner product of the two's gradients by the output table, see [learn.Trainer.Influence].
func (t *Trainee) Influence(sets [][]rollout.View, x [][][]float64) ([][][]float64, error) {
	all := make([][]seq.Sequence, len(sets))
	for k, views := range sets {
		if err := oneContext(views); err != nil {
			return nil, err
		}
		all[k] = sequences(views)
	}
	return t.trainer.Influence(all, x)
}

// GradientNorms are the norms of the gradients of the views' log-probs, each by itself, see
// [learn.Trainer.GradientNorm].
func (t *Trainee) GradientNorms(views []rollout.View) ([]float64, error) {
	if err := oneContext(views); err != nil {
		return nil, err
	}
	norms := make([]float64, len(views))
	for i, s := range sequences(views) {
		var err error
		s.Group = 0
		if norms[i], err = t.trainer.GradientNorm(s); err != nil {
			return nil, err
		}
	}
	return norms, nil
}

// Scores says whether the passes to come also read what the head says after each token, see
// [learn.Trainer.Scores].
func (t *Trainee) Scores(on bool) { t.trainer.Scores(on) }

// Rows is how many rows the last update computed, see [learn.Trainer.Rows].
func (t *Trainee) Rows() int { return t.rows }

// Update changes the weights by the gradient, which it clears, and returns the
// gradient's norm.
func (t *Trainee) Update(h learn.Optimizer) (norm float64, err error) {
	t.rows = t.trainer.Rows()
	if norm, err = t.trainer.Step(h); err != nil {
		return norm, err
	}
	if t.version++; t.changed != nil {
		err = t.changed()
	}
	return norm, err
}

// Version is the number of updates since the run began.
func (t *Trainee) Version() int { return t.version }
