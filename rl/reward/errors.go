package reward

import (
	"errors"
	"strings"

	"github.com/rlzero/rlzero/rl/formula"
)

// Error is one thing that is wrong with a reward: with its expression or with a
// verifier that it declares.
type Error struct {
	Verifier int      // index of the verifier; -1: the expression
	Key      string   // the verifier's key; "" for the expression
	Text     string   // what was found and what is accepted; of the expression with line and column
	Unknown  string   // a verifier that is not known; "" if that is not what is wrong
	Known    []string // those that are
	Of       error    // that Text tells of, which may have hints; nil: none
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Of }

// Errors are all that is wrong with a reward.
type Errors []*Error

func (es Errors) Error() string {
	var lines []string
	for _, e := range es {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// fromFormula takes the errors of a compilation apart.
func fromFormula(err error) Errors {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var out Errors
		for _, one := range all.Unwrap() {
			out = append(out, fromFormula(one)...)
		}
		return out
	}
	var one *formula.Error
	if !errors.As(err, &one) {
		return Errors{{Verifier: -1, Text: err.Error()}}
	}
	placed := *one
	if placed.Part == rewardPart {
		placed.Part = "" // who tells of the error names the key
	}
	text := placed.Error()
	if placed.Near == "" && strings.HasPrefix(placed.Text, "unknown name") {
		text += "; a verifier is declared with [[stage.verifier]], and rlzero formulas lists all else"
	}
	return Errors{{Verifier: -1, Text: text}}
}
