package template

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// str is Python's str(v).
func (r *run) str(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case *undefined:
		return "", nil
	}
	return r.repr(v)
}

// repr is Python's repr(v).
func (r *run) repr(v any) (string, error) {
	var b strings.Builder
	err := r.writeRepr(&b, v)
	return b.String(), err
}

func (r *run) writeRepr(b *strings.Builder, v any) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	put := func(s string) error {
		b.WriteString(s)
		return r.grow(len(s))
	}
	switch v := v.(type) {
	case nil:
		return put("None")
	case bool:
		if v {
			return put("True")
		}
		return put("False")
	case int64:
		return put(strconv.FormatInt(v, 10))
	case *big.Int:
		return put(v.String())
	case float64:
		return put(floatRepr(v))
	case string:
		if err := r.grow(len(v)); err != nil {
			return err
		}
		return put(stringRepr(v))
	case *list:
		return r.writeItems(b, "[", v.items, "]")
	case *tuple:
		if len(v.items) == 1 {
			return r.writeItems(b, "(", v.items, ",)")
		}
		return r.writeItems(b, "(", v.items, ")")
	case *Dict:
		return r.writeDict(b, v)
	case *view:
		items := make([]any, len(v.d.keys))
		for i := range items {
			items[i] = v.at(i)
		}
		return r.writeItems(b, v.kind+"([", items, "])")
	case *span:
		if v.step == 1 {
			return put(fmt.Sprintf("range(%d, %d)", v.start, v.stop))
		}
		return put(fmt.Sprintf("range(%d, %d, %d)", v.start, v.stop, v.step))
	case *namespace:
		b.WriteString("<Namespace ")
		if err := r.writeDict(b, v.attrs); err != nil {
			return err
		}
		return put(">")
	case *loop:
		return put(fmt.Sprintf("<LoopContext %d/%d>", v.index0+1, v.length()))
	case *undefined:
		return put("Undefined")
	case *callable:
		if v.attr != nil {
			return put("<Macro " + stringRepr(v.name) + ">")
		}
		return put("<" + v.kind + " " + v.name + ">")
	}
	return put("<" + typeName(v) + ">") // Python prints an address as well
}

func (r *run) writeItems(b *strings.Builder, open string, items []any, end string) error {
	b.WriteString(open)
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := r.writeRepr(b, item); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return r.grow(len(open) + len(end) + 2*len(items))
}

func (r *run) writeDict(b *strings.Builder, d *Dict) error {
	b.WriteByte('{')
	for i, key := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := r.writeRepr(b, key); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := r.writeRepr(b, d.vals[i]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return r.grow(2 + 4*len(d.keys))
}

// floatRepr is the shortest text that reads as the same number, laid out as
// Python's repr does: an exponent below 1e-4 and from 1e16.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64) // two digits of exponent at least, as in Python
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// stringRepr is a string in quotes: single ones unless only single ones stand in it.
func stringRepr(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, c := range s {
		switch {
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == ' ' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteRune(quote)
	return b.String()
}
