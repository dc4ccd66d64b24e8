package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// referenceFile holds the reference's weights in a checkpoint.
const referenceFile = "trainer/reference.safetensors"

// reference is a frozen copy of the policy as it was when the stage began.
type reference struct {
	scoring
	model  *model.Model
	policy *model.Model
}

// openReference opens the reference. Where an adapter is trained it is the policy with the
// adapter off, which needs no copy of the weights.
func openReference(o opening) (member, error) {
	if o.adapter != nil {
		scorer, err := o.policy.Model.NewBaseScorer(o.trainRows)
		return adapterOff{scoring{scorer}}, err
	}
	m, err := model.NewFrozen(o.dev, o.config, o.positions)
	if err != nil {
		return nil, err
	}
	scorer, err := m.NewScorer(o.trainRows)
	if err != nil {
		m.Close()
		return nil, err
	}
	return &reference{scoring{scorer}, m, o.policy.Model}, nil
}

func (r *reference) begin() error { return r.model.CopyFrom(r.policy) }

// Save implements [Keeper].
func (r *reference) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{referenceFile: tensorFile(r.model.Tensors())}, nil
}

// Load implements [Keeper].
func (r *reference) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(referenceFile)), r.model.SetTensors)
}

func (r *reference) close() {
	r.scoring.close()
	r.model.Close()
}

// adapterOff is the model that the policy's adapter changes. It is frozen, so it has no
// state and no stage changes it.
type adapterOff struct{ scoring }

func (adapterOff) begin() error { return nil }

// scoring is a model that is asked through a scorer.
type scoring struct{ scorer *model.Scorer }

func (s scoring) score(views []rollout.View) ([]seq.Stats, error) {
	return s.scorer.Score(sequences(views))
}

func (s scoring) close() { s.scorer.Close() }
