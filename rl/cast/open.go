package cast

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/store"
)

// Find is the Hugging Face folder behind a MODEL argument: such a folder, a
// checkpoint, or a run (its newest whole checkpoint). Warnings tell of checkpoints
// that were passed over.
func Find(path string) (dir string, warnings []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("%w: model %s: %w", lines.ErrInput, path, err)
	}
	if !info.IsDir() {
		return "", nil, fmt.Errorf("%w: model %s is a file: give a Hugging Face folder, a run folder or a checkpoint folder", lines.ErrInput, path)
	}
	if _, err := os.Stat(filepath.Join(path, "config.json")); err == nil {
		return path, nil, nil
	}
	ckpt, warnings, err := store.Latest(store.OS(), path)
	if errors.Is(err, store.ErrNotRun) {
		return "", nil, fmt.Errorf("%w: model %s has no config.json and is not a run folder: %w", lines.ErrInput, path, err)
	}
	if err != nil {
		return "", warnings, err
	}
	if ckpt == nil {
		return "", warnings, fmt.Errorf("%w: run %s has no complete checkpoint yet", lines.ErrInput, path)
	}
	return ckpt.Dir(), warnings, nil
}

// OpenModel loads a MODEL argument onto a device, frozen. It is kept as it was
// trained, in float32 if nothing says so, unless dtype and kvDtype say otherwise.
func OpenModel(dev gpu.Device, path string, dtype, kvDtype model.Dtype) (*model.Model, []string, error) {
	dir, warnings, err := Find(path)
	if err != nil {
		return nil, warnings, err
	}
	m, err := load(dev, dir, model.LoadOptions{Dtype: dtype, KVDtype: kvDtype, Frozen: true})
	return m, warnings, err
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
