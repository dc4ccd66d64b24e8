package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// Log is a file of JSON lines that is only appended to. A checkpoint records
// how many lines it has; Rewind cuts it back to them. Lines, not bytes: equal
// runs then have equal manifests, though times take more digits in one of them.
type Log struct {
	name, path string
	file       File
	lines      int
	broken     error // an append failed: the file may end in half a line
}

// Journal opens a log that stays as it is where the run goes back to a checkpoint: it has what cannot be
// done again. Half a line at its end, which a killed process left, is cut off.
func (r *Run) Journal(name string) (*Log, error) {
	path := r.path(name)
	file, err := r.fs.Append(path)
	if err != nil {
		return nil, failed("open", path, err)
	}
	l := &Log{name: name, path: path, file: file}
	var end int64
	if l.lines, end, err = firstLines(r.fs, path, math.MaxInt); err == nil {
		err = failed("truncate", path, file.Truncate(end))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, syncDir(r.fs, r.dir)
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
	if l.lines, _, err = firstLines(r.fs, l.path, math.MaxInt); err != nil {
		l.file.Close()
		return nil, err
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
	if _, err := l.file.Write(line.Bytes()); err != nil {
		l.broken = failed("append to", l.path, err)
		return l.broken
	}
	l.lines++
	return nil
}

// Sync makes what was appended durable.
func (l *Log) Sync() error {
	if l.broken == nil {
		l.broken = failed("fsync", l.path, l.file.Sync())
	}
	return l.broken
}

// Close closes the file, fsynced. Closing twice is allowed.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.Sync(), failed("close", l.path, l.file.Close()))
	l.file, l.broken = nil, fmt.Errorf("log %s is closed", l.path)
	return err
}

// cut shortens the log to its first lines. If a crash undoes that, the next
// Rewind does it again.
func (r *Run) cut(l *Log, lines int) error {
	n, end, err := firstLines(r.fs, l.path, lines)
	if err != nil {
		return err
	}
	if n < lines {
		err := fmt.Errorf("log %s has %d lines, but it had %d when the checkpoint was saved", l.path, n, lines)
		return hint.With(err, "the log was shortened or replaced since: put it back, or start a new run from the checkpoint with model.path")
	}
	if err := l.file.Truncate(end); err != nil {
		return failed("truncate", l.path, err)
	}
	l.lines = lines
	return nil
}

// firstLines is how many whole lines a file begins with, counted up to most,
// and the byte at which they end.
func firstLines(fsys FS, path string, most int) (lines int, end int64, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return 0, 0, failed("open", path, err)
	}
	defer file.Close()
	in, length := bufio.NewReader(file), int64(0)
	for lines < most {
		part, err := in.ReadSlice('\n') // part of a line where it is longer than the buffer
		length += int64(len(part))
		switch {
		case err == nil:
			lines++
			end = length
		case err == io.EOF:
			return lines, end, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return lines, end, failed("read", path, err)
		}
	}
	return lines, end, nil
}

// Rewind cuts the logs to the lengths that they had at the checkpoint, so that the run goes on from
// there to the same bytes. If the checkpoint is nil or older than a log, that log becomes empty. A
// log shorter than recorded is an error. Rewind also removes old checkpoints that an earlier
// process had no time to remove.
func (r *Run) Rewind(c *Checkpoint) error {
	lines := map[string]int{}
	if c != nil {
		for _, rec := range c.manifest.Logs {
			lines[rec.Name] = rec.Lines
			if slices.ContainsFunc(r.logs, func(l *Log) bool { return l.name == rec.Name }) {
				continue
			}
			if _, err := r.Log(rec.Name); err != nil {
				return err
			}
		}
	}
	for _, l := range r.logs {
		if err := r.cut(l, lines[l.name]); err != nil {
			return err
		}
	}
	err := r.removeBest(func(f folder) bool { return c == nil || f.step > c.Step() })
	if err != nil || c == nil || strings.HasSuffix(c.dir, oldSuffix) {
		return err
	}
	if err := syncDir(r.fs, filepath.Dir(c.dir)); err != nil { // its name may be newer than the crash
		return err
	}
	return r.prune(c.Step())
}
