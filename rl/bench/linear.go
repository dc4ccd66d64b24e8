package bench

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// Layer is a linear layer to measure, see [model.NewProbe].
type Layer struct {
	Storage       hf.Dtype
	Rank          int // of its adapter; 0: none
	Rows, Out, In int // of a batch, of the matrix
}

// Rates are the seconds that a linear layer takes for each row of a batch and each number
// of its matrix.
type Rates struct{ Forward, Backward float64 }

// Linear measures layers in so many turns, so that whatever else the machine does slows all
// of them alike, and takes medians. spread is how far apart the quartiles of a pass lie at
// most, as a share of its median.
func Linear(dev gpu.Device, turns int, layers ...Layer) (rates []Rates, spread float64, err error) {
	var passes []func() error
	for _, l := range layers {
		probe, err := model.NewProbe(dev, l.Storage, l.Rank, l.Rows, l.Out, l.In)
		if err != nil {
			return nil, 0, err
		}
		defer probe.Close()
		passes = append(passes, probe.Forward, probe.Backward)
	}
	for _, pass := range passes { // compiles it
		if err := pass(); err != nil {
			return nil, 0, err
		}
	}
	times, err := inTurns(turns, 0, passes...)
	if err != nil {
		return nil, 0, err
	}
	for i, l := range layers {
		work := float64(l.Rows) * float64(l.Out*l.In)
		rates = append(rates, Rates{median(times[2*i]) / work, median(times[2*i+1]) / work})
	}
	for _, t := range times {
		spread = max(spread, (quantile(t, 0.75)-quantile(t, 0.25))/median(t))
	}
	return rates, spread, nil
}
