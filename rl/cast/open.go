package cast

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
)

// OpenModel loads a Hugging Face folder onto a device, frozen, with the adapter of a PEFT
// folder unless that is "". The model is kept as it
// was trained, in float32 if nothing says so, unless dtype and kvDtype say otherwise.
func OpenModel(dev gpu.Device, folder, adapter string, dtype, kvDtype hf.Dtype) (*model.Model, error) {
	return load(dev, folder, model.LoadOptions{Dtype: dtype, KVDtype: kvDtype, Frozen: true, Adapter: adapter})
}

// OpenHeaded is OpenModel of the folder of a model with a head, see [hf.ReadHeaded].
func OpenHeaded(dev gpu.Device, folder string, dtype, kvDtype hf.Dtype) (*model.Model, error) {
	return load(dev, folder, model.LoadOptions{Dtype: dtype, KVDtype: kvDtype, Frozen: true, Head: true})
}

// Take gives a model that was opened from a checkpoint's folder the weights that the checkpoint has of
// another model of the run, or those of its policy again.
func Take(m *model.Model, checkpoint, name string) error {
	set, file := m.SetTensors, weightsFile
	if m.AdapterTensors() != nil {
		set, file = m.SetAdapterTensors, adapterFile
	}
	if name != policyName {
		file = recipe.MemberWeights(name)
	}
	return readTensors(filepath.Join(checkpoint, filepath.FromSlash(file)), set)
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
