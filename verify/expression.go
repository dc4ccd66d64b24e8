package verify

import (
	"fmt"
	"math/big"
	"strings"
)

// expression reads and evaluates arithmetic over + - * / and parentheses:
//
//	sum    = term { ("+" | "-") term }
//	term   = factor { ("*" | "/") factor }
//	factor = ("+" | "-") factor | "(" sum ")" | number
//
// A number is one that is still available, which takes it away: no more than maxNumbers operations
// ever happen then, and no value outgrows the product of the given numbers. Without a list of them it
// is any decimal number, and the length of the text bounds the work.
type expression struct {
	text      string
	at        int           // bytes read
	depth     int           // of factors inside factors
	available map[int64]int // how often each number may still be used; nil: all numbers may
}

// Evaluate is the exact value of arithmetic over decimal numbers, such as "2.5 * (1,000 - 1/3)": + - * /
// and parentheses, also in the other ways to write them. It is for tools; a verdict on a completion
// goes through a verifier. The error says what cannot be read, that the text has more than
// MaxExpressionBytes or is nested too deeply, or that it divides by zero.
func Evaluate(text string) (*big.Rat, error) {
	if len(text) > MaxExpressionBytes {
		return nil, fmt.Errorf("it has %d bytes; accepted: at most %d", len(text), MaxExpressionBytes)
	}
	e := expression{}
	return e.evaluate(text)
}

// signs maps other ways to write the operators to the plain one.
var signs = strings.NewReplacer("×", "*", "·", "*", "⋅", "*", "÷", "/", "−", "-",
	`\times`, "*", `\cdot`, "*", `\div`, "/", `\left(`, "(", `\right)`, ")")

// evaluate returns the exact value of text.
func (e *expression) evaluate(text string) (*big.Rat, error) {
	e.text, e.at, e.depth = signs.Replace(text), 0, 0
	value, err := e.sum()
	if err != nil {
		return nil, err
	}
	if e.peek(); e.at < len(e.text) {
		return nil, e.unexpected("an operator")
	}
	return value, nil
}

func (e *expression) sum() (*big.Rat, error) {
	total, err := e.term()
	for err == nil {
		op := e.peek()
		if op != '+' && op != '-' {
			return total, nil
		}
		e.at++
		var next *big.Rat
		if next, err = e.term(); err == nil && op == '+' {
			total.Add(total, next)
		} else if err == nil {
			total.Sub(total, next)
		}
	}
	return nil, err
}

func (e *expression) term() (*big.Rat, error) {
	product, err := e.factor()
	for err == nil {
		op := e.peek()
		if op != '*' && op != '/' {
			return product, nil
		}
		e.at++
		var next *big.Rat
		switch next, err = e.factor(); {
		case err != nil:
		case op == '*':
			product.Mul(product, next)
		case next.Sign() == 0:
			err = fmt.Errorf("it divides by zero")
		default:
			product.Quo(product, next)
		}
	}
	return nil, err
}

func (e *expression) factor() (*big.Rat, error) {
	if e.depth++; e.depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	defer func() { e.depth-- }()
	switch c := e.peek(); {
	case c == '(':
		e.at++
		value, err := e.sum()
		if err == nil && e.peek() != ')' {
			err = e.unexpected(`")"`)
		}
		e.at++
		return value, err
	case c == '+' || c == '-':
		e.at++
		value, err := e.factor()
		if err == nil && c == '-' {
			value.Neg(value)
		}
		return value, err
	case e.available == nil && (isDigit(c) || c == '.'):
		from := e.at
		for e.at < len(e.text) && strings.IndexByte("0123456789.,_", e.text[e.at]) >= 0 {
			e.at++
		}
		value, err := parseDecimal(e.text[from:e.at])
		if err != nil {
			err = fmt.Errorf("%s: %w", quote(e.text[from:e.at]), err)
		}
		return value, err
	case isDigit(c):
		n, err := readNumber(e.text, &e.at)
		if err != nil {
			return nil, err
		}
		if e.available[n] == 0 {
			return nil, fmt.Errorf("it uses %d, which is not given or is already used", n)
		}
		e.available[n]--
		return new(big.Rat).SetInt64(n), nil
	}
	return nil, e.unexpected("a number")
}

// peek is the next character that is not white space; 0 at the end, and for a
// zero byte.
func (e *expression) peek() byte {
	for e.at < len(e.text) && strings.IndexByte(" \t\r\n", e.text[e.at]) >= 0 {
		e.at++
	}
	if e.at == len(e.text) {
		return 0
	}
	return e.text[e.at]
}

func (e *expression) unexpected(wanted string) error {
	if e.peek(); e.at == len(e.text) {
		return fmt.Errorf("it ends where %s is expected", wanted)
	}
	return fmt.Errorf("found %s where %s is expected", quote(string([]rune(e.text[e.at:])[:1])), wanted)
}

// maxLiteralDigits keeps every literal, and every sum or difference of two,
// inside int64.
const maxLiteralDigits = 18

// readNumber reads the digits at text[*at:] and moves *at to after them.
func readNumber(text string, at *int) (int64, error) {
	var n int64
	from := *at
	for ; *at < len(text) && isDigit(text[*at]); *at++ {
		if *at-from == maxLiteralDigits {
			return 0, fmt.Errorf("a number has more than %d digits", maxLiteralDigits)
		}
		n = 10*n + int64(text[*at]-'0')
	}
	if *at == from {
		return 0, fmt.Errorf("a number is missing")
	}
	return n, nil
}
