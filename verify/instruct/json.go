package instruct

import (
	"fmt"
	"strings"
)

// maxIntegerDigits is how long an integer Python reads: sys.int_info,
// docs.python.org/3/library/stdtypes.html#int-max-str-digits.
const maxIntegerDigits = 4300

// pythonJSON says whether json.loads of Python accepts s: JSON with NaN,
// Infinity and -Infinity besides. It needs no recursion, whatever the depth.
func pythonJSON(s string) (ok bool, reason string) {
	j := jsonScanner{s: s}
	for {
		j.space()
		if !j.value() || !j.after() {
			return false, fmt.Sprintf("no JSON at byte %d of %d", j.pos, len(s))
		}
		if len(j.open) == 0 && j.complete {
			break
		}
	}
	j.space()
	if j.pos < len(s) {
		return false, fmt.Sprintf("text after the JSON at byte %d of %d", j.pos, len(s))
	}
	return true, "the completion is JSON"
}

type jsonScanner struct {
	s        string
	pos      int
	open     []byte // the brackets that are open
	complete bool   // a value ended at pos; else one has to follow
}

func (j *jsonScanner) space() {
	for j.pos < len(j.s) && strings.IndexByte(" \t\n\r", j.s[j.pos]) >= 0 {
		j.pos++
	}
}

func (j *jsonScanner) eat(text string) bool {
	if strings.HasPrefix(j.s[j.pos:], text) {
		j.pos += len(text)
		return true
	}
	return false
}

// value reads a value, or the start of an array or object with something in it.
func (j *jsonScanner) value() bool {
	j.complete = true
	switch {
	case j.eat("{"):
		j.space()
		if j.eat("}") {
			return true
		}
		j.open = append(j.open, '}')
		j.complete = false
		return j.key()
	case j.eat("["):
		j.space()
		if j.eat("]") {
			return true
		}
		j.open = append(j.open, ']')
		j.complete = false
		return true
	case j.pos < len(j.s) && j.s[j.pos] == '"':
		return j.text()
	}
	for _, word := range []string{"null", "true", "false", "NaN", "Infinity", "-Infinity"} {
		if j.eat(word) {
			return true
		}
	}
	return j.number()
}

// after reads what follows a value: closing brackets and a comma.
func (j *jsonScanner) after() bool {
	for j.complete && len(j.open) > 0 {
		closing := j.open[len(j.open)-1]
		j.space()
		switch {
		case j.eat(string(closing)):
			j.open = j.open[:len(j.open)-1]
		case j.eat(","):
			j.complete = false
			if closing == '}' {
				j.space()
				return j.key()
			}
		default:
			return false
		}
	}
	return true
}

// key reads the name of a member and its colon.
func (j *jsonScanner) key() bool {
	if !j.text() {
		return false
	}
	j.space()
	return j.eat(":")
}

// text reads a string.
func (j *jsonScanner) text() bool {
	if !j.eat(`"`) {
		return false
	}
	for j.pos < len(j.s) {
		c := j.s[j.pos]
		j.pos++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !j.escape():
			return false
		}
	}
	return false
}

func (j *jsonScanner) escape() bool {
	if j.pos == len(j.s) {
		return false
	}
	c := j.s[j.pos]
	j.pos++
	if c != 'u' {
		return strings.IndexByte(`"\/bfnrt`, c) >= 0
	}
	for range 4 {
		if j.pos == len(j.s) || strings.IndexByte("0123456789abcdefABCDEF", j.s[j.pos]) < 0 {
			return false
		}
		j.pos++
	}
	return true
}

// number reads as much of a number as there is.
func (j *jsonScanner) number() bool {
	j.eat("-")
	digits := j.digits()
	if digits == 0 {
		return false
	}
	if strings.HasPrefix(j.s[j.pos-digits:], "0") {
		j.pos -= digits - 1 // "01" is the number 0 with something after it
		digits = 1
	}
	whole := true
	if mark := j.pos; j.eat(".") {
		if whole = j.digits() == 0; whole {
			j.pos = mark
		}
	}
	mark := j.pos
	if j.eat("e") || j.eat("E") {
		if !j.eat("-") {
			j.eat("+")
		}
		if j.digits() == 0 {
			j.pos = mark
		} else {
			whole = false
		}
	}
	return !whole || digits <= maxIntegerDigits
}

func (j *jsonScanner) digits() int {
	from := j.pos
	for j.pos < len(j.s) && j.s[j.pos] >= '0' && j.s[j.pos] <= '9' {
		j.pos++
	}
	return j.pos - from
}
