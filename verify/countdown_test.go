package verify

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func countdownRowOf(numbers []int64, target int64) Problem {
	n, _ := json.Marshal(numbers)
	return Problem{Metadata: map[string]json.RawMessage{"numbers": n, "target": json.RawMessage(strconv.FormatInt(target, 10))}}
}

func TestCountdownWrong(t *testing.T) {
	row := countdownRowOf([]int64{3, 5, 7, 7, 0}, 24)
	for _, c := range []struct{ completion, reason string }{
		{"3*7+2", "it uses 2, which is not given or is already used"},
		{"3*7+3", "it uses 3, which is not given or is already used"},
		{"7+7+7+3", "it uses 7"},
		{"24", "it uses 24"},
		{"37-7-7+1", "it uses 37"},
		{"7*5-7-3", "the value is 25, not 24"},
		{"3*5+7", "the value is 22, not 24"},
		{"(7+7)/5", "the value is 14/5, not 24"},
		{"(7+3*5)/0", "divides by zero"},
		{"(7+3*5)/(7-7)", "it uses 7"},
		{"5/(7-7)", "divides by zero"},
		{"3+7+7+5+", "it ends where a number is expected"},
		{"(3+7", `it ends where ")" is expected`},
		{"()", `found ")" where a number is expected`},
		{"3 7", `found "7" where an operator is expected`},
		{"3(7)", `found "(" where an operator is expected`},
		{"3+7)", `found ")" where an operator is expected`},
		{"3**7", `found "*" where a number is expected`},
		{"3^7", `found "^" where an operator is expected`},
		{"3!", `found "!" where an operator is expected`},
		{"3.0+7", `found "." where an operator is expected`},
		{"3e1", `found "e" where an operator is expected`},
		{"３+7", `found "３" where a number is expected`},
		{"Max(3,7)", `found "M" where a number is expected`},
		{"99999999999999999999", "more than 18 digits"},
		{strings.Repeat("(", 65) + "3" + strings.Repeat(")", 65), "nested deeper than 64"},
		{"", "the answer is empty"},
		{"<answer> </answer>", "the answer is empty"},
		{"3*7+5-0\nso it can be done, I am sure", " where a number is expected"},
	} {
		v := Countdown{Form: FormExpression, Extract: ExtractLastLine}.Verify(row, c.completion)
		checkVerdict(t, v)
		if v.Verdict != Wrong || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%q: %+v, want wrong because %q", c.completion, v, c.reason)
		}
	}
}

func TestCountdownRight(t *testing.T) {
	numbers := []int64{2, 3, 8, 8}
	for _, c := range []struct {
		completion, options string
		target              int64
		verdict             string
	}{
		{"(2+8/8)*8", `{}`, 24, Wrong}, // a third 8
		{"8/(3-8/2)", `{}`, -8, Right},
		{"8*3", `{}`, 24, Right},
		{"8*3", `{"use_all":true}`, 24, Wrong},
		{"8*3+8-8", `{}`, 24, Wrong},
		{"(8-2)*(8-3)", `{"use_all":true}`, 30, Right},
		{"(8−2)×(8-3)", `{"use_all":true}`, 30, Right},
		{`\left(8-2\right)\times(8-3)`, `{"use_all":true}`, 30, Right},
		{`8 \cdot 3 + 8 \div 2`, `{"use_all":true}`, 28, Right},
		{"-2+8*3+8", `{"use_all":true}`, 30, Right},
		{"+8 - -2", `{}`, 10, Right},
		{"8*3.", `{}`, 24, Right},
		{"8*3 = 24", `{}`, 24, Right},
		{"8*3 = 24.", `{}`, 24, Right},
		{"8*3 = 25", `{}`, 24, Wrong},
		{"8*3 = 24 = 24", `{}`, 24, Wrong},
		{"24 = 8*3", `{}`, 24, Wrong},
		{"8", `{}`, 8, Right},
		{"8/3*3", `{}`, 8, Wrong}, // a second 3
		{"(8/3)/(2/8)", `{"use_all":true}`, 11, Wrong},
		{"I try 8+3 first.\n8*3\n\n", `{}`, 24, Right},
		{"I try 8*3 first.\n8+3", `{}`, 24, Wrong},
		{"I try 8*3", `{}`, 24, Wrong},
		{"8*3\nThe final answer is **8*3**.", `{"extract":"announced"}`, 24, Right},
		{"8*3\nor so", `{"extract":"announced"}`, 24, Wrong},
		{"<think>8+3</think>\n<answer> 8*3 </answer>", `{}`, 24, Right},
		{"<answer>8*3</answer>", `{"extract":"none"}`, 24, Wrong},
		{`\boxed{8*3}`, `{}`, 24, Right},
		{"08*3", `{}`, 24, Right},
	} {
		e, err := Lookup("countdown")
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.New([]byte(c.options))
		if err != nil {
			t.Fatal(err)
		}
		got := v.Verify(countdownRowOf(numbers, c.target), c.completion)
		checkVerdict(t, got)
		if got.Verdict != c.verdict {
			t.Errorf("%s %q for %d: %+v, want %s", c.options, c.completion, c.target, got, c.verdict)
		}
	}
}

