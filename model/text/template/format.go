package template

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is how a value is laid out: the options of the % operator and of format().
type spec struct {
	fill      string
	align     byte // < > = ^, or 0
	sign      byte // + or blank, or 0
	alternate bool
	zero      bool
	width     int64
	grouping  byte // , or _, or 0
	precision int  // -1 if absent
	verb      byte // 0 if absent
}

const maxPrecision = 1000

// percent is Python's format % values:
// https://docs.python.org/3/library/stdtypes.html#printf-style-string-formatting
func (r *run) percent(format string, values any) (string, error) {
	args, isTuple := []any{values}, false
	if t, ok := values.(*tuple); ok {
		args, isTuple = t.items, true
	}
	used := 0
	take := func() (any, error) {
		if used >= len(args) {
			return nil, errors.New("not enough arguments for format string")
		}
		used++
		return args[used-1], nil
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		name, s, n, err := percentSpec(format[i+1:], take)
		if err != nil {
			return "", err
		}
		i += n
		if s.verb == '%' {
			b.WriteByte('%')
			continue
		}
		var v any
		if name != nil {
			d, ok := values.(*Dict)
			if !ok {
				return "", errors.New("format requires a mapping")
			}
			if v, ok = d.lookup(*name); !ok {
				return "", fmt.Errorf("the format names the key '%s', which is absent", *name)
			}
			used = len(args)
		} else if v, err = take(); err != nil {
			return "", err
		}
		text, err := r.percentValue(s, v)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	_, isMapping := values.(*Dict)
	if used < len(args) && (isTuple || !isMapping) {
		return "", errors.New("not all arguments converted during string formatting")
	}
	return b.String(), r.grow(len(format))
}

// percentSpec reads what follows a %; n are the bytes that it takes.
func percentSpec(text string, take func() (any, error)) (name *string, s spec, n int, err error) {
	s.precision = -1
	rest := text
	if strings.HasPrefix(rest, "(") {
		k := strings.IndexByte(rest, ')')
		if k < 0 {
			return nil, s, 0, errors.New("incomplete format key")
		}
		key := rest[1:k]
		name, rest = &key, rest[k+1:]
	}
	for rest != "" && strings.IndexByte("#0- +", rest[0]) >= 0 {
		switch c := rest[0]; c {
		case '#':
			s.alternate = true
		case '0':
			s.zero = true
		case '-':
			s.align = '<'
		case '+':
			s.sign = '+'
		case ' ':
			if s.sign == 0 {
				s.sign = ' '
			}
		}
		rest = rest[1:]
	}
	if s.width, rest, err = percentNumber(rest, take); err != nil {
		return nil, s, 0, err
	}
	if s.width < 0 {
		s.align, s.width = '<', -s.width
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		var p int64
		if p, rest, err = percentNumber(after, take); err != nil {
			return nil, s, 0, err
		}
		s.precision = int(max(0, min(p, maxPrecision)))
	}
	rest = strings.TrimLeft(rest, "hlL")
	if rest == "" {
		return nil, s, 0, errors.New("incomplete format")
	}
	s.verb = rest[0]
	return name, s, len(text) - len(rest) + 1, nil
}

// percentNumber reads a width or precision, which "*" takes from the arguments.
func percentNumber(text string, take func() (any, error)) (int64, string, error) {
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		v, err := take()
		n, isInt := small(v)
		if err == nil && !isInt {
			err = errors.New("* needs an integer")
		}
		return max(-1<<40, min(n, 1<<40)), rest, err
	}
	rest := strings.TrimLeft(text, decimal)
	if rest == text {
		return 0, text, nil
	}
	n, err := strconv.ParseInt(text[:len(text)-len(rest)], 10, 64)
	return n, rest, err
}

