package verify

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The fuzz targets start from testdata/fuzz as well; finds are added there, and
// run with the ordinary tests.

// scored: the completion is judged, and the same way when judged again.
func scored(t *testing.T, name string, v Verifier, row Problem, completion string) Verdict {
	t.Helper()
	got := v.Verify(row, completion)
	checkVerdict(t, got)
	if got.Verdict == NotScored {
		t.Errorf("%s: the completion %q escaped being scored: %s", name, completion, got.Reason)
	} else if again := v.Verify(row, completion); !reflect.DeepEqual(again, got) {
		t.Errorf("%s: %q is %+v, and then %+v", name, completion, got, again)
	}
	return got
}

// made is the named verifier.
func made(t testing.TB, name string, options map[string]any) Verifier {
	t.Helper()
	v, err := New(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzNumbers: the verifiers of numbers judge every completion, and what is right
// has the reference's value when calculated by other means.
func FuzzNumbers(f *testing.F) {
	for _, completion := range attacks() {
		if len(completion) < 1000 {
			f.Add("24", completion)
		}
	}
	for _, text := range []string{"1/2", "0.5", "50/100", "-1,234.50", "#### 1,234", "1e-3", "<answer>٣</answer>", "The answer is **$12.**", "a #### $3.50.\n", "+.5 ", "1_000"} {
		f.Add(text, text)
	}
	kinds := map[string]Verifier{}
	for _, how := range []string{ExtractAnnounced, ExtractLastLine, ExtractLastNumber, ExtractNone} {
		kinds["number "+how] = made(f, "number", map[string]any{"extract": how})
	}
	for _, how := range []string{ExtractHashes, ExtractFlexible} {
		kinds["gsm8k "+how] = made(f, "gsm8k", map[string]any{"extract": how})
	}
	f.Fuzz(func(t *testing.T, reference, completion string) {
		want, err := parseNumber(reference, false)
		if err != nil || len(want.RatString()) > maxDigits {
			want, reference = big.NewRat(24, 1), "24"
		}
		for name, v := range kinds {
			got := scored(t, name, v, Problem{Answer: reference}, completion)
			if x, ok := plainRat(got.Extracted); ok && (got.Verdict == Right) != (x.Cmp(want) == 0) && !strings.Contains(got.Reason, "stands") {
				t.Errorf("%s: %q is %s, the reference %s: %+v", name, got.Extracted, x, want.RatString(), got)
			}
		}
		other := new(big.Rat).Add(want, big.NewRat(1, 7))
		if v := kinds["number none"]; v.Verify(Problem{Answer: reference}, want.RatString()).Verdict != Right ||
			v.Verify(Problem{Answer: reference}, other.RatString()).Verdict != Wrong {
			t.Errorf("%q is not %s, or is %s", reference, want.RatString(), other.RatString())
		}
	})
}

var plainNumeral = regexp.MustCompile(`^-?\d+(\.\d+)?$|^-?\d+/\d+$`)

// plainRat reads a number without any of the forms that parseNumber has beside.
func plainRat(text string) (*big.Rat, bool) {
	if !plainNumeral.MatchString(text) || len(text) > 150 {
		return nil, false
	}
	over, under, _ := strings.Cut(text, "/")
	r, ok := new(big.Rat).SetString(over)
	if under != "" && ok { // by itself: as a denominator 0100 would be octal
		var below *big.Rat
		if below, ok = new(big.Rat).SetString(under); !ok || below.Sign() == 0 {
			return nil, false
		}
		r.Quo(r, below)
	}
	return r, ok
}

// FuzzCountdown: an expression that is right uses the numbers and has the value
// of the target when evaluated by other means; a running total likewise.
func FuzzCountdown(f *testing.F) {
	for _, completion := range []string{"3*8", "(2+5)*3-8", "8 × 3", `8 \times (5-2)`, "24/1", "3*8=24.", "-(-24)", "8/(3-8/3)", "3+8=11+2=13", "8-5=3", "((3))*8"} {
		f.Add([]byte{3, 8, 2, 5}, int64(24), completion)
	}
	f.Add([]byte{3, 3, 8, 8}, int64(24), "<answer>8/(3-8/3)</answer>")
	f.Add([]byte{20, 13, 7, 4}, int64(10), "20-13=7+7=14-4=10")
	expression, total := made(f, "countdown", map[string]any{"extract": ExtractNone}), made(f, "countdown", map[string]any{"form": FormRunningTotal})
	lenient := made(f, "countdown", map[string]any{"use_all": true})
	f.Fuzz(func(t *testing.T, numbers []byte, target int64, completion string) {
		if len(numbers) == 0 || len(numbers) > maxNumbers {
			numbers = []byte{3, 8, 2, 5}
		}
		given := make([]int64, len(numbers))
		for i, n := range numbers {
			given[i] = int64(n)
		}
		row := countdownRowOf(given, target)
		if got := scored(t, "countdown", expression, row, completion); got.Verdict == Right {
			left, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(completion), "."), "=")
			value, used := byStacks(strings.Join(strings.Fields(signs.Replace(left)), ""))
			if value == nil || value.Cmp(big.NewRat(target, 1)) != 0 {
				t.Errorf("%q is right for %d: calculated is %v", completion, target, value)
			}
			for n, times := range used {
				if times > counts(given)[n] {
					t.Errorf("%q is right and uses %d %d times, of %v", completion, n, times, given)
				}
			}
		}
		if got := scored(t, "running total", total, row, completion); got.Verdict == Right {
			if got := expression.Verify(row, firstToLast(strings.TrimSpace(completion))); len(given) < 30 && got.Verdict != Right {
				t.Errorf("the running total %q is right, as an expression %+v", completion, got)
			}
		}
		scored(t, "countdown use_all", lenient, row, completion)
	})
}

