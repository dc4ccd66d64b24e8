//lint:file-ignore ST1005 Python begins the texts of these errors with capitals

package template

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// format is Python's str.format:
// https://docs.python.org/3/library/string.html#format-string-syntax
func (r *run) format(format string, args []any, kw *Dict) (string, error) {
	f := &braces{r: r, args: args, kw: kw}
	return f.expand(format, 2)
}

// braces is one use of str.format.
type braces struct {
	r      *run
	args   []any
	kw     *Dict
	next   int  // number of the next {} without a name
	auto   bool // {} was used
	manual bool // {0} was used
}

// expand replaces the fields of a format; depth bounds fields inside of fields.
func (f *braces) expand(format string, depth int) (string, error) {
	if depth == 0 {
		return "", errors.New("Max string recursion exceeded")
	}
	var b strings.Builder
	for format != "" {
		k := strings.IndexAny(format, "{}")
		if k < 0 {
			k = len(format)
		}
		b.WriteString(format[:k])
		if format = format[k:]; format == "" {
			break
		}
		if len(format) > 1 && format[0] == format[1] {
			b.WriteByte(format[0])
			format = format[2:]
			continue
		}
		if format[0] == '}' {
			return "", errors.New("Single '}' encountered in format string")
		}
		end := closing(format)
		if end < 0 {
			return "", errors.New("Single '{' encountered in format string")
		}
		text, err := f.field(format[1:end], depth)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		format = format[end+1:]
	}
	return b.String(), f.r.grow(b.Len())
}

// closing is the index of the bracket that closes the first one, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// field is one replacement field: name!conversion:spec.
func (f *braces) field(text string, depth int) (string, error) {
	name, layout, _ := strings.Cut(text, ":")
	name, conversion, converted := strings.Cut(name, "!")
	v, err := f.value(name)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(layout, "{}") {
		if layout, err = f.expand(layout, depth-1); err != nil {
			return "", err
		}
	}
	if converted {
		switch conversion {
		case "s":
			v, err = f.r.str(v)
		case "r":
			v, err = f.r.repr(v)
		case "a":
			var s string
			s, err = f.r.repr(v)
			v = asciiEscapes(s)
		default:
			err = fmt.Errorf("unknown conversion %q in a format", conversion)
		}
		if err != nil {
			return "", err
		}
	}
	return f.r.layout(v, layout)
}

// value finds the value of a field: a number or name, then .attributes and [items].
func (f *braces) value(path string) (any, error) {
	k := strings.IndexAny(path, ".[")
	if k < 0 {
		k = len(path)
	}
	first, rest := path[:k], path[k:]
	var v any
	n, err := strconv.Atoi(first)
	switch isNumber := err == nil && n >= 0; {
	case first == "":
		n, f.auto = f.next, true
		f.next++
		fallthrough
	case isNumber:
		f.manual = f.manual || first != ""
		if f.auto && f.manual {
			return nil, errors.New("cannot mix {} and {0} in a format")
		}
		if n >= len(f.args) {
			return nil, fmt.Errorf("Replacement index %d out of range for positional args tuple", n)
		}
		v = f.args[n]
	default:
		ok := false
		if f.kw != nil {
			v, ok = f.kw.lookup(first)
		}
		if !ok {
			return nil, fmt.Errorf("the format names '%s', which is absent", first)
		}
	}
	for rest != "" {
		if after, ok := strings.CutPrefix(rest, "."); ok {
			k := strings.IndexAny(after, ".[")
			if k < 0 {
				k = len(after)
			}
			if v, err = f.r.getAttr(v, after[:k]); err != nil {
				return nil, err
			}
			rest = after[k:]
			continue
		}
		key, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		if !ok {
			return nil, errors.New("Missing ']' in format string")
		}
		var index any = key
		if n, err := strconv.ParseInt(key, 10, 64); err == nil {
			index = n
		}
		if v, err = f.r.getItem(v, index); err != nil {
			return nil, err
		}
		rest = after
	}
	return v, nil
}

