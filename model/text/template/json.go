//lint:file-ignore ST1005 Python begins the texts of these errors with capitals

package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeJSON reads one JSON value as Python's json module does: objects keep the
// order of their keys, 1 is an integer and 1.0 a float.
func DecodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("text follows the JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return decodeObject(d)
		}
		out := &list{}
		for d.More() {
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
		_, err := d.Token()
		return out, err
	case json.Number:
		if strings.ContainsAny(string(t), ".eE") {
			f, err := t.Float64()
			if math.IsInf(f, 0) {
				err = nil
			}
			return f, err
		}
		n, ok := new(big.Int).SetString(string(t), 10)
		if !ok || len(t) > maxDigits {
			return nil, fmt.Errorf("found an integer of %d digits, accepted: up to %d", len(t), maxDigits)
		}
		return fromBig(n), nil
	}
	return t, nil // string, bool, nil
}

func decodeObject(d *json.Decoder) (any, error) {
	out := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(d)
		if err != nil {
			return nil, err
		}
		out.Set(key.(string), v)
	}
	_, err := d.Token()
	return out, err
}

// encoder writes JSON as json.dumps does.
type encoder struct {
	r              *run
	b              strings.Builder
	ascii, sorted  bool
	indent         string
	pretty         bool
	between, colon string
}

// Quoted is a text as tojson writes it, in quotation marks.
func Quoted(text string) string { return jsonString(text, false) }

// tojsonFilter has the parameters of transformers' tojson: no escapes for HTML, and
// characters beyond ASCII as they are unless asked otherwise.
// https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/utils/chat_template_utils.py
func tojsonFilter(r *run, v any, c call) (any, error) {
	values, _, err := c.params("tojson", "ensure_ascii= indent= separators= sort_keys=")
	if err != nil {
		return nil, err
	}
	e := &encoder{r: r, ascii: truth(values[0]), sorted: truth(values[3]), between: ", ", colon: ": "}
	switch indent := values[1].(type) {
	case nil:
	case string:
		e.indent, e.pretty, e.between = indent, true, ","
	default:
		n, err := (call{args: values}).number("tojson", 1, 0)
		if err != nil {
			return nil, err
		}
		e.pretty, e.between = true, ","
		if e.indent, err = r.fill(n, " "); err != nil {
			return nil, err
		}
	}
	if values[2] != nil {
		pair, err := r.all(values[2])
		if err != nil || len(pair) != 2 {
			return nil, firstError(err, errors.New(`tojson needs two separators, as in (",", ":")`))
		}
		for i, text := range []*string{&e.between, &e.colon} {
			s, ok := pair[i].(string)
			if !ok {
				return nil, fmt.Errorf("tojson needs strings as separators, found %s", typeName(pair[i]))
			}
			*text = s
		}
	}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.b.String(), nil
}

func (e *encoder) put(s string) error {
	e.b.WriteString(s)
	return e.r.grow(len(s))
}

// line begins a line at a depth if the text is laid out in lines.
func (e *encoder) line(depth int) error {
	if !e.pretty {
		return nil
	}
	if err := e.r.grow(1 + depth*len(e.indent)); err != nil {
		return err
	}
	e.b.WriteByte('\n')
	for range depth {
		e.b.WriteString(e.indent)
	}
	return nil
}

func (e *encoder) value(v any, depth int) error {
	if err := e.r.enter(); err != nil {
		return err
	}
	defer e.r.leave()
	switch v := v.(type) {
	case string:
		return e.put(jsonString(v, e.ascii))
	case *list:
		return e.array(v.items, depth)
	case *tuple:
		return e.array(v.items, depth)
	case *Dict:
		return e.object(v, depth)
	}
	text, ok := jsonScalar(v)
	if !ok {
		return fmt.Errorf("Object of type %s is not JSON serializable", typeName(v))
	}
	return e.put(text)
}

// jsonScalar is a number, bool or null.
func jsonScalar(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN", true
		case math.IsInf(v, 1):
			return "Infinity", true
		case math.IsInf(v, -1):
			return "-Infinity", true
		}
		return floatRepr(v), true
	}
	return "", false
}

func (e *encoder) array(items []any, depth int) error {
	if len(items) == 0 {
		return e.put("[]")
	}
	e.b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			e.b.WriteString(e.between)
		}
		if err := firstError(e.line(depth+1), e.value(item, depth+1)); err != nil {
			return err
		}
	}
	return firstError(e.line(depth), e.put("]"))
}

func (e *encoder) object(d *Dict, depth int) error {
	if len(d.keys) == 0 {
		return e.put("{}")
	}
	order := make([]any, len(d.keys))
	for i := range order {
		order[i] = int64(i)
	}
	if e.sorted {
		var err error
		if order, err = e.r.sorted(order, func(i any) (any, error) { return d.keys[i.(int64)], nil }, false); err != nil {
			return err
		}
	}
	e.b.WriteByte('{')
	for n, i := range order {
		key, ok := d.keys[i.(int64)].(string)
		if !ok {
			if key, ok = jsonScalar(d.keys[i.(int64)]); !ok {
				return fmt.Errorf("keys must be str, int, float, bool or None, not %s", typeName(d.keys[i.(int64)]))
			}
		}
		if n > 0 {
			e.b.WriteString(e.between)
		}
		err := firstError(e.line(depth+1), e.put(jsonString(key, e.ascii)+e.colon))
		if err == nil {
			err = e.value(d.vals[i.(int64)], depth+1)
		}
		if err != nil {
			return err
		}
	}
	return firstError(e.line(depth), e.put("}"))
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func jsonString(s string, ascii bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		short, ok := jsonEscapes[c]
		switch {
		case ok:
			b.WriteString(short)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		case ascii && c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case ascii && c >= utf8.RuneSelf-1 && c != 0x7f:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
