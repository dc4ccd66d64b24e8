package tasks

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/rlzero/rlzero/verify"
)

// Budgets of the algebra reader. The largest product of the family
// polynomial_multiplication, ten factors of 16 terms, takes 20,000 steps.
const (
	maxAlgebraDepth     = 64
	maxAlgebraSteps     = 1 << 16 // coefficients multiplied
	maxAlgebraBits      = 1 << 12 // of a numerator or denominator
	maxAlgebraExponent  = 1000
	maxAlgebraVariables = 4
)

// monomial holds the exponent of each variable.
type monomial [maxAlgebraVariables]int

// polynomial maps monomials to coefficients that are not 0.
type polynomial map[monomial]*big.Rat

func (p polynomial) equal(q polynomial) bool {
	if len(p) != len(q) {
		return false
	}
	for m, c := range p {
		if d := q[m]; d == nil || c.Cmp(d) != 0 {
			return false
		}
	}
	return true
}

// constant is the value of a polynomial without variables; ok is false for
// others.
func (p polynomial) constant() (value *big.Rat, ok bool) {
	if len(p) == 0 {
		return new(big.Rat), true
	}
	c := p[monomial{}]
	return c, len(p) == 1 && c != nil
}

// add adds q, times sign, to p.
func (p polynomial) add(q polynomial, sign int64) {
	for m, c := range q {
		d := new(big.Rat).Mul(c, big.NewRat(sign, 1))
		if have := p[m]; have != nil {
			d.Add(d, have)
		}
		if d.Sign() == 0 {
			delete(p, m)
		} else {
			p[m] = d
		}
	}
}

// algebra reads polynomials:
//
//	sum    = term { ("+" | "-") term }
//	term   = factor { ["*" | "/"] factor }
//	factor = ("+" | "-") factor | base [ ("^" | "**") exponent ]
//	base   = number | letter | "(" sum ")"
//
// A division is by a number. Letters are variables, told apart by case; one
// algebra gives a letter the same place in all texts it reads.
type algebra struct {
	variables string
	text      string
	at, depth int
	steps     int
	expanded  bool // refuse products of sums
}

var algebraSigns = strings.NewReplacer("×", "*", "·", "*", "⋅", "*", "÷", "/", "−", "-", "**", "^",
	`\times`, "*", `\cdot`, "*", `\div`, "/", `\left(`, "(", `\right)`, ")", "{", "(", "}", ")", "²", "^2", "³", "^3")

// read returns the polynomial that text is.
func (a *algebra) read(text string) (polynomial, error) {
	a.text, a.at, a.depth, a.steps = algebraSigns.Replace(text), 0, 0, 0
	p, err := a.sum()
	if a.peek(); err == nil && a.at < len(a.text) {
		err = a.unexpected("an operator")
	}
	return p, err
}

func (a *algebra) sum() (polynomial, error) {
	total, err := a.term()
	for err == nil {
		op := a.peek()
		if op != '+' && op != '-' {
			return total, nil
		}
		a.at++
		var next polynomial
		if next, err = a.term(); err == nil {
			total.add(next, map[byte]int64{'+': 1, '-': -1}[op])
		}
	}
	return nil, err
}

func (a *algebra) term() (polynomial, error) {
	product, err := a.factor()
	for err == nil {
		op := a.peek()
		if op == '*' || op == '/' {
			a.at++
		} else if op != '(' && !isLetter(op) && !isDigit(op) {
			return product, nil
		}
		var next polynomial
		switch next, err = a.factor(); {
		case err != nil:
		case op == '/':
			divisor, ok := next.constant()
			if !ok || divisor.Sign() == 0 {
				return nil, fmt.Errorf("it divides by something other than a nonzero number")
			}
			product, err = a.multiply(product, polynomial{{}: new(big.Rat).Inv(divisor)})
		default:
			product, err = a.multiply(product, next)
		}
	}
	return nil, err
}

func (a *algebra) factor() (polynomial, error) {
	if a.depth++; a.depth > maxAlgebraDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxAlgebraDepth)
	}
	defer func() { a.depth-- }()
	if c := a.peek(); c == '+' || c == '-' {
		a.at++
		p, err := a.factor()
		if err != nil || c == '+' {
			return p, err
		}
		negative := polynomial{}
		negative.add(p, -1)
		return negative, nil
	}
	base, err := a.base()
	if err != nil || a.peek() != '^' {
		return base, err
	}
	a.at++
	exponent, err := a.exponent()
	if err != nil {
		return nil, err
	}
	if len(base) == 1 && exponent > 1 { // a variable to a high power at once
		for m, c := range base {
			if c.Cmp(big.NewRat(1, 1)) == 0 {
				for i := range m {
					m[i] *= exponent
				}
				return polynomial{m: c}, checkExponents(m)
			}
		}
	}
	power := polynomial{{}: big.NewRat(1, 1)}
	for range exponent {
		if power, err = a.multiply(power, base); err != nil {
			return nil, err
		}
	}
	return power, nil
}

