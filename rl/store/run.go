package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
)

// ErrExists: the folder of a new run holds something already.
var ErrExists = errors.New("the folder is not empty")

// ErrNotRun: the folder is not that of a run.
var ErrNotRun = errors.New("not a run folder")

const (
	lockFile       = "lock"
	checkpointsDir = "checkpoints"
	tmpSuffix      = ".tmp"
	defaultKeep    = 3
)

// Run is a run's folder, open for writing.
type Run struct {
	fs   FS
	dir  string
	lock io.Closer
	logs []*Log
	keep int
}

// Create makes the folder of a new run. One that holds something is refused
// with ErrExists; the lock, files without a byte and unfinished ones, left by a
// start that was cut short, count as nothing.
func Create(fsys FS, dir string) (*Run, error) {
	if err := makeDir(fsys, dir); err != nil {
		return nil, err
	}
	r, err := locked(fsys, dir)
	if err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Run) begin() error {
	infos, err := r.fs.ReadDir(r.dir)
	if err != nil {
		return failed("read folder", r.dir, err)
	}
	begun := false // by a start that was cut short
	for _, info := range infos {
		if info.Name() == lockFile || !info.IsDir() && info.Size() == 0 {
			continue
		}
		if info.Name() == checkpointsDir {
			if held, err := r.fs.ReadDir(r.path(checkpointsDir)); err == nil && len(held) == 0 {
				begun = true
				continue
			}
		}
		if begun && strings.HasSuffix(info.Name(), tmpSuffix) {
			continue
		}
		err := fmt.Errorf("%w: %s already holds %s", ErrExists, r.dir, info.Name())
		if isRun(r.fs, r.dir) == nil {
			err = hint.With(err, "to continue that run: rlzero train --resume --run %s", terminal.ShellWord(r.dir))
		}
		return hint.With(err, "choose another folder with --run")
	}
	return makeDir(r.fs, r.path(checkpointsDir))
}

// Open opens the folder of a run to continue it and removes what an earlier
// process left unfinished.
func Open(fsys FS, dir string) (*Run, error) {
	if err := isRun(fsys, dir); err != nil {
		return nil, err
	}
	r, err := locked(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{dir, r.path(checkpointsDir), r.path(bestDir)} {
		if err := removeUnfinished(fsys, folder); err != nil && !(folder == r.path(bestDir) && errors.Is(err, fs.ErrNotExist)) {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// isRun tells a run's folder from any other.
func isRun(fsys FS, dir string) error {
	if _, err := fsys.ReadDir(filepath.Join(dir, checkpointsDir)); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotRun, dir, failed("read folder", filepath.Join(dir, checkpointsDir), err))
	}
	return nil
}

func locked(fsys FS, dir string) (*Run, error) {
	lock, err := fsys.Lock(filepath.Join(dir, lockFile))
	if errors.Is(err, ErrLocked) {
		return nil, hint.With(fmt.Errorf("run %s: %w", dir, err), "wait for that process or stop it, or choose another folder with --run")
	}
	if err != nil {
		return nil, failed("lock", filepath.Join(dir, lockFile), err)
	}
	return &Run{fs: fsys, dir: dir, lock: lock, keep: defaultKeep}, nil
}

func removeUnfinished(fsys FS, folder string) error {
	infos, err := fsys.ReadDir(folder)
	if err != nil {
		return failed("read folder", folder, err)
	}
	for _, info := range infos {
		if strings.HasSuffix(info.Name(), tmpSuffix) {
			if err := remove(fsys, filepath.Join(folder, info.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Present is an error where the folder is no longer the one that was opened: it was deleted, moved
// or replaced. What is appended to its logs then goes nowhere, and what is written by name would make
// a folder that has half of a run.
func (r *Run) Present() error {
	lock, tells := r.lock.(interface{ there() bool })
	if isRun(r.fs, r.dir) == nil && (!tells || lock.there()) {
		return nil
	}
	return fmt.Errorf("run folder %s was deleted, moved or replaced while the run was writing it", r.dir)
}

// cause is the error of [Run.Present] where something is missing because the run's folder went away
// while it was written to.
func (r *Run) cause(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(r.Present(), err)
	}
	return err
}

// Dir is the run's folder.
func (r *Run) Dir() string { return r.dir }

func (r *Run) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// Keep sets how many of the newest checkpoints are kept, at first 3, besides
// those marked with a KeepFile.
func (r *Run) Keep(n int) { r.keep = max(1, n) }

// WriteFile writes a file of the run, replacing an older one as a whole. The
// name may contain folders, separated by slashes.
func (r *Run) WriteFile(name string, data []byte) error {
	if err := r.Present(); err != nil {
		return err
	}
	return r.cause(replace(r.fs, r.path(""), r.path(name), tmpSuffix, data))
}

// WriteBeside writes a file into a run's folder, replacing an older one as a whole,
// without the run's lock: another process may be running it. It is for files that
// no run reads, such as its report.
func WriteBeside(fsys FS, dir, name string, data []byte) error {
	if err := isRun(fsys, dir); err != nil {
		return err
	}
	return Write(fsys, filepath.Join(dir, filepath.FromSlash(name)), data)
}

// Write writes a file, replacing an older one as a whole. Its folder is made where it
// is not there.
func Write(fsys FS, path string, data []byte) error {
	// A name of this process's own: another one may be writing the same file.
	return replace(fsys, "", path, fmt.Sprintf(".%d%s", os.Getpid(), tmpSuffix), data)
}

// replace writes a file under another name and renames it. Its folder is made below a root, see
// [makeBelow].
func replace(fsys FS, root, path, suffix string, data []byte) error {
	if err := makeBelow(fsys, root, filepath.Dir(path)); err != nil {
		return err
	}
	tmp := path + suffix
	err := create(fsys, tmp, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err == nil {
		err = rename(fsys, tmp, path)
	}
	if err != nil {
		fsys.Remove(tmp) // frees the space; the first error is the one to report
		return err
	}
	return syncDir(fsys, filepath.Dir(path))
}

// RemoveFile removes a file of the run folder, if it is there.
func (r *Run) RemoveFile(name string) error {
	err := remove(r.fs, r.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(r.fs, r.dir)
}

// Latest is the newest whole checkpoint of the run.
func (r *Run) Latest() (*Checkpoint, []string, error) { return Latest(r.fs, r.dir) }

// Close closes the logs and frees the lock.
func (r *Run) Close() error {
	var errs []error
	for _, l := range r.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, r.lock.Close())...)
}
