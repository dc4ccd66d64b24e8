package model

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
)

// Average is a moving average of what is trained of a model, all of it or its adapter: a
// second set of weights that follows the first (Polyak and Juditsky 1992, doi
// 10.1137/0330046; as a teacher: Tarvainen and Valpola, arXiv 1703.01780).
type Average struct {
	of      *Model
	whole   *Model // of the same config, with float32 matrices; nil where an adapter is trained
	adapter arena  // laid out as the adapter's values; nil where the model is
	progs   *programs
}

// NewAverage makes an average that is what the model is now.
func (m *Model) NewAverage() (*Average, error) {
	if m.frozen && m.adapter == nil {
		return nil, errFrozen
	}
	a := &Average{of: m, progs: newPrograms(m.dev, 1)}
	var err error
	if m.adapter != nil {
		a.adapter, err = m.adapter.tensors.newArena(m.dev, "average", chunk.whole)
	} else {
		a.whole, err = build(m.dev, m.Config, m.maxPos, false)
	}
	if err == nil {
		err = a.Reset()
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Reset makes the average what the model is now.
func (a *Average) Reset() error {
	if a.whole != nil {
		return a.whole.CopyFrom(a.of)
	}
	return a.adapter.copyFrom(a.of.adapter.values)
}

// Follow moves every number a share of the way to the model's.
func (a *Average) Follow(share float64) error {
	err := a.progs.run(fmt.Sprintf("average %v", share), func(r *recorder) {
		if a.whole == nil {
			a.adapter.recordBlend(r, a.of.adapter.values, share)
			return
		}
		a.whole.params.recordBlend(r, a.of.params.arena, share)
		a.whole.params.recordRound(r)
	})
	if err != nil {
		return err
	}
	return a.of.dev.Wait()
}

// recordBlend records that every number moves a share of the way to another arena's.
func (a arena) recordBlend(r *recorder, to arena, share float64) {
	for i, b := range a {
		n := b.Size() / 4
		r.op("blend", n, 1, []gpu.View{{Buffer: b, Size: 4 * n}, {Buffer: to[i], Size: 4 * n}}, u(n), f(share))
	}
}

// NewScorer is Model.NewScorer with the average's weights.
func (a *Average) NewScorer(rows int) (*Scorer, error) {
	if a.whole != nil {
		return a.whole.NewScorer(rows)
	}
	s, err := a.of.NewScorer(rows)
	if err == nil {
		s.ws.adapter = a.adapter
	}
	return s, err
}

// Tensors lists the average under the names of what is trained.
func (a *Average) Tensors() []hf.NamedTensor {
	if a.whole != nil {
		return a.whole.Tensors()
	}
	return a.of.adapter.tensors.named(a.adapter, "")
}

// SetTensors overwrites the average with what Tensors gave.
func (a *Average) SetTensors(ts *hf.TensorSet) error {
	if a.whole != nil {
		return a.whole.SetTensors(ts)
	}
	return a.of.adapter.tensors.fill(a.adapter, "", ts)
}

// Close frees the device memory; the model stays.
func (a *Average) Close() {
	a.progs.free()
	if a.whole != nil {
		a.whole.Close()
	}
	a.adapter.free()
}
