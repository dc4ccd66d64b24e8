package verify

import (
	"encoding/json"
	"fmt"
	"math/big"
)

func init() {
	Register(Entry{
		Name:    "number",
		Summary: "one number equal to the reference, compared exactly as rationals",
		Doc: `number: right when the answer is one number equal to the row's answer.

Both sides are read exactly, as rationals: 0.5 = 1/2 = 50/100 = .5 = 5e-1 and
1,234 = 1_234 = 1234.0. There is no floating-point arithmetic. Signs are + - and −.
Commas may only separate groups of three digits. Percent signs, units and expressions
are not numbers.

Row: answer (the reference number).

Options
` + extractDoc + `
          Default "announced".
tolerance exact decimal or fraction: right when |answer - reference| is at most this.
          Default "0".
plain     true: only decimals are accepted; a fraction is wrong. Default false.

Not scored when the row's answer is not a number.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := Number{Extract: ExtractAnnounced, Tolerance: "0"}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, o.validate()
		},
	})
}

// Number is the verifier "number". Its fields are its options; the zero value
// is not valid, use [New] or set Extract and Tolerance.
type Number struct {
	Extract   string `toml:"extract"`   // one of the Extract constants
	Tolerance string `toml:"tolerance"` // exact decimal or fraction, at least 0
	Plain     bool   `toml:"plain"`     // refuse fractions
}

func (n Number) validate() error {
	if err := oneOf("extract", n.Extract, ExtractAnnounced, ExtractLastLine, ExtractLastNumber, ExtractNone); err != nil {
		return err
	}
	if t, err := parseNumber(n.Tolerance, false); err != nil || t.Sign() < 0 {
		return fmt.Errorf("option tolerance is %s; accepted: numbers in quotation marks, from 0", quote(n.Tolerance))
	}
	return nil
}

// Check implements [Checker].
func (n Number) Check(row Problem) error {
	_, err := numberOf(row)
	return err
}

// numberOf is the row's answer as a number.
func numberOf(row Problem) (*big.Rat, error) {
	reference, err := parseNumber(row.Answer, false)
	if err != nil {
		err = fmt.Errorf("the row's answer: %w", err)
	}
	return reference, err
}

// Verify implements [Verifier].
func (n Number) Verify(row Problem, completion string) Verdict {
	reference, err := numberOf(row)
	if err != nil {
		return Abstain("%v", err)
	}
	tolerance, err := parseNumber(n.Tolerance, false)
	if err != nil {
		return Abstain("the option tolerance: %v", err)
	}
	answer, rule, err := extractAnswer(completion, n.Extract)
	if err != nil {
		return Reject(answer, rule, "%v", err)
	}
	value, err := parseNumber(answer, n.Plain)
	if err != nil {
		return Reject(answer, rule, "%v", err)
	}
	distance := new(big.Rat).Sub(value, reference)
	distance.Abs(distance)
	switch {
	case distance.Sign() == 0:
		return Accept(answer, rule, "equal to %s", exact(reference))
	case distance.Cmp(tolerance) <= 0:
		return Accept(answer, rule, "within %s of %s", n.Tolerance, exact(reference))
	}
	return Reject(answer, rule, "%s is not %s", exact(value), exact(reference))
}
