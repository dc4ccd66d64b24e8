package formula

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a formula. The language has no loops, so with them and with maxOps
// an evaluation is a fixed number of passes over the rows.
const (
	maxBytes     = 8192
	maxDepth     = 48 // of parentheses, calls and signs
	maxArguments = 64
)

// node is a literal, a text, a name, or a call of a function or operator.
type node struct {
	at    int    // byte of the formula
	name  string // "" for a literal
	text  string // of a text
	value float64
	kind  nodeKind
	args  []*node
}

type nodeKind uint8

const (
	literalNode nodeKind = iota
	textNode
	nameNode
	callNode
)

// definition is a local name of a formula: name = value; or name(a, b) = value;
type definition struct {
	at     int
	name   string
	params []string // nil: it takes no arguments
	value  *node
}

// token is a number, a word, a text or an operator; kind 0 is the end.
type token struct {
	kind byte
	text string
	at   int
}

const (
	endToken      = 0
	numberToken   = 'n'
	wordToken     = 'w'
	textToken     = 't'
	operatorToken = 'o'
)

// instead are spellings of other languages and what is written here.
var instead = map[string]string{
	"&&": "and", "||": "or", "&": "and", "|": "or", "!": "not", "**": "pow(x, y)", "^": "pow(x, y)",
	"?": "if(condition, x, y)", ":": "if(condition, x, y)", "//": "floor(x / y)", "<>": "!=", "===": "==", "=>": ">=", "=<": "<=",
}

// parser reads a formula by recursive descent, one token ahead.
type parser struct {
	part, text string
	next       token
	end        int // byte after next
	depth      int
}

// parse reads definitions and the expression after them.
func parse(part, text string) (locals []definition, result *node, err *Error) {
	if len(text) > maxBytes {
		return nil, nil, &Error{Part: part, Text: fmt.Sprintf("the formula has %d bytes; accepted: at most %d", len(text), maxBytes)}
	}
	p := &parser{part: part, text: text}
	defer func() {
		if fault := recover(); fault != nil {
			e, ok := fault.(*Error)
			if !ok {
				panic(fault)
			}
			locals, result, err = nil, nil, e
		}
	}()
	p.advance()
	for result == nil {
		n := p.or()
		if p.next.kind != operatorToken || p.next.text != "=" {
			result = n
			break
		}
		d := p.definition(n)
		p.advance()
		d.value = p.or()
		p.expect(";")
		locals = append(locals, d)
	}
	p.take(";")
	switch {
	case p.next.text == "if":
		p.fail(p.next.at, "if stands before what it chooses from; write if(condition, x, y)")
	case p.next.kind != endToken:
		p.fail(p.next.at, "unexpected %s; accepted: an operator, or the end of the formula", p.found())
	}
	return locals, result, nil
}

// definition takes what stands before = apart.
func (p *parser) definition(n *node) definition {
	d := definition{at: n.at, name: n.name}
	if n.kind == callNode && nameShape(n.name) {
		d.params = []string{}
		for _, a := range n.args {
			if a.kind != nameNode || !nameShape(a.name) {
				p.fail(a.at, "the arguments of a definition are plain names, as in z(x) = x - group_mean(x);")
			}
			d.params = append(d.params, a.name)
		}
		return d
	}
	if n.kind != nameNode || !nameShape(n.name) {
		p.fail(p.next.at, "only a name can stand before =; for a comparison write ==")
	}
	return d
}

// nameShape says whether a name can be given to something: letters, digits and _,
// a letter first, at most 32.
func nameShape(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return name != "" && name[0] != '_' && len(name) <= 32 && !reserved[name]
}

// fail ends the parse; parse returns the error.
func (p *parser) fail(at int, format string, args ...any) {
	panic(errorAt(p.part, p.text, at, format, args...))
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
	case s[from] == '"' || s[from] == '\'':
		kind = textToken
		size := strings.IndexByte(s[from+1:], s[from])
		if size < 0 {
			p.fail(from, "the quoted text that starts here is not closed")
		}
		p.end = from + size + 2
	case strings.IndexByte("&|!*^?:/<>=+-", s[from]) >= 0:
		for p.end++; p.end < len(s) && strings.IndexByte("&|*/<>=", s[p.end]) >= 0; p.end++ {
		}
	case strings.IndexByte("(),;", s[from]) >= 0:
		p.end++
	default:
		r, _ := utf8.DecodeRuneInString(s[from:])
		if plain := typeset[r]; plain != "" {
			p.fail(from, "%q is not part of the language; write %s", r, plain)
		}
		p.fail(from, "%q is not part of the language; rlzero formulas lists what is", r)
	}
	p.next = token{kind, s[from:p.end], from}
	if better := instead[p.next.text]; better != "" {
		p.fail(from, "%q is not an operator here; write %s", p.next.text, better)
	}
}

// typeset are characters of papers, with what stands for them here.
var typeset = map[rune]string{'−': "-", '–': "-", '×': "*", '·': "*", '÷': "/", '≤': "<=", '≥': ">=", '≠': "!=", 'β': "beta", 'ε': "a name such as clip_low", 'γ': "gamma",
	'λ': "lambda", 'α': "alpha", 'τ': "tau", 'π': "pi for the number, exp(logp) for the policy's probability", '∑': "sum(...), or a statistic such as group_sum(...)"}

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
		p.fail(p.next.at, "expected %q, found %s", text, p.found())
	}
}

func infix(op token, a, b *node) *node {
	return &node{at: op.at, name: op.text, kind: callNode, args: []*node{a, b}}
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.next.at, "nested more than %d levels deep", maxDepth)
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
		return &node{at: op.at, name: "not", kind: callNode, args: []*node{p.not()}}
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
	if n.kind == literalNode {
		n.value, n.at = -n.value, op.at
		return n
	}
	return &node{at: op.at, name: "negative", kind: callNode, args: []*node{n}}
}

func (p *parser) value() *node {
	t := p.next
	switch {
	case t.kind == numberToken:
		p.advance()
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil || strings.ContainsAny(t.text, "_xXpP") {
			p.fail(t.at, "%q is not a number; accepted: numbers such as 3, 0.5, 1e-3, inf", t.text)
		}
		return &node{at: t.at, value: v}
	case t.kind == textToken:
		p.advance()
		return &node{at: t.at, kind: textNode, text: t.text[1 : len(t.text)-1]}
	case t.kind == wordToken && reserved[t.text]:
		p.fail(t.at, "expected a value, found %q; put a condition inside arithmetic into ( )", t.text)
	case t.kind == wordToken:
		p.advance()
		n := &node{at: t.at, name: t.text, kind: nameNode}
		if _, ok := p.take("("); ok {
			n.kind = callNode
			n.args = p.arguments()
		}
		return n
	case t.text == "(":
		p.advance()
		n := p.or()
		p.expect(")")
		return n
	}
	p.fail(t.at, "expected a value (a number, a name, a call or ( )), found %s", p.found())
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
		if len(args) > maxArguments {
			p.fail(p.next.at, "more than %d arguments", maxArguments)
		}
		if _, ok := p.take(","); !ok {
			p.expect(")")
			return args
		}
	}
}
