package reward

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestExpressionErrors: what is wrong, at which column.
func TestExpressionErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                         "column 1 of the expression: the end found where a value is expected",
		"task +":                   "column 7 of the expression: the end found where a value is expected",
		"task form":                `column 6 of the expression: "form" is not expected here; accepted: an operator, or the end`,
		"(task":                    `column 6 of the expression: the end found where ")" is expected`,
		"task)":                    `column 5 of the expression: ")" is not expected here`,
		"min(task,":                "column 10 of the expression: the end found where a value is expected",
		"tsk + 1":                  "column 1 of the expression: unknown name tsk",
		"1 +\n  tsk":               "line 2, column 3 of the expression: unknown name tsk",
		"é":                        `column 1 of the expression: 'é' is not part of the language`,
		"'task'":                   `column 1 of the expression: '\'' is not part of the language`,
		"foo(task)":                "column 1 of the expression: unknown function foo",
		"tokens(1)":                "column 1 of the expression: tokens is not a function; write it without ( )",
		"form(1)":                  "column 1 of the expression: form is not a function",
		"sqrt":                     "column 1 of the expression: sqrt is a function; write sqrt(x)",
		"sqrt()":                   "column 1 of the expression: sqrt has 0 arguments; accepted: sqrt(x)",
		"sqrt(1, 2)":               "column 1 of the expression: sqrt has 2 arguments; accepted: sqrt(x)",
		"if(1, 2, 3)":              "column 4 of the expression: if takes a condition here, found a number",
		"if(task, 2, 3)":           "column 4 of the expression: if takes a condition here, found a number; write right(task)",
		"task and ended":           "column 1 of the expression: and takes a condition here, found a number; write right(task)",
		"not form":                 "column 5 of the expression: not takes a condition here, found a number; write right(form)",
		"group_mean(task, 1)":      "column 18 of the expression: group_mean takes a condition here",
		"group_mean()":             "accepted: group_mean(x[, where])",
		"1 < task < 3":             "column 10 of the expression: comparisons cannot be chained; write a < b and b < c",
		"task == 1 && ended":       `column 11 of the expression: "&&" is not an operator; write and`,
		"task ** 2":                `column 6 of the expression: "**" is not an operator; write pow(x, y)`,
		"!ended":                   `column 1 of the expression: "!" is not an operator; write not`,
		"1/0":                      "column 2 of the expression: a / b: division by 0",
		"clip(task, 1, 0)":         "column 1 of the expression: clip(x, low, high): low is above high",
		"linear(0, 1, 5, 3)":       "last is before first",
		"piecewise(1, 5)":          "piecewise has 2 arguments",
		"piecewise(1, 5, 2, 3)":    "a value, then pairs of step and value",
		"piecewise(1, 5, 2, 3, 3)": "its steps have to increase",
		"overlong(0)":              "cache has to be above 0",
		"repetition(0)":            "column 12 of the expression: repetition takes a whole number from 1 to 1000, written out",
		"repetition(tokens)":       "column 12 of the expression: repetition takes a whole number",
		"repetition(2.5)":          "repetition takes a whole number",
		"agreement(tokens)":        "column 11 of the expression: agreement takes the name of a verifier: task, form",
		"1e999":                    `"1e999" is not a number`,
		"1_000":                    `"1_000" is not a number`,
		"0x10":                     `"0x10" is not a number`,
		"nan":                      "unknown name nan",
		"a = 1; a = 2; a":          `column 8 of the expression: "a" is given a value twice`,
		"task = 1; task":           `column 1 of the expression: "task" is the task's verdict; choose another name`,
		"tokens = 1; 1":            `"tokens" is a fact`,
		"form = 1; 1":              `"form" is a verifier`,
		"min = 1; 1":               `"min" is a function`,
		"Abc = 1; 1":               `"Abc" is not accepted as a name`,
		"a = b; b = 1; a":          "column 5 of the expression: unknown name b",
		"a = a; a":                 "column 5 of the expression: unknown name a",
		"a = 1":                    `column 6 of the expression: the end found where ";" is expected`,
		"a = 1;":                   "column 7 of the expression: the end found where a value is expected",
		"1 = 2; 3":                 "only a name is accepted before =",
		"a + 1 = 2; 3":             "only a name is accepted before =",
		"task = 1":                 `";" is expected`,
		"row.a.b":                  "unknown name row.a.b",
		"and":                      `column 1 of the expression: found "and" where a value is expected`,
		strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60): "nested deeper than 48",
		strings.Repeat("-", 60) + "task":                        "nested deeper than 48",
		strings.Repeat("not ", 60) + "ended":                    "nested deeper than 48",
		strings.Repeat("1 + ", 3000) + "1":                      "12001 bytes; accepted: at most 8192",
	} {
		_, err := Compile(expression, form)
		var all Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
}

// TestAllErrors: what does not hide each other is told at once.
func TestAllErrors(t *testing.T) {
	_, err := Compile("tsk + foo(bar) + if(task, 1, 2)", form)
	var all Errors
	if errors.As(err, &all); len(all) != 3 || all[0].Unknown != "tsk" || all[1].Unknown != "foo" || len(all[0].Known) == 0 {
		t.Errorf("%v", err)
	}
}

// FuzzCompile: no text crashes the parser or an evaluation; a reward is finite
// or not scored with a reason; the order of the completions does not count.
func FuzzCompile(f *testing.F) {
	for _, e := range everyStatistic() {
		f.Add(e, uint64(1))
	}
	for _, fn := range functions {
		f.Add(fn.Usage, uint64(2))
	}
	f.Add("a = task + form; if(right(a) and not ended, -a/row.budget, default(unscored, 1e3))", uint64(3))
	f.Add("# x\n-(1 < 2 or true) == .5e-1;", uint64(4))
	f.Fuzz(func(t *testing.T, expression string, seed uint64) {
		p, err := Compile(expression, form)
		if err != nil {
			var all Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Errorf("error %v", err)
			}
			return
		}
		answers := randomAnswers(rand.New(rand.NewPCG(seed, 0)))
		s := p.Score(batchOf(answers))
		for i, r := range s.Reward {
			if math.IsInf(r, 0) || math.IsNaN(r) != (s.Why[i] != "") {
				t.Errorf("completion %d has %v because %q", i, r, s.Why[i])
			}
		}
		if strings.Contains(expression, "random") { // which the tests tie to the place
			return
		}
		n := len(answers)
		turned := make([]answer, n)
		for i, a := range answers {
			turned[n-1-i] = a
		}
		for i, r := range p.Score(batchOf(turned)).Reward {
			if was := s.Reward[n-1-i]; math.Float64bits(r) != math.Float64bits(was) && !(math.IsNaN(r) && math.IsNaN(was)) {
				t.Errorf("completion %d has %v, elsewhere %v", i, was, r)
			}
		}
	})
}
