package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field is one setting of a struct.
type Field struct {
	Key    string
	Unit   string   // of a number; "": none
	Kinds  []string // kinds of table that have it; nil: all
	Choice []string // accepted words; nil: any
	Range  string   // accepted numbers, such as "[1,inf)"; "": any
	With   With     // where it does something; the zero value: everywhere

	variants []string // of the struct that have it; nil: all
	span     span
	rest     bool  // a map of the table's other keys
	index    []int // of the field, within the struct that was asked for
	value    reflect.Value
	owner    reflect.Type // the struct that declares it
	declared reflect.StructField
}

// With names another key of the same table and the words for it beside which a key does
// something.
type With struct {
	Key   string
	Words []string
}

// String is the condition as a recipe would meet it: "rule = adamw, adam".
func (w With) String() string {
	if w.Key == "" {
		return ""
	}
	return w.Key + " = " + strings.Join(w.Words, ", ")
}

// Variant is a struct that does not have all of its keys at a time. The keys that it has are
// those with the present variant in their tag of, and those without the tag.
type Variant interface {
	Variant() string // as the struct is now, such as "file"; several variants at a time have spaces between
}

// Fields lists the settings of a struct in order. Given a pointer to the struct,
// they are its fields; given a struct, copies.
func Fields(v any) []Field { return fieldsOf(structOf(v)) }

// structOf is the struct that a value is, points to, or holds.
func structOf(v any) reflect.Value {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value
}

// restKey marks a map[string]any that takes the keys that no other field has: numbers,
// as float64, and texts.
const restKey = ",rest"

func fieldsOf(v reflect.Value) []Field {
	known, found := fieldsByType.Load(v.Type())
	if !found {
		known, _ = fieldsByType.LoadOrStore(v.Type(), declaredIn(v.Type()))
	}
	out := slices.Clone(known.([]Field))
	for i := range out {
		out[i].value = v.FieldByIndex(out[i].index)
	}
	return out
}

// fieldsByType has the settings of each struct that was asked for, []Field by reflect.Type, without
// values: tags are read once.
var fieldsByType sync.Map

func declaredIn(t reflect.Type) []Field {
	var out []Field
	for i := range t.NumField() {
		field := t.Field(i)
		kinds, variants := split(field.Tag.Get("in")), split(field.Tag.Get("of"))
		key := field.Tag.Get("toml")
		switch inline := key == ",inline"; {
		case inline || key == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			for _, f := range declaredIn(field.Type) {
				if f.Kinds == nil {
					f.Kinds = kinds
				}
				if f.variants == nil {
					f.variants = variants
				}
				f.index = append([]int{i}, f.index...)
				out = append(out, f)
			}
		case key != "":
			rest := key == restKey
			if rest {
				key = "NAME"
			}
			with, words, _ := strings.Cut(field.Tag.Get("with"), "=")
			out = append(out, Field{
				Key: key, Unit: field.Tag.Get("unit"), Kinds: kinds, Choice: split(field.Tag.Get("choice")), Range: field.Tag.Get("range"),
				With: With{with, split(words)}, variants: variants, span: parseSpan(field.Tag.Get("range")), rest: rest,
				index: []int{i}, owner: t, declared: field,
			})
		}
	}
	return out
}

func split(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// In says whether a table of this kind has the setting.
func (f Field) In(kind string) bool { return f.Kinds == nil || slices.Contains(f.Kinds, kind) }

// Of says whether a variant of the struct has the setting.
func (f Field) Of(variant string) bool {
	return f.variants == nil || slices.ContainsFunc(strings.Fields(variant), func(v string) bool { return slices.Contains(f.variants, v) })
}

// Variants are those that have the setting; nil: all.
func (f Field) Variants() []string { return f.variants }

// Value is the present value.
func (f Field) Value() any { return f.value.Interface() }

// Text is the present value as TOML.
func (f Field) Text() string { return printValue(f.value) }

// Given says whether the present value is one that the setting accepts, rather than
// an empty one that stands for none.
func (f Field) Given() bool {
	if f.rest {
		return false
	}
	switch x := plain(f.value).(type) {
	case nil:
		kind := f.value.Kind()
		return (kind == reflect.Slice || kind == reflect.Array) && f.value.Type().Elem().Kind() != reflect.Struct
	case string:
		return x != ""
	default:
		return f.problem(x, f.value.Type()) == ""
	}
}

// Table is the struct of a setting that is a table; nil: it is something else.
func (f Field) Table() any {
	if f.value.Kind() != reflect.Struct {
		return nil
	}
	return f.value.Addr().Interface()
}

// Type says in one or two words what values are: "whole number", "table".
func (f Field) Type() string {
	if f.rest {
		return "number or string"
	}
	return typeOf(f.value.Type())
}

func typeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		if t == reflect.TypeFor[json.RawMessage]() {
			return "any"
		}
		if t.Elem().Kind() == reflect.Struct {
			return "list of tables"
		}
		return "list of " + typeOf(t.Elem()) + "s"
	}
	return "table"
}

// Accepted says in words what the setting may be: "a whole number from 1 to 9".
func (f Field) Accepted() string {
	if f.rest {
		return acceptedRest
	}
	return f.accepted(f.value.Type())
}

const acceptedRest = "a number, or text in quotes"

func (f Field) accepted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		if f.Choice != nil {
			return "one of " + strings.Join(f.Choice, ", ")
		}
		return "text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint64:
		if f.span == everything {
			return "a whole number, at least 0"
		}
		return f.span.describe("a whole number")
	case reflect.Int, reflect.Int64:
		return f.span.describe("a whole number")
	case reflect.Float64:
		return f.span.describe("a number")
	case reflect.Array:
		return fmt.Sprintf("a list of %d values, each %s", t.Len(), f.accepted(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Struct && t != reflect.TypeFor[json.RawMessage]() {
			return "a list, each " + f.accepted(t.Elem())
		}
	}
	return "a " + typeOf(t)
}

// span is an interval of numbers as mathematicians write it: (0,1], [1,inf).
type span struct {
	low, high         float64
	lowOpen, highOpen bool
	from, to          string // low and high as the tag writes them
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
		panic("settings: bad range tag " + tag)
	}
	return span{a, b, tag[0] == '(', tag[len(tag)-1] == ')', low, high}
}

// has is false for NaN.
func (s span) has(x float64) bool {
	return (x > s.low || x == s.low && !s.lowOpen) && (x < s.high || x == s.high && !s.highOpen)
}

// describe says in words what is accepted: "a whole number, at least 1".
func (s span) describe(what string) string {
	low := map[bool]string{true: "above", false: "at least"}[s.lowOpen]
	high := map[bool]string{true: "below", false: "at most"}[s.highOpen]
	switch unbounded := math.IsInf(s.high, 1); {
	case s == everything:
		return what
	case math.IsInf(s.low, -1) && unbounded:
		return "a finite number"
	case unbounded && !s.highOpen:
		return fmt.Sprintf("%s, %s %s, or inf", what, low, s.from)
	case unbounded:
		return fmt.Sprintf("%s, %s %s", what, low, s.from)
	case !s.lowOpen && !s.highOpen:
		return fmt.Sprintf("%s from %s to %s", what, s.from, s.to)
	}
	return fmt.Sprintf("%s, %s %s and %s %s", what, low, s.from, high, s.to)
}
