package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrInput marks input that the user has to change: a file, a line, a key.
var ErrInput = errors.New("bad input")

// Input is [Each] for a file that the user gave: where it cannot be read, or a line has a key twice,
// the error is ErrInput.
func Input(name string, in io.Reader, do func(line int, raw []byte) error) error {
	read := true
	err := Each(name, in, func(line int, raw []byte) error {
		if json.Valid(raw) { // what is wrong with others, do says
			if err := Once(raw); err != nil {
				return err
			}
		}
		err := do(line, raw)
		read = err == nil
		return err
	})
	if err != nil && read { // it is the file's
		err = fmt.Errorf("%w: %w", ErrInput, err)
	}
	return err
}

// Decode reads a JSON object into a struct; accepted shows what a line looks like.
// Errors are ErrInput.
func Decode(raw []byte, into any, accepted string) error {
	err := json.Unmarshal(raw, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%w: %q: found %s; accepted: %s", ErrInput, wrong.Field, wrong.Value, accepted)
	case errors.As(err, &wrong):
		return fmt.Errorf("%w: found %s; accepted: %s", ErrInput, wrong.Value, accepted)
	case err != nil:
		return fmt.Errorf("%w: not JSON: %w; accepted: %s", ErrInput, err, accepted)
	}
	return nil
}

// Write writes a value as a line of JSON, with <, > and & as they are, and flushes it.
func Write(out *bufio.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return out.Flush()
}
