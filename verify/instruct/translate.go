package instruct

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// translate rewrites a Python regular expression (Python 3.11, module re) into
// the syntax that Go's regexp and regexp2 share. backtracks says that only the
// latter can run it.
//
// Rewritten are the classes \w \d \s and the borders \b \B, which are about
// Unicode in Python, possessive quantifiers, braces that are no quantifier, and
// anchors. The rest of the syntax is the same in all three.
func translate(python string, ignoreCase bool) (expr string, backtracks bool, err error) {
	t := translator{in: python, atom: -1, ignoreCase: ignoreCase}
	for t.pos < len(t.in) && t.err == nil {
		t.step()
	}
	if t.err == nil && len(t.open) > 0 {
		t.err = fmt.Errorf("missing ), unterminated group in %s", quote(python))
	}
	return t.out.String(), t.backtracks, t.err
}

type translator struct {
	in         string
	pos        int
	out        strings.Builder
	atom       int   // where the last item that a quantifier may follow starts in out; -1: there is none
	open       []int // the starts of the open groups in out
	ignoreCase bool
	backtracks bool
	err        error
}

func (t *translator) fail(format string, args ...any) {
	t.err = fmt.Errorf(format+" at byte %d of %s", append(args, t.pos, quote(t.in))...)
}

// emit writes one quantifiable item.
func (t *translator) emit(item string) {
	t.atom = t.out.Len()
	t.out.WriteString(item)
}

// anchor writes an item that has no width. Python lets a quantifier follow it.
func (t *translator) anchor(item string, backtracks bool) {
	t.emit("(?:" + item + ")")
	t.backtracks = t.backtracks || backtracks
}

// step reads one item of the pattern.
func (t *translator) step() {
	rest := t.in[t.pos:]
	switch c := rest[0]; c {
	case '\\':
		t.escape()
	case '[':
		t.class()
	case '(':
		t.group()
	case ')':
		if len(t.open) == 0 {
			t.fail("unbalanced parenthesis")
			return
		}
		t.pos++
		t.out.WriteByte(')')
		t.atom = t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
	case '|':
		t.pos++
		t.out.WriteByte('|')
		t.atom = -1
	case '.':
		t.pos++
		t.emit(`[^\n]`)
	case '^':
		t.pos++
		t.anchor(`\A`, false)
	case '$': // before a last line end, too
		t.pos++
		t.anchor(`(?=\n?\z)`, true)
	case '*', '+', '?', '{':
		t.quantifier()
	default:
		r, size := utf8.DecodeRuneInString(rest)
		t.pos += size
		t.literal(r)
	}
}

// literal writes one character. re.IGNORECASE also pairs i with İ and ı.
func (t *translator) literal(r rune) {
	if t.ignoreCase && strings.ContainsRune("iIİı", r) {
		t.emit("[iIİı]")
		return
	}
	t.emit(regexp.QuoteMeta(string(r)))
}

var quantifierShape = regexp.MustCompile(`^(?:[*+?]|\{([0-9]*)(,?)([0-9]*)\})([?+]?)`)

func (t *translator) quantifier() {
	m := quantifierShape.FindStringSubmatch(t.in[t.pos:])
	if m == nil || t.in[t.pos] == '{' && m[1] == "" && m[3] == "" { // "{" or "{,}" or "{}"
		t.pos++
		t.emit(`\{`)
		return
	}
	if t.atom < 0 {
		t.fail("nothing to repeat")
		return
	}
	t.pos += len(m[0])
	body := m[0][:len(m[0])-len(m[4])]
	if body[0] == '{' {
		low := m[1]
		if low == "" {
			low = "0"
		}
		body = "{" + low + m[2] + m[3] + "}"
	}
	switch m[4] {
	case "+": // possessive: an atomic group
		whole := t.out.String()
		t.out.Reset()
		t.out.WriteString(whole[:t.atom] + "(?>" + whole[t.atom:] + body + ")")
		t.backtracks = true
	default:
		t.out.WriteString(body + m[4])
	}
	t.atom = -1 // "multiple repeat" is an error in Python, too
}

var groupShape = regexp.MustCompile(`^\((?:\?(?:P<([A-Za-z_][A-Za-z0-9_]*)>|P=([A-Za-z_][A-Za-z0-9_]*)\)|#[^)]*\)|(:|=|!|<=|<!|>)))?`)

func (t *translator) group() {
	rest := t.in[t.pos:]
	m := groupShape.FindStringSubmatch(rest)
	if m[0] == "(" && strings.HasPrefix(rest, "(?") {
		t.fail("a group of a kind that is not read")
		return
	}
	t.pos += len(m[0])
	switch {
	case m[2] != "":
		t.emit(`\k<` + m[2] + `>`)
		t.backtracks = true
		return
	case strings.HasPrefix(m[0], "(?#"):
		return
	}
	t.open = append(t.open, t.out.Len())
	t.atom = -1
	switch {
	case m[1] != "":
		t.out.WriteString("(?<" + m[1] + ">")
	case m[3] != "":
		t.out.WriteString("(?" + m[3])
		t.backtracks = t.backtracks || m[3] != ":"
	default:
		t.out.WriteByte('(')
	}
}

// classEscapes are the insides of the classes that one letter names.
var classEscapes = map[byte]string{'w': wordClass, 'd': digitClass, 's': spaceClass}

