package lines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxBytes is the length of the longest line that is read, its line end included.
const MaxBytes = 64 << 20

// Each calls do for every line that is not blank and UTF-8 text: the JSON decoder would
// put U+FFFD for what is none. Errors, do's own too, begin with the file's name and the
// line's number.
func Each(name string, in io.Reader, do func(line int, raw []byte) error) error {
	r := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		raw, err := readLine(r)
		if len(raw) > MaxBytes {
			return fmt.Errorf("%s: line %d has more than %d bytes; accepted: at most that many", name, n, MaxBytes)
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		if n == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
		}
		if raw := bytes.TrimSpace(raw); len(raw) > 0 {
			if !utf8.Valid(raw) {
				return fmt.Errorf("%s: line %d: not UTF-8 text", name, n)
			}
			if err := do(n, raw); err != nil {
				return fmt.Errorf("%s: line %d: %w", name, n, err)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// readLine reads a line, or a little more than MaxBytes of a longer one.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull || len(line) > MaxBytes {
			return line, err
		}
	}
}
