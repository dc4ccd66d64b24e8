package reward

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of an expression. There are no loops, so with them an evaluation is a
// fixed number of passes over the completions of a step.
const (
	maxExpressionBytes = 8192
	maxDepth           = 48 // of parentheses, calls and signs
)

// node is a literal, a name, or a call of a function or operator.
type node struct {
	at    int    // byte of the expression
	name  string // "" for a literal
	value float64
	call  bool
	args  []*node

	// Set by the check.
	kind kind
	eval func(*batch) column
}

func (n *node) literal() bool { return n.name == "" }

// part is a named part of an expression: name = value;
type part struct {
	at    int
	name  string
	value *node
}

// token is a number, a word or an operator; kind 0 is the end.
type token struct {
	kind byte // 'n', 'w', 'o' or 0
	text string
	at   int
}

const (
	endToken      = 0
	numberToken   = 'n'
	wordToken     = 'w'
	operatorToken = 'o'
)

// instead are spellings of other languages and what is written here.
var instead = map[string]string{
	"&&": "and", "||": "or", "&": "and", "|": "or", "!": "not", "**": "pow(x, y)", "^": "pow(x, y)",
	"?": "if(condition, x, y)", ":": "if(condition, x, y)", "//": "floor(x / y)", "<>": "!=", "===": "==", "=>": ">=", "=<": "<=",
}

// parser reads an expression by recursive descent, one token ahead.
type parser struct {
	text  string
	next  token
	end   int // byte behind next
	depth int
}

// parse reads parts and the expression behind them.
func parse(text string) (parts []part, total *node, err *Error) {
	if len(text) > maxExpressionBytes {
		return nil, nil, &Error{Verifier: -1, Text: fmt.Sprintf("%d bytes; accepted: at most %d", len(text), maxExpressionBytes)}
	}
	p := &parser{text: text}
	defer func() {
		if fault := recover(); fault != nil {
			e, ok := fault.(*Error)
			if !ok {
				panic(fault)
			}
			parts, total, err = nil, nil, e
		}
	}()
	p.advance()
	for total == nil {
		n := p.or()
		if p.next.text != "=" {
			total = n
			break
		}
		if n.call || n.literal() || strings.Contains(n.name, ".") {
			p.fail(p.next.at, "only a name is accepted before =; for a comparison write ==")
		}
		p.advance()
		parts = append(parts, part{n.at, n.name, p.or()})
		p.expect(";")
	}
	if p.next.text == ";" {
		p.advance()
	}
	if p.next.kind != endToken {
		p.fail(p.next.at, "%s is not expected here; accepted: an operator, or the end", p.found())
	}
	return parts, total, nil
}

// fail ends the parse; parse returns the error.
func (p *parser) fail(at int, format string, args ...any) {
	panic(errorAt(p.text, at, format, args...))
}

// errorAt is an error at a byte of an expression.
func errorAt(text string, at int, format string, args ...any) *Error {
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
	return &Error{Verifier: -1, Line: line, Column: column, Text: fmt.Sprintf(format, args...)}
}

