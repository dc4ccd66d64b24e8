package algebra

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/rl/formula"
)

// Term is a summand: what a model says of each token, times a number.
type Term struct {
	Model  string
	Factor float64
}

// sum is the part of a program that is the formula over logits.
const sum = "logits"

// CompileLogits reads a linear formula over the logits of models of some names: its terms, in the order of the names.
func CompileLogits(text string, names []string) ([]Term, error) {
	facts, err := factsOf(names, nil)
	if err != nil {
		return nil, err
	}
	program, err := formula.Compile(formula.Text{Parts: map[string]string{sum: text}}, facts)
	if err != nil {
		return nil, err
	}
	factors, err := program.Linear(sum)
	if err != nil {
		return nil, fmt.Errorf("%w; accepted: a sum of models with factors, such as policy + 0.5*(tuned - small)", err)
	}
	var terms []Term
	for _, name := range names {
		if x, read := factors[name]; read {
			terms = append(terms, Term{name, x})
		}
		delete(factors, name)
	}
	for name := range factors {
		return nil, fmt.Errorf("%s: %s tells of completions, and is no model; accepted: a sum of models with factors", sum, name)
	}
	if len(terms) == 0 {
		return nil, errors.New(sum + ": the formula names no model; accepted: a sum of models with factors, such as policy + 0.5*(tuned - small)")
	}
	return terms, nil
}
