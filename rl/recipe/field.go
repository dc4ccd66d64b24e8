package recipe

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// field is a key of a table: a field of a struct with its tags.
type field struct {
	key    string
	value  reflect.Value
	kinds  []string // stages that have it; nil: all
	choice []string // accepted words; nil: any
	span   span     // accepted numbers
}

// in says whether a stage of this kind has the key.
func (f field) in(kind string) bool { return f.kinds == nil || slices.Contains(f.kinds, kind) }

// fieldsOf lists the keys of a struct in order, those of embedded structs and of
// structs tagged ",inline" in their place.
func fieldsOf(v reflect.Value) []field {
	var out []field
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		var kinds []string
		if in := tag.Get("in"); in != "" {
			kinds = strings.Split(in, ",")
		}
		key := tag.Get("toml")
		if inline := key == ",inline"; key == "" || inline {
			if v.Type().Field(i).Anonymous || inline {
				for _, f := range fieldsOf(v.Field(i)) {
					if f.kinds == nil {
						f.kinds = kinds
					}
					out = append(out, f)
				}
			}
			continue
		}
		f := field{key: key, value: v.Field(i), kinds: kinds, span: parseSpan(tag.Get("range"))}
		if c := tag.Get("choice"); c != "" {
			f.choice = strings.Split(c, ",")
		}
		out = append(out, f)
	}
	return out
}

// span is an interval of numbers as mathematicians write it: (0,1], [1,inf).
type span struct {
	low, high         float64
	lowOpen, highOpen bool
}

// everything is the span of a field without a range tag.
var everything = span{low: math.Inf(-1), high: math.Inf(1)}

func parseSpan(tag string) span {
	if tag == "" {
		return everything
	}
	low, high, ok := strings.Cut(tag[1:len(tag)-1], ",")
	a, errA := strconv.ParseFloat(low, 64)
	b, errB := strconv.ParseFloat(high, 64)
	if !ok || errA != nil || errB != nil {
		panic("recipe: bad range tag " + tag)
	}
	return span{a, b, tag[0] == '(', tag[len(tag)-1] == ')'}
}

// has is false for NaN.
func (s span) has(x float64) bool {
	return (x > s.low || x == s.low && !s.lowOpen) && (x < s.high || x == s.high && !s.highOpen)
}

// describe says in words what is accepted: "a whole number, at least 1".
func (s span) describe(what string) string {
	low := map[bool]string{true: "above", false: "at least"}[s.lowOpen]
	high := map[bool]string{true: "below", false: "at most"}[s.highOpen]
	switch {
	case s == everything:
		return what
	case math.IsInf(s.high, 1):
		return fmt.Sprintf("%s, %s %s", what, low, short(s.low))
	case !s.lowOpen && !s.highOpen:
		return fmt.Sprintf("%s from %s to %s", what, short(s.low), short(s.high))
	}
	return fmt.Sprintf("%s, %s %s and %s %s", what, low, short(s.low), high, short(s.high))
}

func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e9 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// DidYouMean is a hint, to be put behind an error, at the nearest of the known
// names; if none is near, at all of them where they are few.
func DidYouMean(name string, known []string) string {
	best, distance := "", math.MaxInt
	for _, k := range known {
		if n := editDistance(strings.ToLower(name), k); n < distance {
			best, distance = k, n
		}
	}
	// More than every third letter wrong is another word.
	if best == "" || distance > max(1, (len(best)+1)/3) {
		for _, k := range known {
			if len(name) > 2 && (strings.Contains(k, name) || strings.Contains(name, k)) {
				return fmt.Sprintf("; did you mean %s?", k)
			}
		}
		if len(known) > 0 && len(known) <= 12 {
			return "; known here: " + strings.Join(known, ", ")
		}
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours (Damerau 1964).
func editDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
