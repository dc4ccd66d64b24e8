package bench

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
)

// Rates are the seconds that a linear layer takes for each row of a batch and each number
// of its matrix.
type Rates struct{ Forward, Backward float64 }

// linearRepeats is how often each pass of a layer is measured, after once to compile.
const linearRepeats = 2

// Linear measures one linear layer, see [model.NewProbe]: the best of some repetitions.
func Linear(dev gpu.Device, storage model.Dtype, rank, rows, out, in int) (Rates, error) {
	probe, err := model.NewProbe(dev, storage, rank, rows, out, in)
	if err != nil {
		return Rates{}, err
	}
	defer probe.Close()
	var r Rates
	for _, pass := range []struct {
		run func() error
		to  *float64
	}{{probe.Forward, &r.Forward}, {probe.Backward, &r.Backward}} {
		if err := pass.run(); err != nil {
			return r, err
		}
		sec, err := best(linearRepeats, pass.run)
		if err != nil {
			return r, err
		}
		*pass.to = sec / float64(rows) / float64(out*in)
	}
	return r, nil
}
