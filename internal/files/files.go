package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/hint"
)

// pointer begins the text that Git LFS leaves in place of a file that it has not fetched
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
const pointer = "version https://git-lfs.github.com/spec/"

// Open opens a regular file, or a link to one. A pointer of Git LFS is refused: it
// stands where the file would be.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if failed, ok := err.(*fs.PathError); ok {
		failed.Op = "open" // as errors name it to people
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s; accepted: a regular file", path, kind(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	begin := make([]byte, len(pointer))
	if n, _ := f.ReadAt(begin, 0); string(begin[:n]) == pointer {
		f.Close()
		err := fmt.Errorf("%s is a pointer of Git LFS, which stands for a file that was not fetched", path)
		return nil, hint.With(err, "run git lfs install and git lfs pull in its folder, or download the file itself")
	}
	return f, nil
}

// Kept is a file that stays open, and what it was like when it was opened.
type Kept struct {
	*os.File
	Was fs.FileInfo
}

// Unchanged is an error, which names the file, if it has another size or was written to since.
func (k Kept) Unchanged() error {
	now, err := k.Stat()
	if err == nil && (now.Size() != k.Was.Size() || !now.ModTime().Equal(k.Was.ModTime())) {
		err = fmt.Errorf("%s has changed since it was opened", k.Name())
	}
	return err
}

// OpenIn opens a regular file of a folder that may be somebody else's: a link that leads out of the
// folder is refused.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s; accepted: a regular file", filepath.Join(dir, name), kind(info.Mode()))
	}
	return root.Open(name)
}

// Read reads a regular file of at most the given number of bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, tooLarge(path, info.Size(), most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow, and files of /proc say that they are empty
	if err == nil && int64(len(data)) > most {
		err = tooLarge(path, int64(len(data)), most)
	}
	return data, err
}

func tooLarge(path string, found, most int64) error {
	return fmt.Errorf("%s has %d bytes; accepted: at most %d", path, found, most)
}

// kind is what lies at a path in the place of a regular file.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