// layout is Python's format(v, spec).
func (r *run) layout(v any, text string) (string, error) {
	if text == "" {
		return r.str(v)
	}
	s, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	unknown := fmt.Errorf("Unknown format code '%c' for object of type '%s'", s.verb, typeName(v))
	switch v := v.(type) {
	case string:
		if s.verb != 0 && s.verb != 's' {
			return "", unknown
		}
		if s.sign != 0 || s.align == '=' {
			return "", errors.New("a sign and '=' are not allowed in a string format")
		}
		if s.zero && s.align == 0 {
			s.fill = "0"
		}
		return r.layText(s, v, '<')
	case int64, *big.Int, bool:
		n, _ := asInt(v)
		if _, isBool := v.(bool); isBool && s.verb == 0 {
			s.verb = 'd'
		}
		switch {
		case s.verb == 0 || s.verb == 'd' || s.verb == 'n' || strings.IndexByte("xXob", s.verb) >= 0:
			if s.precision >= 0 {
				return "", errors.New("Precision not allowed in integer format specifier")
			}
			return r.layInt(s, n)
		case s.verb == 'c' && n.IsInt64() && n.Int64() >= 0 && n.Int64() <= utf8.MaxRune:
			return r.layText(s, string(rune(n.Int64())), '<')
		}
		if strings.IndexByte("eEfFgG%", s.verb) < 0 {
			return "", unknown
		}
		f, _ := asFloat(v)
		return r.layFloat(s, f)
	case float64:
		if s.verb == 0 && s.precision < 0 { // as str, with its ".0"
			text := strings.TrimPrefix(floatRepr(v), "-")
			whole := len(text) - len(strings.TrimLeft(text, decimal))
			return r.layNumber(s, strings.HasPrefix(floatRepr(v), "-"), "", text[:whole], text[whole:])
		}
		if s.verb == 0 || s.verb == 'n' {
			s.verb = 'g'
		}
		if strings.IndexByte("eEfFgG%", s.verb) < 0 {
			return "", unknown
		}
		return r.layFloat(s, v)
	}
	return "", fmt.Errorf("unsupported format string passed to %s.__format__", typeName(v))
}

// parseSpec reads [[fill]align][sign][#][0][width][grouping][.precision][verb].
func parseSpec(text string) (spec, error) {
	s := spec{precision: -1}
	rest := text
	if _, n := utf8.DecodeRuneInString(rest); len(rest) > n && strings.IndexByte("<>=^", rest[n]) >= 0 {
		s.fill, s.align, rest = rest[:n], rest[n], rest[n+1:]
	} else if strings.IndexByte("<>=^", rest[0]) >= 0 {
		s.align, rest = rest[0], rest[1:]
	}
	if rest != "" && strings.IndexByte("+- ", rest[0]) >= 0 {
		if rest[0] != '-' {
			s.sign = rest[0]
		}
		rest = rest[1:]
	}
	if after, ok := strings.CutPrefix(rest, "#"); ok {
		s.alternate, rest = true, after
	}
	if after, ok := strings.CutPrefix(rest, "0"); ok {
		s.zero, rest = true, after
		if s.fill == "" && s.align != 0 {
			s.fill = "0"
		}
	}
	none := func() (any, error) { return nil, errors.New("no arguments") }
	var err error
	if s.width, rest, err = percentNumber(rest, none); err != nil {
		return s, fmt.Errorf("Invalid format specifier '%s'", clip(text))
	}
	if rest != "" && (rest[0] == ',' || rest[0] == '_') {
		s.grouping, rest = rest[0], rest[1:]
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		p, after, err := percentNumber(after, none)
		if err != nil || p > maxPrecision {
			return s, fmt.Errorf("Invalid format specifier '%s'", clip(text))
		}
		s.precision, rest = int(p), after
	}
	if len(rest) > 1 {
		return s, fmt.Errorf("Invalid format specifier '%s'", clip(text))
	}
	if rest != "" {
		s.verb = rest[0]
	}
	return s, nil
}
