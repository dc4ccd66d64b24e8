package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/rollout"
)

// referenceFile holds the reference's weights in a checkpoint.
const referenceFile = "trainer/reference.safetensors"

// reference is the policy as it was when the stage began or, where an adapter is
// trained, with the adapter off.
type reference struct {
	model  *model.Model // nil: the policy's own
	scorer *model.Scorer
}

func openReference(dev gpu.Device, cfg model.Config, s sizes) (*reference, error) {
	r := &reference{}
	var err error
	if r.model, err = model.NewFrozen(dev, cfg, s.positions); err != nil {
		return nil, err
	}
	if r.scorer, err = r.model.NewScorer(s.trainRows); err != nil {
		r.model.Close()
		return nil, err
	}
	return r, nil
}

// adapterOff is the reference of a policy whose adapter is trained. It needs no copy of
// the weights.
func adapterOff(policy *model.Model, s sizes) (*reference, error) {
	scorer, err := policy.NewBaseScorer(s.trainRows)
	if err != nil {
		return nil, err
	}
	return &reference{scorer: scorer}, nil
}

// logprobs are those of the tokens that the policy wrote, by the weights of a scorer.
func logprobs(s *model.Scorer, views []rollout.View) ([][]float64, error) {
	stats, err := s.Score(sequences(views))
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(stats))
	for i, s := range stats {
		out[i] = Widen(s.Logprob)
	}
	return out, nil
}

// Save implements [Keeper].
func (r *reference) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{referenceFile: tensorFile(r.model.Tensors())}, nil
}

// Load implements [Keeper].
func (r *reference) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(referenceFile)), r.model.SetTensors)
}

func (r *reference) close() {
	r.scorer.Close()
	if r.model != nil {
		r.model.Close()
	}
}
