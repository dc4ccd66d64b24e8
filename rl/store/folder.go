package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
)

// WriteFolder writes a new folder with files in it, as a whole or not at all: it gets its
// name once every file is on the disk. The folders above it are made where they are not
// there. The error is fs.ErrExist if something has the name already.
func WriteFolder(fsys FS, dir string, files map[string]func(io.Writer) error) error {
	dir = filepath.Clean(dir)
	parent, tmp := filepath.Dir(dir), dir+tmpSuffix
	switch _, err := fsys.ReadDir(dir); {
	case err == nil, errors.Is(err, syscall.ENOTDIR):
		return failed("mkdir", dir, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return failed("read folder", dir, err)
	}
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	err := fillFolder(fsys, tmp, files)
	if err == nil {
		err = rename(fsys, tmp, dir)
	}
	if err != nil {
		fsys.Remove(tmp) // frees the space; the first error is the one to report
		return err
	}
	return syncDir(fsys, parent)
}

// fillFolder writes files into a new folder, in place of one that an earlier process has
// left unfinished.
func fillFolder(fsys FS, dir string, files map[string]func(io.Writer) error) error {
	if err := errors.Join(remove(fsys, dir), makeDir(fsys, dir)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) || filepath.Base(name) != name {
			return fmt.Errorf("file name %q; accepted: a name without folders", name)
		}
		if err := create(fsys, filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return syncDir(fsys, dir)
}
