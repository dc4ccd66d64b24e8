package gguf

import (
	"fmt"
	"math"
)

// Pair is a key of the metadata with its value: a string, a bool, a number of Go type
// uint8 to uint64, int8 to int64, float32 or float64, or a slice of one of these.
type Pair struct {
	Key   string
	Value any
}

// Metadata are the pairs of a file, in its order.
type Metadata []Pair

// Get is the value of a key, nil if there is none.
func (m Metadata) Get(key string) any {
	for _, p := range m {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

// Text is the string of a key; "" for none. Another type is an error.
func (m Metadata) Text(key string) (string, error) { return as[string](m, key) }

// Texts is the list of strings of a key; nil for none.
func (m Metadata) Texts(key string) ([]string, error) { return as[[]string](m, key) }

// Flag is the bool of a key; false for none.
func (m Metadata) Flag(key string) (bool, error) { return as[bool](m, key) }

func as[T any](m Metadata, key string) (T, error) {
	value, ok := m.Get(key).(T)
	if found := m.Get(key); found != nil && !ok {
		return value, fmt.Errorf("%s: found %s; accepted: %s", key, kindOf(found), kindOf(value))
	}
	return value, nil
}

// Int is the whole number of a key, of whatever width.
func (m Metadata) Int(key string) (n int, there bool, err error) {
	value := m.Get(key)
	if value == nil {
		return 0, false, nil
	}
	list, ok := wholes(value)
	if !ok || len(list) != 1 {
		return 0, true, fmt.Errorf("%s: found %s; accepted: a whole number", key, kindOf(value))
	}
	return list[0], true, nil
}

// Ints is the list of whole numbers of a key, or its one number.
func (m Metadata) Ints(key string) ([]int, error) {
	value := m.Get(key)
	if value == nil {
		return nil, nil
	}
	list, ok := wholes(value)
	if !ok {
		return nil, fmt.Errorf("%s: found %s; accepted: whole numbers", key, kindOf(value))
	}
	return list, nil
}

// wholes are the whole numbers that a value is.
func wholes(value any) ([]int, bool) {
	switch v := value.(type) {
	case uint8:
		return []int{int(v)}, true
	case int8:
		return []int{int(v)}, true
	case uint16:
		return []int{int(v)}, true
	case int16:
		return []int{int(v)}, true
	case uint32:
		return []int{int(v)}, true
	case int32:
		return []int{int(v)}, true
	case int64:
		return []int{int(v)}, true
	case uint64:
		return []int{int(v)}, v <= math.MaxInt64
	case []int32:
		return widened(v), true
	case []uint32:
		return widened(v), true
	case []int64:
		return widened(v), true
	}
	return nil, false
}

func widened[T int32 | uint32 | int64](list []T) []int {
	out := make([]int, len(list))
	for i, x := range list {
		out[i] = int(x)
	}
	return out
}

// Float is the number of a key, of whatever type.
func (m Metadata) Float(key string) (x float64, there bool, err error) {
	switch v := m.Get(key).(type) {
	case float32:
		return float64(v), true, nil
	case float64:
		return v, true, nil
	}
	n, there, err := m.Int(key)
	return float64(n), there, err
}

// kindOf names a value's type for people.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case []string:
		return "a list of strings"
	}
	return fmt.Sprintf("%T", value)
}

// Cut is the value with at most a given number of items, in a form for a JSON encoder: numbers that
// JSON cannot express are strings. of is the length of a list that was cut, else 0.
func (p Pair) Cut(most int) (value any, of int) {
	switch v := p.Value.(type) {
	case float32:
		return finite(float64(v)), 0
	case float64:
		return finite(v), 0
	case []string:
		return items(v, most)
	case []bool:
		return items(v, most)
	case []uint8:
		return items(v, most)
	case []int8:
		return items(v, most)
	case []uint16:
		return items(v, most)
	case []int16:
		return items(v, most)
	case []uint32:
		return items(v, most)
	case []int32:
		return items(v, most)
	case []uint64:
		return items(v, most)
	case []int64:
		return items(v, most)
	case []float32:
		return items(v, most)
	case []float64:
		return items(v, most)
	}
	return p.Value, 0
}

func items[T any](list []T, most int) (out []any, of int) {
	out = []any{}
	for _, x := range list[:min(most, len(list))] {
		var item any = x
		switch x := item.(type) {
		case float32:
			item = finite(float64(x))
		case float64:
			item = finite(x)
		}
		out = append(out, item)
	}
	if len(list) > most {
		of = len(list)
	}
	return out, of
}

// finite is a number, or the name of one that JSON does not have.
func finite(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	return x
}
