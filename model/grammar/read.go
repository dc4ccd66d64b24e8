package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// value is JSON with the keys of objects in their order.
type value struct {
	kind    byte // '{', '[', '"', '0', 't', 'f' or 'n'
	members []member
	items   []value
	text    string // of a string, or the number as it is written
}

type member struct {
	key string
	value
}

// Limits of a schema.
const (
	maxSchema = 1 << 18 // bytes
	maxDepth  = 64
)

// readValue reads JSON. A key that is there twice is refused: one of the two would not
// count.
func readValue(raw []byte) (value, error) {
	if len(raw) > maxSchema {
		return value{}, fmt.Errorf("it has %d bytes; accepted: at most %d", len(raw), maxSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readNext(dec, 0)
	if err != nil {
		return v, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return v, errors.New("there is more after it")
	}
	return v, nil
}

func readNext(dec *json.Decoder, depth int) (v value, err error) {
	if depth > maxDepth {
		return v, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	t, err := dec.Token()
	if err != nil {
		return v, fmt.Errorf("not JSON: %w", err)
	}
	switch t := t.(type) {
	case json.Delim:
		v.kind = byte(t)
		seen := map[string]bool{}
		for dec.More() {
			var m member
			if t == '{' {
				k, err := dec.Token()
				if err != nil {
					return v, fmt.Errorf("not JSON: %w", err)
				}
				if m.key = k.(string); seen[m.key] {
					return v, fmt.Errorf("the key %q appears twice", m.key)
				}
				seen[m.key] = true
			}
			if m.value, err = readNext(dec, depth+1); err != nil {
				return v, err
			}
			if t == '{' {
				v.members = append(v.members, m)
			} else {
				v.items = append(v.items, m.value)
			}
		}
		_, err = dec.Token()
		return v, err
	case string:
		return value{kind: '"', text: t}, nil
	case json.Number:
		return value{kind: '0', text: t.String()}, nil
	case bool:
		if t {
			return value{kind: 't'}, nil
		}
		return value{kind: 'f'}, nil
	}
	return value{kind: 'n'}, nil
}

// get is a member of an object.
func (v value) get(key string) (value, bool) {
	for _, m := range v.members {
		if m.key == key {
			return m.value, true
		}
	}
	return value{}, false
}

// json writes a value without white space.
func (v value) json() string {
	switch v.kind {
	case '"':
		return literal(v.text)
	case '0':
		return v.text
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	var parts []string
	for _, m := range v.members {
		parts = append(parts, literal(m.key)+":"+m.value.json())
	}
	for _, i := range v.items {
		parts = append(parts, i.json())
	}
	if v.kind == '{' {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// isType says whether a value has a type of JSON schema.
func (v value) isType(t string) bool {
	switch v.kind {
	case '{':
		return t == "object"
	case '[':
		return t == "array"
	case '"':
		return t == "string"
	case 't', 'f':
		return t == "boolean"
	case 'n':
		return t == "null"
	}
	return t == "number" || t == "integer" && !strings.ContainsAny(v.text, ".eE")
}
