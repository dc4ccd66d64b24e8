package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
)

// Bench is what measurements of models have in common.
type Bench struct {
	Device  gpu.Device
	Limits  Limits
	Longest time.Duration // a measurement that is estimated to take longer is skipped; 0: none is
	Emit    func(Result)
}

// matrices is the number of weights that a token is multiplied with: without norms,
// biases, and the lookup of the embedding.
func (s Shape) matrices() float64 {
	c := s.Config
	layer := c.Width*(c.Heads+2*c.KVHeads)*c.HeadDim + c.Heads*c.HeadDim*c.Width + 3*c.Width*c.MLP
	return float64(c.Layers*layer + c.Vocab*c.Width)
}

// update is the work of an update in f32: three products of each weight and token; each
// weight is read by two of them, and its gradient, moments and itself are read and written
// by the third and by AdamW, which reads the gradient once more for the norm.
func (s Shape) update() work {
	tokens := float64(s.TrainSeqs * s.TrainTokens)
	return work{flops: 6 * s.matrices() * tokens, bytes: 4 * (2 + 2 + 2 + 6) * s.matrices()}
}

// round is the work of one token of each sequence of a batch, and bytes of keys and values
// left out: each weight is read once.
func (s Shape) round(batch int) work {
	return work{flops: 2 * s.matrices() * float64(batch), bytes: 4 * s.matrices()}
}

// What an estimate takes for granted: the share of its limits that a device reaches in a
// whole model, and the seconds that fresh weights and copying them take for each.
const (
	reached = 0.5
	fresh   = 60e-9
)

// skips emits why a measurement is left out, if it is: times so much work takes too long,
// or the device has too little memory.
func (b Bench) skips(name, what string, s Shape, times float64, w work, use model.Use) (bool, error) {
	skip := func(why string) (bool, error) {
		r := result(b.Device, name, what, 0, "")
		r.Skipped = why
		b.Emit(r)
		return true, nil
	}
	plan, err := model.Plan(s.Config, b.Device.Caps(), use)
	if err == nil {
		err = plan.Fits(b.Device.Caps())
	}
	if errors.Is(err, gpu.ErrOutOfMemory) {
		return skip(fmt.Sprintf("it needs %s of memory, the device has %s", gpu.FormatBytes(plan.Total()), gpu.FormatBytes(b.Device.Caps().Memory)))
	}
	if err != nil {
		return false, err
	}
	_, sec := b.Limits.bound(total{work: w})
	estimate := times*sec/reached + fresh*s.matrices()
	if b.Longest > 0 && estimate > b.Longest.Seconds() {
		return skip(fmt.Sprintf("about %.0f s by an estimate, more than %.0f s", estimate, b.Longest.Seconds()))
	}
	return false, nil
}

// rate is what a measurement of so many seconds reaches of the limits.
func (b Bench) rate(w work, seconds float64) *Rate {
	bound, least := b.Limits.bound(total{work: w})
	return &Rate{GFLOPS: w.flops / seconds / 1e9, GBs: w.bytes / seconds / 1e9, Bound: bound, OfBound: least / seconds}
}
