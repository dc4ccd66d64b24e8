package template

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a token is.
type kind uint8

const (
	tokEOF        kind = iota
	tokData            // text outside tags
	tokVarBegin        // {{
	tokVarEnd          // }}
	tokBlockBegin      // {%
	tokBlockEnd        // %}
	tokName
	tokString
	tokNumber
	tokOp
)

// token is one lexical unit. pos is its byte in the source.
type token struct {
	kind  kind
	text  string // data, name, operator, or the value of a string
	value any    // of a number: int64, bigInt or float64
	pos   int
}

// describe names a token in an error message.
func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the template"
	case tokData:
		return "text"
	case tokVarBegin, tokVarEnd, tokBlockBegin, tokBlockEnd:
		return strconv.Quote(map[kind]string{tokVarBegin: "{{", tokVarEnd: "}}", tokBlockBegin: "{%", tokBlockEnd: "%}"}[t.kind])
	case tokString:
		return "the string " + strconv.Quote(clip(t.text))
	}
	return strconv.Quote(clip(t.text))
}

// lexer cuts a source into tokens. Rules of white space are those of Jinja with
// trim_blocks and lstrip_blocks, as transformers sets them:
// https://jinja.palletsprojects.com/en/stable/templates/#whitespace-control
type lexer struct {
	src       string
	pos       int
	tokens    []token
	open      []byte // closing brackets that are due inside a tag
	lineStart bool   // what was read last ended a line
}

