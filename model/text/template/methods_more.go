package template

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

func join(r *run, sep string, c call) (any, error) {
	if err := c.positional("join", 1, 1); err != nil {
		return nil, err
	}
	items, err := r.all(c.args[0])
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("sequence item %d: expected str instance, %s found", i, typeName(item))
		}
		parts[i] = s
	}
	return r.joined(parts, sep)
}

// joined counts the text before it makes it.
func (r *run) joined(parts []string, sep string) (string, error) {
	for _, p := range parts {
		if err := r.grow(len(p) + len(sep)); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, sep), nil
}

// fill is n times a character.
func (r *run) fill(n int64, char string) (string, error) {
	if n <= 0 {
		return "", nil
	}
	if n > int64(r.limits.Bytes) {
		return "", r.grow(-1)
	}
	return strings.Repeat(char, int(n)), r.grow(int(n) * len(char))
}

// pad is center, ljust or rjust.
func pad(name string) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 1, 2); err != nil {
			return nil, err
		}
		width, err := c.number(name, 0, 0)
		if err != nil {
			return nil, err
		}
		char := " "
		if len(c.args) == 2 {
			if char, err = c.mustText(name, 1); err == nil && utf8.RuneCountInString(char) != 1 {
				err = errors.New("the fill character must be exactly one character long")
			}
			if err != nil {
				return nil, err
			}
		}
		return r.padded(name, s, width, char)
	}
}

func (r *run) padded(name, s string, width int64, char string) (string, error) {
	missing := width - int64(utf8.RuneCountInString(s))
	if missing <= 0 {
		return s, r.work(len(s))
	}
	left := int64(0)
	switch name {
	case "rjust":
		left = missing
	case "center": // as CPython rounds
		left = missing/2 + (missing & width & 1)
	}
	before, err := r.fill(left, char)
	if err != nil {
		return "", err
	}
	after, err := r.fill(missing-left, char)
	if err != nil {
		return "", err
	}
	return before + s + after, r.grow(len(s))
}

func zfill(r *run, s string, c call) (any, error) {
	if err := c.positional("zfill", 1, 1); err != nil {
		return nil, err
	}
	width, err := c.number("zfill", 0, 0)
	if err != nil {
		return nil, err
	}
	zeros, err := r.fill(width-int64(utf8.RuneCountInString(s)), "0")
	if err != nil {
		return nil, err
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[:1] + zeros + s[1:], r.grow(len(s))
	}
	return zeros + s, r.grow(len(s))
}

func expandTabs(r *run, s string, c call) (any, error) {
	values, given, err := c.params("expandtabs()", "tabsize=")
	if err != nil {
		return nil, err
	}
	size := int64(8)
	if given[0] {
		if size, err = (call{args: values}).number("expandtabs", 0, 0); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	column := int64(0)
	for _, char := range s {
		switch {
		case char == '\t' && size > 0:
			blank, err := r.fill(size-column%size, " ")
			if err != nil {
				return nil, err
			}
			b.WriteString(blank)
			column += int64(len(blank))
		case char == '\t':
		default:
			b.WriteRune(char)
			if column++; char == '\n' || char == '\r' {
				column = 0
			}
		}
	}
	return b.String(), r.grow(len(s))
}

var dictMethods map[string]func(*run, *Dict, call) (any, error)

func init() {
	dictMethods = map[string]func(*run, *Dict, call) (any, error){
		"keys":   viewMethod("keys"),
		"values": viewMethod("values"),
		"items":  viewMethod("items"),
		"get":    dictGet,
		"copy": func(r *run, d *Dict, c call) (any, error) {
			return d, c.positional("copy", 0, 0)
		},
	}
}

func viewMethod(name string) func(*run, *Dict, call) (any, error) {
	return func(r *run, d *Dict, c call) (any, error) {
		return &view{d, "dict_" + name}, c.positional(name, 0, 0)
	}
}

func dictGet(r *run, d *Dict, c call) (any, error) {
	if err := c.positional("get", 1, 2); err != nil {
		return nil, err
	}
	h, err := r.hashKey(c.args[0])
	if err != nil {
		return nil, err
	}
	if v, ok := d.lookup(h); ok {
		return v, nil
	}
	if len(c.args) == 2 {
		return c.args[1], nil
	}
	return nil, nil
}

// sequenceMethods are those of lists and tuples.
var sequenceMethods map[string]func(*run, any, call) (any, error)

func init() {
	sequenceMethods = map[string]func(*run, any, call) (any, error){
		"count": func(r *run, v any, c call) (any, error) {
			if err := c.positional("count", 1, 1); err != nil {
				return nil, err
			}
			items, err := r.all(v)
			n := int64(0)
			for _, item := range items {
				same, err := r.equal(item, c.args[0])
				if err != nil {
					return nil, err
				}
				n += boolInt(same)
			}
			return n, err
		},
		"index": func(r *run, v any, c call) (any, error) {
			if err := c.positional("index", 1, 1); err != nil {
				return nil, err
			}
			items, err := r.all(v)
			if err != nil {
				return nil, err
			}
			for i, item := range items {
				if same, err := r.equal(item, c.args[0]); same || err != nil {
					return int64(i), err
				}
			}
			return nil, fmt.Errorf("the %s has no such item", typeName(v))
		},
	}
}

var floatMethods = map[string]func(*run, float64, call) (any, error){
	"is_integer": func(r *run, f float64, c call) (any, error) {
		return f == math.Trunc(f) && !math.IsInf(f, 0), c.positional("is_integer", 0, 0)
	},
}
