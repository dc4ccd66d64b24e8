package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// A value is what a function returned, or what it should have: nil, bool,
// number, string, []value (lists, tuples), map[string]value or unordered.
type value any

// number is an exact rational, or one of the floats that are not finite.
type number struct {
	rat   *big.Rat
	float float64 // NaN or an infinity where rat is nil
}

// unordered is a set: equal to a list or set of the same items in any order.
type unordered []value

// samePrinted compares what a program printed with what it should have.
func (o options) samePrinted(got, want string) bool {
	switch o.Compare {
	case compareExact:
		return got == want
	case compareTokens:
		return slices.EqualFunc(strings.Fields(got), strings.Fields(want), o.sameToken)
	}
	return slices.Equal(trimmedLines(got), trimmedLines(want))
}

func trimmedLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (o options) sameToken(got, want string) bool {
	if got == want {
		return true
	}
	if o.Tolerance == 0 {
		return false
	}
	x, err1 := readNumber(got)
	y, err2 := readNumber(want)
	return err1 == nil && err2 == nil && o.sameNumber(x, y)
}

// sameValue compares values as Python's == does: numbers by what they are worth,
// a tuple as a list. JSON has string keys only, so a number as a key equals its
// text.
func (o options) sameValue(got, want value) bool {
	switch x := want.(type) {
	case []value:
		switch y := got.(type) {
		case []value:
			return slices.EqualFunc(y, x, o.sameValue)
		case unordered:
			return o.sameItems(y, x)
		}
		return false
	case unordered:
		switch y := got.(type) {
		case []value:
			return o.sameItems(y, x)
		case unordered:
			return o.sameItems(y, x)
		}
		return false
	case map[string]value:
		y, ok := got.(map[string]value)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, v := range x {
			if w, ok := y[key]; !ok || !o.sameValue(w, v) {
				return false
			}
		}
		return true
	case number:
		y, ok := got.(number)
		return ok && o.sameNumber(y, x)
	}
	return isPlain(got) && got == want
}

// isPlain tells whether a value can be compared with ==.
func isPlain(v value) bool {
	switch v.(type) {
	case nil, bool, string:
		return true
	}
	return false
}

// sameItems compares without order; numbers must be equal exactly.
func (o options) sameItems(got, want []value) bool {
	if len(got) != len(want) {
		return false
	}
	count := map[string]int{}
	for _, v := range want {
		count[identity(v)]++
	}
	for _, v := range got {
		key := identity(v)
		if count[key] == 0 {
			return false
		}
		count[key]--
	}
	return true
}

// identity is one text for all values that are equal.
func identity(v value) string {
	var parts []string
	switch x := v.(type) {
	case []value:
		for _, item := range x {
			parts = append(parts, identity(item))
		}
		return fmt.Sprintf("[%s]", strings.Join(parts, ","))
	case unordered:
		for _, item := range x {
			parts = append(parts, identity(item))
		}
		slices.Sort(parts)
		return fmt.Sprintf("{%s}", strings.Join(parts, ","))
	case map[string]value:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, fmt.Sprintf("%q:%s", key, identity(x[key])))
		}
		return fmt.Sprintf("{%s}", strings.Join(parts, ","))
	case number:
		if x.rat == nil {
			return fmt.Sprint(x.float)
		}
		return x.rat.RatString()
	}
	return fmt.Sprintf("%#v", v)
}

func (o options) sameNumber(got, want number) bool {
	if got.rat == nil || want.rat == nil {
		bothNaN := math.IsNaN(got.float) && math.IsNaN(want.float)
		return got.rat == nil && want.rat == nil && (bothNaN || got.float == want.float)
	}
	if got.rat.Cmp(want.rat) == 0 {
		return true
	}
	if o.Tolerance == 0 {
		return false
	}
	difference := new(big.Rat).Sub(got.rat, want.rat)
	bound := big.NewRat(1, 1)
	for _, r := range []*big.Rat{got.rat, want.rat} {
		if size := new(big.Rat).Abs(r); size.Cmp(bound) > 0 {
			bound = size
		}
	}
	tolerance := new(big.Rat)
	tolerance.SetFloat64(o.Tolerance)
	return difference.Abs(difference).Cmp(bound.Mul(bound, tolerance)) <= 0
}

const (
	maxNumberBytes = 5000 // digits of one number; Python itself prints at most 4,300
	maxValueDepth  = 64
	maxValueNodes  = 200_000
)

// readNumber reads a decimal number of bounded size: floats are taken for the
// decimal that is printed, which is the shortest that reads back as them.
func readNumber(text string) (number, error) {
	switch strings.TrimLeft(text, "+-") {
	case "inf", "Infinity", "nan", "NaN":
		f := map[bool]float64{true: math.Inf(-1), false: math.Inf(1)}[strings.HasPrefix(text, "-")]
		if strings.EqualFold(strings.TrimLeft(text, "+-"), "nan") {
			f = math.NaN()
		}
		return number{float: f}, nil
	}
	if len(text) > maxNumberBytes {
		return number{}, fmt.Errorf("a number of %d characters: at most %d are read", len(text), maxNumberBytes)
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if strings.Trim(digits, "0123456789+-.") != "" || len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return number{}, fmt.Errorf("%.40q is not a number", text)
	}
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, fmt.Errorf("%.40q is not a number", text)
	}
	return number{rat: rat}, nil
}

// fromJSON is the value of a JSON text.
func fromJSON(raw json.RawMessage) (value, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not a JSON value: %w", err)
	}
	nodes := 0
	return convert(v, 0, &nodes)
}

func convert(v any, depth int, nodes *int) (value, error) {
	if *nodes++; *nodes > maxValueNodes || depth > maxValueDepth {
		return nil, fmt.Errorf("a value of more than %d parts or nested deeper than %d", maxValueNodes, maxValueDepth)
	}
	switch x := v.(type) {
	case json.Number:
		return readNumber(x.String())
	case []any:
		list := make([]value, len(x))
		for i, item := range x {
			var err error
			if list[i], err = convert(item, depth+1, nodes); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]value, len(x))
		for key, item := range x {
			w, err := convert(item, depth+1, nodes)
			if err != nil {
				return nil, err
			}
			object[key] = w
		}
		return object, nil
	}
	return v, nil
}
