package cast

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// OpenModel loads a Hugging Face folder onto a device, frozen, with the adapter of a PEFT
// folder unless that is "". The model is kept as it
// was trained, in float32 if nothing says so, unless dtype and kvDtype say otherwise.
func OpenModel(dev gpu.Device, folder, adapter string, dtype, kvDtype hf.Dtype) (*model.Model, error) {
	return load(dev, folder, model.LoadOptions{Dtype: dtype, KVDtype: kvDtype, Frozen: true, Adapter: adapter})
}

// load is model.Load with what is wrong with the folder marked as bad input.
func load(dev gpu.Device, dir string, o model.LoadOptions) (*model.Model, error) {
	m, err := model.Load(dev, dir, o)
	for _, ofDevice := range []error{gpu.ErrOutOfMemory, gpu.ErrDeviceLost} {
		if errors.Is(err, ofDevice) {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return m, nil
}