func TestCountdownRunningTotal(t *testing.T) {
	numbers := []int64{20, 13, 7, 4}
	for _, c := range []struct{ completion, verdict, reason string }{
		{"20-13=7+7=14-4=10", Right, "the last total is 10"},
		{" 20-13=7+7=14-4=10\n", Right, ""},
		{"7+7=14-4=10", Wrong, "it uses [7 7 4], not each of [20 13 7 4] once"},
		{"13-7=6+20=26-4=22", Wrong, "the last total is 22, not 10"},
		{"4+7=11-13=0+20=10", Wrong, "11-13 is -2, not 0"},
		{"20-13=8+7=14-4=10", Wrong, "20-13 is 7, not 8"},
		{"20-13=7+7=14-4=10=10", Wrong, "+ or - is missing"},
		{"20-13=7+7=14-4=", Wrong, "a number is missing"},
		{"20-13=7+7=14-4", Wrong, "= is missing"},
		{"20 - 13 = 7", Wrong, "at byte 2"},
		{"10", Wrong, "+ or - is missing"},
		{"", Wrong, "at byte 0: a number is missing"},
		{"=10", Wrong, "a number is missing"},
		{"20*13=260", Wrong, "+ or - is missing"},
		{"20-13=7+7=14-4=10+0=10", Wrong, "it uses"},
		{"20-13=7+13=20-4=16-7=9+1=10", Wrong, "it uses"},
		{"9999999999999999999-1=1", Wrong, "more than 18 digits"},
		{"999999999999999999+999999999999999999=1", Wrong, "is 1999999999999999998, not 1"},
		{strings.Repeat("1+1=2", 1000), Wrong, "at most 4096 are read"},
	} {
		v := Countdown{Form: FormRunningTotal, Extract: ExtractLastLine}.Verify(countdownRowOf(numbers, 10), c.completion)
		checkVerdict(t, v)
		if v.Verdict != c.verdict || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%q: %+v, want %s because %q", shown(c.completion), v, c.verdict, c.reason)
		}
	}
	if ValidRunningTotal("13-7=6+20=26-4=22", numbers) != true || ValidRunningTotal("13-7=6+20=26-4=21", numbers) {
		t.Error("a valid running total is one with right results, whatever it ends in")
	}
	row := countdownRowOf(numbers, 10)
	row.Metadata["form"] = json.RawMessage(`"running_total"`)
	if v := (Countdown{Form: FormExpression, Extract: ExtractLastLine}).Verify(row, "20-13=7+7=14-4=10"); v.Verdict != Right {
		t.Errorf("the row's form stands above the option: %+v", v)
	}
	row.Metadata["form"] = json.RawMessage(`"essay"`)
	if v := (Countdown{Form: FormExpression, Extract: ExtractLastLine}).Verify(row, "1"); v.Verdict != NotScored {
		t.Errorf("unknown form: %+v", v)
	}
}

