package template

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A value of a template is one of
//
//	nil (none), bool, int64, *big.Int (beyond int64), float64, string,
//	*list, *tuple, *Dict, *span (a range), *view (of a dict), *iterator,
//	*namespace, *loop, *callable, *undefined, and *joiner and *cycler.
//
// None of them changes but namespaces, iterators, loops, joiners and cyclers.

// list is a Python list.
type list struct{ items []any }

// List is a Python list of values, for the variables of [Template.Render].
func List(items ...any) any { return &list{items: items} }

// Items are the values of a list; ok is false for anything else.
func Items(v any) (items []any, ok bool) {
	l, ok := v.(*list)
	if !ok {
		return nil, false
	}
	return l.items, true
}

// tuple is a Python tuple. Its items may also have names.
type tuple struct {
	items []any
	names []string
}

// Dict is a Python dict: keys in the order in which they were set.
type Dict struct {
	index map[any]int // by hashKey
	keys  []any
	vals  []any
}

// NewDict is an empty dict.
func NewDict() *Dict { return &Dict{index: map[any]int{}} }

// Set gives a key its value.
func (d *Dict) Set(key string, value any) { d.set(key, key, value) }

// Get is the value of a key.
func (d *Dict) Get(key string) (any, bool) { return d.lookup(key) }

// Vars are the entries whose keys are strings, for [Template.Render].
func (d *Dict) Vars() map[string]any {
	out := map[string]any{}
	for i, key := range d.keys {
		if name, ok := key.(string); ok {
			out[name] = d.vals[i]
		}
	}
	return out
}

func (d *Dict) set(hash, key, value any) {
	if i, ok := d.index[hash]; ok {
		d.vals[i] = value
		return
	}
	d.index[hash] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, value)
}

func (d *Dict) lookup(hash any) (any, bool) {
	i, ok := d.index[hash]
	if !ok {
		return nil, false
	}
	return d.vals[i], true
}

// span is a Python range.
type span struct{ start, stop, step, n int64 }

func (r *span) at(i int64) int64 { return r.start + i*r.step }

// view is what the methods keys, values and items of a dict return.
type view struct {
	d    *Dict
	kind string
}

func (v *view) at(i int) any {
	switch v.kind {
	case "dict_keys":
		return v.d.keys[i]
	case "dict_values":
		return v.d.vals[i]
	}
	return &tuple{items: []any{v.d.keys[i], v.d.vals[i]}}
}

// iterator is a Python generator: its items are made when they are asked for, and
// only once.
type iterator struct {
	kind string // its Python type
	next func() (item any, ok bool, err error)
}

// namespace is the one object that {% set ns.name = value %} can change.
type namespace struct{ attrs *Dict }

// callable is a macro, a method or a function.
type callable struct {
	kind string // its Python type
	name string
	call func(r *run, c call) (any, error)
	attr map[string]any // of a macro
}

// undefined is what an unknown name gives. It is empty text and false, and most
// other uses of it are an error with its message.
type undefined struct{ message string }

func undefinedf(format string, args ...any) *undefined {
	return &undefined{fmt.Sprintf(format, args...)}
}

// typeName is the name of a value's type in Python.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *list:
		return "list"
	case *tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *span:
		return "range"
	case *view:
		return v.kind
	case *iterator:
		return v.kind
	case *namespace:
		return "Namespace"
	case *loop:
		return "LoopContext"
	case *callable:
		return v.kind
	case *joiner:
		return "Joiner"
	case *cycler:
		return "Cycler"
	}
	return "Undefined"
}

// truth is Python's bool(v).
func truth(v any) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	}
	n, ok := length(v)
	return !ok || n > 0
}

// length is Python's len(v), of strings in characters.
func length(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case *list:
		return len(v.items), true
	case *tuple:
		return len(v.items), true
	case *Dict:
		return len(v.keys), true
	case *view:
		return len(v.d.keys), true
	case *span:
		return int(v.n), true
	case *loop:
		return v.length(), true
	case *undefined:
		return 0, true
	}
	return 0, false
}

// iterate is Python's iter(v).
func iterate(v any) (*iterator, error) {
	count := func(n int, at func(int) any) (*iterator, error) {
		i := -1
		return &iterator{"iterator", func() (any, bool, error) {
			if i++; i >= n {
				return nil, false, nil
			}
			return at(i), true, nil
		}}, nil
	}
	switch v := v.(type) {
	case *iterator:
		return v, nil
	case *list:
		return count(len(v.items), func(i int) any { return v.items[i] })
	case *tuple:
		return count(len(v.items), func(i int) any { return v.items[i] })
	case *Dict:
		return count(len(v.keys), func(i int) any { return v.keys[i] })
	case *view:
		return count(len(v.d.keys), v.at)
	case *span:
		return count(int(v.n), func(i int) any { return v.at(int64(i)) })
	case *undefined:
		return count(0, nil)
	case string:
		rest := v
		return &iterator{"str_iterator", func() (any, bool, error) {
			if rest == "" {
				return nil, false, nil
			}
			_, n := utf8.DecodeRuneInString(rest)
			c := rest[:n]
			rest = rest[n:]
			return c, true, nil
		}}, nil
	}
	return nil, fmt.Errorf("'%s' object is not iterable", typeName(v))
}

// all are the items of an iterable value, each of them a step.
func (r *run) all(v any) ([]any, error) {
	switch v := v.(type) {
	case *list:
		return v.items, r.work(len(v.items))
	case *tuple:
		return v.items, r.work(len(v.items))
	}
	it, err := iterate(v)
	if err != nil {
		return nil, err
	}
	var items []any
	for {
		item, ok, err := it.next()
		if err != nil || !ok {
			return items, err
		}
		if err := r.grow(valueSize); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// tupleKey is the hashKey of a tuple.
type tupleKey string

// hashKey is a Go map key that is equal for values that are equal dict keys in
// Python: 1, 1.0 and true are one key.
func (r *run) hashKey(v any) (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	switch v := v.(type) {
	case nil, string, int64:
		return v, nil
	case bool:
		return boolInt(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
		return v, nil
	case *big.Int:
		return tupleKey(v.String()), nil
	case *tuple:
		var b strings.Builder
		for _, item := range v.items {
			k, err := r.hashKey(item)
			if err != nil {
				return nil, err
			}
			part := fmt.Sprintf("%T %v,", k, k)
			if err := r.grow(len(part)); err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%d:%s", len(part), part)
		}
		return tupleKey("(" + b.String()), nil
	case *list, *Dict:
		return nil, fmt.Errorf("unhashable type: '%s'", typeName(v))
	case *undefined:
		return (*undefined)(nil), nil
	}
	return v, nil
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// clip shortens a text for an error message.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	n := 57
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
