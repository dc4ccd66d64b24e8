package verify

import (
	"encoding/json"
	"fmt"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "json_equal",
		Summary: "the same JSON value as the row's answer",
		Doc: fmt.Sprintf(`json_equal: right when the completion holds the JSON value of the row's answer.

Objects are compared without the order of their keys, arrays with their order, numbers
exactly (1 is 1.0), texts as they are. The value may have %d parts, %d items in an array
and %d levels; a repeated key makes it wrong.

Row: answer, JSON. References, a list of them, take precedence: one of them is enough.

Options
extract   "json": the last fenced block; else the content of the last <answer>…</answer>;
          else the whole text if it is JSON; else the last object or array in it. Only what
          follows the last </think> is read.
          "none": the whole completion. Default "json".

Not scored when the row has no answer, or one that is not JSON.
`, maxJSONNodes, maxJSONItems, maxJSONDepth),
		New: func(options json.RawMessage) (Verifier, error) {
			v := jsonEqual{ExtractJSON}
			if err := DecodeOptions(options, &v); err != nil {
				return nil, err
			}
			return v, oneOf("extract", v.Extract, ExtractJSON, ExtractNone)
		},
	})
}

type jsonEqual struct {
	Extract string `toml:"extract"`
}

// Check implements [Checker].
func (v jsonEqual) Check(row Problem) error {
	_, err := v.references(row)
	return err
}

// references are the values that are right.
func (v jsonEqual) references(row Problem) ([]any, error) {
	texts, err := rowReferences(row)
	if err != nil {
		return nil, err
	}
	var values []any
	for _, t := range texts {
		value, err := decodeJSON(t)
		if err != nil {
			return nil, fmt.Errorf("the row's answer %s: %w", shown(t), err)
		}
		values = append(values, value)
	}
	return values, nil
}

// Verify implements [Verifier].
func (v jsonEqual) Verify(row Problem, completion string) Verdict {
	references, err := v.references(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule, err := extractJSON(completion, v.Extract)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	value, err := decodeJSON(text)
	if err != nil && v.Extract == ExtractJSON && rule == "whole" {
		if inside, found := lastJSON(text); found {
			text, rule = inside, "in prose"
			value, err = decodeJSON(text)
		}
	}
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	for _, r := range references {
		if equalJSON(r, value) {
			return Accept(text, rule, "equal to %s", shown(row.Answer))
		}
	}
	return Reject(text, rule, "not equal to %s", shown(row.Answer))
}

// What is searched for a value in prose.
const (
	maxJSONProse  = 1 << 16 // bytes, from the end
	maxJSONStarts = 256     // brackets that may begin one, from the first on
)

// lastJSON is the last object or array that stands in a text by itself, in no other one.
func lastJSON(text string) (string, bool) {
	text = text[max(0, len(text)-maxJSONProse):]
	last, found := "", false
	for starts := 0; starts < maxJSONStarts; starts++ {
		i := strings.IndexAny(text, "{[")
		if i < 0 {
			break
		}
		text = text[i:]
		d := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if d.Decode(&raw) != nil { // it begins no value: the next bracket may
			text = text[1:]
			continue
		}
		last, found = string(raw), true
		text = text[d.InputOffset():]
	}
	return last, found
}