// percentValue lays out one value.
func (r *run) percentValue(s spec, v any) (string, error) {
	switch s.verb {
	case 's', 'r', 'a':
		text, err := "", error(nil)
		if s.verb == 's' {
			text, err = r.str(v)
		} else if text, err = r.repr(v); s.verb == 'a' {
			text = asciiEscapes(text)
		}
		if err != nil {
			return "", err
		}
		return r.layText(s, text, '>')
	case 'c':
		if text, ok := v.(string); ok && utf8.RuneCountInString(text) == 1 {
			return r.layText(s, text, '>')
		}
		n, ok := small(v)
		if !ok || n < 0 || n > utf8.MaxRune {
			return "", errors.New("%c requires int or char")
		}
		return r.layText(s, string(rune(n)), '>')
	case 'd', 'i', 'u':
		n, ok := asInt(v)
		if f, isFloat := v.(float64); isFloat && !math.IsNaN(f) && !math.IsInf(f, 0) {
			n, _ = big.NewFloat(math.Trunc(f)).Int(nil)
			ok = true
		}
		if !ok {
			return "", fmt.Errorf("%%%c format: a real number is required, not %s", s.verb, typeName(v))
		}
		s.verb = 'd'
		return r.layInt(s, n)
	case 'x', 'X', 'o':
		n, ok := asInt(v)
		if !ok {
			return "", fmt.Errorf("%%%c format: an integer is required, not %s", s.verb, typeName(v))
		}
		return r.layInt(s, n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f, ok := asFloat(v)
		if !ok {
			return "", fmt.Errorf("must be real number, not %s", typeName(v))
		}
		return r.layFloat(s, f)
	}
	return "", fmt.Errorf("unsupported format character %q", s.verb)
}

// asciiEscapes writes characters beyond ASCII as Python's ascii() does.
func asciiEscapes(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf:
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}

// layText cuts a text to the precision and pads it.
func (r *run) layText(s spec, text string, align byte) (string, error) {
	if s.precision >= 0 {
		text = text[:byteOf(text, s.precision)]
	}
	if s.align != 0 {
		align = s.align
	}
	fill := s.fill
	if fill == "" {
		fill = " "
	}
	switch align {
	case '<':
		return r.padded("ljust", text, s.width, fill)
	case '^':
		missing := s.width - int64(utf8.RuneCountInString(text))
		left, err := r.fill(missing/2, fill)
		if err != nil {
			return "", err
		}
		return r.padded("ljust", left+text, s.width, fill)
	}
	return r.padded("rjust", text, s.width, fill)
}

// layInt lays out an integer.
func (r *run) layInt(s spec, n *big.Int) (string, error) {
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	}
	digits := new(big.Int).Abs(n).Text(base)
	if s.verb == 'X' {
		digits, prefix = strings.ToUpper(digits), "0X"
	}
	if !s.alternate {
		prefix = ""
	}
	for len(digits) < s.precision {
		digits = "0" + digits
	}
	return r.layNumber(s, n.Sign() < 0, prefix, digits, "")
}

// layFloat lays out a float with e, f, g or % as its verb.
func (r *run) layFloat(s spec, f float64) (string, error) {
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	verb, suffix := s.verb, ""
	if verb == '%' {
		f *= 100
		verb, suffix = 'f', "%"
	}
	var text string
	switch lower := verb | 0x20; {
	case math.IsNaN(f):
		text = "nan"
	case math.IsInf(f, 0):
		text = "inf"
	case lower == 'g':
		text = generalFloat(math.Abs(f), max(precision, 1), s.alternate)
	default:
		text = strconv.FormatFloat(math.Abs(f), lower, precision, 64)
	}
	if verb >= 'A' && verb <= 'Z' {
		text = strings.ToUpper(text)
	}
	whole := len(text) - len(strings.TrimLeft(text, decimal))
	return r.layNumber(s, math.Signbit(f) && !math.IsNaN(f), "", text[:whole], text[whole:]+suffix)
}

// generalFloat is %g: fixed for exponents from -4 up to the precision, without
// zeros at the end unless they are asked for.
func generalFloat(f float64, precision int, zeros bool) string {
	e := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(e, "e")
	exp, _ := strconv.Atoi(exponent)
	if exp >= -4 && exp < precision {
		mantissa, exponent = strconv.FormatFloat(f, 'f', precision-1-exp, 64), ""
	} else {
		exponent = "e" + exponent
	}
	if !zeros && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + exponent
}

// layNumber puts sign, prefix, whole digits with their grouping, and the rest
// together and pads them.
func (r *run) layNumber(s spec, negative bool, prefix, whole, rest string) (string, error) {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case s.sign != 0:
		sign = string(s.sign)
	}
	zero := s.zero && s.align == 0 || s.align == '='
	if s.grouping != 0 {
		whole = grouped(whole, s.grouping, s.verb)
	}
	if zero {
		fill := s.fill
		if fill == "" {
			fill = "0"
		}
		missing := s.width - int64(len(sign)+len(prefix)+utf8.RuneCountInString(whole)+len(rest))
		zeros, err := r.fill(missing, fill)
		if err != nil {
			return "", err
		}
		whole = zeros + whole
	}
	s.precision = -1
	return r.layText(s, sign+prefix+whole+rest, '>')
}

// grouped puts a separator between groups of three digits (four in other bases).
func grouped(digits string, sep, verb byte) string {
	size := 3
	if strings.IndexByte("xXob", verb) >= 0 && verb != 0 {
		size = 4
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%size == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