var statedTotal = regexp.MustCompile(`=\d+`)

// firstToLast writes a running total without its totals: 20-13=7+7=14 as 20-13+7.
func firstToLast(text string) string { return statedTotal.ReplaceAllString(text, "") }

// byStacks evaluates arithmetic with two stacks (Dijkstra's shunting yard), and
// counts the literals: another way than expression's. It is nil for what is none.
func byStacks(text string) (value *big.Rat, used map[int64]int) {
	var values []*big.Rat
	var ops []byte // '(' + - * / and, for a sign, n or p
	used = map[int64]int{}
	strength := map[byte]int{'+': 1, '-': 1, '*': 2, '/': 2, 'n': 3, 'p': 3}
	apply := func(least int) bool { // the operators on top that bind at least so strongly
		for len(ops) > 0 && strength[ops[len(ops)-1]] >= least {
			op := ops[len(ops)-1]
			ops = ops[:len(ops)-1]
			right := values[len(values)-1]
			if op == 'n' || op == 'p' {
				if op == 'n' {
					right.Neg(right)
				}
				continue
			}
			values = values[:len(values)-1]
			left := values[len(values)-1]
			switch {
			case op == '+':
				left.Add(left, right)
			case op == '-':
				left.Sub(left, right)
			case op == '*':
				left.Mul(left, right)
			case right.Sign() == 0:
				return false
			default:
				left.Quo(left, right)
			}
		}
		return true
	}
	for operand := true; text != ""; {
		c := text[0]
		digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
		switch {
		case operand && digits != "":
			x, _ := new(big.Rat).SetString(digits)
			values, operand, text = append(values, x), false, text[len(digits)-1:]
			used[x.Num().Int64()]++
		case operand && c == '(':
			ops = append(ops, c)
		case operand && c == '-':
			ops = append(ops, 'n')
		case operand && c == '+':
			ops = append(ops, 'p')
		case !operand && c == ')':
			if !apply(1) || len(ops) == 0 {
				return nil, used
			}
			ops = ops[:len(ops)-1]
		case !operand && strength[c] > 0 && c < 'a':
			if !apply(strength[c]) {
				return nil, used
			}
			ops, operand = append(ops, c), true
		default:
			return nil, used
		}
		text = text[1:]
	}
	if len(values) == 0 || !apply(1) || len(values) != 1 || len(ops) > 0 {
		return nil, used
	}
	return values[0], used
}

