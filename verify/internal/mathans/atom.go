package mathans

import (
	"math/big"
	"strings"
)

// postfix reads an atom and what follows it.
func (p *parser) postfix() (*node, error) {
	n, err := p.atom()
	for err == nil {
		switch {
		case p.accept("^"):
			n, err = p.power(n)
		case p.accept("_"):
			var index *node
			if index, err = p.script(); err == nil {
				n = subscripted(n, index)
			}
		case p.is("!"):
			p.at++
			n = call("factorial", n)
		case p.accept("%"):
			n = of(kPercent, n)
		case p.accept("deg"):
			n = quantity(n, p.degrees())
		case p.is("usd", "eur", "gbp", "jpy"):
			n = quantity(n, units[p.peek().text])
			p.at++
		case p.accept("'"):
			if n.kind == kSymbol {
				n = symbol(n.name + "'")
			}
		default:
			return n, nil
		}
	}
	return nil, err
}

// degrees is the unit after °: of an angle, or C or F.
func (p *parser) degrees() unit {
	if t := p.peek(); t.kind == tLetter && (t.text == "C" || t.text == "F") {
		p.at++
		return units["deg"+t.text]
	}
	return units["deg"]
}

func (p *parser) power(base *node) (*node, error) {
	if p.accept("deg") {
		return quantity(base, p.degrees()), nil
	}
	if p.accept("'") {
		return base, nil
	}
	if p.is("{") && p.at+2 < len(p.tokens) && p.tokens[p.at+2].text == "}" {
		switch p.tokens[p.at+1].text {
		case "deg":
			p.at += 3
			return quantity(base, p.degrees()), nil
		case "'":
			p.at += 3
			return base, nil
		}
	}
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	exponent, err := p.script()
	if err == nil && p.accept("^") { // 2^3^2 is 2^(3^2)
		exponent, err = p.power(exponent)
	}
	if err != nil {
		return nil, err
	}
	return of(kPower, base, exponent), nil
}

// subscripted is a_3 (a symbol of its own), 1021_3 (digits in a base) or S_{n+1}.
func subscripted(n, index *node) *node {
	switch n.kind {
	case kSymbol:
		return symbol(n.name + "_" + index.key())
	case kNumber:
		return of(kBased, n, index)
	}
	return call("subscript", n, index)
}

// script reads what is raised or lowered: an argument, but a number as a whole. TeX
// raises one digit of x^10, and nobody who writes x^10 means that.
func (p *parser) script() (*node, error) {
	if t := p.peek(); t.kind == tNumber {
		p.at++
		t.groups = nil
		return p.number(t)
	}
	if p.is("-", "+") {
		op := p.peek().text
		leave, err := p.nest()
		if err != nil {
			return nil, err
		}
		defer leave()
		p.at++
		n, err := p.script()
		if err == nil && op == "-" {
			n = of(kNegative, n)
		}
		return n, err
	}
	return p.arg()
}

// tightScript is script where the argument of an operator follows: of digits that run
// into it TeX's reading counts, \int_0^12x is the integral of 2x from 0 to 1.
func (p *parser) tightScript() (*node, error) {
	var next token
	if p.at+1 < len(p.tokens) {
		next = p.tokens[p.at+1]
	}
	apart := next.kind == tMark && strings.Contains("([{|^_", next.text) || next.kind != tMark && next.spaced
	if p.peek().kind == tNumber && !apart {
		return p.arg()
	}
	return p.script()
}

// functionScript is tightScript for the power of a function or the base of a logarithm:
// \log_28 is log_2 8 and \cos^22x is cos^2 2x, but \log_10x is log_10 x, as neither is
// ever 1.
func (p *parser) functionScript() (*node, error) {
	if strings.HasPrefix(p.peek().text, "1") {
		return p.script()
	}
	return p.tightScript()
}

// arg reads the argument of a command: a group in braces, one digit (\frac12) or one
// atom.
func (p *parser) arg() (*node, error) {
	t := p.peek()
	switch {
	case p.is("{"):
		return p.atom()
	case p.is("-"):
		p.at++
		n, err := p.arg()
		if err != nil {
			return nil, err
		}
		return of(kNegative, n), nil
	case t.kind == tNumber && len(t.text) > 1 && !t.decimal && isDigit(t.text[1]):
		rest := t
		rest.text, rest.spaced, rest.groups = t.text[1:], false, nil
		rest.value, _ = new(big.Rat).SetString(rest.text)
		if rest.value != nil {
			p.tokens[p.at] = rest
			return integer(int64(t.text[0] - '0')), nil
		}
	}
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	return p.atom()
}

func (p *parser) atom() (*node, error) {
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	t := p.peek()
	p.at++
	switch t.kind {
	case tNumber:
		return p.number(t)
	case tLetter:
		return p.letter(t)
	case tWord:
		return spelled(t.text), nil
	case tCommand:
		return p.command(t.text)
	case tMark:
		return p.bracketed(t.text)
	}
	p.at--
	return nil, p.unexpected("a value")
}

