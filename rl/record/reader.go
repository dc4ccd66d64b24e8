package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
)

// MaxBytes is the length of the longest line that is read, its line end included.
const MaxBytes = lines.MaxBytes

// chunk is how much of a file is read at a time. Four times as much made no search quicker, and a
// page's server larger by 7 MiB.
const chunk = 1 << 20

// Reader reads the whole lines of a log in pieces. It remembers the place of the line that it reads
// next, so that it can go on when a log has grown.
type Reader struct {
	Name string // of the file, for errors
	At   int64  // bytes that were read
	Line int    // lines that were read

	buf         []byte
	chunk, most int // 0: chunk and MaxBytes
}

// TooLong is the error about a line that is longer than MaxBytes.
type TooLong struct {
	Name string // of the file
	Line int    // from 1
	Head []byte // how the line begins, where a Reader found it: for as long as a piece

	most int // 0: MaxBytes
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("%s: line %d has more than %d bytes; accepted: at most that many", e.Name, e.Line, cmp.Or(e.most, MaxBytes))
}

// Pieces calls do with the whole lines up to a byte of the file, as many at a time as a piece
// holds; do may keep none of the bytes. The error is *[TooLong] at a line that is too long: the
// reader then stands before it.
func (r *Reader) Pieces(in io.ReaderAt, to int64, do func(lines []byte) error) error {
	size, most := r.chunk, r.most
	if size == 0 {
		size, most = chunk, MaxBytes
	}
	if room := int(min(int64(size), max(0, to-r.At))); cap(r.buf) < room {
		r.buf = make([]byte, 0, room)
	}
	buf := r.buf[:0]
	for r.At+int64(len(buf)) < to {
		// A piece that is longer than a line may be, by one byte, holds either that line alone or none.
		if len(buf) == min(cap(buf), most+1) { // a line that is longer
			if len(buf) > most {
				return &TooLong{r.Name, r.Line + 1, buf, most}
			}
			buf = append(buf, make([]byte, min(cap(buf), most+1-len(buf)))...)[:len(buf)]
			r.buf = buf
		}
		from := len(buf)
		n, err := in.ReadAt(buf[from:min(int64(cap(buf)), int64(most)+1, to-r.At)], r.At+int64(from))
		buf = buf[:from+n]
		if whole := bytes.LastIndexByte(buf[from:], '\n') + 1; whole > 0 {
			whole += from
			if len(buf) > most && bytes.IndexByte(buf[from:], '\n')+from+1 > most {
				return &TooLong{r.Name, r.Line + 1, buf, most}
			}
			if err := do(buf[:whole]); err != nil {
				return err
			}
			r.At, r.Line = r.At+int64(whole), r.Line+bytes.Count(buf[:whole], []byte{'\n'})
			buf = append(buf[:0], buf[whole:]...)
		}
		if err == io.EOF { // it has become shorter
			return nil
		}
		if err != nil { // it names the file
			return err
		}
	}
	return nil
}

// Skip passes over the next line, however long it is, and says whether it has an end before a
// byte of the file. Where it has none, the reader stays.
func (r *Reader) Skip(in io.ReaderAt, to int64) (bool, error) {
	buf := r.buf[:cap(r.buf)]
	for at := r.At; at < to; {
		n, err := in.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if end := bytes.IndexByte(buf[:n], '\n'); end >= 0 {
			r.At, r.Line = at+int64(end)+1, r.Line+1
			return true, nil
		}
		at += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// Each calls do for each line up to a byte of the file that is not blank. Errors, do's own
// too, begin with the file's name and the line's number.
func (r *Reader) Each(in io.ReaderAt, to int64, do func(n int, line []byte) error) error {
	return r.Pieces(in, to, func(piece []byte) error {
		n := r.Line
		for line := range bytes.Lines(piece) {
			n++
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if err := do(n, line); err != nil {
				return fmt.Errorf("%s: line %d: %w", r.Name, n, err)
			}
		}
		return nil
	})
}

// isTooLong is the error about a line that is too long; nil: err is another, or none.
func isTooLong(err error) *TooLong {
	var long *TooLong
	errors.As(err, &long)
	return long
}