// FuzzAnswers: the verifiers of letters, patterns, formats and texts judge every
// completion; a text is as good as its own reference as can be.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{"#### 18", "(B) Paris", "The cat sat.", "a+b?", "İΣ ß", "-\n1,000.5", "The answer is **(b)**.", "A or B", "<think>\n</think>\n<answer>B</answer>", "x&amp;y 3.5, 4-5", "日本語", "ſK\u0301"} {
		f.Add("a cat", text)
		f.Add(text, text)
	}
	verifiers := map[string]Verifier{
		"multiple_choice": made(f, "multiple_choice", nil), "format": made(f, "format", nil), "regex": made(f, "regex", nil),
		"pattern": made(f, "format", map[string]any{"pattern": "(a+)+b|.*c"}),
	}
	texts := map[string]Verifier{}
	for _, name := range []string{"exact", "squad_exact", "f1", "bleu", "chrf", "rouge_1", "rouge_2", "rouge_l", "edit_similarity"} {
		texts[name] = made(f, name, nil)
	}
	texts["exact raw"] = made(f, "exact", map[string]any{"normalize": "raw"})
	texts["bleu none"] = made(f, "bleu", map[string]any{"smoothing": "none", "effective_order": false})
	texts["bleu char"] = made(f, "bleu", map[string]any{"tokens": "char", "smoothing": "add-k"})
	texts["indel"] = made(f, "edit_similarity", map[string]any{"distance": "indel"})
	texts["blocks"] = made(f, "edit_similarity", map[string]any{"distance": "blocks"})
	rows := map[string]Problem{"multiple_choice": {Answer: "B"}, "regex": {Answer: "a+b?|(c|d)*"}}
	symmetric := map[string]bool{"exact": true, "squad_exact": true, "exact raw": true, "f1": true, "edit_similarity": true, "indel": true, "rouge_l": true}
	f.Fuzz(func(t *testing.T, reference, completion string) {
		for name, v := range verifiers {
			scored(t, name, v, rows[name], completion)
		}
		if len(reference) > 2000 || len(completion) > 2000 || reference == "" {
			return
		}
		choices, err := json.Marshal([]string{"Rome", reference})
		if err != nil {
			t.Fatal(err)
		}
		scored(t, "choices", verifiers["multiple_choice"], Problem{Answer: "B", Metadata: map[string]json.RawMessage{"choices": choices}}, completion)
		for name, v := range texts {
			got := scored(t, name, v, Problem{Answer: reference}, completion)
			self := v.Verify(Problem{Answer: reference}, reference)
			if self.Score < got.Score && self.Verdict != Right {
				t.Errorf("%s: %q is worth %g against %q, itself only %g", name, completion, got.Score, reference, self.Score)
			}
			if back := v.Verify(Problem{Answer: completion}, reference); symmetric[name] && completion != "" && back.Score != got.Score {
				t.Errorf("%s: %q and %q are worth %g one way and %g the other", name, completion, reference, got.Score, back.Score)
			}
		}
	})
}

