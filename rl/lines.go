package rl

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/lines"
)

// ErrInput marks input that the user has to change: a file, a line, a key.
var ErrInput = errors.New("bad input")

// eachLine is lines.Each for input of the user's.
func eachLine(name string, in io.Reader, do func(line int, raw []byte) error) error {
	read := true
	err := lines.Each(name, in, func(line int, raw []byte) error {
		err := do(line, raw)
		read = err == nil
		return err
	})
	if err != nil && read { // it is the file's
		err = fmt.Errorf("%w: %w", ErrInput, err)
	}
	return err
}

// decodeLine reads a JSON object; accepted shows what a line looks like.
func decodeLine(raw []byte, into any, accepted string) error {
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

// encode reads text as the model's token ids, at least one.
func encode(m *model.Model, key, text string) ([]int, error) {
	if m.Tokenizer == nil {
		return nil, fmt.Errorf(`%w: %q needs a tokenizer, the model's folder has no tokenizer.json: give "ids"`, ErrInput, key)
	}
	ids, err := m.Tokenizer.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrInput, key, err)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: %q has no tokens", ErrInput, key)
	}
	return ids, nil
}

// checkIDs refuses ids outside the vocabulary and sequences that the model has
// no positions for.
func checkIDs(m *model.Model, ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= m.Config.Vocab {
			return fmt.Errorf("%w: id %d (place %d) is not in the model's vocabulary: accepted are 0 to %d", ErrInput, id, i, m.Config.Vocab-1)
		}
	}
	if n := m.Positions(); len(ids) > n {
		return fmt.Errorf("%w: %d tokens, the model has %d positions", ErrInput, len(ids), n)
	}
	return nil
}

// writeLine writes a JSON line, <, > and & as they are.
func writeLine(out *bufio.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return out.Flush()
}
