package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model"
)

// averageFile holds the average's weights in a checkpoint.
const averageFile = "trainer/ema.safetensors"

// average is the moving average of the policy's weights, or of its adapter's, over the
// updates of a stage.
type average struct {
	weights *model.Average
	scorer  *model.Scorer
}

func openAverage(policy *model.Model, s sizes) (*average, error) {
	weights, err := policy.NewAverage()
	if err != nil {
		return nil, err
	}
	a := &average{weights: weights}
	if a.scorer, err = weights.NewScorer(s.trainRows); err != nil {
		weights.Close()
		return nil, err
	}
	return a, nil
}

// Save implements [Keeper].
func (a *average) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{averageFile: tensorFile(a.weights.Tensors())}, nil
}

// Load implements [Keeper].
func (a *average) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(averageFile)), a.weights.SetTensors)
}

func (a *average) close() {
	a.scorer.Close()
	a.weights.Close()
}
