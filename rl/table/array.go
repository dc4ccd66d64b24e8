package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/lines"
)

// readJSON reads a JSON array of objects, or JSON Lines where the file does not begin
// with a bracket.
func readJSON(name string, f *os.File, do func(number int, r Row) error) error {
	in := bufio.NewReader(f)
	for {
		r, _, err := in.ReadRune()
		if err == nil && (r == '\uFEFF' || r == ' ' || r == '\t' || r == '\r' || r == '\n') {
			continue
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err == nil && r == '[' {
			return readArray(name, f, do)
		}
		return readLines(name, f, do)
	}
}

// bounded passes on what it reads, and fails after too many bytes since the last reset.
// It remembers where lines end.
type bounded struct {
	in       io.Reader
	left     int64
	read     int64
	newlines []int64 // offsets that line has not counted yet
	line     int
}

var errRowTooLong = fmt.Errorf("the row has more than %d bytes; accepted: at most that many", lines.MaxBytes)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	for i, c := range p[:n] {
		if c == '\n' {
			b.newlines = append(b.newlines, b.read+int64(i))
		}
	}
	b.left -= int64(n)
	b.read += int64(n)
	return n, err
}

// at returns the line of an offset, counted from 1. Offsets must not fall.
func (b *bounded) at(offset int64) int {
	passed := 0
	for passed < len(b.newlines) && b.newlines[passed] < offset {
		passed++
	}
	b.newlines = append(b.newlines[:0], b.newlines[passed:]...)
	b.line += passed
	return b.line + 1
}

// reset allows another row.
func (b *bounded) reset() { b.left = lines.MaxBytes }

// readArray reads a JSON array of objects, one element at a time.
func readArray(name string, f io.Reader, do func(number int, r Row) error) error {
	in := &bounded{in: f}
	in.reset()
	buffered := bufio.NewReader(in)
	var begin int64 // of the list
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
		n, err := buffered.Discard(len(mark))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		begin = int64(n)
	}
	dec := json.NewDecoder(buffered)
	fail := func(line int, err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends before the list is closed")
		}
		return fmt.Errorf("%s: line %d: %w", name, line, err)
	}
	if _, err := dec.Token(); err != nil {
		return fail(1, err)
	}
	for dec.More() {
		in.reset()
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			at := dec.InputOffset()
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				at = max(at, syntax.Offset)
			}
			return fail(in.at(begin+at), err)
		}
		line := in.at(begin + dec.InputOffset() - int64(len(raw)))
		if !utf8.Valid(raw) {
			return fail(line, errors.New("not UTF-8 text"))
		}
		row, err := parseObject(raw)
		if err == nil {
			err = do(line, row)
		}
		if err != nil {
			return fail(line, err)
		}
	}
	in.reset()
	if _, err := dec.Token(); err != nil {
		return fail(in.at(begin+dec.InputOffset()), err)
	}
	line := in.at(begin + dec.InputOffset())
	if _, err := dec.Token(); err != io.EOF {
		return fail(line, errors.New("something follows the list; accepted: one list of objects, or one object a line"))
	}
	return nil
}
