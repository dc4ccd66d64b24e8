package learn

import (
	"bytes"
	"fmt"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Average is a moving average of what is trained of a model, all of it or its adapter: a
// second set of weights that follows the first (Polyak and Juditsky 1992, doi
// 10.1137/0330046; as a teacher: Tarvainen and Valpola, arXiv 1703.01780).
type Average struct {
	Model *model.Model // with the average's weights
	of    *model.Model
	progs *device.Programs
}

// NewAverage makes an average that is what the model is now. It is closed before the model.
func NewAverage(of *model.Model) (*Average, error) {
	m, err := of.Beside()
	if err != nil {
		return nil, err
	}
	return &Average{m, of, device.NewPrograms(of.Device(), 1)}, nil
}

// Reset makes the average what the model is now.
func (a *Average) Reset() error { return a.Model.Decoder().CopyTrained(a.of.Decoder()) }

// Exchange swaps the weights with the model's.
func (a *Average) Exchange() error {
	other := Average{Model: a.of} // whose tensors are the model's
	var kept bytes.Buffer
	if err := hf.WriteSafetensors(&kept, other.Tensors()); err != nil {
		return err
	}
	ts, err := hf.ReadTensors("the model's weights", bytes.NewReader(kept.Bytes()), int64(kept.Len()))
	if err != nil {
		return err
	}
	if err := a.of.Decoder().CopyTrained(a.Model.Decoder()); err != nil {
		return err
	}
	return a.SetTensors(ts)
}

// Follow moves every number a share of the way to the model's.
func (a *Average) Follow(share float64) error {
	a.Model.Decoder().Change()
	err := a.progs.Run(fmt.Sprintf("average %v", share), func(r *device.Recorder) { a.Model.Decoder().RecordFollow(r, a.of.Decoder(), share) })
	if err != nil {
		return err
	}
	return a.of.Device().Wait()
}

// Tensors lists the average under the names of what is trained.
func (a *Average) Tensors() []hf.NamedTensor {
	if adapter := a.Model.AdapterTensors(); adapter != nil {
		return adapter
	}
	return a.Model.Tensors()
}

// SetTensors overwrites the average with what Tensors gave.
func (a *Average) SetTensors(ts *hf.TensorSet) error {
	if a.Model.AdapterTensors() != nil {
		return a.Model.SetAdapterTensors(ts)
	}
	return a.Model.SetTensors(ts)
}

// Close frees the device memory; the model stays.
func (a *Average) Close() {
	a.progs.Free()
	a.Model.Close()
}
