package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// Decode reads the table at p into dst, a pointer to a struct that holds the
// defaults, and records what is wrong. Keys in skip are left to the caller.
func (d *Document) Decode(dst any, table map[string]any, p Path, skip ...string) {
	d.table(structOf(dst), table, p, "", skip...)
}

// kindOf is the kind of a table: that of its key "kind", or of the table around it.
func kindOf(fields []Field, around string) string {
	for _, f := range fields {
		if f.Key == "kind" {
			return f.value.String()
		}
	}
	return around
}

// table reads the keys of t into the struct v. Around is the kind of the table that
// t is in.
func (d *Document) table(v reflect.Value, t map[string]any, at Path, around string, skip ...string) {
	before, fields := d.Failed(), fieldsOf(v)
	kind := kindOf(fields, around)
	if own, ok := t["kind"].(string); ok {
		kind = own
	}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if slices.Contains(skip, key) {
			continue
		}
		value := t[key]
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key && !f.rest })
		rest := slices.IndexFunc(fields, func(f Field) bool { return f.rest })
		switch {
		case i < 0 && rest >= 0:
			d.rest(fields[rest].value, value, at.With(key))
		case i < 0:
			d.unknown(at.With(key), fields, kind)
		case !fields[i].In(kind):
			d.Fail(at.With(key), "%s goes with kind = %s; this table has kind = %q", d.Name(at.With(key)), `"`+strings.Join(fields[i].Kinds, `" or "`)+`"`, kind)
		default:
			d.value(fields[i].value, value, at.With(key), kind, fields[i])
		}
	}
	if d.Failed() == before {
		d.idle(fields, t, at, kind)
	}
}

// idle refuses keys of t that do nothing beside the others, see [With]. A default may stand
// there: a printed table has them all.
func (d *Document) idle(fields []Field, t map[string]any, at Path, kind string) {
	for _, f := range fields {
		if _, given := t[f.Key]; !given || f.With.Key == "" || f.Text() == printValue(f.fallback(kind)) {
			continue
		}
		other := fields[slices.IndexFunc(fields, func(o Field) bool { return o.Key == f.With.Key })]
		if word := other.value.String(); !slices.Contains(f.With.Words, word) {
			p := at.With(f.Key)
			d.Fail(p, "%s = %s would do nothing: it goes with %s, and %s is %q", d.Name(p), f.Text(), f.With, other.Key, word)
		}
	}
}

// rest puts a key that no field has into the map for such keys. A boolean is its text.
func (d *Document) rest(into reflect.Value, value any, at Path) {
	if n, ok := value.(json.Number); ok {
		value = ofJSON(n)
	}
	if x, ok := number(value); ok {
		value = x
	} else if b, ok := value.(bool); ok {
		value = strconv.FormatBool(b)
	}
	switch value.(type) {
	case float64, string:
	default:
		d.WrongType(at, value, acceptedRest)
		return
	}
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	into.SetMapIndex(reflect.ValueOf(at.last()), reflect.ValueOf(value))
}

func (d *Document) unknown(p Path, fields []Field, kind string) {
	var known []string
	for _, f := range fields {
		if f.declared.Tag.Get("was") == p.last() {
			d.Fail(p, "%s is now called %s; rename the key", d.Name(p), d.Name(p[:len(p)-1].With(f.Key)))
			return
		}
		if f.In(kind) {
			known = append(known, f.Key)
		}
	}
	if homes := d.elsewhere(p); homes != nil {
		d.Fail(p, "%w", d.WithHomes(fmt.Errorf("unknown key %s; did you mean %s?", d.Name(p), strings.Join(homes, ", ")), p))
		return
	}
	err := fmt.Errorf("unknown key %s%s", d.Name(p), DidYouMean(p.last(), known, ""))
	if near := hint.Nearest(p.last(), known); near != "" {
		err = d.instead(err, p, []string{d.Name(p[:len(p)-1].With(near))})
	}
	d.Fail(p, "%w", err)
}

// elsewhere are the places where the key at p is, or the key that an override put into a table
// at p which is none; nil: nowhere.
func (d *Document) elsewhere(p Path) []string {
	if d.homes == nil {
		return nil
	}
	key := p.last()
	for _, s := range d.sets {
		if len(s.path) > len(p) && slices.Equal(s.path[:len(p)], p) {
			key = s.path.last()
		}
	}
	homes := d.homes(key)
	if near := slices.DeleteFunc(slices.Clone(homes), func(home string) bool {
		return !strings.HasPrefix(home, d.Name(p[:len(p)-1])+".") && !strings.Contains(home, "."+p.last()+".")
	}); len(near) > 0 && len(near) < len(homes) {
		return near
	}
	return homes
}

// WithHomes is an error about the key at p with the overrides that say the same in the right
// place, where an override said it.
func (d *Document) WithHomes(err error, p Path) error { return d.instead(err, p, d.elsewhere(p)) }

// instead is an error about the key at p with the overrides that say the same of the right keys,
// where an override said it.
func (d *Document) instead(err error, p Path, homes []string) error {
	for _, s := range d.sets {
		if len(s.path) < len(p) || !slices.Equal(s.path[:len(p)], p) {
			continue
		}
		_, value, _ := strings.Cut(s.text, "=")
		for _, home := range homes[:min(len(homes), 3)] {
			err = hint.With(err, "--set %s=%s", home, value)
		}
	}
	return err
}

