//go:build unix

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Lock takes flock(2) on the file, which the kernel frees when the process
// ends, however it ends: no lock is ever stale. The file keeps the holder's
// process id, for people; it goes when the lock is closed.
func (osFS) Lock(path string) (io.Closer, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			holder, _ := io.ReadAll(io.LimitReader(f, 100))
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("%w (%s)", ErrLocked, strings.TrimSpace(string(holder)))
			}
			return nil, err
		}
		l := fileLock{f, path}
		if !l.there() { // its holder removed it between our open and our lock
			f.Close()
			continue
		}
		if err := errors.Join(f.Truncate(0), writeHolder(f)); err != nil {
			l.Close()
			return nil, err
		}
		return l, nil
	}
}

type fileLock struct {
	file *os.File
	path string
}

// there says whether the path still names the locked file.
func (l fileLock) there() bool {
	held, err := l.file.Stat()
	named, statErr := os.Stat(l.path)
	return err == nil && statErr == nil && os.SameFile(held, named)
}

// Close removes the file while it is still locked, so that nobody else's goes.
func (l fileLock) Close() error {
	var err error
	if l.there() {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.file.Close())
}

func writeHolder(f *os.File) error {
	_, err := fmt.Fprintf(f, "process %d\n", os.Getpid())
	return err
}
