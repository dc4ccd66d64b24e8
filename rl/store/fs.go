package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
)

// FS is the package's only door to the disk. Errors wrap those of io/fs and
// syscall (fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC).
type FS interface {
	Mkdir(path string) error                    // fs.ErrExist if it is there, fs.ErrNotExist if its parent is not
	Create(path string) (File, error)           // empty, whatever was there
	Append(path string) (File, error)           // at its end; created if absent
	Open(path string) (io.ReadCloser, error)    // for reading
	ReadDir(path string) ([]fs.FileInfo, error) // sorted by name
	Rename(from, to string) error               // replaces a file, not a folder
	Remove(path string) error                   // with all it holds; nil if absent
	SyncDir(path string) error                  // makes the folder's names durable
	Lock(path string) (io.Closer, error)        // ErrLocked if held; Close removes it, and the end of its process frees it
}

// File is a file being written.
type File interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// ErrLocked: another process writes the run.
var ErrLocked = errors.New("in use by another process")

// OS is the machine's file system.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func open(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

func (osFS) Create(path string) (File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
}

func (osFS) Append(path string) (File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

func (osFS) Open(path string) (io.ReadCloser, error) { return files.Open(path) }

func (osFS) ReadDir(path string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed since, by the process that writes the run
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(path string) error { return os.RemoveAll(path) }

// failed names the operation and the path of an error, with a hint where there is
// one.
func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe) && pe.Path == path:
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	err = fmt.Errorf("%s %s: %w", op, path, err)
	if Full(err) {
		err = hint.With(err, "free some space")
	}
	return err
}

// Full tells whether an error is about a disk, or a share of one, that has no room left.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeDir makes a folder and those above it, durably.
func makeDir(fsys FS, path string) error { return makeBelow(fsys, "", path) }

// makeBelow makes a folder and those above it, durably, but neither a root nor what is above that: the
// root of a run that is missing was taken away. "": there is none.
func makeBelow(fsys FS, root, path string) error {
	if path == root {
		return nil // what is written there tells whether it is there
	}
	err := fsys.Mkdir(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path && parent != root {
		if err := makeBelow(fsys, root, parent); err != nil {
			return err
		}
		err = fsys.Mkdir(path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return failed("mkdir", path, err)
	}
	return syncDir(fsys, filepath.Dir(path))
}

func syncDir(fsys FS, path string) error { return failed("fsync folder", path, fsys.SyncDir(path)) }

func rename(fsys FS, from, to string) error {
	return failed("rename", from, fsys.Rename(from, to))
}

func remove(fsys FS, path string) error { return failed("remove", path, fsys.Remove(path)) }

// create writes a file and fsyncs it; its name is not durable yet.
func create(fsys FS, path string, write func(io.Writer) error) error {
	f, err := fsys.Create(path)
	if err != nil {
		return failed("create", path, err)
	}
	if err := write(f); err != nil {
		f.Close()
		return failed("write", path, err)
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return failed("fsync", path, err)
	}
	return failed("close", path, f.Close())
}
