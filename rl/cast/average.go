package cast

import (
	"io"
	"path/filepath"

	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/rl/recipe"
)

// averageFile holds the average's weights in a checkpoint.
const averageFile = "trainer/ema.safetensors"

// average is a second set of what is trained, all weights or an adapter: the moving average of the
// policy over the updates of a stage, a copy that is made again now and then, or one that stages
// train.
type average struct {
	scoring
	weights *learn.Average
	policy  *Policy
	file    string
	spec    *recipe.Member // nil: it is the average that every run can have
	learns  bool
	from    int // index of the first stage that uses it, if it learns
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
	return &average{scoring{scorer}, weights, o.policy, o.file(averageFile), o.spec, o.learns, o.from}, nil
}

func (a *average) begin() error {
	if a.learns {
		return nil
	}
	return a.weights.Reset()
}

func (a *average) follow(share float64) error {
	if a.spec != nil {
		share = a.spec.Follow
	}
	if share == 0 {
		return nil
	}
	return a.weights.Follow(share)
}

func (a *average) renew(step int) error {
	if a.spec == nil || a.spec.Renew == 0 || step%a.spec.Renew != 0 {
		return nil
	}
	return a.weights.Reset()
}

func (a *average) made(stage int) error {
	if !a.learns || stage != a.from {
		return nil
	}
	return a.weights.Reset()
}

func (a *average) trade() error {
	a.policy.version++ // what was drawn before is of other weights
	return a.weights.Exchange()
}

// Save implements [Keeper].
func (a *average) Save() (map[string]func(io.Writer) error, error) {
	return map[string]func(io.Writer) error{a.file: tensorFile(a.weights.Tensors())}, nil
}

// Load implements [Keeper].
func (a *average) Load(dir string) error {
	return readTensors(filepath.Join(dir, filepath.FromSlash(a.file)), a.weights.SetTensors)
}

func (a *average) close() {
	a.scoring.close()
	a.weights.Close()
}
