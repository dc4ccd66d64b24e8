package store

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// SyncDir does nothing: Windows cannot fsync a folder.
func (osFS) SyncDir(string) error { return nil }

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing = syscall.Errno(32)

// deleteOnClose is FILE_FLAG_DELETE_ON_CLOSE
// (https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew).
const deleteOnClose = 0x04000000

// Lock opens the file without sharing it; Windows closes and deletes it when the
// process ends, however it ends: no lock is ever stale.
func (osFS) Lock(path string) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const alone = 0
	h, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, alone, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	if err == errSharing {
		return nil, fmt.Errorf("%w", ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}
