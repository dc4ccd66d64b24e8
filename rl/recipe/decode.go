package recipe

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// path names a place in a recipe: keys, and the index of a stage behind
// "stage", as in stage, 1, optimizer, lr.
type path []string

func (p path) with(key string) path { return append(slices.Clone(p), key) }

func (p path) last() string { return p[len(p)-1] }

// fault is one thing that is wrong with a recipe.
type fault struct {
	where     string // file:line:column, or the override
	line, col int    // 0 for an override
	text      string
}

// decoder turns a parsed file into a recipe and collects what is wrong on the
// way.
type decoder struct {
	src    source
	tree   map[string]any
	sets   []set // overrides
	faults []fault
}

// set is an override that was applied.
type set struct {
	text string // as given
	path path
}

func newDecoder(file, text string) (*decoder, error) {
	if line, column, err := bounded(text); err != nil {
		return nil, fmt.Errorf("%w: %s:%d:%d: %w", ErrInvalid, file, line, column, err)
	}
	d := &decoder{src: source{file: file, text: text}, tree: map[string]any{}}
	if _, err := toml.Decode(text, &d.tree); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("%w: %s:%d:%d: %s", ErrInvalid, file, parse.Position.Line, parse.Position.Col, parse.Message)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
	}
	return d, nil
}

// maxFaults is how many are collected: a text with more is no recipe.
const maxFaults = 20

// fail records that something at p is wrong.
func (d *decoder) fail(p path, format string, args ...any) {
	if len(d.faults) == maxFaults {
		return
	}
	f := fault{text: fmt.Sprintf(format, args...)}
	if s := d.set(p); s != nil {
		f.where = "--set " + s.text
	} else if d.tree != nil {
		f.line, f.col = d.src.find(p)
		f.where = fmt.Sprintf("%s:%d:%d", d.src.file, f.line, f.col)
	}
	d.faults = append(d.faults, f)
}

// set is the last override of a key, or of a table around it; nil: there is none.
func (d *decoder) set(p path) *set {
	for i := len(d.sets) - 1; i >= 0; i-- {
		if s := &d.sets[i]; len(s.path) <= len(p) && slices.Equal(s.path, p[:len(s.path)]) {
			return s
		}
	}
	return nil
}

// err is the collected faults as one error, in the order of the file.
func (d *decoder) err() error {
	slices.SortStableFunc(d.faults, func(a, b fault) int { return 10_000*(a.line-b.line) + a.col - b.col })
	var lines []string
	for _, f := range d.faults {
		lines = append(lines, strings.TrimPrefix(f.where+": "+f.text, ": "))
	}
	return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(lines, "\n"))
}

// name writes a path as overrides do: stages by name.
func (d *decoder) name(p path) string {
	p = slices.Clone(p)
	if len(p) > 1 && p[0] == "stage" {
		if i, err := strconv.Atoi(p[1]); err == nil {
			if stages := d.stages(); i < len(stages) {
				p[1] = stageName(stages[i])
			}
		}
	}
	return strings.Join(p, ".")
}

// stages are the tables of [[stage]]; nil if there are none or the key is
// something else.
func (d *decoder) stages() []map[string]any {
	switch v := d.tree["stage"].(type) {
	case []map[string]any:
		return v
	case []any: // an array of inline tables
		var out []map[string]any
		for _, e := range v {
			t, ok := e.(map[string]any)
			if !ok {
				return nil
			}
			out = append(out, t)
		}
		return out
	}
	return nil
}

func stageName(t map[string]any) string {
	for _, key := range []string{"name", "kind"} {
		if s, ok := t[key].(string); ok && s != "" {
			return s
		}
	}
	return "?"
}

// table reads the keys of t into the struct v. Kind is that of the stage the
// table belongs to, "" elsewhere. Keys in skip are left to the caller.
func (d *decoder) table(v reflect.Value, t map[string]any, at path, kind string, skip ...string) {
	fields := fieldsOf(v)
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if slices.Contains(skip, key) {
			continue
		}
		value := t[key]
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		switch {
		case i < 0:
			d.unknown(at.with(key), fields, kind)
		case !fields[i].in(kind):
			d.fail(at.with(key), "%s is a key of %s stages; this one is of kind %s", d.name(at.with(key)), strings.Join(fields[i].kinds, " and "), kind)
		default:
			d.value(fields[i].value, value, at.with(key), kind, fields[i])
		}
	}
}

func (d *decoder) unknown(p path, fields []field, kind string) {
	var known []string
	for _, f := range fields {
		if f.in(kind) {
			known = append(known, f.key)
		}
	}
	d.fail(p, "unknown key %s%s", d.name(p), DidYouMean(p.last(), known))
}