const (
	wordBorder   = `(?:(?<=[` + wordClass + `])(?![` + wordClass + `])|(?<![` + wordClass + `])(?=[` + wordClass + `]))`
	noWordBorder = `(?:(?<=[` + wordClass + `])(?=[` + wordClass + `])|(?<![` + wordClass + `])(?![` + wordClass + `]))`
)

// escape reads a backslash outside a class.
func (t *translator) escape() {
	if t.pos+1 >= len(t.in) {
		t.fail("bad escape (end of pattern)")
		return
	}
	c := t.in[t.pos+1]
	switch {
	case classEscapes[c] != "":
		t.pos += 2
		t.emit("[" + classEscapes[c] + "]")
	case c == 'W' || c == 'D' || c == 'S':
		t.pos += 2
		t.emit("[^" + classEscapes[c-'A'+'a'] + "]")
	case c == 'b':
		t.pos += 2
		t.anchor(wordBorder, true)
	case c == 'B':
		t.pos += 2
		t.anchor(noWordBorder, true)
	case c == 'A':
		t.pos += 2
		t.anchor(`\A`, false)
	case c == 'Z':
		t.pos += 2
		t.anchor(`\z`, false)
	case c >= '1' && c <= '9':
		digits := len(t.in[t.pos+1:]) - len(strings.TrimLeft(t.in[t.pos+1:], "0123456789"))
		digits = min(digits, 2)
		t.emit(`(?:\` + t.in[t.pos+1:t.pos+1+digits] + `)`)
		t.backtracks = true
		t.pos += 1 + digits
	default:
		if r, ok := t.escapedRune(); ok {
			t.literal(r)
		}
	}
}

var letterEscapes = map[byte]rune{'a': 7, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escapedRune reads an escape that stands for one character.
func (t *translator) escapedRune() (rune, bool) {
	if t.pos+1 >= len(t.in) {
		t.fail("bad escape (end of pattern)")
		return 0, false
	}
	c := t.in[t.pos+1]
	if r, ok := letterEscapes[c]; ok {
		t.pos += 2
		return r, true
	}
	if size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; size > 0 {
		end := t.pos + 2 + size
		if end <= len(t.in) {
			if v, err := strconv.ParseUint(t.in[t.pos+2:end], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
				t.pos = end
				return rune(v), true
			}
		}
		t.fail("incomplete escape \\%c", c)
		return 0, false
	}
	if c == '0' {
		digits := t.in[t.pos+1 : min(t.pos+4, len(t.in))]
		digits = digits[:len(digits)-len(strings.TrimLeft(digits, "01234567"))]
		v, _ := strconv.ParseUint(digits, 8, 16)
		t.pos += 1 + len(digits)
		return rune(v), true
	}
	r, size := utf8.DecodeRuneInString(t.in[t.pos+1:])
	if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
		t.fail("bad escape \\%c", r)
		return 0, false
	}
	t.pos += 1 + size
	return r, true
}

// class reads a bracketed class. A negated class name inside it is refused: no
// syntax for it is shared by the engines.
func (t *translator) class() {
	start := t.pos
	t.pos++
	var b strings.Builder
	b.WriteByte('[')
	if strings.HasPrefix(t.in[t.pos:], "^") {
		t.pos++
		b.WriteByte('^')
	}
	for n := 0; ; n++ {
		if t.pos >= len(t.in) {
			t.pos = start
			t.fail("unterminated character set")
			return
		}
		c := t.in[t.pos]
		switch {
		case c == ']' && n > 0:
			t.pos++
			b.WriteByte(']')
			t.emit(b.String())
			return
		case c == '\\' && t.pos+1 < len(t.in) && classEscapes[t.in[t.pos+1]] != "":
			b.WriteString(classEscapes[t.in[t.pos+1]])
			t.pos += 2
			continue
		}
		from, ok := t.classRune()
		if !ok {
			return
		}
		t.classRange(&b, from)
		if t.err != nil {
			return
		}
	}
}

// classRange writes the character from, or the range that it begins.
func (t *translator) classRange(b *strings.Builder, from rune) {
	rest := t.in[t.pos:]
	isRange := len(rest) > 1 && rest[0] == '-' && rest[1] != ']' &&
		!(rest[1] == '\\' && len(rest) > 2 && classEscapes[rest[2]] != "")
	to := from
	if isRange {
		t.pos++
		var ok bool
		if to, ok = t.classRune(); !ok {
			return
		}
		if to < from {
			t.fail("bad character range")
			return
		}
	}
	fmt.Fprintf(b, `\x{%x}`, from)
	if to != from {
		fmt.Fprintf(b, `-\x{%x}`, to)
	}
	if t.ignoreCase && (from <= 'i' && to >= 'i' || from <= 'I' && to >= 'I' || from <= 'İ' && to >= 'ı') {
		b.WriteString("İı")
	}
}

// classRune reads one character of a class.
func (t *translator) classRune() (rune, bool) {
	if t.in[t.pos] == '\\' {
		if strings.HasPrefix(t.in[t.pos:], `\b`) {
			t.pos += 2
			return '\b', true
		}
		return t.escapedRune()
	}
	r, size := utf8.DecodeRuneInString(t.in[t.pos:])
	t.pos += size
	return r, true
}
