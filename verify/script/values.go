package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"go.starlark.net/starlark"
)

// row is a task's row as a script sees it: row.id, row.question, row.answer and row.metadata, a
// dict; and row["NAME"] for each of them and for what the dict has.
type row struct{ columns *starlark.Dict }

// The members of a row that it always has.
var members = []string{"answer", "id", "metadata", "question"}

// rowOf makes the row of a call.
func rowOf(r taskRow) (starlark.Value, error) {
	columns, metadata := starlark.NewDict(len(members)+len(r.Metadata)), starlark.NewDict(len(r.Metadata))
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		dec := json.NewDecoder(bytes.NewReader(r.Metadata[key]))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("%q of the row is not JSON: %w", key, err)
		}
		value := jsonValue(v)
		for _, d := range []*starlark.Dict{metadata, columns} {
			if err := d.SetKey(starlark.String(key), value); err != nil {
				return nil, err
			}
		}
	}
	for i, value := range []starlark.Value{starlark.String(r.Answer), starlark.String(r.ID), metadata, starlark.String(r.Question)} {
		if err := columns.SetKey(starlark.String(members[i]), value); err != nil {
			return nil, err
		}
	}
	return row{columns}, nil
}

// Attr implements starlark.HasAttrs: the members, and what a dict can be asked.
func (r row) Attr(name string) (starlark.Value, error) {
	if slices.Contains(members, name) {
		v, _, err := r.columns.Get(starlark.String(name))
		return v, err
	}
	if name == "get" || name == "keys" {
		return r.columns.Attr(name)
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (r row) AttrNames() []string { return append([]string{"get", "keys"}, members...) }

// Get implements starlark.Mapping.
func (r row) Get(key starlark.Value) (starlark.Value, bool, error) { return r.columns.Get(key) }

func (r row) String() string        { return "row" }
func (r row) Type() string          { return "row" }
func (r row) Freeze()               { r.columns.Freeze() }
func (r row) Truth() starlark.Bool  { return true }
func (r row) Hash() (uint32, error) { return 0, fmt.Errorf("a row cannot be a key") }

func jsonValue(v any) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case string:
		return starlark.String(v)
	case json.Number:
		if i, ok := new(big.Int).SetString(v.String(), 10); ok {
			return starlark.MakeBigInt(i)
		}
		f, _ := v.Float64() // beyond float64: an infinity
		return starlark.Float(f)
	case []any:
		list := make([]starlark.Value, len(v))
		for i := range v {
			list[i] = jsonValue(v[i])
		}
		return starlark.NewList(list)
	case map[string]any:
		d := starlark.NewDict(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			_ = d.SetKey(starlark.String(key), jsonValue(v[key])) // fails on frozen dicts and keys without a hash only
		}
		return d
	}
	return starlark.None
}

// goValue is what a script returned as [Verdict] reads it: no deeper than a verdict goes.
func goValue(v starlark.Value) any {
	tuple, ok := v.(starlark.Tuple)
	if !ok || len(tuple) > 4 {
		return flatValue(v)
	}
	all := make([]any, len(tuple))
	for i := range tuple {
		all[i] = flatValue(tuple[i])
	}
	return all
}

func flatValue(v starlark.Value) any {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil
	case starlark.Bool:
		return bool(v)
	case starlark.Int, starlark.Float:
		x, _ := starlark.AsFloat(v)
		return x
	case starlark.String:
		return string(v)
	case *starlark.Dict:
		named := map[string]any{}
		for _, item := range v.Items() {
			name, ok := starlark.AsString(item[0])
			if !ok {
				name = "a key of type " + item[0].Type()
			}
			named[name] = Kind(item[1].Type())
			if x, ok := starlark.AsFloat(item[1]); ok {
				named[name] = x
			}
		}
		return named
	}
	return Kind(v.Type())
}
