package template

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// getAttr is v.name: the attribute, then the item of that name. An attribute that
// begins with "_" and a method that changes its object are refused when used, as
// in Jinja's ImmutableSandboxedEnvironment.
func (r *run) getAttr(v any, name string) (any, error) {
	if u, ok := v.(*undefined); ok {
		return nil, errors.New(u.message)
	}
	if a, ok := attribute(v, name); ok {
		return a, nil
	}
	if d, ok := v.(*Dict); ok {
		if item, ok := d.lookup(name); ok {
			return item, nil
		}
	}
	return missing(v, name), nil
}

// getItem is v[key]: the item, then the attribute of that name.
func (r *run) getItem(v, key any) (any, error) {
	if u, ok := v.(*undefined); ok {
		return nil, errors.New(u.message)
	}
	if d, ok := v.(*Dict); ok {
		h, err := r.hashKey(key)
		if err == nil {
			if item, ok := d.lookup(h); ok {
				return item, nil
			}
		}
	} else if item, ok, err := r.itemAt(v, key); ok || err != nil {
		return item, err
	}
	if name, ok := key.(string); ok {
		if a, ok := attribute(v, name); ok {
			return a, nil
		}
		return missing(v, name), nil
	}
	text, err := r.repr(key)
	if err != nil {
		return nil, err
	}
	return undefinedf("%s has no element %s", objectName(v), text), nil
}

// missing is what an unknown attribute gives.
func missing(v any, name string) *undefined {
	return undefinedf("'%s' has no attribute '%s'", objectName(v), name)
}

func objectName(v any) string {
	if v == nil {
		return "None"
	}
	return typeName(v) + " object"
}

// itemAt is an item of a sequence; ok is false outside it and for other keys.
func (r *run) itemAt(v, key any) (item any, ok bool, err error) {
	i, isInt := small(key)
	n, hasLength := length(v)
	if !isInt || !hasLength {
		return nil, false, nil
	}
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		return nil, false, nil
	}
	switch v := v.(type) {
	case *list:
		return v.items[i], true, nil
	case *tuple:
		return v.items[i], true, nil
	case *span:
		return v.at(i), true, nil
	case string:
		begin, end := byteOf(v, int(i)), byteOf(v, int(i)+1)
		return v[begin:end], true, r.work(len(v))
	}
	return nil, false, nil
}

// byteOf is the byte at which a character begins.
func byteOf(s string, char int) int {
	if len(s) == utf8.RuneCountInString(s) {
		return min(char, len(s))
	}
	for i := range s {
		if char == 0 {
			return i
		}
		char--
	}
	return len(s)
}

// slice is v[start:stop:step]; nil bounds are absent ones.
func (r *run) slice(v, start, stop, step any) (any, error) {
	if u, ok := v.(*undefined); ok {
		return nil, errors.New(u.message)
	}
	n, _ := length(v)
	bound := func(b any, absent int64) (int64, error) {
		if b == nil {
			return absent, nil
		}
		if big, ok := b.(*big.Int); ok {
			return int64(big.Sign()) << 40, nil
		}
		i, ok := small(b)
		if !ok {
			return 0, errors.New("slice indices must be integers or None")
		}
		return max(min(i, 1<<40), -1<<40), nil
	}
	by, err := bound(step, 1)
	if err != nil {
		return nil, err
	}
	if by == 0 {
		return nil, errors.New("slice step cannot be zero")
	}
	low, high := int64(0), int64(n)
	if by < 0 {
		low, high = -1, int64(n)-1
	}
	clampBound := func(b any, absent int64) (int64, error) {
		i, err := bound(b, absent)
		if b == nil {
			return absent, err
		}
		if i < 0 {
			i += int64(n)
		}
		return max(low, min(i, high)), err
	}
	first, last := low, high
	if by < 0 {
		first, last = high, low
	}
	if first, err = clampBound(start, first); err != nil {
		return nil, err
	}
	if last, err = clampBound(stop, last); err != nil {
		return nil, err
	}
	return r.take(v, first, last, by)
}

// take are the items first, first+step, ... before last, which are in bounds.
func (r *run) take(v any, first, last, step int64) (any, error) {
	count := int64(0)
	if step > 0 && last > first {
		count = (last - first + step - 1) / step
	} else if step < 0 && last < first {
		count = (first - last - step - 1) / -step
	}
	pick := func(items []any) ([]any, error) {
		if err := r.grow(valueSize * int(count)); err != nil {
			return nil, err
		}
		out := make([]any, count)
		for i := range out {
			out[i] = items[first+int64(i)*step]
		}
		return out, nil
	}
	switch v := v.(type) {
	case string:
		if err := r.grow(len(v)); err != nil || count == 0 {
			return "", err
		}
		if step == 1 {
			return v[byteOf(v, int(first)):byteOf(v, int(last))], nil
		}
		chars := []rune(v)
		out := make([]rune, count)
		for i := range out {
			out[i] = chars[first+int64(i)*step]
		}
		return string(out), nil
	case *list:
		items, err := pick(v.items)
		return &list{items}, err
	case *tuple:
		items, err := pick(v.items)
		return &tuple{items: items}, err
	case *span:
		return &span{v.start + first*v.step, v.start + last*v.step, v.step * step, count}, nil
	}
	return undefinedf("%s has no element slice", objectName(v)), nil
}