func TestCountdownNotScored(t *testing.T) {
	many := make([]int64, maxNumbers+1)
	for _, row := range []Problem{
		{},
		{Answer: "24"},
		{Answer: `{"numbers":[1,2]`},
		countdownRowOf(nil, 3),
		countdownRowOf(many, 3),
		countdownRowOf([]int64{-3, 4}, 3),
		{Metadata: map[string]json.RawMessage{"numbers": json.RawMessage(`[1,2]`)}},
		{Metadata: map[string]json.RawMessage{"numbers": json.RawMessage(`[1,2]`), "target": json.RawMessage(`3.5`)}},
		{Metadata: map[string]json.RawMessage{"numbers": json.RawMessage(`"1,2"`), "target": json.RawMessage(`3`)}},
	} {
		v := Countdown{Form: FormExpression, Extract: ExtractLastLine}.Verify(row, "1+2")
		checkVerdict(t, v)
		if v.Verdict != NotScored {
			t.Errorf("%+v: %+v", row, v)
		}
	}
}

// randomExpression is an expression over numbers[:n] in their order and its
// value, calculated beside the parser; ok is false after a division by zero.
func randomExpression(r interface{ IntN(int) int }, numbers []int64) (text string, value *big.Rat, ok bool) {
	if len(numbers) == 1 {
		return fmt.Sprint(numbers[0]), new(big.Rat).SetInt64(numbers[0]), true
	}
	cut := 1 + r.IntN(len(numbers)-1)
	leftText, left, ok1 := randomExpression(r, numbers[:cut])
	rightText, right, ok2 := randomExpression(r, numbers[cut:])
	op := "+-*/"[r.IntN(4)]
	if !ok1 || !ok2 || op == '/' && right.Sign() == 0 {
		return "", nil, false
	}
	value = new(big.Rat)
	switch op {
	case '+':
		value.Add(left, right)
	case '-':
		value.Sub(left, right)
	case '*':
		value.Mul(left, right)
	case '/':
		value.Quo(left, right)
	}
	return "(" + leftText + " " + string(op) + " " + rightText + ")", value, true
}

// TestCountdownRandom: 10,000 random expressions are right exactly when their
// value, calculated beside the parser, is the target.
func TestCountdownRandom(t *testing.T) {
	r := newRand(2)
	countdown := Countdown{Form: FormExpression, UseAll: true, Extract: ExtractNone}
	wrongs, rights := 0, 0
	for wrongs < 10_000 {
		numbers := make([]int64, 2+r.IntN(5))
		for i := range numbers {
			numbers[i] = int64(r.IntN(100))
		}
		text, value, ok := randomExpression(r, numbers)
		if !ok {
			continue
		}
		target := int64(r.IntN(1000))
		if v := countdown.Verify(countdownRowOf(numbers, target), text); (v.Verdict == Right) != (value.Cmp(big.NewRat(target, 1)) == 0) {
			t.Fatalf("%s = %s, target %d: %+v", text, value, target, v)
		} else if v.Verdict == Wrong {
			wrongs++
		}
		if value.IsInt() && value.Num().IsInt64() {
			rights++
			row := countdownRowOf(numbers, value.Num().Int64())
			if v := countdown.Verify(row, text); v.Verdict != Right {
				t.Fatalf("%s = %s: %+v", text, value, v)
			}
			if v := countdown.Verify(countdownRowOf(numbers[1:], value.Num().Int64()), text); v.Verdict != Wrong {
				t.Fatalf("%s with a number that is not given: %+v", text, v)
			}
		}
	}
	if rights < 1000 {
		t.Errorf("only %d right expressions were tried", rights)
	}
}
