package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
)

// Budgets of JSON written by a model.
const (
	maxJSONDepth = 32
	maxJSONNodes = 10_000
	maxJSONItems = 2_000 // of one array: schemas may ask for their being unique
)

// decodeJSON reads one JSON value. Numbers stay json.Number and are of bounded
// size; a key that stands twice in an object is an error, as readers differ in
// which one they take.
func decodeJSON(text string) (any, error) {
	d := jsonReader{decoder: json.NewDecoder(strings.NewReader(text))}
	d.decoder.UseNumber()
	value, err := d.value(0)
	if err != nil {
		return nil, fmt.Errorf("not a JSON value: %w", err)
	}
	if _, err := d.decoder.Token(); err != io.EOF {
		return nil, errors.New("not a JSON value: there is more text after it")
	}
	return value, nil
}

type jsonReader struct {
	decoder *json.Decoder
	nodes   int
}

func (d *jsonReader) value(depth int) (any, error) {
	if d.nodes++; d.nodes > maxJSONNodes {
		return nil, fmt.Errorf("more than %d values", maxJSONNodes)
	}
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxJSONDepth)
	}
	token, err := d.decoder.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return d.object(depth)
		}
		return d.array(depth)
	case json.Number:
		_, err := parseDecimal(strings.TrimPrefix(t.String(), "-"))
		return t, err
	}
	return token, nil
}

func (d *jsonReader) object(depth int) (any, error) {
	object := map[string]any{}
	for d.decoder.More() {
		key, err := d.decoder.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder lets nothing else stand there
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the key %s appears twice", quote(name))
		}
		if object[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := d.decoder.Token()
	return object, err
}

func (d *jsonReader) array(depth int) (any, error) {
	array := []any{}
	for d.decoder.More() {
		item, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if array = append(array, item); len(array) > maxJSONItems {
			return nil, fmt.Errorf("an array of more than %d items", maxJSONItems)
		}
	}
	_, err := d.decoder.Token()
	return array, err
}

// equalJSON compares decoded values: numbers exactly, so that 1 is 1.0; objects
// without order.
func equalJSON(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, v := range x {
			if w, ok := y[key]; !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := b.(json.Number)
		return ok && jsonRat(x).Cmp(jsonRat(y)) == 0
	}
	return a == b
}

// jsonRat is the exact value of a number that decodeJSON has read.
func jsonRat(n json.Number) *big.Rat {
	value, err := parseDecimal(strings.TrimPrefix(n.String(), "-"))
	if err != nil {
		return new(big.Rat)
	}
	if strings.HasPrefix(n.String(), "-") {
		value.Neg(value)
	}
	return value
}

var fence = regexp.MustCompile("(?s)```[A-Za-z0-9_-]*[ \t]*\n(.*?)\n?[ \t]*```")

// How JSON is taken out of a completion: the values of the option "extract",
// beside ExtractNone.
const ExtractJSON = "json"

const jsonExtractDoc = `extract   "json": the last fenced block; else the content of the last <answer>…</answer>;
          else the whole text. Only what follows the last </think> is read.
          "none": the whole completion. Default "json".
`

// extractJSON is the text of the JSON value in a completion.
func extractJSON(completion, how string) (text, rule string, err error) {
	if len(completion) > maxCompletionBytes {
		return "", "", fmt.Errorf("the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	text, rule = completion, "whole"
	if how == ExtractJSON {
		if _, after, found := cutLast(text, "</think>"); found {
			text = after
		} else if strings.Contains(text, "<think>") {
			return "", "", errors.New("<think> is never closed")
		}
		if all := fence.FindAllStringSubmatch(text, -1); len(all) > 0 {
			text, rule = all[len(all)-1][1], "fence"
		} else if before, _, found := cutLast(text, "</answer>"); found {
			if _, inside, found := cutLast(before, "<answer>"); found {
				text, rule = inside, "answer_tag"
			}
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", rule, errors.New("the answer is empty")
	}
	return text, rule, nil
}
