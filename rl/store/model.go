package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/rl/lines"
)

// FindModel is the Hugging Face folder behind a MODEL argument: such a folder, a
// checkpoint, or a run (its newest whole checkpoint). Warnings tell of checkpoints
// that were passed over.
func FindModel(path string) (dir string, warnings []string, err error) {
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
	ckpt, warnings, err := Latest(OS(), path)
	if errors.Is(err, ErrNotRun) {
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
