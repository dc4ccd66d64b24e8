package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/hint"
)

// Limits of a request's body.
const (
	maxBody  = 8 << 20
	bodyTime = 30 * time.Second
)

// readBody reads a request's body.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *fault) {
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = deadlines.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &fault{http.StatusRequestEntityTooLarge, invalid, "", "", fmt.Sprintf("the body has more than %d bytes; accepted: at most that many", maxBody)}
	case err != nil:
		return nil, &fault{http.StatusRequestTimeout, invalid, "", "", "the body did not arrive: " + err.Error()}
	case !utf8.Valid(data):
		return nil, bad("", "the body is not UTF-8 text")
	}
	return data, nil
}

// member is a key of a JSON object and its value.
type member struct {
	key   string
	value json.RawMessage
}

// members are those of a JSON object, in order. A key that is there twice is refused:
// one of the two would not count.
func members(where string, data []byte) ([]member, *fault) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, bad(where, "not JSON: %v", err)
	}
	if open != json.Delim('{') {
		return nil, bad(where, "found %s; accepted: an object", kindOf(data))
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, bad(where, "not JSON: %v", err)
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, bad(join(where, m.key), "not JSON: %v", err)
		}
		if slices.ContainsFunc(out, func(o member) bool { return o.key == m.key }) {
			return nil, bad(join(where, m.key), "the key %q is there twice", m.key)
		}
		if out = append(out, m); len(out) > maxMembers {
			return nil, bad(where, "the object has more than %d keys", maxMembers)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, bad(where, "not JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, bad(where, "there is more after the object")
	}
	return out, nil
}

const maxMembers = 1000

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// kindOf says what a JSON value is.
func kindOf(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f', 'n':
		return string(raw[:min(len(raw), 5)])
	}
	return "the number " + string(raw[:min(len(raw), 40)])
}

// isNull says whether a value is null, which counts as absent.
func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// key is one that an object may have, and how its value is read.
type key[T any] struct {
	name string
	read reader[T]
}

// reader reads the value of a key.
type reader[T any] func(into *T, key string, raw json.RawMessage) *fault

type keys[T any] []key[T]

// read reads an object. Keys that are not known are refused, or told where that is
// accepted.
func (k keys[T]) read(where string, data []byte, into *T, lenient bool) (ignored []string, err *fault) {
	all, err := members(where, data)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if isNull(m.value) {
			continue
		}
		at := slices.IndexFunc(k, func(f key[T]) bool { return f.name == m.key })
		switch {
		case at >= 0:
			if err := k[at].read(into, join(where, m.key), m.value); err != nil {
				return nil, err
			}
		case lenient:
			ignored = append(ignored, join(where, m.key))
		default:
			return nil, k.unknown(where, m.key)
		}
	}
	return ignored, nil
}

func (k keys[T]) unknown(where, name string) *fault {
	var names []string
	for _, f := range k {
		names = append(names, f.name)
	}
	near := hint.Nearest(name, names)
	if len(name) > maxShown {
		name = strings.ToValidUTF8(name[:maxShown], "") + "…"
	}
	text := fmt.Sprintf("the key %q is not known here", name)
	if near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else {
		slices.Sort(names)
		text += "; accepted: " + strings.Join(names, ", ")
	}
	return unsupported(join(where, name), "%s", text)
}

const maxShown = 80 // bytes of a name in a message
