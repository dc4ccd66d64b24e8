package rl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/store"
)

// ModelDir finds the Hugging Face folder behind a MODEL argument: such a
// folder, a checkpoint, or a run (its newest whole checkpoint). Warnings tell of
// checkpoints that were passed over.
func ModelDir(path string) (dir string, warnings []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("%w: model %s: %w", ErrInput, path, err)
	}
	if !info.IsDir() {
		return "", nil, fmt.Errorf("%w: model %s is a file; accepted: a Hugging Face folder, a run, a checkpoint folder", ErrInput, path)
	}
	if _, err := os.Stat(filepath.Join(path, "config.json")); err == nil {
		return path, nil, nil
	}
	ckpt, warnings, err := store.Latest(store.OS(), path)
	if errors.Is(err, store.ErrNotRun) {
		return "", nil, fmt.Errorf("%w: model %s has no config.json, and no checkpoints of a run: %w", ErrInput, path, err)
	}
	if err != nil {
		return "", warnings, err
	}
	if ckpt == nil {
		return "", warnings, fmt.Errorf("%w: run %s has no complete checkpoint yet", ErrInput, path)
	}
	return ckpt.Dir(), warnings, nil
}

// tokenizerDir finds the folder of a tokenizer: one with a tokenizer.json, which
// needs nothing else, or that of a MODEL argument.
func tokenizerDir(path string) (dir string, warnings []string, err error) {
	if _, err := os.Stat(filepath.Join(path, "tokenizer.json")); err == nil {
		return path, nil, nil
	}
	return ModelDir(path)
}

// OpenModel loads a MODEL argument onto a device, frozen. It is kept as it was
// trained, in float32 if nothing says so, unless dtype and kvDtype say otherwise.
func OpenModel(dev gpu.Device, path string, dtype, kvDtype model.Dtype) (*model.Model, []string, error) {
	dir, warnings, err := ModelDir(path)
	if err != nil {
		return nil, warnings, err
	}
	m, err := load(dev, dir, model.LoadOptions{Dtype: dtype, KVDtype: kvDtype, Frozen: true})
	return m, warnings, err
}

// load is model.Load with what is wrong with the folder marked as ErrInput.
func load(dev gpu.Device, dir string, o model.LoadOptions) (*model.Model, error) {
	m, err := model.Load(dev, dir, o)
	for _, ofDevice := range []error{gpu.ErrOutOfMemory, gpu.ErrDeviceLost} {
		if errors.Is(err, ofDevice) {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return m, nil
}
