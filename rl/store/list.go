package store

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Listed is a checkpoint folder of a run.
type Listed struct {
	Name       string      // of the folder: step-000012
	Checkpoint *Checkpoint // nil if it is not whole
	Err        error       // why it is not
}

// List reads and checks every checkpoint of the run in dir, oldest first. It
// takes no lock.
func List(fsys FS, dir string) ([]Listed, error) {
	if err := isRun(fsys, dir); err != nil {
		return nil, err
	}
	folders, err := listCheckpoints(fsys, dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(folders)
	var out []Listed
	for _, f := range folders {
		if f.old {
			continue
		}
		l := Listed{Name: filepath.Base(f.dir)}
		if l.Checkpoint, l.Err = load(fsys, f.dir); l.Err == nil && l.Checkpoint.manifest.Step != f.step {
			l.Checkpoint, l.Err = nil, fmt.Errorf("%s belongs to step %d", manifestFile, l.Checkpoint.manifest.Step)
		}
		out = append(out, l)
	}
	return out, nil
}

// Digest is the SHA-256 of the manifest, which has those of all files.
func (c *Checkpoint) Digest() string { return c.manifest.Checksum }
