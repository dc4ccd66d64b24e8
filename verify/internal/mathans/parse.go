package mathans

import (
	"fmt"
	"math/big"
	"regexp"
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
func Words(text string) Answer { return Answer{spelled(strings.Join(strings.Fields(text), " "))} }

// spelled is what words stand for: a set that they name, or the words.
func spelled(words string) *node {
	switch strings.TrimPrefix(strings.ToLower(words), "the ") {
	case "all real numbers", "all reals", "real numbers", "set of all real numbers", "set of real numbers":
		return symbol("Reals")
	case "empty set", "no solution", "no solutions":
		return of(kSet)
	}
	return &node{kind: kText, name: words}
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
//	operand  = sum [ "mod" sum ] { ("∪" | "∩" | "∖") sum }
//	sum      = term { ("+" | "-" | "±") term }
//	term     = factor { ("*" | "/" | ":" | nothing) factor }
//	factor   = { "-" | "+" | "±" } ( mixed | postfix )
//	mixed    = whole number, proper fraction
//	postfix  = atom { "^" arg | "_" arg | "!" | "%" | "°" | "$" }
type parser struct {
	tokens []token
	at     int
	depth  int
	bars   int  // |…| that are open
	inSet  bool // right inside \{…\}, where : is "such that"
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
	return fmt.Errorf("found %q where %s is expected", t.text, wanted)
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
	commas, ors, decimalComma := 0, 0, false
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
		for ; p.is(","); p.at++ {
			commas++
			if p.peek().or {
				ors++
			}
		}
		if p.peek().kind == tEnd || p.is(";", ")", "]", "}", `\}`) {
			break
		}
	}
	if len(items) == 1 {
		return items[0], nil
	}
	l := of(kList, items...)
	if ors >= len(items)-1 { // "x < 1, or x > 3" too
		l.name = "or"
	}
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
		if p.accept("=") && (op == "<" || op == ">") { // < =
			op += "="
		}
		if e := p.peek(); e.kind == tEnd || e.kind == tMark && e.text == "," {
			break // "x =" with nothing after it
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
	if err == nil {
		left, err = p.modulus(left)
	}
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

// modulus reads \pmod{7}, (mod 7) or mod 7 after a value: a residue class. \bmod
// is the remainder.
func (p *parser) modulus(left *node) (*node, error) {
	inBrackets := p.is("(") && p.isMod(p.at+1)
	if !inBrackets && !p.isMod(p.at) {
		return left, nil
	}
	if inBrackets {
		p.at++
	}
	name := p.peek().text
	p.at++
	m, err := p.sum()
	if err == nil && inBrackets {
		err = p.expect(")")
	}
	if name == "bmod" && !inBrackets {
		return call("bmod", left, m), err
	}
	return call("mod", left, m), err
}

// isMod: \mod, \pmod or \bmod stands there.
func (p *parser) isMod(at int) bool {
	return at < len(p.tokens) && p.tokens[at].kind == tCommand && strings.HasSuffix(p.tokens[at].text, "mod")
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
		case op == "-" && right.kind == kSet: // ℝ - {1}
			left, total = of(kDifference, left, right), nil
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
		case p.is(":") && p.inSet && left.kind == kSymbol:
			return left, nil
		case p.accept(":"):
			p.accept("=") // a := 5 is a = 5
			if right, err = p.factor(); err != nil {
				break
			}
			if left.kind == kRatio { // 2:3:4
				left = left.withArgs(append(slices.Clone(left.args), right))
			} else {
				left = of(kRatio, left, right)
			}
		case t.kind == tWord && left.kind != kText:
			left, err = p.wordAfter(left)
		case !p.startsFactor():
			return left, nil
		case t.kind == tNumber:
			left, err = p.numberAfter(left, t)
		default:
			if right, err = p.postfix(); err != nil {
				break
			}
			if u := unitFraction(right); u.base != "" {
				left = quantity(left, u)
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

// wordAfter reads words after a value: a unit, "miles/hour", or words to drop. A
// power of a dropped word is dropped with it.
func (p *parser) wordAfter(left *node) (*node, error) {
	var words strings.Builder
	for {
		words.WriteString(p.peek().text)
		p.at++
		if p.accept("^") {
			power, err := p.script()
			if err != nil {
				return nil, err
			}
			if power.kind == kNumber {
				words.WriteString("^" + power.value.RatString())
			}
		}
		if !p.is("/") || p.at+1 == len(p.tokens) || p.tokens[p.at+1].kind != tWord {
			return withWords(left, words.String())
		}
		words.WriteByte('/')
		p.at++
	}
}

// negation is a word that takes back or changes the value in front of it.
var negation = regexp.MustCompile(`(?i)\b(?:not|never|wrong|incorrect|false|plus|minus|mod|modulo)\b`)

// withWords is a value with the words after it: a unit, an operation, or words that
// say nothing of the value.
func withWords(value *node, words string) (*node, error) {
	switch strings.ToLower(words) {
	case "squared":
		return of(kPower, value, integer(2)), nil
	case "cubed":
		return of(kPower, value, integer(3)), nil
	case "factorial":
		return call("factorial", value), nil
	}
	if negation.MatchString(words) {
		return nil, fmt.Errorf("found %q after a value", words)
	}
	return quantity(value, unitOf(words)), nil
}

// numberAfter reads a number right after a value. Two numbers with nothing but
// a space between them are an error.
func (p *parser) numberAfter(left *node, t token) (*node, error) {
	if left.kind == kText { // "part 2"
		p.at++
		return &node{kind: kText, name: left.name + " " + t.text}, nil
	}
	if left.kind == kNumber {
		return nil, fmt.Errorf("the numbers %q and %q are side by side", left.value.RatString(), t.text)
	}
	right, err := p.postfix()
	if err != nil {
		return nil, err
	}
	return product(left, right), nil
}

// mixed reads a factor without its sign; a whole number with a proper fraction
// right after it, 3 1/2 or 3\frac12, is their sum.
func (p *parser) mixed() (*node, error) {
	n, err := p.postfix()
	if err != nil || !isDigits(n) || p.tokens[p.at-1].kind != tNumber {
		return n, err
	}
	over, under, used := properFraction(p.tokens[p.at:])
	if used == 0 {
		return n, nil
	}
	p.at += used
	n = of(kSum, n, &node{kind: kNumber, value: new(big.Rat).Quo(over, under)})
	switch {
	case p.accept("%"):
		n = of(kPercent, n)
	case p.accept("deg"):
		n = quantity(n, units["deg"])
	}
	return n, nil
}

// properFraction is the fraction of two whole numbers that tokens begin with, and
// the number of its tokens; 0 if there is none or it is not below 1.
func properFraction(tokens []token) (over, under *big.Rat, used int) {
	whole := func(i int) *big.Rat {
		if i < len(tokens) && tokens[i].kind == tNumber && !tokens[i].decimal {
			return tokens[i].value
		}
		return nil
	}
	is := func(i int, mark string) bool {
		return i < len(tokens) && tokens[i].kind == tMark && tokens[i].text == mark
	}
	switch {
	case len(tokens) == 0:
	case is(1, "/"):
		over, under, used = whole(0), whole(2), 3
	case tokens[0].kind != tCommand || !strings.HasSuffix(tokens[0].text, "frac"):
	case is(1, "{") && is(3, "}") && is(4, "{") && is(6, "}"):
		over, under, used = whole(2), whole(5), 7
	case is(1, "{") && is(3, "}"):
		if over, under = whole(2), whole(4); len(tokens) > 4 && len(tokens[4].text) == 1 {
			used = 5
		}
	case whole(1) != nil && len(tokens[1].text) == 2: // \frac12
		over, under, used = integer(int64(tokens[1].text[0]-'0')).value, integer(int64(tokens[1].text[1]-'0')).value, 2
	case whole(1) != nil && len(tokens[1].text) == 1 && whole(2) != nil && len(tokens[2].text) == 1:
		over, under, used = whole(1), whole(2), 3
	case whole(1) != nil && len(tokens[1].text) == 1 && is(2, "{") && is(4, "}"):
		over, under, used = whole(1), whole(3), 5
	}
	if over == nil || under == nil || used == 0 || over.Sign() <= 0 || over.Cmp(under) >= 0 {
		return nil, nil, 0
	}
	return over, under, used
}

// startsFactor: what comes next multiplies what came before.
func (p *parser) startsFactor() bool {
	t := p.peek()
	switch t.kind {
	case tNumber, tLetter, tWord:
		return true
	case tCommand:
		return t.text != "end" && t.text != "over" && t.text != "choose" && !strings.HasSuffix(t.text, "mod")
	case tMark:
		switch t.text {
		case "(":
			return !p.isMod(p.at + 1)
		case "[", "{", `\{`, "inf", "lfloor", "lceil", "empty":
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
		return p.mixed()
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