// value reads one value into v and checks its type and range.
func (d *decoder) value(v reflect.Value, value any, at path, kind string, f field) {
	switch v.Kind() {
	case reflect.Struct:
		if t, ok := value.(map[string]any); ok {
			d.table(v, t, at, kind)
			return
		}
		d.wrongType(at, value, "a table")
	case reflect.String:
		s, ok := value.(string)
		if !ok {
			d.wrongType(at, value, "a string in quotes"+orChoice(f.choice))
			return
		}
		if f.choice != nil && !slices.Contains(f.choice, s) {
			d.fail(at, "%s = %q is not known%s; accepted: %s", d.name(at), s, DidYouMean(s, f.choice), strings.Join(f.choice, ", "))
			return
		}
		v.SetString(s)
	case reflect.Bool:
		if b, ok := value.(bool); ok {
			v.SetBool(b)
			return
		}
		d.wrongType(at, value, "true or false")
	case reflect.Int, reflect.Uint64:
		n, ok := value.(int64)
		if !ok {
			d.wrongType(at, value, f.span.describe("a whole number"))
			return
		}
		if !f.span.has(float64(n)) {
			d.fail(at, "%s = %d is out of range; accepted: %s", d.name(at), n, f.span.describe("a whole number"))
			return
		}
		if v.Kind() == reflect.Int {
			v.SetInt(n)
		} else {
			v.SetUint(uint64(n))
		}
	case reflect.Float64:
		x, ok := number(value)
		if !ok {
			d.wrongType(at, value, f.span.describe("a number"))
			return
		}
		if !f.span.has(x) {
			d.fail(at, "%s = %s is out of range; accepted: %s", d.name(at), show(value), f.span.describe("a number"))
			return
		}
		v.SetFloat(x)
	case reflect.Array, reflect.Slice:
		d.list(v, value, at, kind, f)
	case reflect.Map: // options whose names another package knows
		t, ok := value.(map[string]any)
		if !ok {
			d.wrongType(at, value, "a table")
			return
		}
		if d.plain(at, t); len(t) > 0 { // an empty one is nil, as in the defaults
			v.Set(reflect.ValueOf(t))
		}
	default:
		panic("recipe: no rule for fields of type " + v.Type().String())
	}
}

func (d *decoder) list(v reflect.Value, value any, at path, kind string, f field) {
	items, ok := value.([]any)
	if tables, are := value.([]map[string]any); are {
		ok = true
		for _, t := range tables {
			items = append(items, t)
		}
	}
	if v.Kind() == reflect.Array && (!ok || len(items) != v.Len()) {
		d.wrongType(at, value, fmt.Sprintf("a list of %d values", v.Len()))
		return
	}
	if !ok {
		d.wrongType(at, value, "a list in [ ]")
		return
	}
	if v.Kind() == reflect.Slice {
		v.SetZero() // an empty list is nil, as in the defaults
		if len(items) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		}
	}
	for i, item := range items {
		inner := at
		if v.Index(i).Kind() == reflect.Struct {
			inner = at.with(strconv.Itoa(i))
		}
		d.value(v.Index(i), item, inner, kind, f)
	}
}

// plain refuses what a list of options cannot hold: what JSON has no word for.
func (d *decoder) plain(at path, value any) {
	switch x := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			d.plain(at, x[key])
		}
	case []any:
		for _, item := range x {
			d.plain(at, item)
		}
	case []map[string]any:
		d.fail(at, "%s holds tables headed [[ ]]; write them in { }", d.name(at))
	case string, bool, int64:
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			d.fail(at, "%s holds %s; accepted: finite numbers", d.name(at), formatFloat(x))
		}
	default:
		d.fail(at, "%s holds %s; accepted: strings, numbers, true, false, lists and tables", d.name(at), typeName(value))
	}
}

func (d *decoder) wrongType(at path, value any, accepted string) {
	d.fail(at, "%s = %s is %s; accepted: %s", d.name(at), show(value), typeName(value), accepted)
}

func orChoice(choice []string) string {
	if choice == nil {
		return ""
	}
	return ": " + strings.Join(choice, ", ")
}

func number(value any) (float64, bool) {
	switch x := value.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	}
	return math.NaN(), false
}

// show writes a value as in the file, shortened.
func show(value any) string {
	var s string
	switch x := value.(type) {
	case map[string]any, []map[string]any:
		return "{...}"
	case []any:
		return "[...]"
	case string:
		s = strconv.Quote(x)
	case float64:
		s = formatFloat(x)
	default:
		s = fmt.Sprint(x)
	}
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

func typeName(value any) string {
	switch x := value.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	case []any:
		return fmt.Sprintf("a list of %d values", len(x))
	}
	return "a date or time"
}
