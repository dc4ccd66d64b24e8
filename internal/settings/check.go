package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Error says why the value of a setting is not accepted.
type Error struct {
	Key     string
	Problem string // after the key: "= 0 is out of range; accepted: ..."
}

// Error is the key with its problem.
func (e *Error) Error() string { return e.Key + " " + e.Problem }

// OutOfRange is the error for a value that other settings do not allow; accepted
// says what they do.
func OutOfRange(key string, found any, accepted string) *Error {
	return &Error{key, fmt.Sprintf("= %s is out of range; accepted: %s", show(plain(reflect.ValueOf(found))), accepted)}
}

// Check returns an [Error] for each setting of a struct that its tags do not
// accept, and for each max_x below its min_x, joined; nil: there is none.
func Check(v any) error {
	var errs []error
	lows := map[string]float64{}
	for _, f := range Fields(v) {
		values := []reflect.Value{f.value}
		if kind := f.value.Kind(); kind == reflect.Slice || kind == reflect.Array {
			values = nil
			for i := range f.value.Len() {
				values = append(values, f.value.Index(i))
			}
		}
		for _, value := range values {
			x := plain(value)
			if problem := f.problem(x, value.Type()); problem != "" {
				errs = append(errs, &Error{f.Key, fmt.Sprintf("= %s %s", show(x), problem)})
			}
		}
		x, isNumber := number(plain(f.value))
		name, isMax := strings.CutPrefix(f.Key, "max_")
		if least, ok := lows[name]; isMax && ok && x < least && f.problem(x, f.value.Type()) == "" {
			errs = append(errs, OutOfRange(f.Key, f.Value(), fmt.Sprintf("%s, not below min_%s = %s", f.Accepted(), name, strconv.FormatFloat(least, 'f', -1, 64))))
		}
		if name, isMin := strings.CutPrefix(f.Key, "min_"); isMin && isNumber {
			lows[name] = x
		}
	}
	return errors.Join(errs...)
}

// plain is a scalar as TOML has it: a string, a bool, an int64 or a float64; nil
// for anything else.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Uint64:
		return int64(v.Uint())
	case reflect.Float64:
		return v.Float()
	}
	return nil
}

// SetNumber changes a setting that is a number; a whole number takes the whole part
// of x. The field has to be of [Fields] of a pointer.
func (f Field) SetNumber(x float64) {
	if f.value.Kind() == reflect.Float64 {
		f.value.SetFloat(x)
	} else {
		f.value.SetInt(int64(x))
	}
}

// Set changes one setting of the struct that v points to, given as TOML or as a
// string without quotes. [Check] tells whether the value goes with the others.
func Set(v any, key, text string) error {
	d := Document{}
	d.Decode(v, map[string]any{key: valueOf(text)}, nil)
	return d.Err()
}

// DecodeJSON reads a JSON object into dst, a pointer to a struct that holds the
// defaults. The error has a line for each fault.
func DecodeJSON(raw json.RawMessage, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	d := Document{}
	if err := dec.Decode(&d.tree); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	d.Decode(dst, d.tree, nil)
	return d.Err()
}

// ofJSON is a JSON number as TOML has it: an int64 if it is written as a whole
// number that fits, else a float64.
func ofJSON(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	x, _ := n.Float64() // one that is too large is infinite
	return x
}

// Describe lists the settings of a struct with their values as defaults, one a
// line, for people.
func Describe(v any) string {
	fields, width := Fields(v), 0
	for _, f := range fields {
		width = max(width, len(f.Key))
	}
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%-*s   %s: %s. Default %s.\n", width, f.Key, f.About(), f.Accepted(), f.Text())
	}
	return b.String()
}
