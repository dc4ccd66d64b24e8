package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model/learn"
)

// averageFile holds the average's weights in a checkpoint.
const averageFile = "trainer/ema.safetensors"

// average is the moving average of the policy's weights, or of its adapter's, over the
// updates of a stage.
type average struct {
	scoring
	weights *learn.Average
}

func openAverage(o opening) (member, error) {
	weights, err := learn.NewAverage(o.policy.Model)
	if err != nil {
		return nil, err
	}
	scorer, err := weights.Model.NewScorer(o.trainRows)
	if err != nil {
		weights.Close()
		return nil, err
	}
	return &average{scoring{scorer}, weights}, nil
}

func (a *average) begin() error { return a.weights.Reset() }

func (a *average) follow(share float64) error { return a.weights.Follow(share) }

// Save implements [Keeper].
func (a *average) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{averageFile: tensorFile(a.weights.Tensors())}, nil
}

// Load implements [Keeper].
func (a *average) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(averageFile)), a.weights.SetTensors)
}

func (a *average) close() {
	a.scoring.close()
	a.weights.Close()
}
