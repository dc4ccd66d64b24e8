package mathans

import (
	"math/big"
	"strings"
)

// command reads the arguments of a LaTeX command or of a function.
func (p *parser) command(name string) (*node, error) {
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac", "binom", "dbinom", "tbinom":
		over, err := p.arg()
		if err != nil {
			return nil, err
		}
		under, err := p.arg()
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "frac") {
			return quotient(over, under), nil
		}
		return call("binomial", over, under), nil
	case "sqrt", "cbrt":
		return p.root(name)
	case "boxed", "fbox":
		return p.arg()
	case "overline", "overrightarrow", "vec", "hat", "bar", "tilde", "widehat", "dot":
		n, err := p.arg()
		if err != nil || n.kind != kNumber {
			return n, err // an accent on a name changes nothing
		}
		return call(name, n), nil
	case "begin":
		return p.matrix()
	case "sum", "prod", "int", "oint", "lim":
		return p.bigOperator(name)
	case "ldots", "dots", "cdots", "vdots", "dotsc", "dotsb":
		return symbol("…"), nil
	case "angle", "triangle", "nabla", "partial":
		n, err := p.term()
		return call(name, n), err
	}
	if functions[name] {
		return p.function(name)
	}
	return nil, p.unexpected("something other than \\" + name)
}

func (p *parser) root(name string) (*node, error) {
	index := integer(2)
	if name == "cbrt" {
		index = integer(3)
	}
	var err error
	if p.accept("[") {
		if index, err = p.operand(); err != nil {
			return nil, err
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	var n *node
	if t := p.peek(); t.kind == tNumber && len(t.text) > 1 && (t.spaced || p.at > 0) {
		n, err = p.atom() // √13 and \sqrt 13 mean the whole number, \sqrt13 as well
	} else {
		n, err = p.arg()
	}
	if err != nil {
		return nil, err
	}
	return of(kPower, n, quotient(integer(1), index)), nil
}

// function reads sin x, \log_2 8, \sin^2 x, max(1,2).
func (p *parser) function(name string) (*node, error) {
	var power, base *node
	var err error
	for range 2 {
		if power == nil && p.accept("^") {
			if power, err = p.functionScript(); err != nil {
				return nil, err
			}
		} else if base == nil && p.accept("_") {
			if base, err = p.functionScript(); err != nil {
				return nil, err
			}
		}
	}
	arg, err := p.functionArgument()
	if err != nil {
		return nil, err
	}
	if long, ok := shortNames[name]; ok {
		name = long
	}
	if power != nil && isMinusOne(power) && (name == "sin" || name == "cos" || name == "tan") {
		name, power = "arc"+name, nil
	}
	n := call(name, arg)
	if arg.kind == kTuple || arg.kind == kList || arg.kind == kSet && strings.Contains("max min gcd lcm", name) {
		n = call(name, arg.args...)
	}
	if base != nil {
		n.args = append(n.args[:len(n.args):len(n.args)], base)
	}
	if power != nil {
		n = of(kPower, n, power)
	}
	return n, nil
}

var shortNames = map[string]string{"asin": "arcsin", "acos": "arccos", "atan": "arctan"}

func isMinusOne(n *node) bool {
	return n.kind == kNegative && n.args[0].kind == kNumber && n.args[0].value.Cmp(big.NewRat(1, 1)) == 0
}

// functionArgument is a bracket, or the factors that follow: \sin 2x.
func (p *parser) functionArgument() (*node, error) {
	if p.is("(", "[", "{", "|") {
		return p.atom()
	}
	if p.accept("-") {
		n, err := p.functionArgument()
		return of(kNegative, n), err
	}
	n, err := p.postfix()
	for err == nil && p.startsFactor() && !p.is("(", "[", `\{`) {
		if p.peek().kind == tWord || p.isFunction(p.at) {
			break
		}
		var next *node
		if next, err = p.postfix(); err == nil {
			n = product(n, next)
		}
	}
	if err == nil && p.is("/") && n.kind != kCall && !p.isFunction(p.at+1) { // sin pi/3, but not sin x/cos x
		p.at++
		var under *node
		if under, err = p.postfix(); err == nil {
			n = quotient(n, under)
		}
	}
	return n, err
}

// isFunction: the name of a function stands there.
func (p *parser) isFunction(at int) bool {
	return at < len(p.tokens) && p.tokens[at].kind == tCommand && functions[p.tokens[at].text] && p.tokens[at].text != "sqrt"
}

// bigOperator reads \sum_{…}^{…} body: an opaque call of its limits and body,
// unless evaluation can add it up.
func (p *parser) bigOperator(name string) (*node, error) {
	low, high := &node{kind: kText}, &node{kind: kText}
	var err error
	for range 2 {
		if p.accept("_") {
			low, err = p.tightScript()
		} else if p.accept("^") {
			high, err = p.tightScript()
		}
		if err != nil {
			return nil, err
		}
	}
	body, err := p.term()
	if err != nil {
		return nil, err
	}
	return call(name, low, high, body), nil
}

// matrix reads \begin{pmatrix} … \end{pmatrix} and its kin.
func (p *parser) matrix() (*node, error) {
	name, err := p.environment()
	if err != nil {
		return nil, err
	}
	if name == "array" {
		if err := p.skipGroup(); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(name, "matrix") && name != "array" {
		return p.lines()
	}
	m := of(kMatrix)
	row := of(kTuple)
	flush := func() {
		if len(row.args) > 0 {
			m.args = append(m.args, row)
		}
		row = of(kTuple)
	}
	for {
		switch t := p.peek(); {
		case t.kind == tEnd:
			return nil, p.unexpected(`\end`)
		case t.kind == tCommand && t.text == "end":
			flush()
			p.at++
			if err := p.skipGroup(); err != nil {
				return nil, err
			}
			if name == "vmatrix" {
				return call("det", m), nil
			}
			return m, nil
		case p.accept("&"):
		case p.accept(`\\`):
			flush()
		default:
			cell, err := p.relation()
			if err != nil {
				return nil, err
			}
			row.args = append(row.args, cell)
		}
	}
}

// lines reads cases, align and the like: a list of their lines.
func (p *parser) lines() (*node, error) {
	l := of(kList)
	for {
		switch t := p.peek(); {
		case t.kind == tEnd:
			return nil, p.unexpected(`\end`)
		case t.kind == tCommand && t.text == "end":
			p.at++
			if len(l.args) == 1 {
				return l.args[0], p.skipGroup()
			}
			return l, p.skipGroup()
		case p.accept(`\\`, "&", ","):
		default:
			line, err := p.relation()
			if err != nil {
				return nil, err
			}
			l.args = append(l.args, line)
		}
	}
}

// environment reads {name}.
func (p *parser) environment() (string, error) {
	if err := p.expect("{"); err != nil {
		return "", err
	}
	var name strings.Builder
	for p.peek().kind == tLetter || p.peek().kind == tWord || p.is("*") {
		name.WriteString(p.peek().text)
		p.at++
	}
	return name.String(), p.expect("}")
}

// skipGroup skips {…} with anything in it.
func (p *parser) skipGroup() error {
	if err := p.expect("{"); err != nil {
		return err
	}
	for depth := 1; depth > 0; p.at++ {
		switch {
		case p.peek().kind == tEnd:
			return p.unexpected("}")
		case p.is("{"):
			depth++
		case p.is("}"):
			depth--
		}
	}
	return nil
}
