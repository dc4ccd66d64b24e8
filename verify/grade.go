package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Line is what a line of "rlzero verify --in" asks for.
type Line struct {
	Problem    Problem
	Completion string
	Verifier   string         // name
	Options    map[string]any // of the verifier; nil: none
	columns    string         // of the row, for people
}

// ReadLine reads a line of "rlzero verify --in": a JSON object with the keys
//
//	completion  the model's text; null counts as empty (required)
//	verifier    the verifier's name; without it, fallback is used, as [Parse] reads it
//	options     the verifier's options, an object
//	extract     short for the option of that name
//	task        the task row; without it the line itself is the row, so that
//	            answer, metadata, numbers … may stand beside completion
//
// The error says what the line lacks.
func ReadLine(line []byte, fallback string) (Line, error) {
	var in struct {
		Verifier   string
		Completion json.RawMessage
		Options    map[string]any
		Extract    *string
		Task       json.RawMessage
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Line{}, fmt.Errorf("the line cannot be graded: %w", err)
	}
	if in.Completion == nil {
		return Line{}, errors.New(`no key "completion": a line is {"answer":"...","completion":"..."}, with "verifier" or --verifier naming the verifier`)
	}
	var completion string
	if err := json.Unmarshal(in.Completion, &completion); err != nil {
		return Line{}, fmt.Errorf(`"completion" is %s; accepted: a string or null`, quote(string(in.Completion)))
	}
	row, err := gradedRow(line, in.Task)
	if err != nil {
		return Line{}, err
	}
	name := in.Verifier
	if name == "" && fallback != "" {
		var options map[string]any
		if name, options, err = Parse(fallback); err != nil {
			return Line{}, err
		}
		if in.Options == nil {
			in.Options = options
		} else {
			for _, key := range slices.Sorted(maps.Keys(options)) {
				if _, own := in.Options[key]; !own {
					in.Options[key] = options[key]
				}
			}
		}
	}
	if name == "" {
		return Line{}, errors.New(`no verifier is named: give --verifier NAME or "verifier" in the line (rlzero verifiers lists them)`)
	}
	if in.Extract != nil {
		if in.Options == nil {
			in.Options = map[string]any{}
		}
		in.Options["extract"] = *in.Extract
	}
	return Line{Problem: row, Completion: completion, Verifier: name, Options: in.Options, columns: columnsOf(line, in.Task)}, nil
}

// Grade judges a line that ReadLine reads. The error is about the line (not
// JSON, no completion, unknown verifier or option); whatever the completion holds
// ends in a Verdict.
func Grade(line []byte, fallback string) (Verdict, error) {
	l, err := ReadLine(line, fallback)
	if err != nil {
		return Verdict{}, err
	}
	v, err := New(l.Verifier, l.Options)
	if err != nil {
		return Verdict{}, err
	}
	verdict := v.Verify(l.Problem, l.Completion)
	if verdict.Verdict == NotScored && Check(v, l.Problem) != nil {
		verdict.Reason += "; the row has " + l.columns
	}
	return verdict, nil
}

// columnsOf are the [Columns] of a line's task row.
func columnsOf(line, task []byte) string {
	var fields map[string]json.RawMessage
	if task == nil {
		task = line
	}
	if json.Unmarshal(task, &fields) != nil { // null
		return Columns(nil)
	}
	return Columns(fields)
}

// gradedRow is the line's task row: its "task", or the line without the keys
// that are Grade's own.
func gradedRow(line, task []byte) (Problem, error) {
	var row Problem
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
