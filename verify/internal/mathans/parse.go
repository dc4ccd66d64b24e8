package mathans

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Answer is a parsed answer.
type Answer struct{ root *node }

// Parse reads an answer: a formula in LaTeX or plain text, a list of them, or
// words. The error says why it is none.
func Parse(text string) (Answer, error) {
	if len(text) > maxTextBytes {
		return Answer{}, errTooLong
	}
	tokens, err := tokenize(normalize(text))
	if err != nil {
		return Answer{}, err
	}
	p := parser{tokens: tokens}
	root, err := p.answer()
	if err != nil {
		return Answer{}, err
	}
	return Answer{root}, nil
}

// Words is an answer that is compared as text, white space and case aside.
func Words(text string) Answer {
	return Answer{&node{kind: kText, name: strings.Join(strings.Fields(text), " ")}}
}

// IsWords reports whether the answer is words alone.
func (a Answer) IsWords() bool { return a.root == nil || a.root.kind == kText }

// HasWords reports whether words stand in the answer where a value could.
func (a Answer) HasWords() bool {
	return a.root == nil || a.root.any(func(n *node) bool { return n.kind == kText && len(n.name) > 1 })
}

// normalize undoes doubled backslashes, which data sets that were escaped twice
// have. In a text with \begin a single \\ ends a row and stays.
func normalize(text string) string {
	doubled := strings.Contains(text, `\\begin`)
	if doubled || !strings.Contains(text, `\begin`) && strings.Contains(text, `\\`) {
		text = strings.ReplaceAll(text, `\\`, `\`)
	}
	return strings.TrimSpace(text)
}

// parser is a recursive-descent parser:
//
//	answer   = list { ";" list }
//	list     = relation { "," relation }
//	relation = operand { ("=" | "<" | "∈" | …) operand }
//	operand  = sum { ("∪" | "∩" | "∖") sum }
//	sum      = term { ("+" | "-" | "±") term }
//	term     = factor { ("*" | "/" | ":" | nothing) factor }
//	factor   = { "-" | "+" | "±" } atom { "^" arg | "_" arg | "!" | "%" | "°" }
type parser struct {
	tokens []token
	at     int
	depth  int
	bars   int // |…| that are open
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

func (p *parser) is(marks ...string) bool {
	t := p.peek()
	return t.kind == tMark && slices.Contains(marks, t.text)
}

func (p *parser) accept(marks ...string) bool {
	if p.is(marks...) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(mark string) error {
	if p.accept(mark) {
		return nil
	}
	return p.unexpected(mark)
}

func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	if t.kind == tEnd {
		return fmt.Errorf("it ends where %s is expected", wanted)
	}
	return fmt.Errorf("%q stands where %s is expected", t.text, wanted)
}

// nest counts nesting; the caller defers the return value.
func (p *parser) nest() (leave func(), err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errTooDeep
	}
	return func() { p.depth-- }, nil
}

func (p *parser) answer() (*node, error) {
	for len(p.tokens) > 0 && isPunctuation(p.tokens[len(p.tokens)-1]) {
		p.tokens = p.tokens[:len(p.tokens)-1]
	}
	if last := lastIndex(p.tokens, "=>"); last >= 0 { // the conclusion counts
		p.at = last + 1
	}
	for p.accept("=", "~", ":", ",") { // "= 5"
	}
	var groups []*node
	for {
		group, err := p.list()
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
		if !p.accept(";") {
			break
		}
	}
	if p.peek().kind != tEnd {
		return nil, p.unexpected("an operator")
	}
	if len(groups) == 1 {
		return groups[0], nil
	}
	if len(groups) > maxItems {
		return nil, errTooLong
	}
	return of(kList, groups...), nil
}

func isPunctuation(t token) bool {
	return t.kind == tMark && (t.text == "," || t.text == ";" || t.text == ":" || t.text == `\\`)
}

func lastIndex(tokens []token, mark string) int {
	for i := len(tokens) - 1; i >= 0; i-- {
		if tokens[i].kind == tMark && tokens[i].text == mark {
			return i
		}
	}
	return -1
}

// list reads items between commas; a single item stands for itself.
func (p *parser) list() (*node, error) {
	var items []*node
	commas, decimalComma := 0, false
	for {
		first := p.peek()
		item, err := p.relation()
		if err != nil {
			return nil, err
		}
		if len(items) == 1 && commas == 1 {
			decimalComma = isDigits(items[0]) && isDigits(item) && !first.spaced && first.kind == tNumber
		}
		items = append(items, item)
		if len(items) > maxItems {
			return nil, errTooLong
		}
		if !p.is(",") {
			break
		}
		for p.accept(",") {
			commas++
		}
		if p.peek().kind == tEnd || p.is(";", ")", "]", "}", `\}`) {
			break
		}
	}
	if len(items) == 1 {
		return items[0], nil
	}
	l := of(kList, items...)
	if len(items) == 2 && decimalComma {
		l.alt = commaDecimal(items[0], items[1], p.tokens[p.at-1].text)
	}
	return l, nil
}

func isDigits(n *node) bool { return n.kind == kNumber && !n.decimal && n.value.IsInt() }

// commaDecimal reads "2,74" as 2.74.
func commaDecimal(whole, fraction *node, written string) *node {
	for _, c := range []byte(written) {
		if !isDigit(c) {
			return nil
		}
	}
	v := new(big.Rat).SetFrac(fraction.value.Num(), powerOfTen(len(written)))
	return &node{kind: kNumber, value: v.Add(v, whole.value), decimal: true}
}

var relations = map[string]bool{"=": true, "<": true, ">": true, "<=": true, ">=": true, "!=": true, "~": true, "in": true, "notin": true, "sub": true}

func (p *parser) relation() (*node, error) {
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	first, err := p.operand()
	if err != nil {
		return nil, err
	}
	r := of(kRelation, first)
	for t := p.peek(); t.kind == tMark && relations[t.text]; t = p.peek() {
		p.at++
		op := t.text
		if p.accept("=") && op != "=" { // < =
			op += "="
		}
		if e := p.peek(); e.kind == tEnd || e.kind == tMark && e.text == "," {
			break // "x =" with nothing behind it
		}
		next, err := p.operand()
		if err != nil {
			return nil, err
		}
		r.ops, r.args = append(r.ops, op), append(r.args, next)
	}
	if len(r.ops) == 0 {
		return first, nil
	}
	return r, nil
}

func (p *parser) operand() (*node, error) {
	left, err := p.sum()
	for err == nil {
		k := kUnion
		switch {
		case p.accept("cup"):
		case p.accept("cap"):
			k = kIntersection
		case p.accept("minus"):
			k = kDifference
		default:
			return left, nil
		}
		var right *node
		if right, err = p.sum(); err != nil {
			break
		}
		if left.kind == k && k != kDifference {
			left = of(k, append(slices.Clone(left.args), right)...)
		} else {
			left = of(k, left, right)
		}
	}
	return nil, err
}

func (p *parser) sum() (*node, error) {
	left, err := p.term()
	var total *node // left, where it is a sum that was made here and may grow
	for err == nil {
		op := p.peek().text
		if !p.accept("+", "-", "+-", "-+") {
			return left, nil
		}
		var right *node
		if right, err = p.term(); err != nil {
			break
		}
		switch {
		case op == "+-" || op == "-+":
			left, total = &node{kind: kPlusMinus, name: op, args: []*node{left, right}}, nil
			continue
		case op == "-":
			right = of(kNegative, right)
		}
		if total == nil {
			total = of(kSum, left)
			left = total
		}
		total.args = append(total.args, right)
	}
	return nil, err
}

func (p *parser) term() (*node, error) {
	left, err := p.factor()
	var grown *node // left, where it is a product that was made here and may grow
	product := func(left, right *node) *node {
		if left != grown || grown == nil {
			grown = of(kProduct, left)
		}
		grown.args = append(grown.args, right)
		return grown
	}
	for err == nil {
		t := p.peek()
		var right *node
		switch {
		case p.accept("*"):
			if right, err = p.factor(); err == nil {
				left = product(left, right)
			}
		case p.accept("/"):
			if t := p.peek(); t.kind == tWord { // 60 miles/hour
				p.at++
				continue
			}
			if right, err = p.factor(); err == nil {
				left = quotient(left, right)
			}
		case p.accept(":"):
			p.accept("=") // a := 5 is a = 5
			if right, err = p.factor(); err == nil {
				left = of(kRatio, left, right)
			}
		case t.kind == tWord && left.kind != kText:
			left, err = p.wordAfter(left)
		case !p.startsFactor():
			return left, nil
		case t.kind == tNumber:
			left, err = p.numberAfter(left, t)
		default:
			mixed := p.mixedFraction(left, t)
			if right, err = p.postfix(); err != nil {
				break
			}
			if mixed && isProperFraction(right) {
				left = of(kSum, left, right)
			} else if mixed && right.kind == kPercent && isProperFraction(right.args[0]) {
				left = of(kPercent, of(kSum, left, right.args[0]))
			} else if left.kind == kText && right.kind == kText {
				left = &node{kind: kText, name: left.name + " " + right.name}
			} else {
				left = product(left, right)
			}
		}
	}
	return nil, err
}

func product(a, b *node) *node { return of(kProduct, a, b) }

func quotient(a, b *node) *node { return of(kQuotient, a, b) }

// wordAfter reads words behind a value: a unit, or words to drop. A power of a
// dropped word is dropped with it.
func (p *parser) wordAfter(left *node) (*node, error) {
	u := unitOf(p.peek().text)
	p.at++
	if p.accept("^") {
		power, err := p.arg()
		if err != nil {
			return nil, err
		}
		if power.kind == kNumber {
			u = u.raised(power.value.RatString())
		}
	}
	if left.kind == kQuantity { // "12 feet long"
		return left, nil
	}
	return quantity(left, u), nil
}

// numberAfter reads a number right behind a value: 3 1/2 is a mixed number; two
// numbers with nothing but a space between them are an error.
func (p *parser) numberAfter(left *node, t token) (*node, error) {
	if left.kind != kNumber {
		if left.kind == kText { // "part 2"
			p.at++
			return &node{kind: kText, name: left.name + " " + t.text}, nil
		}
		right, err := p.postfix()
		if err != nil {
			return nil, err
		}
		return product(left, right), nil
	}
	if !left.decimal && !t.decimal && p.at+2 < len(p.tokens) && p.tokens[p.at+1].text == "/" && p.tokens[p.at+2].kind == tNumber {
		under := p.tokens[p.at+2].value
		if under.Sign() > 0 && t.value.Cmp(under) < 0 {
			p.at += 3
			return of(kSum, left, &node{kind: kNumber, value: new(big.Rat).Quo(t.value, under)}), nil
		}
	}
	return nil, fmt.Errorf("the numbers %q and %q stand side by side", left.value.RatString(), t.text)
}

// mixedFraction: left is a whole number and t begins a fraction: 3\frac{1}{2}.
func (p *parser) mixedFraction(left *node, t token) bool {
	return isDigits(left) && t.kind == tCommand && strings.HasSuffix(t.text, "frac")
}

func isProperFraction(n *node) bool {
	return n.kind == kQuotient && isDigits(n.args[0]) && isDigits(n.args[1]) && n.args[0].value.Cmp(n.args[1].value) < 0
}

// startsFactor: what comes next multiplies what came before.
func (p *parser) startsFactor() bool {
	t := p.peek()
	switch t.kind {
	case tNumber, tLetter, tWord:
		return true
	case tCommand:
		return t.text != "end" && !strings.HasSuffix(t.text, "mod")
	case tMark:
		switch t.text {
		case "(", "[", "{", `\{`, "inf", "lfloor", "lceil", "empty":
			return true
		case "|":
			return p.bars == 0
		}
	}
	return false
}

func (p *parser) factor() (*node, error) {
	op := p.peek().text
	if !p.accept("-", "+", "+-", "-+") {
		return p.postfix()
	}
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	n, err := p.factor()
	switch {
	case err != nil || op == "+":
		return n, err
	case op == "-":
		return of(kNegative, n), nil
	}
	return &node{kind: kPlusMinus, name: op, args: []*node{integer(0), n}}, nil
}
