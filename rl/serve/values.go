package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// wholeIn is a whole number of a range.
func wholeIn(name string, raw json.RawMessage, low, high int) (int, *fault) {
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	code := "invalid_type"
	switch {
	case n < low && (err == nil || errors.Is(err, strconv.ErrRange)):
		code = "integer_below_min_value"
	case n > high:
		code = "integer_above_max_value"
	case err == nil:
		return n, nil
	}
	return 0, coded(code, name, "%s is %s; accepted: whole numbers from %d to %d", name, kindOf(raw), low, high)
}

// whole reads a whole number of a range.
func whole[T any](low, high int, at func(*T) *int) reader[T] {
	return func(into *T, name string, raw json.RawMessage) (err *fault) {
		*at(into), err = wholeIn(name, raw, low, high)
		return err
	}
}

// natural reads a whole number from 0 that needs all of its 64 bits, such as a seed.
func natural[T any](set func(*T, uint64)) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		n, err := strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 64)
		if err != nil {
			code := "invalid_type"
			if i, err := strconv.Atoi(string(bytes.TrimSpace(raw))); err == nil && i < 0 {
				code = "integer_below_min_value"
			}
			return coded(code, name, "%s is %s; accepted: whole numbers from 0 to %d", name, kindOf(raw), uint64(math.MaxUint64))
		}
		set(into, n)
		return nil
	}
}

// real reads a number up to high that is accepted.
func real[T any](accepted string, high float64, ok func(float64) bool, at func(*T) *float64) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		var x float64
		code := "decimal_below_min_value"
		switch err := json.Unmarshal(raw, &x); {
		case err != nil:
			code = "invalid_type"
		case x > high:
			code = "decimal_above_max_value"
		case ok(x):
			*at(into) = x
			return nil
		}
		return coded(code, name, "%s is %s; accepted: %s", name, kindOf(raw), accepted)
	}
}

// truth reads true or false.
func truth[T any](at func(*T) *bool) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		if json.Unmarshal(raw, at(into)) != nil {
			return invalidType(name, "%s is %s; accepted: true, false", name, kindOf(raw))
		}
		return nil
	}
}

// word reads a text.
func word[T any](at func(*T) *string) reader[T] {
	return func(into *T, name string, raw json.RawMessage) *fault {
		if json.Unmarshal(raw, at(into)) != nil {
			return invalidType(name, "%s is %s; accepted: a text", name, kindOf(raw))
		}
		return nil
	}
}

// raw keeps a value to be read later.
func raw[T any](at func(*T) *json.RawMessage) reader[T] {
	return func(into *T, _ string, value json.RawMessage) *fault {
		*at(into) = value
		return nil
	}
}

// ids reads a list of token ids.
func ids(name string, value json.RawMessage) ([]int, *fault) {
	var found []*int
	if json.Unmarshal(value, &found) != nil || slices.Contains(found, nil) {
		return nil, invalidType(name, "%s is not a list of token ids; accepted: a list of whole numbers", name)
	}
	list := make([]int, len(found))
	for i, id := range found {
		list[i] = *id
	}
	return list, nil
}

// idList reads a list of token ids.
func idList[T any](at func(*T) *[]int) reader[T] {
	return func(into *T, name string, value json.RawMessage) (err *fault) {
		*at(into), err = ids(name, value)
		return err
	}
}

// only accepts values that change nothing, written as JSON: what they would ask for
// otherwise is not done.
func only[T any](why string, values ...string) reader[T] {
	return func(_ *T, name string, value json.RawMessage) *fault {
		var flat bytes.Buffer
		if json.Compact(&flat, value) == nil {
			text := flat.String()
			if x, err := strconv.ParseFloat(text, 64); err == nil { // 0.0 is 0
				text = strconv.FormatFloat(x, 'g', -1, 64)
			}
			if slices.Contains(values, text) {
				return nil
			}
		}
		if len(values) == 0 {
			return unsupported(name, "%s is not supported: %s", name, why)
		}
		return unsupported(name, "%s is %s: %s; accepted: %s", name, kindOf(value), why, strings.Join(values, ", "))
	}
}

// passed accepts any value of a key that concerns the client alone.
func passed[T any](*T, string, json.RawMessage) *fault { return nil }

// stops reads a text, or a list of texts.
func stops[T any](at func(*T) *[]string) reader[T] {
	return func(into *T, name string, value json.RawMessage) *fault {
		var found []*string
		var one string
		if json.Unmarshal(value, &one) == nil {
			found = []*string{&one}
		} else if json.Unmarshal(value, &found) != nil || slices.Contains(found, nil) {
			return invalidType(name, "%s is %s; accepted: a text, or a list of texts", name, kindOf(value))
		}
		const most, longest = 16, 256
		if len(found) > most {
			return bad(name, "%s has %d texts; accepted: at most %d", name, len(found), most)
		}
		for i, s := range found {
			switch {
			case *s == "":
				return bad(name, "%s is an empty text, which every text contains", element(name, i))
			case len(*s) > longest:
				return bad(name, "%s has %d bytes; accepted: at most %d", element(name, i), len(*s), longest)
			}
			*at(into) = append(*at(into), *s)
		}
		return nil
	}
}

func element(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }
