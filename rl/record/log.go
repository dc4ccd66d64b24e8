package record

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
)

// Each calls do for the lines of a log, in order, with their numbers. What cannot be read is
// lines.ErrInput.
func Each[L any](file string, do func(n int, line L) error) error {
	return Raw(file, func(n int, raw []byte) error {
		line, err := decode[L](file, raw)
		if err != nil {
			return err
		}
		return do(n, line)
	})
}

// Raw is Each for lines as they stand in the file.
func Raw(file string, do func(n int, raw []byte) error) error {
	f, size, err := open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := Reader{Name: file}
	return refused(r.Each(f, size, do))
}

// Log is a log that is open for reading, with its index as it was then.
type Log struct {
	Index
	name string
	file *os.File
}

// Open opens a log and indexes it.
func Open(file string) (*Log, error) {
	f, size, err := open(file)
	if err != nil {
		return nil, err
	}
	l := &Log{name: file, file: f}
	if err := l.Update(f, size); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// AllGroups stands for each group of a step.
const AllGroups = -1

// Lines calls do for the lines of a step, or of one of its groups, in order, with their numbers.
// What cannot be read is lines.ErrInput.
func Lines[L any](l *Log, step, group int, do func(n int, line L) error) error {
	for _, s := range l.steps {
		if s.Step != step {
			continue
		}
		r := Reader{Name: l.name, At: s.Offset, Line: s.line}
		err := r.Each(l.file, s.Offset+s.Bytes, func(n int, raw []byte) error {
			if group != AllGroups && groupOf(raw) != group {
				return nil
			}
			line, err := decode[L](l.name, raw)
			if err != nil {
				return err
			}
			return do(n, line)
		})
		if err == nil && len(s.Skipped) > 0 {
			err = &TooLong{Name: l.name, Line: s.Skipped[0]}
		}
		if err != nil {
			return refused(err)
		}
	}
	return nil
}

func open(file string) (*os.File, int64, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func decode[L any](file string, raw []byte) (line L, err error) {
	if !utf8.Valid(raw) { // the decoder would put U+FFFD for what is none
		return line, fmt.Errorf("%w: not UTF-8 text", lines.ErrInput)
	}
	err = lines.Decode(raw, &line, "a line of "+filepath.Base(file))
	return line, err
}

// refused marks a line that is too long as what the user has to change.
func refused(err error) error {
	if isTooLong(err) != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return err
}
