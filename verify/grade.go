package verify

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Grade judges one line of "rlzero verify --in": a JSON object with the keys
//
//	completion  the model's text; null counts as empty (required)
//	verifier    the verifier's name; without it, fallback is used
//	options     the verifier's options, an object
//	extract     short for the option of that name
//	task        the task row; without it the line itself is the row, so that
//	            answer, metadata, numbers … may stand beside completion
//
// The error is about the line (not JSON, no completion, unknown verifier or
// option); whatever the completion holds ends in a Verdict.
func Grade(line []byte, fallback string) (Verdict, error) {
	var in struct {
		Verifier   string
		Completion json.RawMessage
		Options    map[string]any
		Extract    *string
		Task       json.RawMessage
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Verdict{}, fmt.Errorf("not a line to grade: %w", err)
	}
	if in.Completion == nil {
		return Verdict{}, errors.New(`no key "completion": a line is {"answer":"...","completion":"..."}, with "verifier" or --verifier naming the verifier`)
	}
	var completion string
	if err := json.Unmarshal(in.Completion, &completion); err != nil {
		return Verdict{}, fmt.Errorf(`"completion" is %s: accepted is a string or null`, quote(string(in.Completion)))
	}
	row, err := gradedRow(line, in.Task)
	if err != nil {
		return Verdict{}, err
	}
	name := in.Verifier
	if name == "" {
		name = fallback
	}
	if name == "" {
		return Verdict{}, errors.New(`no verifier is named: give --verifier NAME or "verifier" in the line; see rlzero verifiers`)
	}
	if in.Extract != nil {
		if in.Options == nil {
			in.Options = map[string]any{}
		}
		in.Options["extract"] = *in.Extract
	}
	v, err := New(name, in.Options)
	if err != nil {
		return Verdict{}, err
	}
	return v.Verify(row, completion), nil
}

// gradedRow is the line's task row: its "task", or the line without the keys
// that are Grade's own.
func gradedRow(line, task []byte) (Row, error) {
	var row Row
	if task != nil {
		err := json.Unmarshal(task, &row)
		return row, err
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return row, err
	}
	for _, own := range []string{"verifier", "completion", "options", "extract"} {
		delete(row.Metadata, own)
	}
	return row, nil
}
