package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Published data sets keep objects and lists as text inside a column of strings: as JSON
// (verification_info of SYNTHETIC-1), or as Python writes them (ground_truth of IF-RLVR, with
// quotes of the other kind, True and None). A path leads into both.

// member is what a step of a path leads to: a key of an object, or a place from 0 of a list.
func member(raw json.RawMessage, name string) (json.RawMessage, bool) {
	raw = opened(raw)
	switch {
	case len(raw) == 0:
	case raw[0] == '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			inner, there := object[name]
			return inner, there
		}
	case raw[0] == '[':
		var list []json.RawMessage
		if i, err := strconv.Atoi(name); err == nil && json.Unmarshal(raw, &list) == nil && 0 <= i && i < len(list) {
			return list[i], true
		}
	}
	return nil, false
}

// opened is the object or list that is kept as text in a string; any other value is itself.
func opened(raw json.RawMessage) json.RawMessage {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
		return raw
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if inner, err := fromLiteral(text); err == nil {
		return inner
	}
	return raw
}

// fromLiteral is the JSON of a Python literal of dicts with text as keys, lists, tuples,
// strings, numbers, True, False and None
// (https://docs.python.org/3/library/ast.html#ast.literal_eval).
func fromLiteral(text string) (json.RawMessage, error) {
	p := literal{rest: text}
	if err := p.value(0); err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, errLiteral
	}
	if out := json.RawMessage(p.out.String()); json.Valid(out) {
		return out, nil
	}
	return nil, errLiteral
}

// maxLiteralDepth bounds how deep lists and dicts may be nested.
const maxLiteralDepth = 64

var errLiteral = errors.New("not a Python literal")

// literal reads a Python literal and writes JSON.
type literal struct {
	rest string
	out  strings.Builder
}

func (p *literal) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take reads a mark, if it is next.
func (p *literal) take(mark string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	return found
}

func (p *literal) value(depth int) error {
	if depth > maxLiteralDepth {
		return fmt.Errorf("nested deeper than %d", maxLiteralDepth)
	}
	for _, word := range [][2]string{{"None", "null"}, {"True", "true"}, {"False", "false"}} {
		if p.take(word[0]) {
			p.out.WriteString(word[1])
			return nil
		}
	}
	switch p.skip(); {
	case p.rest == "":
		return errLiteral
	case p.rest[0] == '\'' || p.rest[0] == '"':
		return p.text()
	case p.take("["):
		return p.list("]", depth)
	case p.take("("):
		return p.list(")", depth)
	case p.take("{"):
		return p.dict(depth)
	}
	return p.number()
}

// list reads what follows the bracket that opens a list or a tuple.
func (p *literal) list(end string, depth int) error {
	p.out.WriteByte('[')
	for first := true; !p.take(end); first = false {
		if !first {
			if !p.take(",") {
				return errLiteral
			}
			if p.take(end) { // a comma at the end
				break
			}
			p.out.WriteByte(',')
		}
		if err := p.value(depth + 1); err != nil {
			return err
		}
	}
	p.out.WriteByte(']')
	return nil
}

// dict reads what follows the brace.
func (p *literal) dict(depth int) error {
	p.out.WriteByte('{')
	for first := true; !p.take("}"); first = false {
		if !first {
			if !p.take(",") {
				return errLiteral
			}
			if p.take("}") {
				break
			}
			p.out.WriteByte(',')
		}
		if p.skip(); p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
			return errLiteral
		}
		if err := p.text(); err != nil {
			return err
		}
		if !p.take(":") {
			return errLiteral
		}
		p.out.WriteByte(':')
		if err := p.value(depth + 1); err != nil {
			return err
		}
	}
	p.out.WriteByte('}')
	return nil
}

func (p *literal) number() error {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) })
	if n < 0 {
		n = len(p.rest)
	}
	x, err := strconv.ParseFloat(p.rest[:n], 64)
	if err != nil {
		return errLiteral
	}
	written := p.rest[:n]
	if !json.Valid([]byte(written)) { // .5, 5. and +5 are not JSON
		raw, err := json.Marshal(x)
		if err != nil {
			return errLiteral
		}
		written = string(raw)
	}
	p.out.WriteString(written)
	p.rest = p.rest[n:]
	return nil
}

// escapes of Python's strings that stand for one character.
var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v", '\\': `\`, '\'': "'", '"': `"`, '\n': ""}

// digitsOf is how many hexadecimal digits an escape has.
var digitsOf = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (p *literal) text() error {
	quote := p.rest[0]
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == quote:
			p.rest = p.rest[i+1:]
			raw, err := marshal(b.String())
			p.out.Write(raw)
			return err
		case c == '\n':
			return errLiteral
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if i++; i == len(p.rest) {
			return errLiteral
		}
		c = p.rest[i]
		if plain, known := escapes[c]; known {
			b.WriteString(plain)
		} else if n := digitsOf[c]; n > 0 {
			if i+n >= len(p.rest) {
				return errLiteral
			}
			code, err := strconv.ParseUint(p.rest[i+1:i+1+n], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				return errLiteral
			}
			b.WriteRune(rune(code))
			i += n
		} else { // Python keeps what it does not know
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return errLiteral
}