func (p *parser) number(t token) (*node, error) {
	n := &node{kind: kNumber, value: t.value, decimal: t.decimal}
	if t.groups != nil {
		n.alt = of(kList)
		for _, g := range t.groups {
			v, _ := new(big.Rat).SetString(g)
			n.alt.args = append(n.alt.args, &node{kind: kNumber, value: v})
		}
	}
	if next := p.peek(); t.decimal && next.kind == tCommand && (next.text == "overline" || next.text == "bar" || next.text == "dot") {
		period := ""
		switch rest := p.tokens[p.at+1:]; {
		case len(rest) > 2 && rest[0].text == "{" && isPeriod(rest[1]) && rest[2].text == "}":
			period, p.at = rest[1].text, p.at+4
		case len(rest) > 0 && isPeriod(rest[0]) && len(rest[0].text) == 1: // \bar 3
			period, p.at = rest[0].text, p.at+2
		default:
			return nil, p.unexpected("the digits that repeat, in braces,")
		}
		n.value = repeating(t.value, t.text, period)
		n.decimal = false
	}
	return n, nil
}

// isPeriod: digits alone.
func isPeriod(t token) bool {
	return t.kind == tNumber && t.text != "" && strings.Trim(t.text, "0123456789") == ""
}

// letter reads a variable, or a call of a function: f(x) where the name is f, g,
// h or a capital and its argument is a single value.
func (p *parser) letter(t token) (*node, error) {
	n := symbol(t.text)
	if next := p.peek(); next.text != "(" || next.kind != tMark || next.spaced || len(t.text) != 1 {
		return n, nil
	}
	always := strings.Contains("fgh", t.text)
	capital := 'A' <= t.text[0] && t.text[0] <= 'Z' && p.at+2 < len(p.tokens) &&
		(p.tokens[p.at+2].text == ")" || p.tokens[p.at+2].text == ",")
	if !always && !capital {
		return n, nil
	}
	arg, err := p.atom()
	if err != nil {
		return nil, err
	}
	if arg.kind == kTuple {
		return call(t.text, arg.args...), nil
	}
	return call(t.text, arg), nil
}

// bracketed reads what a bracket opens.
func (p *parser) bracketed(open string) (*node, error) {
	switch open {
	case "(", "[":
		return p.round(open)
	case "{":
		if p.accept("}") {
			return &node{kind: kText}, nil
		}
		n, err := p.list()
		if name := p.peek().text; err == nil && p.peek().kind == tCommand && (name == "over" || name == "choose") {
			p.at++
			n, err = p.above(name, n)
		}
		if err == nil {
			err = p.expect("}")
		}
		return n, err
	case `\{`:
		return p.set()
	case "|":
		p.bars++
		n, err := p.operand()
		p.bars--
		if err == nil {
			err = p.expect("|")
		}
		return call("abs", n), err
	case "lfloor", "lceil":
		n, err := p.operand()
		if err != nil {
			return nil, err
		}
		name := map[string]string{"lfloor": "floor", "lceil": "ceil"}[open]
		return call(name, n), p.expect("r" + open[1:])
	case "inf":
		return symbol("inf"), nil
	case "empty":
		return of(kSet), nil
	case "usd", "eur", "gbp", "jpy":
		n, err := p.factor()
		if err != nil {
			return nil, err
		}
		return quantity(n, units[open]), nil
	}
	p.at--
	return nil, p.unexpected("a value")
}

// above reads what stands below \over or \choose.
func (p *parser) above(name string, over *node) (*node, error) {
	under, err := p.list()
	if err != nil {
		return nil, err
	}
	if name == "choose" {
		return call("binomial", over, under), nil
	}
	return quotient(over, under), nil
}

// round reads ( or [ up to its partner: a group, a tuple or an interval.
func (p *parser) round(open string) (*node, error) {
	bars, inSet := p.bars, p.inSet
	p.bars, p.inSet = 0, false
	defer func() { p.bars, p.inSet = bars, inSet }()
	n, err := p.list()
	if err != nil {
		return nil, err
	}
	if n.kind != kList && p.is(";") {
		n = of(kList, n)
	}
	for p.accept(";") && n.kind == kList { // (1; 2)
		next, err := p.relation()
		if err != nil {
			return nil, err
		}
		n = of(kList, append(n.args[:len(n.args):len(n.args)], next)...)
	}
	end := p.peek().text
	if !p.accept(")", "]") {
		return nil, p.unexpected("a closing bracket")
	}
	closedLow, closedHigh := open == "[", end == "]"
	switch {
	case n.kind != kList:
		if closedLow != closedHigh {
			return nil, p.unexpected("a second end of the interval")
		}
		return n, nil
	case len(n.args) == 2 && (closedLow || closedHigh):
		return &node{kind: kInterval, args: n.args, closedLow: closedLow, closedHigh: closedHigh}, nil
	case closedLow != closedHigh:
		return nil, p.unexpected("two ends of an interval")
	}
	return of(kTuple, n.args...), nil
}

// set reads \{…\}; what follows | or : in a set-builder is kept as a
// condition.
func (p *parser) set() (*node, error) {
	if p.accept(`\}`) {
		return of(kSet), nil
	}
	bars, inSet := p.bars, p.inSet
	p.bars, p.inSet = p.bars+1, true // a bar inside is "such that"
	defer func() { p.bars, p.inSet = bars, inSet }()
	n, err := p.list()
	if err != nil {
		return nil, err
	}
	p.inSet = false
	if p.accept("suchthat", "|", ":") {
		condition, err := p.list()
		if err != nil {
			return nil, err
		}
		return call("builder", n, condition), p.expect(`\}`)
	}
	if n.kind != kList {
		n = of(kSet, n)
	}
	return of(kSet, n.args...), p.expect(`\}`)
}