// changing are methods that would change their object.
var changing = map[string][]string{
	"dict": {"clear", "pop", "popitem", "setdefault", "update"},
	"list": {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"},
}

// attribute is an attribute of a value, its methods among them.
func attribute(v any, name string) (any, bool) {
	if ns, ok := v.(*namespace); ok {
		return ns.attrs.lookup(name)
	}
	internal := strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
	if internal || slices.Contains(changing[typeName(v)], name) {
		return undefinedf("access to attribute '%s' of '%s' object is unsafe", name, typeName(v)), true
	}
	switch v := v.(type) {
	case string:
		return bind(strMethods, v, name)
	case *Dict:
		return bind(dictMethods, v, name)
	case *list:
		if name == "copy" {
			return &callable{kind: "builtin_function_or_method", name: name, call: func(*run, call) (any, error) { return v, nil }}, true
		}
		return bind(sequenceMethods, any(v), name)
	case *tuple:
		if i := slices.Index(v.names, name); i >= 0 {
			return v.items[i], true
		}
		return bind(sequenceMethods, any(v), name)
	case float64:
		return bind(floatMethods, v, name)
	case *loop:
		return v.attribute(name)
	case *callable:
		a, ok := v.attr[name]
		return a, ok
	case *cycler:
		return v.attribute(name)
	}
	return nil, false
}

// bind is a method of a value.
func bind[T any](methods map[string]func(*run, T, call) (any, error), v T, name string) (any, bool) {
	method, ok := methods[name]
	if !ok {
		return nil, false
	}
	return &callable{kind: "builtin_function_or_method", name: name, call: func(r *run, c call) (any, error) {
		return method(r, v, c)
	}}, true
}

// call holds the arguments of a call.
type call struct {
	args []any
	kw   *Dict // nil without keyword arguments
}

// params gives the arguments by name: "a b=" has one that must be there and one
// that may be absent, which is nil then with ok false in the last result.
func (c call) params(function, names string) (values []any, given []bool, err error) {
	list := strings.Fields(names)
	values, given = make([]any, len(list)), make([]bool, len(list))
	if len(c.args) > len(list) {
		return nil, nil, fmt.Errorf("%s takes at most %d arguments, found %d", function, len(list), len(c.args))
	}
	for i, v := range c.args {
		values[i], given[i] = v, true
	}
	used := 0
	for i, name := range list {
		name, optional := strings.CutSuffix(name, "=")
		if c.kw != nil {
			if v, ok := c.kw.lookup(name); ok {
				if given[i] {
					return nil, nil, fmt.Errorf("%s got two values for the argument '%s'", function, name)
				}
				values[i], given[i] = v, true
				used++
			}
		}
		if !given[i] && !optional {
			return nil, nil, fmt.Errorf("%s needs the argument '%s'", function, name)
		}
	}
	if c.kw != nil && used < len(c.kw.keys) {
		for _, key := range c.kw.keys {
			name := key.(string)
			if !slices.Contains(list, name) && !slices.Contains(list, name+"=") {
				return nil, nil, fmt.Errorf("%s has no argument '%s'", function, name)
			}
		}
	}
	return values, given, nil
}

// positional checks the count of arguments of a method that takes no keywords.
func (c call) positional(method string, least, most int) error {
	if c.kw != nil && len(c.kw.keys) > 0 {
		return fmt.Errorf("%s() takes no keyword arguments", method)
	}
	if len(c.args) < least || len(c.args) > most {
		return fmt.Errorf("%s() takes %d to %d arguments, found %d", method, least, most, len(c.args))
	}
	return nil
}

// text is argument i, which has to be a string. Absent and none it is ok = false.
func (c call) text(method string, i int) (s string, ok bool, err error) {
	if i >= len(c.args) || c.args[i] == nil {
		return "", false, nil
	}
	s, ok = c.args[i].(string)
	if !ok {
		err = fmt.Errorf("%s() needs a string, found %s", method, typeName(c.args[i]))
	}
	return s, ok, err
}

// mustText is argument i, which has to be there and a string.
func (c call) mustText(method string, i int) (string, error) {
	s, ok, err := c.text(method, i)
	if err == nil && !ok {
		err = fmt.Errorf("%s() needs a string, found none", method)
	}
	return s, err
}

// number is argument i, which has to be an integer, or absent.
func (c call) number(method string, i int, absent int64) (int64, error) {
	if i >= len(c.args) {
		return absent, nil
	}
	n, ok := small(c.args[i])
	if !ok {
		return 0, fmt.Errorf("%s() needs an integer, found %s", method, typeName(c.args[i]))
	}
	return n, nil
}
