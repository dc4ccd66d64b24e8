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

func (osFS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock takes flock(2) on the file, which the kernel frees when the process
// ends, however it ends: no lock is ever stale. The file keeps the holder's
// process id, for people.
func (osFS) Lock(path string) (io.Closer, error) {
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
	if err := errors.Join(f.Truncate(0), writeHolder(f)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func writeHolder(f *os.File) error {
	_, err := fmt.Fprintf(f, "process %d\n", os.Getpid())
	return err
}
