package verify

import "fmt"

// RunningTotal is a working that carries its total along: "20-13=7+7=14-4=10".
type RunningTotal struct {
	First int64
	Steps []Step // at least one
}

// Step is one operation of a running total.
type Step struct {
	Op     byte  // '+' or '-'
	Number int64 // the operand
	Result int64 // the total that the text states, right or not
}

// ParseRunningTotal reads a running total without spaces: digits, then one or
// more of operator, digits, "=", digits. Numbers have at most 18 digits.
func ParseRunningTotal(text string) (RunningTotal, error) {
	var w RunningTotal
	at := 0
	first, err := readNumber(text, &at)
	if err != nil {
		return w, fmt.Errorf("at byte %d: %w", at, err)
	}
	w.First = first
	for at < len(text) || len(w.Steps) == 0 {
		step, err := readStep(text, &at)
		if err != nil {
			return RunningTotal{}, fmt.Errorf("at byte %d: %w", at, err)
		}
		w.Steps = append(w.Steps, step)
	}
	return w, nil
}

func readStep(text string, at *int) (Step, error) {
	var s Step
	if *at == len(text) || text[*at] != '+' && text[*at] != '-' {
		return s, fmt.Errorf("+ or - is missing")
	}
	s.Op = text[*at]
	*at++
	var err error
	if s.Number, err = readNumber(text, at); err != nil {
		return s, err
	}
	if *at == len(text) || text[*at] != '=' {
		return s, fmt.Errorf("= is missing")
	}
	*at++
	s.Result, err = readNumber(text, at)
	return s, err
}

// Check returns an error that names the first step whose result is not right.
func (w RunningTotal) Check() error {
	total := w.First
	for _, s := range w.Steps {
		next := total + s.Number
		if s.Op == '-' {
			next = total - s.Number
		}
		if next != s.Result {
			return fmt.Errorf("%d%c%d is %d, not %d", total, s.Op, s.Number, next, s.Result)
		}
		total = next
	}
	return nil
}

// Numbers are the first number and the operands, in their order.
func (w RunningTotal) Numbers() []int64 {
	numbers := []int64{w.First}
	for _, s := range w.Steps {
		numbers = append(numbers, s.Number)
	}
	return numbers
}

// Last is the last stated result.
func (w RunningTotal) Last() int64 { return w.Steps[len(w.Steps)-1].Result }

// JudgeLastTotal judges a running total by its end alone: right when the text
// after the last "=" is reference.
func JudgeLastTotal(text, reference string) Verdict {
	const rule = "last_total"
	_, last, found := cutLast(text, "=")
	switch {
	case !found:
		return Reject("", rule, "there is no =")
	case last != reference:
		return Reject(last, rule, "the last total is not %s", reference)
	}
	return Accept(last, rule, "the last total is %s", reference)
}
