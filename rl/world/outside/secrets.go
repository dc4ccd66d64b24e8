//go:build !js

package outside

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/lines"
)

// secrets cut values out of what a program says.
type secrets struct {
	names   map[string]string // what is said in place of a value
	text    *strings.Replacer // of values as they are
	written *strings.Replacer // and as JSON writes them
}

// newSecrets are values, each with what is said in its place, the longest first.
func newSecrets(values [][2]string) secrets {
	s := secrets{names: map[string]string{}}
	var text, written []string
	for _, v := range values {
		s.names[v[0]] = v[1]
		text = append(text, v[0], v[1])
		for _, html := range []bool{true, false} {
			if raw, err := encoded(v[0], html); err == nil {
				written = append(written, string(raw[1:len(raw)-1]), v[1])
			}
		}
	}
	s.text, s.written = strings.NewReplacer(text...), strings.NewReplacer(append(written, text...)...)
	return s
}

// line is a line of a program without the values: without those in its strings and keys, however JSON escapes
// them, and without numbers that are one. A line without values stays as it is to the byte.
func (s secrets) line(line []byte) []byte {
	if len(s.names) == 0 {
		return line
	}
	if !utf8.Valid(line) || !json.Valid(line) || lines.Once(line) != nil { // it is refused, and quoted
		return []byte(s.written.Replace(string(line)))
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []byte(s.written.Replace(string(line)))
	}
	hidden, found := s.hide(v)
	if !found {
		return line
	}
	out, err := encoded(hidden, false)
	if err != nil { // what was decoded can be encoded
		panic(err)
	}
	return out
}

// hide is a value of JSON without the secrets; found says whether it had any.
func (s secrets) hide(v any) (hidden any, found bool) {
	switch v := v.(type) {
	case string:
		text := s.text.Replace(v)
		return text, text != v
	case json.Number:
		if name, is := s.names[v.String()]; is {
			return name, true
		}
	case []any:
		for i := range v {
			one, has := s.hide(v[i])
			v[i], found = one, found || has
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			one, has := s.hide(value)
			name := s.text.Replace(key)
			out[name], found = one, found || has || name != key
		}
		return out, found
	}
	return v, found
}

// encoded is a value as JSON in one line.
func encoded(v any, html bool) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
