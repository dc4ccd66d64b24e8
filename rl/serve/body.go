package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
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
	if half := halfCharacter(data); half != "" {
		return nil, bad("", "the body has the escape %s without its other half, which is no character; accepted: both halves, or the character itself", half)
	}
	return data, nil
}

// halfCharacter is the first escape of JSON that is a half of a UTF-16 pair and stands
// alone; "" where there is none. Package json would put U+FFFD in its place.
func halfCharacter(data []byte) string {
	const size = len(`\ud800`)
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 || at+1 == len(data) {
			return ""
		}
		data = data[at:]
		c, ok := escaped(data)
		switch low, _ := escaped(data[min(size, len(data)):]); {
		case !ok:
			data = data[2:] // another escape, or no JSON
		case !utf16.IsSurrogate(c):
			data = data[size:]
		case utf16.DecodeRune(c, low) == utf8.RuneError:
			return string(data[:size])
		default:
			data = data[2*size:]
		}
	}
}

// escaped is the character of an escape of four digits at the beginning of data, if there is one.
func escaped(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	c, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(c), err == nil
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
		return nil, notJSON(where, err)
	}
	if open != json.Delim('{') {
		return nil, invalidType(where, "%s is %s; accepted: an object", cmp.Or(where, "the body"), kindOf(data))
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, notJSON(where, err)
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, notJSON(join(where, m.key), err)
		}
		if slices.ContainsFunc(out, func(o member) bool { return o.key == m.key }) {
			return nil, bad(join(where, m.key), "the key %q is there twice", m.key)
		}
		if out = append(out, m); len(out) > maxMembers {
			return nil, bad(where, "the object has more than %d keys", maxMembers)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(where, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, bad(where, "there is more after the object")
	}
	return out, nil
}

const maxMembers = 1000

// notJSON refuses a body, as OpenAI's API does, under no key of it.
func notJSON(where string, err error) *fault {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends before the object does")
	}
	return bad("", "%s is not JSON: %v", cmp.Or(where, "the body"), err)
}

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// kindOf says what a JSON value is, as far as it fits into a message.
func kindOf(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	empty := len(raw) > 1 && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
	switch raw[0] {
	case '{':
		if empty {
			return "an empty object"
		}
		return "an object"
	case '[':
		if empty {
			return "an empty list"
		}
		return "a list"
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return "a text"
		}
		if len(text) > maxFound {
			text = strings.ToValidUTF8(text[:maxFound], "") + "…"
		}
		return fmt.Sprintf("the text %q", text)
	case 't', 'f', 'n':
		return string(raw[:min(len(raw), 5)])
	}
	return "the number " + string(raw[:min(len(raw), maxFound)])
}

const maxFound = 40 // bytes of a value in a message

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

// named are the keys of these names.
func (k keys[T]) named(names ...string) (out keys[T]) {
	for _, one := range k {
		if slices.Contains(names, one.name) {
			out = append(out, one)
		}
	}
	return out
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
	return coded("unknown_parameter", join(where, name), "%s", text)
}

const maxShown = 80 // bytes of a name in a message