// value reads one value into v and checks its type and range.
func (d *Document) value(v reflect.Value, value any, at Path, kind string, f Field) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		raw, err := json.Marshal(value)
		if err != nil {
			d.WrongType(at, value, "what JSON can write")
			return
		}
		v.SetBytes(raw)
		return
	}
	if n, ok := value.(json.Number); ok {
		value = ofJSON(n)
	}
	switch v.Kind() {
	case reflect.Struct:
		if t, ok := value.(map[string]any); ok {
			d.table(v, t, at, kind)
			return
		}
		d.WrongType(at, value, "a table")
	case reflect.Array, reflect.Slice:
		d.list(v, value, at, kind, f)
	case reflect.Map:
		t, ok := value.(map[string]any)
		if !ok {
			d.WrongType(at, value, "a table")
			return
		}
		if named(v.Type()) {
			d.named(v, t, at, kind)
			return
		}
		// options whose names another package knows
		if d.storable(at, t); len(t) > 0 { // an empty one is nil, as in the defaults
			v.Set(reflect.ValueOf(t))
		}
	default:
		d.scalar(v, value, at, f)
	}
}

// named tells whether a type is of tables that go by names of their own: a map of structs.
func named(t reflect.Type) bool {
	return t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct
}

// named reads tables by their names.
func (d *Document) named(v reflect.Value, tables map[string]any, at Path, kind string) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok {
			d.WrongType(at.With(name), tables[name], "a table ["+strings.Join(at.With(name), ".")+"]")
			continue
		}
		one := reflect.New(v.Type().Elem()).Elem()
		setDefaults(one, kind)
		d.table(one, table, at.With(name), kind)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name), one)
	}
}

// scalar reads a string, a boolean or a number.
func (d *Document) scalar(v reflect.Value, value any, at Path, f Field) {
	var read reflect.Value
	switch v.Kind() {
	case reflect.String:
		if s, ok := value.(string); ok {
			read = reflect.ValueOf(s)
		}
	case reflect.Bool:
		if b, ok := value.(bool); ok {
			read = reflect.ValueOf(b)
		}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		if n, ok := value.(int64); ok {
			read = reflect.ValueOf(n)
		}
	case reflect.Float64:
		if x, ok := number(value); ok {
			read = reflect.ValueOf(x)
		}
	default:
		panic("settings: no rule for fields of type " + v.Type().String())
	}
	if !read.IsValid() {
		d.WrongType(at, value, f.accepted(v.Type()))
	} else if problem := f.problem(value, v.Type()); problem != "" {
		d.Fail(at, "%s = %s %s", d.Name(at), show(value), problem)
	} else {
		v.Set(read.Convert(v.Type()))
	}
}

// problem says why a scalar of the right type is not accepted; "": it is.
func (f Field) problem(value any, t reflect.Type) string {
	if s, ok := value.(string); ok {
		if f.Choice == nil || slices.Contains(f.Choice, s) {
			return ""
		}
		return fmt.Sprintf("is not known%s", DidYouMean(s, f.Choice, "accepted: "+strings.Join(f.Choice, ", ")))
	}
	if x, ok := number(value); ok && (!f.span.has(x) || t.Kind() == reflect.Uint64 && x < 0) {
		return "is out of range; accepted: " + f.accepted(t)
	}
	return ""
}

func (d *Document) list(v reflect.Value, value any, at Path, kind string, f Field) {
	items, ok := value.([]any)
	if tables, are := value.([]map[string]any); are {
		ok = true
		for _, t := range tables {
			items = append(items, t)
		}
	}
	if !ok || v.Kind() == reflect.Array && len(items) != v.Len() {
		d.WrongType(at, value, f.accepted(v.Type()))
		return
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items))) // an empty list is not nil: it was given
	}
	for i, item := range items {
		inner := at
		if v.Index(i).Kind() == reflect.Struct {
			inner = at.With(strconv.Itoa(i))
			setDefaults(v.Index(i), kind)
		}
		d.value(v.Index(i), item, inner, kind, f)
	}
}

// storable refuses what a list of options cannot hold: what JSON has no word for.
func (d *Document) storable(at Path, value any) {
	switch x := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			d.storable(at, x[key])
		}
	case []any:
		for _, item := range x {
			d.storable(at, item)
		}
	case []map[string]any:
		d.Fail(at, "%s holds tables headed [[ ]]; write them in { }", d.Name(at))
	case string, bool, int64:
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			d.Fail(at, "%s holds %s; accepted: finite numbers", d.Name(at), formatFloat(x))
		}
	default:
		d.Fail(at, "%s holds %s; accepted: strings, numbers, true, false, lists and tables", d.Name(at), typeName(value))
	}
}

// WrongType records that the value at p is of another type than what is accepted.
func (d *Document) WrongType(at Path, value any, accepted string) {
	if x, ok := value.(float64); ok && strings.HasPrefix(accepted, "a whole number") && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		d.Fail(at, "%s = %s is written as a float; write %d", d.Name(at), show(value), int64(x))
		return
	}
	d.Fail(at, "%s = %s is %s; accepted: %s", d.Name(at), show(value), typeName(value), accepted)
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

// show writes a value as in the text, shortened.
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
	case nil:
		s = "null"
	default:
		s = fmt.Sprint(x)
	}
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

const dateOrTime = "a date or time"

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
	case nil:
		return "nothing"
	}
	return dateOrTime
}
