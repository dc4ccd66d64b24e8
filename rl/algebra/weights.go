package algebra

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/formula"
)

// Functions are what a formula over weights can call, over models of some names.
func Functions(models []string) []formula.Fact {
	model := func(name string) formula.Argument { return formula.Argument{Name: name, Names: models} }
	number := func(name string) formula.Argument { return formula.Argument{Name: name, Number: true} }
	many := model("a")
	many.Many = true
	return []formula.Fact{
		{Name: "slerp", Level: formula.Token, Takes: []formula.Argument{model("a"), model("b"), number("t")},
			Meaning: "from a (t = 0) to b (t = 1) along the arc between the two tensors; the straight line where they have one direction or one of them is 0",
			Formula: "sin((1 - t) theta)/sin(theta) a + sin(t theta)/sin(theta) b, theta: the angle of a and b",
			Source:  "https://doi.org/10.1145/325165.325242"},
		{Name: "ties", Level: formula.Token, Takes: []formula.Argument{model("base"), number("share"), many},
			Meaning: "base and the merged changes of the models: of each change the share of largest numbers is kept, each element takes the sign of their sum, and the mean of those with that sign is added",
			Formula: "base + mean of the kept a - base whose sign is that of their sum; a sum of 0 counts as positive",
			Source:  "https://arxiv.org/abs/2306.01708"},
		{Name: "dare", Level: formula.Token, Takes: []formula.Argument{model("base"), number("p"), number("seed"), model("a")},
			Meaning: "base and the change of a, of which each number is dropped with chance p and the others are divided by 1 - p; what is dropped depends on the seed, the name of the tensor and the place in it",
			Formula: "base + kept (a - base)/(1 - p)",
			Source:  "https://arxiv.org/abs/2311.03099"},
		{Name: "random_like", Level: formula.Token, Takes: []formula.Argument{model("base"), number("seed"), model("a")},
			Meaning: "base and a change of random direction, in each tensor as long as that of a: what a change of this size does that has learned nothing. The direction depends on the seed, the name of the tensor and the place in it",
			Formula: "base + |a - base|/|g| g, g: independent normal numbers"},
	}
}

// usages are the functions as they are written.
func usages() string {
	var all []string
	for _, f := range Functions(nil) {
		all = append(all, f.Usage())
	}
	return strings.Join(all, ", ")
}

// Call is a function with what it is called with.
type Call struct {
	Function string
	Column   string    // its name in tables
	Models   []string  // that it reads, in the order of its arguments
	Numbers  []float64 // in the order of its arguments
}

// result is the part of a program that is the formula.
const result = "weights"

// Weights is a formula over the weights of models.
type Weights struct {
	Models  []string // that it reads, in the order of the names that it could read
	Calls   []Call
	program *formula.Program
}

// CompileWeights reads a formula over the weights of models of some names.
func CompileWeights(text string, names []string) (*Weights, error) {
	facts, err := factsOf(names, Functions(names))
	if err != nil {
		return nil, err
	}
	w := &Weights{}
	if w.program, err = formula.Compile(formula.Text{Parts: map[string]string{result: text}}, facts); err != nil {
		return nil, err
	}
	if statistic := w.program.OverRows(result); statistic != "" {
		return nil, hint.With(fmt.Errorf("%s; accepted: arithmetic on each element, and %s", statistic, usages()), "(a + b)/2 is the mean of two models")
	}
	if _, condition, _ := w.program.Level(result); condition {
		return nil, fmt.Errorf("%s: found a condition, accepted: a number, as of if(condition, a, b)", result)
	}
	read := map[string]bool{}
	calls := map[string]bool{}
	for _, c := range w.program.Calls() {
		call, err := readCall(c)
		if err != nil {
			return nil, err
		}
		w.Calls, calls[call.Column] = append(w.Calls, call), true
		for _, name := range call.Models {
			read[name] = true
		}
	}
	for _, name := range w.program.Needs(result) {
		if !slices.Contains(names, name) && !calls[name] {
			return nil, fmt.Errorf("%s: %s tells of completions, not of weights; accepted: the models %s", result, name, strings.Join(names, ", "))
		}
		read[name] = true
	}
	for _, name := range names {
		if read[name] {
			w.Models = append(w.Models, name)
		}
	}
	if len(w.Models) == 0 {
		return nil, errors.New(result + ": the formula names no model; accepted: arithmetic over models, such as base + 0.7*(tuned - base)")
	}
	return w, nil
}

// On computes the formula on a table, whose rows are elements of a tensor and whose columns are the models and the
// calls that it reads.
func (w *Weights) On(t *formula.Table) ([]float64, error) {
	values, err := w.program.On(t).At(result, formula.Token)
	return values.V, err
}

// readCall reads the arguments of a call.
func readCall(written formula.Call) (Call, error) {
	c := Call{Function: written.Fact, Column: written.Column()}
	all := Functions(nil)
	takes := all[slices.IndexFunc(all, func(f formula.Fact) bool { return f.Name == c.Function })].Takes
	for i, a := range written.Arguments {
		takes := takes[min(i, len(takes)-1)]
		if !takes.Number {
			c.Models = append(c.Models, a)
			continue
		}
		x, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return c, err
		}
		if accepted := accepts(takes.Name, x); accepted != "" {
			return c, fmt.Errorf("%s: %s: found %v for %s, accepted: %s", result, c.Column, x, takes.Name, accepted)
		}
		c.Numbers = append(c.Numbers, x)
	}
	return c, nil
}

// accepts says what is accepted if a number is not; "": it is.
func accepts(argument string, x float64) string {
	switch argument {
	case "t":
		if !(x >= 0 && x <= 1) {
			return "0 to 1"
		}
	case "share":
		if !(x > 0 && x <= 1) {
			return "above 0, to 1"
		}
	case "p":
		if !(x >= 0 && x < 1) {
			return "0 to below 1"
		}
	case "seed":
		if x < 0 || x > 1<<53 || x != math.Trunc(x) {
			return "a whole number from 0 to 2^53"
		}
	}
	return ""
}

// factsOf are models as facts: a value for each row. functions are what can be called too.
func factsOf(names []string, functions []formula.Fact) ([]formula.Fact, error) {
	facts := slices.Clone(functions)
	for i, name := range names {
		what := formula.Taken(name)
		for _, f := range slices.Concat(formula.Structure(), functions) {
			if f.Name == name {
				what = "a function or fact"
			}
		}
		switch {
		case slices.Contains(names[:i], name):
			what = "another model"
		case what == "":
			facts = append(facts, formula.Fact{Name: name, Level: formula.Token, Model: true, Meaning: "the numbers of the model"})
			continue
		}
		return nil, fmt.Errorf("a model cannot be called %s, the name of %s; accepted: any other name", name, what)
	}
	return facts, nil
}
