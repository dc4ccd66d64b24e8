package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Log is a file of JSON lines that is only appended to. A checkpoint records
// its length; Rewind cuts it back to that.
type Log struct {
	name, path string
	file       File
	size       int64
	broken     error // an append failed: the file may end in half a line
}

// Log opens a log of the run, at its end. Opening one twice is an error.
func (r *Run) Log(name string) (*Log, error) {
	if slices.ContainsFunc(r.logs, func(l *Log) bool { return l.name == name }) {
		return nil, fmt.Errorf("log %s is open already", r.path(name))
	}
	l := &Log{name: name, path: r.path(name)}
	var err error
	if l.file, err = r.fs.Append(l.path); err != nil {
		return nil, failed("open", l.path, err)
	}
	if l.size, err = l.file.Size(); err != nil {
		l.file.Close()
		return nil, failed("stat", l.path, err)
	}
	r.logs = append(r.logs, l)
	return l, syncDir(r.fs, r.dir)
}

// Append writes v as one line of compact JSON, <, > and & as they are. After an
// error the log takes nothing more.
func (l *Log) Append(v any) error {
	if l.broken != nil {
		return l.broken
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("log %s: %w", l.path, err)
	}
	n, err := l.file.Write(line.Bytes())
	l.size += int64(n)
	l.broken = failed("append to", l.path, err)
	return l.broken
}

// Sync makes what was appended durable.
func (l *Log) Sync() error {
	if l.broken == nil {
		l.broken = failed("fsync", l.path, l.file.Sync())
	}
	return l.broken
}

// Len is the length in bytes.
func (l *Log) Len() int64 { return l.size }

// Close closes the file, fsynced. Closing twice is allowed.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.Sync(), failed("close", l.path, l.file.Close()))
	l.file, l.broken = nil, fmt.Errorf("log %s is closed", l.path)
	return err
}

// cut shortens the log to size bytes. If a crash undoes that, the next Rewind
// does it again.
func (l *Log) cut(size int64) error {
	if l.size < size {
		return fmt.Errorf("log %s has %d bytes, the checkpoint was made when it had %d: it was cut or replaced since; put the file back, or start a new run from the checkpoint with model.path", l.path, l.size, size)
	}
	if err := l.file.Truncate(size); err != nil {
		return failed("truncate", l.path, err)
	}
	l.size = size
	return nil
}

// Rewind cuts the logs to the lengths they had at the checkpoint, to nothing if
// it is nil or the log is younger, so that the run goes on from there to the
// same bytes. A log shorter than recorded is an error.
func (r *Run) Rewind(c *Checkpoint) error {
	lengths := map[string]int64{}
	if c != nil {
		for _, rec := range c.manifest.Logs {
			lengths[rec.Name] = rec.Size
			if slices.ContainsFunc(r.logs, func(l *Log) bool { return l.name == rec.Name }) {
				continue
			}
			if _, err := r.Log(rec.Name); err != nil {
				return err
			}
		}
	}
	for _, l := range r.logs {
		if err := l.cut(lengths[l.name]); err != nil {
			return err
		}
	}
	return nil
}
