package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
)

// FindModel is the Hugging Face folder or the GGUF file of a MODEL argument: such a
// folder or file, a checkpoint, or a run (its newest complete checkpoint). There is a
// warning for each checkpoint that was skipped.
func FindModel(path string) (dir string, warnings []string, err error) {
	const accepted = "give a Hugging Face folder, a .gguf file, a run folder or a checkpoint folder"
	info, err := os.Stat(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		err = hint.With(fmt.Errorf("%w: model %s: %w", lines.ErrInput, path, err), accepted)
		return "", nil, files.MaybeHub(err, path, files.HubModel, ".gguf")
	}
	if info.Mode().IsRegular() && filepath.Ext(path) == ".gguf" {
		return path, nil, nil
	}
	if !info.IsDir() {
		return "", nil, hint.With(fmt.Errorf("%w: model %s is a file", lines.ErrInput, path), accepted)
	}
	for _, name := range []string{"config.json", "adapter_config.json"} { // a model, or an adapter that names one
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return path, nil, nil
		}
	}
	ckpt, warnings, err := Latest(OS(), path)
	if errors.Is(err, ErrNotRun) {
		return "", nil, hint.With(fmt.Errorf("%w: model %s has no config.json and no checkpoints", lines.ErrInput, path), accepted)
	}
	if err != nil {
		return "", warnings, err
	}
	if ckpt == nil {
		return "", warnings, fmt.Errorf("%w: run %s has no complete checkpoint yet", lines.ErrInput, path)
	}
	return ckpt.Dir(), warnings, nil
}

// FindText is FindModel for those who need no weights: a folder that has a tokenizer or
// a chat template and no config.json will do.
func FindText(path string) (dir string, warnings []string, err error) {
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return path, nil, nil
		}
	}
	return FindModel(path)
}
