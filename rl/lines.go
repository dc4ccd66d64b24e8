package rl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrInput marks input that the user has to change: a file, a line, a key.
var ErrInput = errors.New("bad input")

// eachLine calls do for every JSON line that is not blank, with its number. A
// line may be of any length. Unknown keys are left to do.
func eachLine(name string, in io.Reader, do func(line int, raw []byte) error) error {
	r := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		raw, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(raw)) > 0 {
			if e := do(n, bytes.TrimSpace(raw)); e != nil {
				return fmt.Errorf("%s: line %d: %w", name, n, e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// decodeLine reads a JSON object.
func decodeLine(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: not a JSON object of the expected keys: %w", ErrInput, err)
	}
	return nil
}

func writeLine(out *bufio.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(raw, '\n')); err != nil {
		return err
	}
	return out.Flush()
}
