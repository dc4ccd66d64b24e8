package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	Register(Entry{
		Name:    "calculator",
		Summary: "exact arithmetic",
		Doc: `calculator: works out an expression of decimal numbers, + - * / and parentheses.

    <calculator>2.5*(7-1/3)</calculator>   50/3

Numbers are fractions of whole numbers, so nothing is rounded. The result is written as a decimal
number if that is exact, else as a fraction in lowest terms. The argument is expression. A mistake
is an expression that cannot be read, a division by zero, and a result with too many digits.

` + settings.Describe(defaultCalculator()),
		Options: func() Options { return defaultCalculator() },
	})
}

func defaultCalculator() *calculatorOptions { return &calculatorOptions{Digits: maxDigits} }

type calculatorOptions struct {
	Digits int `toml:"digits" range:"[1,400]" about:"digits that a result may have, at most"`
}

// Validate implements [Options].
func (o *calculatorOptions) Validate() error { return settings.Check(o) }

// Spec implements [Options].
func (o *calculatorOptions) Spec() world.Spec { return Calculator{}.Spec() }

// Make implements [Options].
func (o *calculatorOptions) Make(Documents) (world.Tool, string, error) {
	return Calculator{Digits: o.Digits}, "", nil
}

// Calculator is the tool "calculator". It works out arithmetic exactly, as fractions, and writes the
// result as a decimal number if that is exact and else as a fraction in lowest terms: 0.3, -2/3.
type Calculator struct {
	Digits int // that a result may have, at most; 0: 100
}

// maxDigits is what a calculator shows that says nothing about its digits.
const maxDigits = 100

// Spec implements [world.Tool].
func (Calculator) Spec() world.Spec {
	return world.Spec{
		Name:  "calculator",
		About: "Works out an expression of decimal numbers, + - * / and parentheses exactly.",
		Args:  json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string","description":"such as 2.5*(7-1/3)"}},"required":["expression"],"additionalProperties":false}`),
		Text:  "expression",
		Pure:  true,
	}
}

// Test implements [world.Tool].
func (c Calculator) Test(ctx context.Context) error {
	return Tested(ctx, c, `{"expression":"7*8"}`, "56")
}

// Open implements [world.Tool].
func (c Calculator) Open(context.Context, verify.Problem) (world.Session, error) { return c, nil }

// Close implements [world.Session].
func (Calculator) Close() error { return nil }

// Call implements [world.Session].
func (c Calculator) Call(_ context.Context, args json.RawMessage) (world.Answer, error) {
	return answer(c.calculate(args)), nil
}

func (c Calculator) calculate(args json.RawMessage) (string, error) {
	var a struct {
		Expression string `toml:"expression"`
	}
	if err := settings.DecodeJSON(args, &a); err != nil {
		return "", err
	}
	value, err := verify.Evaluate(a.Expression)
	if err != nil {
		return "", fmt.Errorf("the expression cannot be worked out: %w", err)
	}
	text, most := written(value), c.Digits
	if most == 0 {
		most = maxDigits
	}
	if digitsOf(text) > most {
		return "", fmt.Errorf("the result has more than %d digits", most)
	}
	return text, nil
}

// digitsOf is the number of digits in a text.
func digitsOf(text string) int {
	n := 0
	for i := range len(text) {
		if '0' <= text[i] && text[i] <= '9' {
			n++
		}
	}
	return n
}

// written is a number as a decimal one if that is exact, else as a fraction.
func written(value *big.Rat) string {
	if n, exact := value.FloatPrec(); exact {
		return value.FloatString(n)
	}
	return value.RatString()
}
