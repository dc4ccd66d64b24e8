package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/verify"
)

// MadeError is what is wrong with a row that a run has made.
type MadeError struct {
	Column string // that it is about; "": the row
	Err    error
}

// Error implements error.
func (e *MadeError) Error() string {
	if e.Column == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("column %s: %v", e.Column, e.Err)
}

func (e *MadeError) Unwrap() error { return e.Err }

// MadeRow is a row that a run has made, as a problem. A text in it that is empty, or holds a control token,
// which would be read as that token, is refused with a *[MadeError]; so is a solution that the tokenizer cannot
// read, and a row that cannot be read within limits.
func (r *Renderer) MadeRow(id string, columns map[string]json.RawMessage, l Limits) (verify.Problem, error) {
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		var said string
		if json.Unmarshal(columns[name], &said) != nil {
			continue // a number or a list, which a verifier reads
		}
		if strings.TrimSpace(said) == "" {
			return verify.Problem{}, &MadeError{name, errEmpty}
		}
		ids, err := r.tok.Encode(said)
		if err != nil && slices.Contains(l.Solutions, name) {
			return verify.Problem{}, &MadeError{name, err}
		}
		if at := slices.IndexFunc(ids, r.tok.Special); err == nil && at >= 0 {
			return verify.Problem{}, &MadeError{name, fmt.Errorf("%w: %s", chat.ErrControl, r.tok.Decode(ids[at:at+1]))}
		}
	}
	row, err := Made(id, columns)
	if err == nil {
		_, err = r.read(row, l)
	}
	if err != nil {
		return row, &MadeError{"", err}
	}
	return row, nil
}

// Made is a row with columns as a problem. The error is that of a row without a question.
func Made(id string, columns map[string]json.RawMessage) (verify.Problem, error) {
	text, err := marshal(columns)
	if err != nil {
		return verify.Problem{}, err
	}
	row, err := readRow(text)
	row.ID = id
	return row, err
}

// errEmpty: a row has a column without a text.
var errEmpty = errors.New("the text is empty")