// exponent is a whole number from 0, in brackets or not.
func (a *algebra) exponent() (int, error) {
	c := a.peek()
	if c == '(' {
		a.at++
	}
	a.peek()
	n, from := 0, a.at
	for ; a.at < len(a.text) && isDigit(a.text[a.at]); a.at++ {
		if n = 10*n + int(a.text[a.at]-'0'); n > maxAlgebraExponent {
			return 0, fmt.Errorf("an exponent is above %d", maxAlgebraExponent)
		}
	}
	if from == a.at {
		return 0, a.unexpected("an exponent")
	}
	if c == '(' {
		if a.peek() != ')' {
			return 0, a.unexpected(`")"`)
		}
		a.at++
	}
	return n, nil
}

func (a *algebra) base() (polynomial, error) {
	switch c := a.peek(); {
	case c == '(':
		a.at++
		p, err := a.sum()
		if err == nil && a.peek() != ')' {
			err = a.unexpected(`")"`)
		}
		a.at++
		return p, err
	case isLetter(c):
		a.at++
		i := strings.IndexByte(a.variables, c)
		if i < 0 {
			if len(a.variables) == maxAlgebraVariables {
				return nil, fmt.Errorf("it has more than %d variables", maxAlgebraVariables)
			}
			i = len(a.variables)
			a.variables += string(c)
		}
		var m monomial
		m[i] = 1
		return polynomial{m: big.NewRat(1, 1)}, nil
	case isDigit(c) || c == '.':
		from := a.at
		for a.at < len(a.text) && (isDigit(a.text[a.at]) || a.text[a.at] == '.') {
			a.at++
		}
		value, err := verify.ParseNumber(a.text[from:a.at], true)
		if err != nil || value.Sign() == 0 {
			return polynomial{}, err
		}
		return polynomial{{}: value}, nil
	}
	return nil, a.unexpected("a number, a letter or a bracket")
}

func (a *algebra) multiply(p, q polynomial) (polynomial, error) {
	if a.expanded && len(p) > 1 && len(q) > 1 {
		return nil, fmt.Errorf("it is not expanded")
	}
	if a.steps += len(p)*len(q) + 1; a.steps > maxAlgebraSteps {
		return nil, fmt.Errorf("it takes more than %d multiplications", maxAlgebraSteps)
	}
	product := polynomial{}
	for m, c := range p {
		for n, d := range q {
			k := m
			for i := range k {
				k[i] += n[i]
			}
			if err := checkExponents(k); err != nil {
				return nil, err
			}
			e := new(big.Rat).Mul(c, d)
			if e.Num().BitLen() > maxAlgebraBits || e.Denom().BitLen() > maxAlgebraBits {
				return nil, fmt.Errorf("a number has more than %d bits", maxAlgebraBits)
			}
			product.add(polynomial{k: e}, 1)
		}
	}
	return product, nil
}

func checkExponents(m monomial) error {
	for _, e := range m {
		if e > maxAlgebraExponent {
			return fmt.Errorf("an exponent is above %d", maxAlgebraExponent)
		}
	}
	return nil
}

// peek is the next character that is not white space, 0 at the end.
func (a *algebra) peek() byte {
	for a.at < len(a.text) && strings.IndexByte(" \t\r\n", a.text[a.at]) >= 0 {
		a.at++
	}
	if a.at >= len(a.text) {
		return 0
	}
	return a.text[a.at]
}

func (a *algebra) unexpected(wanted string) error {
	if a.peek(); a.at >= len(a.text) {
		return fmt.Errorf("it ends where %s is expected", wanted)
	}
	return fmt.Errorf("found %s where %s is expected", short(a.text[a.at:min(len(a.text), a.at+8)]), wanted)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// evaluate is the value of an arithmetic expression that this package wrote; ok
// is false where it divides by 0.
func evaluate(text string) (value *big.Rat, ok bool) {
	p, err := new(algebra).read(text)
	if err != nil {
		return nil, false
	}
	return p.constant()
}