// lex reads the tokens of a source whose line ends are "\n" and that has lost one
// line end at its end (see normalize).
func lex(src string) ([]token, error) {
	l := &lexer{src: src, lineStart: true}
	for l.pos < len(src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	return append(l.tokens, token{kind: tokEOF, pos: len(src)}), nil
}

// normalize makes every line end "\n" and drops one at the end of the source, as
// Jinja does with keep_trailing_newline off.
func normalize(src string) string {
	src = lineEnds.Replace(src)
	return strings.TrimSuffix(src, "\n")
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (l *lexer) emit(k kind, text string, pos int) {
	l.tokens = append(l.tokens, token{kind: k, text: text, pos: pos})
}

// root reads text up to the next tag, and the tag.
func (l *lexer) root() error {
	begin := l.pos
	open := nextTag(l.src, begin)
	if open < 0 {
		l.emit(tokData, l.src[begin:], begin)
		l.pos = len(l.src)
		return nil
	}
	text := l.src[begin:open]
	c := l.src[open+1]
	after := open + 2
	sign := byte(0)
	if after < len(l.src) && (l.src[after] == '-' || l.src[after] == '+') {
		sign = l.src[after]
		after++
	}
	if text = l.stripBefore(text, sign, c == '{'); text != "" {
		l.emit(tokData, text, begin)
	}
	l.pos = after
	switch c {
	case '#':
		return l.comment(open)
	case '{':
		l.emit(tokVarBegin, "", open)
		return l.tag(open, tokVarEnd)
	}
	if end, ok := l.rawBegin(after); ok {
		l.lineStart = strings.HasSuffix(l.src[:end], "\n")
		l.pos = end
		return l.raw(open)
	}
	l.emit(tokBlockBegin, "", open)
	return l.tag(open, tokBlockEnd)
}

// nextTag finds the next "{{", "{%" or "{#" at or after a position, or -1.
func nextTag(src string, from int) int {
	for i := from; ; i++ {
		k := strings.IndexByte(src[i:], '{')
		if k < 0 || i+k+1 >= len(src) {
			return -1
		}
		if i += k; strings.IndexByte("{%#", src[i+1]) >= 0 {
			return i
		}
	}
}

// stripBefore cuts the end of the text before a tag: all white space for "-"; for
// lstrip_blocks the white space between the start of the line and a tag that is
// not "{{", unless "+" forbids it.
func (l *lexer) stripBefore(text string, sign byte, variable bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(text, isSpace)
	case sign == '+' || variable:
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// comment skips a comment whose "{#" stands at open.
func (l *lexer) comment(open int) error {
	k := strings.Index(l.src[l.pos:], "#}")
	if k < 0 {
		return failAt(open, "the comment has no end; close it with \"#}\"")
	}
	at := l.pos + k
	l.closeTag(at+2, at > l.pos && l.src[at-1] == '-', at > l.pos && l.src[at-1] == '+')
	return nil
}

// closeTag goes on after a tag that ends at end: "-" eats white space, "+" nothing,
// and otherwise trim_blocks eats one line end.
func (l *lexer) closeTag(end int, minus, plus bool) {
	switch {
	case minus:
		end = len(l.src) - len(strings.TrimLeftFunc(l.src[end:], isSpace))
	case !plus && strings.HasPrefix(l.src[end:], "\n"):
		end++
	}
	l.pos = end
	l.lineStart = strings.HasSuffix(l.src[:end], "\n")
}

// rawBegin reports where the tag {% raw %} ends whose inside begins at from.
func (l *lexer) rawBegin(from int) (end int, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(l.src[from:], isSpace), "raw")
	if !ok {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest, isSpace)
	if after, ok := strings.CutPrefix(rest, "-%}"); ok {
		return len(l.src) - len(strings.TrimLeftFunc(after, isSpace)), true
	}
	after, ok := strings.CutPrefix(rest, "%}")
	return len(l.src) - len(after), ok
}

// raw reads text up to {% endraw %} and keeps it as it is.
func (l *lexer) raw(open int) error {
	begin := l.pos
	for at := begin; ; at += 2 {
		k := strings.Index(l.src[at:], "{%")
		if k < 0 {
			return failAt(open, "the raw block has no end; close it with {%% endraw %%}")
		}
		at += k
		rest := l.src[at+2:]
		sign := byte(0)
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			sign, rest = rest[0], rest[1:]
		}
		rest, ok := strings.CutPrefix(strings.TrimLeftFunc(rest, isSpace), "endraw")
		if !ok {
			continue
		}
		rest = strings.TrimLeftFunc(rest, isSpace)
		minus, plus := strings.HasPrefix(rest, "-"), strings.HasPrefix(rest, "+")
		if minus || plus {
			rest = rest[1:]
		}
		if rest, ok = strings.CutPrefix(rest, "%}"); !ok {
			continue
		}
		if text := l.stripBefore(l.src[begin:at], sign, false); text != "" {
			l.emit(tokData, text, begin)
		}
		l.closeTag(len(l.src)-len(rest), minus, plus)
		return nil
	}
}

// tag reads the tokens of a tag up to its end, which is after its last bracket.
func (l *lexer) tag(open int, end kind) error {
	l.open = l.open[:0]
	for l.pos < len(l.src) {
		if len(l.open) == 0 && l.tagEnd(end) {
			return nil
		}
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		var err error
		switch {
		case isSpace(r):
			l.pos += n
		case r >= '0' && r <= '9':
			err = l.number()
		case isNameRune(r):
			rest := strings.TrimLeftFunc(l.src[l.pos:], isNameRune)
			name := l.src[l.pos : len(l.src)-len(rest)]
			l.emit(tokName, name, l.pos)
			l.pos += len(name)
		case r == '"' || r == '\'':
			err = l.str(byte(r))
		default:
			err = l.operator(r)
		}
		if err != nil {
			return err
		}
	}
	closing := "}}"
	if end == tokBlockEnd {
		closing = "%}"
	}
	return failAt(open, "the tag has no end; close it with %q", closing)
}

func isNameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.In(r, unicode.Nd, unicode.Nl, unicode.Mn, unicode.Mc)
}

// tagEnd reads the end of a tag if it stands here.
func (l *lexer) tagEnd(end kind) bool {
	rest, at := l.src[l.pos:], l.pos
	minus := strings.HasPrefix(rest, "-")
	plus := end == tokBlockEnd && strings.HasPrefix(rest, "+")
	if minus || plus {
		rest = rest[1:]
	}
	closing := "}}"
	if end == tokBlockEnd {
		closing = "%}"
	}
	rest, ok := strings.CutPrefix(rest, closing)
	if !ok {
		return false
	}
	l.emit(end, "", at)
	l.closeTag(len(l.src)-len(rest), minus, plus || end == tokVarEnd)
	return true
}

