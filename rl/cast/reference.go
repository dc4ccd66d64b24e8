package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// referenceFile holds the reference's weights in a checkpoint.
const referenceFile = "trainer/reference.safetensors"

// reference is a frozen copy of the policy as it was when the stage began, or after a later step.
type reference struct {
	scoring
	model  *model.Model
	policy *model.Model
	file   string
	spec   *recipe.Member // nil: it is made only when a stage begins
}

// openReference opens the reference. Where a fresh adapter is trained it is the policy with the
// adapter off, which needs no copy of the weights; of one that training goes on with, it is an average
// that does not move.
func openReference(o opening) (member, error) {
	if o.adapter != nil {
		return adapterOff{scoring{scorer: o.policy.trainer.NewScorer(o.policy.Model, true)}}, nil
	}
	m, err := model.NewFrozen(o.dev, o.config, o.positions)
	if err != nil {
		return nil, err
	}
	r := &reference{scoring: scoring{scorer: o.policy.trainer.NewScorer(m, false)}, model: m, policy: o.policy.Model, file: o.file(referenceFile), spec: o.spec}
	return r, nil
}

func (r *reference) begin() error { return r.model.CopyFrom(r.policy) }

func (r *reference) renew(step int) error {
	if r.spec == nil || !r.spec.Renews(step) {
		return nil
	}
	return r.begin()
}

// Save implements [Keeper].
func (r *reference) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{r.file: tensorFile(r.model.Tensors())}, nil
}

// Load implements [Keeper].
func (r *reference) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(r.file)), r.model.SetTensors)
}

func (r *reference) close() {
	r.scoring.close()
	r.model.Close()
}

// adapterOff is the model that the policy's adapter changes. It is frozen, so it has no
// state and no stage changes it.
type adapterOff struct{ scoring }

func (adapterOff) begin() error { return nil }

// scoring is a model that is asked through a scorer, for log-probs, or for what its head says.
type scoring struct {
	scorer *model.Scorer
	head   *hf.Head // nil: it has none
	label  int      // of the head's
}

func (s scoring) score(views []rollout.View) ([]seq.Stats, error) {
	var stats []seq.Stats
	var err error
	if s.head != nil {
		stats, err = s.scorer.Read(sequences(views), s.head, s.label)
	} else {
		stats, err = s.scorer.Score(sequences(views))
	}
	return wholeOf(views, stats), err
}

func (s scoring) states(views []rollout.View, layer int, do func(i int, states [][]float32) error) error {
	if err := oneContext(views); err != nil {
		return err
	}
	return s.scorer.States(sequences(views), layer, do)
}

func (s scoring) close() { s.scorer.Close() }