// FuzzJSON: the verifiers that read JSON and lists judge every completion, or
// none for a row that is none; a row's own answer is right; and JSON is read back
// as it was written.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,0.5]}`, "[[0,0,2,1]]", "1. a\n2. b\n3. c", "b > a > c", `<tool_call>{"name":"f","arguments":{"x":1.0}}</tool_call>`,
		"```json\n[1]\n```", `{"name":"f","arguments":"{\"x\":1}"}`, `[{"bbox":[1,2,3,4],"label":"a"}]`, `{"type":"object","required":["a"]}`, `{"$ref":"#"}`, `{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "[1e400]", `"\ud800"`, "-0.0"} {
		f.Add(text, text)
		f.Add(`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"multipleOf":0.5}}}}`, text)
		f.Add(`["a","b","c"]`, text)
		f.Add(`{"name":"f","arguments":{"x":1}}`, text)
		f.Add("[[0,0,2,2],[3,3,4,4]]", text)
	}
	verifiers := map[string]Verifier{
		"json_schema": made(f, "json_schema", nil), "iou": made(f, "iou", nil), "iou span": made(f, "iou", map[string]any{"kind": "span"}), "ordering": made(f, "ordering", nil),
		"pairs": made(f, "ordering", map[string]any{"score": "pairs"}), "tool_call": made(f, "tool_call", nil), "partial": made(f, "tool_call", map[string]any{"partial": true, "ordered": true}),
		"iou none": made(f, "iou", map[string]any{"extract": "none"}), "ordering none": made(f, "ordering", map[string]any{"extract": "none"}), "tool_call none": made(f, "tool_call", map[string]any{"extract": "none"}),
	}
	f.Fuzz(func(t *testing.T, reference, completion string) {
		for name, v := range verifiers {
			row := Problem{Answer: reference}
			if v.Verify(row, "{}").Verdict == NotScored {
				if got := v.Verify(row, completion); got.Verdict != NotScored {
					t.Errorf("%s: %q is scored against %q, and {} is not: %+v", name, completion, reference, got)
				}
				continue
			}
			scored(t, name, v, row, completion)
			if got := v.Verify(row, reference); strings.HasSuffix(name, "none") && got.Verdict != Right && len(reference) < maxCompletionBytes {
				t.Errorf("%s: %q is not its own answer: %+v", name, reference, got)
			}
		}
		if value, err := decodeJSON(completion); err == nil {
			raw, err := json.Marshal(value)
			if again, err2 := decodeJSON(string(raw)); err != nil || err2 != nil || !equalJSON(value, again) {
				t.Errorf("%q is read back as %s, %v, %v", completion, raw, err, err2)
			}
		}
	})
}

// FuzzMath: no completion panics, runs away or escapes being scored; what is
// written as the reference is right; and no number is right for another one.
func FuzzMath(f *testing.F) {
	for _, c := range mathEqual {
		f.Add(c.gold, c.pred)
	}
	for _, completion := range attacks() {
		if len(completion) < 1000 {
			f.Add("24", completion)
		}
	}
	loose := map[string]any{"percent": true, "strict": false, "allow_set_relation_comp": true}
	verifiers := map[string]Verifier{ExtractNone + " strictly": made(f, "math", map[string]any{"extract": ExtractNone})}
	for _, how := range []string{ExtractLenient, ExtractStrict, ExtractNone} {
		loose["extract"] = how
		verifiers[how] = made(f, "math", loose)
	}
	f.Fuzz(func(t *testing.T, gold, completion string) {
		for name, v := range verifiers {
			checkVerdict(t, v.Verify(Problem{Answer: gold}, completion))
			got := scored(t, name, v, Problem{Answer: "24"}, completion)
			if x, ok := plainRat(strings.TrimSpace(got.Extracted)); ok && (got.Verdict == Right) != (x.Cmp(big.NewRat(24, 1)) == 0) && !rounds(x, 24) {
				t.Errorf("%s: %q is %s: %+v", name, completion, x, got)
			}
		}
		if x, ok := plainRat(gold); ok {
			other := new(big.Rat).Add(x, big.NewRat(1, 3))
			if v := verifiers["none strictly"]; v.Verify(Problem{Answer: gold}, x.RatString()).Verdict != Right || v.Verify(Problem{Answer: gold}, other.RatString()).Verdict != Wrong {
				t.Errorf("%q is not %s, or is %s", gold, x.RatString(), other.RatString())
			}
		}
	})
}

// rounds: x is n to the decimals that math compares by default.
func rounds(x *big.Rat, n int64) bool { return x.FloatString(6) == fmt.Sprintf("%d.000000", n) }

// FuzzGrade: any line gives a verdict or an error, never a panic.
func FuzzGrade(f *testing.F) {
	for _, e := range Entries() {
		line, err := json.Marshal(map[string]any{"verifier": e.Name, "answer": "[1, 2]", "completion": "[2, 1]", "options": map[string]any{"extract": "none"}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"verifier":"countdown","task":{"metadata":{"numbers":[1,2],"target":3}},"completion":null,"extract":"none"}`))
	f.Add([]byte(`{"verifier":"json_schema","schema":{"pattern":"(a+)+$"},"completion":"\"aaaa!\""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if v, err := Grade(line, "number"); err == nil {
			checkVerdict(t, v)
		} else if err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

// FuzzEvaluate: the value of an expression is that which is calculated by other means, and is no longer
// than it may be.
func FuzzEvaluate(f *testing.F) {
	for _, text := range []string{"47+38-12", "1/3 + 1/7", "-(2-7)*1,000", ".5*4.", "8/(3-8/3)", "1/(3-3)", "2 × 3 ÷ 4 − 1", "((1", "1_000.25/--2", "\x00", "9 9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Evaluate(text)
		if err != nil {
			return
		}
		if longest := max(len(value.Num().Text(10)), len(value.Denom().Text(10))); longest > 1+len(text) {
			t.Errorf("%q is %s", text, value)
		}
		plain := strings.Join(strings.Fields(signs.Replace(text)), "")
		if strings.ContainsAny(plain, ".,_") {
			return
		}
		if other, _ := byStacks(plain); other == nil || value.Cmp(other) != 0 {
			t.Errorf("%q is %s, calculated is %v", text, value, other)
		}
	})
}
