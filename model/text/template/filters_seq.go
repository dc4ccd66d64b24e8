package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// firstError is the first of several errors.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// generate is what a Python generator gives: items that are made when asked for.
func generate(next func() (any, bool, error)) *iterator { return &iterator{"generator", next} }

// ofSlice gives items that are there already.
func ofSlice(kind string, items []any) *iterator {
	return &iterator{kind, func() (any, bool, error) {
		if len(items) == 0 {
			return nil, false, nil
		}
		item := items[0]
		items = items[1:]
		return item, true, nil
	}}
}

// getter looks an attribute up that a filter names: "a.b.0" goes inwards.
func (r *run) getter(attribute any) (func(v any) (any, error), error) {
	var path []any
	switch a := attribute.(type) {
	case nil:
	case string:
		for part := range strings.SplitSeq(a, ".") {
			if n, err := strconv.ParseInt(part, 10, 64); err == nil && n >= 0 {
				path = append(path, n)
			} else {
				path = append(path, part)
			}
		}
	case int64:
		path = []any{a}
	default:
		return nil, fmt.Errorf("the name of an attribute must be a string or an integer, found %s", typeName(attribute))
	}
	return func(v any) (any, error) {
		for _, part := range path {
			var err error
			if v, err = r.getItem(v, part); err != nil {
				return nil, err
			}
		}
		return v, nil
	}, nil
}

// keyed looks up attributes to sort by ("a,b" are two) and folds case if asked to.
func (r *run) keyed(attribute any, caseSensitive bool) (func(v any) (any, error), error) {
	attributes := []any{attribute}
	text, isText := attribute.(string)
	if isText {
		attributes = attributes[:0]
		for part := range strings.SplitSeq(text, ",") {
			attributes = append(attributes, part)
		}
	}
	getters := make([]func(any) (any, error), len(attributes))
	for i, a := range attributes {
		var err error
		if getters[i], err = r.getter(a); err != nil {
			return nil, err
		}
	}
	return func(v any) (any, error) {
		keys := make([]any, len(getters))
		for i, get := range getters {
			key, err := get(v)
			if err != nil {
				return nil, err
			}
			if s, ok := key.(string); ok && !caseSensitive {
				if err := r.grow(len(s)); err != nil {
					return nil, err
				}
				key = lower(s)
			}
			keys[i] = key
		}
		return &tuple{items: keys}, nil
	}, nil
}

// sorted sorts items by their keys and keeps the order of equal ones.
func (r *run) sorted(items []any, key func(any) (any, error), reverse bool) ([]any, error) {
	type entry struct{ item, key any }
	entries := make([]entry, len(items))
	for i, item := range items {
		k, err := key(item)
		if err != nil {
			return nil, err
		}
		entries[i] = entry{item, k}
	}
	var failed error
	slices.SortStableFunc(entries, func(a, b entry) int {
		if failed != nil {
			return 0
		}
		c, err := r.order("<", a.key, b.key)
		failed = err
		if c == unordered {
			c = 0
		}
		if reverse {
			return -c
		}
		return c
	})
	out := make([]any, len(entries))
	for i, e := range entries {
		out[i] = e.item
	}
	return out, firstError(failed, r.grow(valueSize*len(out)))
}

func sortFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("sort", "reverse= case_sensitive= attribute=")
	if err != nil {
		return nil, err
	}
	key, err := r.keyed(values[2], truth(values[1]))
	if err != nil {
		return nil, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	items, err = r.sorted(items, key, truth(values[0]))
	return &list{items}, err
}

func dictsortFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("dictsort", "case_sensitive= by= reverse=")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, fmt.Errorf("dictsort needs a dict, found %s", typeName(v))
	}
	part := int64(0)
	switch {
	case given[1] && values[1] == "value":
		part = 1
	case given[1] && values[1] != "key":
		return nil, errors.New(`you can only sort by either "key" or "value"`)
	}
	key, err := r.keyed(part, truth(values[0]))
	if err != nil {
		return nil, err
	}
	items, err := r.all(&view{d, "dict_items"})
	if err != nil {
		return nil, err
	}
	items, err = r.sorted(items, key, truth(values[2]))
	return &list{items}, err
}

func uniqueFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("unique", "case_sensitive= attribute=")
	if err != nil {
		return nil, err
	}
	get, err := r.keyed(nil, truth(values[0]))
	if values[1] != nil {
		get, err = r.keyed(values[1], truth(values[0]))
	}
	if err != nil {
		return nil, err
	}
	it, err := iterate(v)
	if err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	return generate(func() (any, bool, error) {
		for {
			item, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			key, err := get(item)
			if err != nil {
				return nil, false, err
			}
			h, err := r.hashKey(key)
			if err != nil {
				return nil, false, err
			}
			if !seen[h] {
				seen[h] = true
				return item, true, r.grow(valueSize)
			}
		}
	}), nil
}

// extremeFilter is max for sign 1 and min for sign -1.
func extremeFilter(sign int) filter {
	return func(r *run, v any, c call) (any, error) {
		values, _, err := c.params("min and max", "case_sensitive= attribute=")
		if err != nil {
			return nil, err
		}
		key, err := r.keyed(values[1], truth(values[0]))
		if err != nil {
			return nil, err
		}
		items, err := r.all(v)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return undefinedf("No aggregated item, sequence was empty."), nil
		}
		var best, bestKey any
		for i, item := range items {
			k, err := key(item)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				order, err := r.order("<", k, bestKey)
				if err != nil {
					return nil, err
				}
				if order != sign {
					continue
				}
			}
			best, bestKey = item, k
		}
		return best, nil
	}
}

func groupbyFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("groupby", "attribute default= case_sensitive=")
	if err != nil {
		return nil, err
	}
	plain, err := r.getter(values[0])
	if err != nil {
		return nil, err
	}
	get := func(v any) (any, error) {
		key, err := plain(v)
		if _, ok := key.(*undefined); ok && values[1] != nil {
			key = values[1]
		}
		return key, err
	}
	fold := func(v any) (any, error) {
		key, err := get(v)
		if s, ok := key.(string); ok && !truth(values[2]) {
			key = lower(s)
		}
		return key, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	if items, err = r.sorted(items, fold, false); err != nil {
		return nil, err
	}
	out := &list{}
	var last any
	for _, item := range items {
		key, err := fold(item)
		if err != nil {
			return nil, err
		}
		same := false
		if len(out.items) > 0 {
			if same, err = r.equal(key, last); err != nil {
				return nil, err
			}
		}
		if !same {
			shown, err := get(item)
			if err != nil {
				return nil, err
			}
			pair := &tuple{[]any{shown, &list{}}, []string{"grouper", "list"}}
			out.items = append(out.items, pair)
			last = key
		}
		group := out.items[len(out.items)-1].(*tuple).items[1].(*list)
		group.items = append(group.items, item)
	}
	return out, r.grow(2 * valueSize * len(items))
}

func sumFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("sum", "attribute= start=")
	if err != nil {
		return nil, err
	}
	get, err := r.getter(values[0])
	if err != nil {
		return nil, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	var total any = int64(0)
	if given[1] {
		total = values[1]
	}
	if _, ok := total.(string); ok {
		return nil, errors.New("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, item := range items {
		x, err := get(item)
		if err != nil {
			return nil, err
		}
		if total, err = r.arithmetic("+", total, x); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// mapped gives f of each item of a value; an empty or undefined one has none.
func (r *run) mapped(v any, f func(any) (item any, keep bool, err error)) (any, error) {
	if !truth(v) {
		return ofSlice("generator", nil), nil
	}
	var it *iterator
	return generate(func() (any, bool, error) {
		if it == nil { // as in a generator, a value without items fails when it is asked for one
			var err error
			if it, err = iterate(v); err != nil {
				return nil, false, err
			}
		}
		for {
			item, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			if err := r.work(0); err != nil {
				return nil, false, err
			}
			out, keep, err := f(item)
			if err != nil || keep {
				return out, err == nil, err
			}
		}
	}), nil
}

// mapFilter is map(attribute="a", default=b), or map("filter", arguments).
func mapFilter(r *run, v any, c call) (any, error) {
	if len(c.args) == 0 {
		values, given, err := c.params("map", "attribute= default=")
		if err == nil && !given[0] {
			err = errors.New("map requires a filter argument")
		}
		if err != nil {
			return nil, err
		}
		get, err := r.getter(values[0])
		if err != nil {
			return nil, err
		}
		return r.mapped(v, func(item any) (any, bool, error) {
			out, err := get(item)
			if _, ok := out.(*undefined); ok && values[1] != nil {
				out = values[1]
			}
			return out, true, err
		})
	}
	name, ok := c.args[0].(string)
	f, known := filters[name]
	return r.mapped(v, func(item any) (any, bool, error) {
		if !ok || !known {
			return nil, false, errors.New(unknownFilter(name))
		}
		out, err := f(r, item, call{c.args[1:], c.kw})
		return out, true, err
	})
}

// selectFilter is select, reject, selectattr and rejectattr.
func selectFilter(want, attribute bool) filter {
	return func(r *run, v any, c call) (any, error) {
		var name any // of the attribute
		if attribute {
			if len(c.args) == 0 {
				return nil, errors.New("missing parameter for attribute name")
			}
			name, c.args = c.args[0], c.args[1:]
		}
		get, err := r.getter(name)
		if err != nil {
			return nil, err
		}
		holds := func(v any) (bool, error) { return truth(v), nil }
		if len(c.args) > 0 {
			name, _ := c.args[0].(string)
			test, ok := tests[name]
			rest := call{c.args[1:], c.kw}
			holds = func(v any) (bool, error) {
				if !ok {
					return false, fmt.Errorf("there is no test '%s'", name)
				}
				return test(r, v, rest)
			}
		}
		return r.mapped(v, func(item any) (any, bool, error) {
			x, err := get(item)
			if err != nil {
				return nil, false, err
			}
			yes, err := holds(x)
			return item, yes == want, err
		})
	}
}

func joinFilter(r *run, v any, c call) (any, error) {
	values, given, err := c.params("join", "d= attribute=")
	if err != nil {
		return nil, err
	}
	if !given[0] {
		values[0] = ""
	}
	sep, err := r.str(values[0])
	if err != nil {
		return nil, err
	}
	get, err := r.getter(values[1])
	if err != nil {
		return nil, err
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, item := range items {
		x, err := get(item)
		if err != nil {
			return nil, err
		}
		if parts[i], err = r.str(x); err != nil {
			return nil, err
		}
	}
	return r.joined(parts, sep)
}

func firstFilter(_ *run, v any, c call) (any, error) {
	it, err := iterate(v)
	if err != nil {
		return nil, err
	}
	item, ok, err := it.next()
	if err == nil && !ok {
		item = undefinedf("No first item, sequence was empty.")
	}
	return item, firstError(err, c.positional("first", 0, 0))
}

func lastFilter(r *run, v any, c call) (any, error) {
	items, err := r.reversible(v)
	if err == nil && len(items) == 0 {
		return undefinedf("No last item, sequence was empty."), nil
	}
	if err != nil {
		return nil, err
	}
	return items[len(items)-1], c.positional("last", 0, 0)
}

// reversible are the items of a value that Python can read from its end.
func (r *run) reversible(v any) ([]any, error) {
	if _, ok := v.(*iterator); ok {
		return nil, fmt.Errorf("'%s' object is not reversible", typeName(v))
	}
	return r.all(v)
}

func reverseFilter(r *run, v any, c call) (any, error) {
	if s, ok := v.(string); ok {
		return r.slice(s, nil, nil, int64(-1))
	}
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := v.(*iterator); ok { // Python makes a list of it
		return &list{items}, nil
	}
	return ofSlice("list_reverseiterator", items), firstError(r.grow(valueSize*len(items)), c.positional("reverse", 0, 0))
}

func listFilter(r *run, v any, c call) (any, error) {
	items, err := r.all(v)
	if err != nil {
		return nil, err
	}
	return &list{slices.Clone(items)}, firstError(r.grow(valueSize*len(items)), c.positional("list", 0, 0))
}

func itemsFilter(r *run, v any, c call) (any, error) {
	if err := c.positional("items", 0, 0); err != nil {
		return nil, err
	}
	if _, ok := v.(*undefined); ok {
		return ofSlice("generator", nil), nil
	}
	d, ok := v.(*Dict)
	if !ok {
		return generate(func() (any, bool, error) {
			return nil, false, errors.New("can only get item pairs from a mapping")
		}), nil
	}
	pairs, err := iterate(&view{d, "dict_items"})
	return generate(pairs.next), err
}