func (p *parser) found() string {
	if p.next.kind == endToken {
		return "the end"
	}
	return strconv.Quote(p.next.text)
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// advance reads the next token.
func (p *parser) advance() {
	s := p.text
	for p.end < len(s) && strings.IndexByte(" \t\r\n#", s[p.end]) >= 0 {
		if s[p.end] != '#' {
			p.end++
			continue
		}
		for p.end < len(s) && s[p.end] != '\n' { // a comment
			p.end++
		}
	}
	from, kind := p.end, byte(operatorToken)
	switch {
	case from == len(s):
		p.next = token{kind: endToken, at: from}
		return
	case isDigit(s[from]) || s[from] == '.' && from+1 < len(s) && isDigit(s[from+1]):
		kind = numberToken
		for p.end < len(s) && (isDigit(s[p.end]) || s[p.end] == '.' || isLetter(s[p.end]) ||
			(s[p.end] == '-' || s[p.end] == '+') && (s[p.end-1]|0x20) == 'e') {
			p.end++
		}
	case isLetter(s[from]):
		kind = wordToken
		for p.end < len(s) && (isLetter(s[p.end]) || isDigit(s[p.end]) || s[p.end] == '.') {
			p.end++
		}
	case strings.IndexByte("&|!*^?:/<>=+-", s[from]) >= 0:
		for p.end++; p.end < len(s) && strings.IndexByte("&|*/<>=", s[p.end]) >= 0; p.end++ {
		}
	case strings.IndexByte("(),;", s[from]) >= 0:
		p.end++
	default:
		r, _ := utf8.DecodeRuneInString(s[from:])
		p.fail(from, "%q is not part of the language; rlzero rewards shows the language", r)
	}
	p.next = token{kind, s[from:p.end], from}
	if better := instead[p.next.text]; better != "" {
		p.fail(from, "%q is not an operator; write %s", p.next.text, better)
	}
}

// take advances past the next token if it is one of the operators or words.
func (p *parser) take(texts ...string) (token, bool) {
	for _, text := range texts {
		if p.next.kind != numberToken && p.next.text == text {
			t := p.next
			p.advance()
			return t, true
		}
	}
	return token{}, false
}

func (p *parser) expect(text string) {
	if _, ok := p.take(text); !ok {
		p.fail(p.next.at, "%s found where %q is expected", p.found(), text)
	}
}

func infix(op token, a, b *node) *node {
	return &node{at: op.at, name: op.text, call: true, args: []*node{a, b}}
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.next.at, "nested deeper than %d", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) or() *node {
	p.enter()
	defer p.leave()
	n := p.and()
	for op, ok := p.take("or"); ok; op, ok = p.take("or") {
		n = infix(op, n, p.and())
	}
	return n
}

func (p *parser) and() *node {
	n := p.not()
	for op, ok := p.take("and"); ok; op, ok = p.take("and") {
		n = infix(op, n, p.not())
	}
	return n
}

func (p *parser) not() *node {
	if op, ok := p.take("not"); ok {
		p.enter()
		defer p.leave()
		return &node{at: op.at, name: "not", call: true, args: []*node{p.not()}}
	}
	return p.comparison()
}

var comparisons = []string{"<", "<=", ">", ">=", "==", "!="}

func (p *parser) comparison() *node {
	n := p.sum()
	if op, ok := p.take(comparisons...); ok {
		n = infix(op, n, p.sum())
		if again, ok := p.take(comparisons...); ok {
			p.fail(again.at, "comparisons cannot be chained; write a < b and b < c")
		}
	}
	return n
}

func (p *parser) sum() *node {
	n := p.product()
	for op, ok := p.take("+", "-"); ok; op, ok = p.take("+", "-") {
		n = infix(op, n, p.product())
	}
	return n
}

func (p *parser) product() *node {
	n := p.sign()
	for op, ok := p.take("*", "/"); ok; op, ok = p.take("*", "/") {
		n = infix(op, n, p.sign())
	}
	return n
}

func (p *parser) sign() *node {
	op, ok := p.take("-")
	if !ok {
		return p.value()
	}
	p.enter()
	defer p.leave()
	n := p.sign()
	if n.literal() {
		n.value, n.at = -n.value, op.at
		return n
	}
	return &node{at: op.at, name: "negative", call: true, args: []*node{n}}
}

func (p *parser) value() *node {
	t := p.next
	switch {
	case t.kind == numberToken:
		p.advance()
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil || strings.ContainsAny(t.text, "_xXpP") {
			p.fail(t.at, "%q is not a number; accepted are such as 3, 0.5, 1e-3", t.text)
		}
		return &node{at: t.at, value: v}
	case t.kind == wordToken && reserved[t.text]:
		p.fail(t.at, "found %q where a value is expected", t.text)
	case t.kind == wordToken:
		p.advance()
		n := &node{at: t.at, name: t.text}
		if _, ok := p.take("("); ok {
			n.call = true
			n.args = p.arguments()
		}
		return n
	case t.text == "(":
		p.advance()
		n := p.or()
		p.expect(")")
		return n
	}
	p.fail(t.at, "%s found where a value is expected: a number, a name, a call or ( )", p.found())
	return nil
}

// reserved are words that are operators.
var reserved = map[string]bool{"and": true, "or": true, "not": true}

func (p *parser) arguments() []*node {
	var args []*node
	if _, ok := p.take(")"); ok {
		return args
	}
	for {
		args = append(args, p.or())
		if _, ok := p.take(","); !ok {
			p.expect(")")
			return args
		}
	}
}
