//go:build unix || js

package store

import (
	"errors"
	"os"
)

// SyncDir makes what was made, renamed and removed in a folder durable. In a browser, whose
// page keeps its files as one journal (web/internal/site), it writes that journal out.
func (osFS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
