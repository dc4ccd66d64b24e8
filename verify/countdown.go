package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// The forms of a countdown answer: the values of the option "form".
const (
	FormExpression   = "expression"
	FormRunningTotal = "running_total"
)

func init() {
	Register(Entry{
		Name:    "countdown",
		Summary: "arithmetic over given numbers that reaches a target",
		Doc: `countdown: right when the answer combines the given numbers into the target.

The answer is parsed and computed exactly, as rationals.
Numbers cannot be joined or split into digits; there is no power, factorial or decimal
point.

Row: numbers (1 to 64 whole numbers) and target (a whole number), as fields of the
row, of its metadata, or of its answer when that is a JSON object. A form in the
metadata takes precedence over the option.

Options
form      "expression": + - * / and parentheses over the numbers, such as
          (7 + 3) * 4; × ÷ − · \times \cdot \div are read as operators; it may end
          with "= target" and a full stop.
          "running_total": a+b=c-d=e without spaces, + and - only. Every result is
          right, every number is used once, in any order, and the last result is the
          target. The whole completion is the answer, without white space around it.
          Default "expression".
use_all   true: every number exactly once. false: every number at most once.
          Default false. A running total uses every number exactly once in any case.
` + extractDoc + `
          Default "last_line"; "last_number" is not accepted.

Not scored when the row gives no numbers or no target.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := Countdown{Form: FormExpression, Extract: ExtractLastLine}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, o.validate()
		},
	})
}

// Countdown is the verifier "countdown". Its fields are its options; the zero
// value is not valid, use [New] or set Form and Extract.
type Countdown struct {
	Form    string `toml:"form"`    // FormExpression or FormRunningTotal
	UseAll  bool   `toml:"use_all"` // every number exactly once, not at most once
	Extract string `toml:"extract"` // one of the Extract constants but ExtractLastNumber
}

func (c Countdown) validate() error {
	if err := oneOf("form", c.Form, FormExpression, FormRunningTotal); err != nil {
		return err
	}
	return oneOf("extract", c.Extract, ExtractAnnounced, ExtractLastLine, ExtractNone)
}

// countdownRow is what a row says about the problem.
type countdownRow struct {
	Numbers []int64 `json:"numbers"`
	Target  *int64  `json:"target"`
	Form    string  `json:"-"`
}

func (c Countdown) problem(row Problem) (countdownRow, error) {
	p := countdownRow{Form: c.Form}
	if strings.HasPrefix(strings.TrimSpace(row.Answer), "{") {
		if err := json.Unmarshal([]byte(row.Answer), &p); err != nil {
			return p, fmt.Errorf("the row's answer: %w", err)
		}
	}
	for _, field := range []struct {
		name string
		dst  any
	}{{"numbers", &p.Numbers}, {"target", &p.Target}, {"form", &p.Form}} {
		if _, err := row.Field(field.name, field.dst); err != nil {
			return p, err
		}
	}
	switch {
	case len(p.Numbers) == 0:
		return p, fmt.Errorf("the row has no numbers")
	case len(p.Numbers) > maxNumbers:
		return p, fmt.Errorf("the row has %d numbers; accepted: at most %d", len(p.Numbers), maxNumbers)
	case slices.Min(p.Numbers) < 0:
		return p, fmt.Errorf("the row's numbers hold %d; accepted: whole numbers from 0", slices.Min(p.Numbers))
	case p.Target == nil:
		return p, fmt.Errorf("the row has no target")
	}
	return p, oneOf("form of the row", p.Form, FormExpression, FormRunningTotal)
}

// Check implements [Checker].
func (c Countdown) Check(row Problem) error {
	_, err := c.problem(row)
	return err
}

// Verify implements [Verifier].
func (c Countdown) Verify(row Problem, completion string) Verdict {
	p, err := c.problem(row)
	if err != nil {
		return Abstain("%v", err)
	}
	if p.Form == FormRunningTotal {
		return judgeRunningTotal(strings.TrimSpace(completion), p.Numbers, *p.Target)
	}
	answer, rule, err := extractAnswer(completion, c.Extract)
	if err != nil {
		return Reject(answer, rule, "%v", err)
	}
	available := counts(p.Numbers)
	value, err := evaluateAnswer(answer, *p.Target, available)
	switch {
	case err != nil:
		return Reject(answer, rule, "%v", err)
	case value.Cmp(new(big.Rat).SetInt64(*p.Target)) != 0:
		return Reject(answer, rule, "the value is %s, not %d", exact(value), *p.Target)
	case c.UseAll && len(available) > 0:
		return Reject(answer, rule, "not every number is used: %v is left", slices.Sorted(maps.Keys(available)))
	}
	return Accept(answer, rule, "the value is %d", *p.Target)
}

// evaluateAnswer is the value of an expression that may end in "= target" and a
// full stop. What is left in available afterwards was not used.
func evaluateAnswer(answer string, target int64, available map[int64]int) (*big.Rat, error) {
	answer = strings.TrimSuffix(strings.TrimSpace(answer), ".")
	left, stated, equation := strings.Cut(answer, "=")
	if equation {
		if n, err := parseNumber(stated, true); err != nil || n.Cmp(new(big.Rat).SetInt64(target)) != 0 {
			return nil, fmt.Errorf("found %s after =, expected %d", quote(strings.TrimSpace(stated)), target)
		}
	}
	e := expression{available: available}
	value, err := e.evaluate(left)
	maps.DeleteFunc(available, func(_ int64, n int) bool { return n == 0 })
	return value, err
}

func counts(numbers []int64) map[int64]int {
	n := map[int64]int{}
	for _, x := range numbers {
		n[x]++
	}
	return n
}

// judgeRunningTotal judges a countdown answer in the form of a running total:
// every result is right, each of numbers is used exactly once, in any order,
// and the last result is target.
func judgeRunningTotal(text string, numbers []int64, target int64) Verdict {
	const rule = FormRunningTotal
	w, err := validRunningTotal(text, numbers)
	switch {
	case err != nil:
		return Reject(text, rule, "%v", err)
	case w.Last() != target:
		return Reject(text, rule, "the last total is %d, not %d", w.Last(), target)
	}
	return Accept(text, rule, "the last total is %d", target)
}

// ValidRunningTotal tells whether text is a running total with right results
// that uses each of numbers exactly once, whatever it ends in.
func ValidRunningTotal(text string, numbers []int64) bool {
	_, err := validRunningTotal(text, numbers)
	return err == nil
}

func validRunningTotal(text string, numbers []int64) (RunningTotal, error) {
	if len(text) > maxAnswerBytes {
		return RunningTotal{}, fmt.Errorf("the answer has %d bytes: at most %d are read", len(text), maxAnswerBytes)
	}
	w, err := ParseRunningTotal(text)
	if err != nil {
		return w, fmt.Errorf("not a running total: %w", err)
	}
	if err := w.Check(); err != nil {
		return w, err
	}
	if !maps.Equal(counts(w.Numbers()), counts(numbers)) {
		return w, fmt.Errorf("it uses %v, not each of %v once", w.Numbers(), numbers)
	}
	return w, nil
}