// operators that have two characters stand first.
var operators = []string{"//", "**", "==", "!=", ">=", "<=",
	"+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

func (l *lexer) operator(r rune) error {
	for _, op := range operators {
		if !strings.HasPrefix(l.src[l.pos:], op) {
			continue
		}
		switch op {
		case "(":
			l.open = append(l.open, ')')
		case "[":
			l.open = append(l.open, ']')
		case "{":
			l.open = append(l.open, '}')
		case ")", "]", "}":
			last := len(l.open) - 1
			if last < 0 {
				return failAt(l.pos, "found %q without an opening bracket", op)
			}
			if l.open[last] != op[0] {
				return failAt(l.pos, "found %q, expected %q", op, string(l.open[last]))
			}
			l.open = l.open[:last]
		}
		l.emit(tokOp, op, l.pos)
		l.pos += len(op)
		return nil
	}
	return failAt(l.pos, "found the character %q, which has no meaning in a tag", r)
}

// number reads an integer or a float. "_" may stand between digits.
func (l *lexer) number() error {
	rest := l.src[l.pos:]
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	text := ""
	if n := floatLength(rest); n > 0 && !afterDot {
		text = rest[:n]
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil && f == 0 {
			return failAt(l.pos, "found the number %q, which is not a valid float", clip(text))
		}
		l.tokens = append(l.tokens, token{kind: tokNumber, text: text, value: f, pos: l.pos})
		l.pos += n
		return nil
	}
	text = rest[:integerLength(rest)]
	n, ok := new(big.Int).SetString(text, 0)
	if !ok || len(text) > maxDigits {
		return failAt(l.pos, "found the number %q, which is not an integer of at most %d digits", clip(text), maxDigits)
	}
	l.tokens = append(l.tokens, token{kind: tokNumber, text: text, value: fromBig(n), pos: l.pos})
	l.pos += len(text)
	return nil
}

// digits is the length of a run of digits with single "_" between them.
func digits(s string, set string) int {
	n := 0
	for n < len(s) {
		switch {
		case strings.IndexByte(set, s[n]) >= 0:
			n++
		case s[n] == '_' && n > 0 && n+1 < len(s) && strings.IndexByte(set, s[n+1]) >= 0:
			n++
		default:
			return n
		}
	}
	return n
}

const decimal = "0123456789"

// floatLength is the length of the float that a text begins with, or 0.
func floatLength(s string) int {
	n := digits(s, decimal)
	isFloat := false
	if n < len(s) && s[n] == '.' {
		if k := digits(s[n+1:], decimal); k > 0 {
			n, isFloat = n+1+k, true
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if k := digits(s[e:], decimal); k > 0 {
			n, isFloat = e+k, true
		}
	}
	if !isFloat {
		return 0
	}
	return n
}

// integerLength is the length of the integer that a text begins with. A 0 in front
// of other digits is an integer of its own.
func integerLength(s string) int {
	if s[0] != '0' {
		return digits(s, decimal)
	}
	if len(s) > 2 {
		set := map[byte]string{'b': "01", 'o': "01234567", 'x': "0123456789abcdefABCDEF"}[s[1]|0x20]
		from := 2
		if s[2] == '_' {
			from = 3
		}
		if k := digits(s[from:], set); k > 0 {
			return from + k
		}
	}
	return digits(s, "0")
}

// str reads a string in quotes.
func (l *lexer) str(quote byte) error {
	begin := l.pos
	for i := begin + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			text, err := unescape(l.src[begin+1 : i])
			if err != nil {
				return failAt(begin, "%v", err)
			}
			l.emit(tokString, text, begin)
			l.pos = i + 1
			return nil
		}
	}
	return failAt(begin, "the string has no end; close it with %c", quote)
}

var simpleEscapes = map[byte]string{'\n': "", '\\': "\\", '\'': "'", '"': "\"",
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// unescape reads the escapes of a string as Python does; unknown ones stay.
func unescape(s string) (string, error) {
	if !strings.Contains(s, "\\") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if text, ok := simpleEscapes[c]; ok {
			b.WriteString(text)
			continue
		}
		if c >= '0' && c <= '7' {
			octal := s[i:min(i+3, len(s))]
			n := len(octal) - len(strings.TrimLeft(octal, "01234567"))
			v, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			b.WriteRune(rune(v))
			i += n - 1
			continue
		}
		if c == 'N' {
			return "", errors.New(`the escape \N is not supported; write the character, or \u and its number`)
		}
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if width == 0 {
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if i+width >= len(s) {
			return "", fmt.Errorf(`the escape \%c needs %d hexadecimal digits`, c, width)
		}
		v, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
		if err != nil || v > unicode.MaxRune {
			return "", fmt.Errorf(`the escape \%c needs %d hexadecimal digits of a character, found %q`, c, width, s[i+1:i+1+width])
		}
		b.WriteRune(rune(v))
		i += width
	}
	return b.String(), nil
}
