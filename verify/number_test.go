package verify

import (
	"math/big"
	"strings"
	"testing"
)

func TestParseNumber(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0.5", "1/2"}, {"1/2", "1/2"}, {"50/100", "1/2"}, {".5", "1/2"}, {"5e-1", "1/2"}, {"-0.50", "-1/2"},
		{"0", "0"}, {"-0", "0"}, {"12.", "12"}, {" 12 ", "12"}, {"+12", "12"}, {"−12", "-12"}, {"007", "7"},
		{"1,234", "1234"}, {"-1,234,567.25", "-4938269/4"}, {"1_000", "1000"}, {"1.84e+2", "184"}, {"2E3", "2000"},
		{"1.5/2", "3/4"}, {"-3/6", "-1/2"}, {"3 / 6", "1/2"}, {"１８４", "184"}, {"١٨٤", "184"}, {"𝟙𝟠𝟜", "184"},
		{"0.1", "1/10"}, {"0.30000000000000004", "7500000000000001/25000000000000000"},
		{"9007199254740993", "9007199254740993"}, // 2^53 + 1 is no float64
		{"1e400", "1" + strings.Repeat("0", 400)},
	} {
		got, err := parseNumber(c.text, false)
		if err != nil || got.RatString() != c.want {
			t.Errorf("parseNumber(%q) = %v, %v; want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		"", " ", ".", "-", "+", "/", "1/", "/2", "1/0", "1/-2", "--1", "+-1", "- 1", "1 2", "1 234", "1,23", "1,2345",
		"12,34,567", ",123", "1,", "1__0", "_1", "1_", "1.2.3", "1e", "1e5.0", "1e401", "1e-401", "1e99999999999999999999",
		"nan", "inf", "Infinity", "0x10", "1½", "²", "Ⅷ", "一", "50%", "$5", "5 apples", "x", "1+1", "9^9^9^9",
		strings.Repeat("9", 401), "0." + strings.Repeat("0", 400), "1/2/3", "<answer>1</answer>",
	} {
		if got, err := parseNumber(text, false); err == nil {
			t.Errorf("parseNumber(%q) = %v, want an error", shown(text), got)
		}
	}
	if _, err := parseNumber("1/2", true); err == nil {
		t.Error("a plain number may not be a fraction")
	}
}

func TestNumber(t *testing.T) {
	const (
		announced = `{}`
		last      = `{"extract":"last_number"}`
		none      = `{"extract":"none"}`
	)
	for _, c := range []struct{ options, answer, completion, verdict, extracted string }{
		{announced, "0.5", "50/100", Right, "50/100"},
		{announced, "1/2", "<answer>0.5</answer>", Right, "0.5"},
		{announced, "1234", "so the answer is **1,234**.", Right, "1,234"},
		{announced, "42", "**Answer:** 42", Right, "42"},
		{announced, "42", "Final Answer: $42$", Right, "42"},
		{announced, "42", `thus \boxed{42}. Indeed 43`, Right, "42"},
		{announced, "42", "The answer is:\n\n42\nas said", Right, "42"},
		{announced, "42", "the answer: isosceles", Wrong, "isosceles"},
		{announced, "42", "the answer isn't 41: \n42", Wrong, ""},
		{announced, "42", "Unanswered: 42\n.", Wrong, ""},
		{announced, "42", "I count 41\nand 42", Wrong, ""},
		{announced, "42", "about 42", Wrong, "about 42"},
		{announced, "42", "<answer>41</answer> no, <answer>42</answer>", Right, "42"},
		{announced, "42", "<answer>42</answer> no, <answer>41</answer>", Wrong, "41"},
		{announced, "42", "<answer>42 or 41</answer>", Wrong, "42 or 41"},
		{announced, "42", "<think><answer>42</answer></think>43", Wrong, "43"},
		{announced, "42", "<think>it is 43</think>\n\\boxed{42}", Right, "42"},
		{announced, "42", "<think>the answer is 42", Wrong, ""},
		{announced, "42", "", Wrong, ""},
		{announced, "42", "<answer></answer>", Wrong, ""},
		{announced, "1/3", "0.3333333333333333", Wrong, "0.3333333333333333"},
		{announced, "9007199254740993", "9007199254740992", Wrong, "9007199254740992"},
		{last, "42", "I count 41, then 42", Right, "42"},
		{last, "42", "2 + 40 = 42.", Right, "42"},
		{last, "-7", "so it is -7", Right, "-7"},
		{last, "4", "3-4", Right, "4"},
		{last, "-4", "3-4", Wrong, "4"},
		{last, "42", "42, see x2 and the 2nd", Right, "42"},
		{last, "-4", "x = −4 m", Right, "−4"},
		{last, "-1/2", "a slope of -1/2, then", Right, "-1/2"},
		{last, "1234", "1,234, no more", Right, "1,234"},
		{last, "3", "f(2)-3", Right, "3"},
		{last, "42", "42" + strings.Repeat(" a1", maxCandidates-1), Right, "42"},
		{last, "42", "42" + strings.Repeat(" a1", maxCandidates), Wrong, ""},
		{last, "42", "none", Wrong, ""},
		{none, "42", " 42\n", Right, "42"},
		{none, "42", "$42", Wrong, "$42"},
		{none, "42", "The answer is 42", Wrong, "The answer is 42"},
		{`{"tolerance":"0.01"}`, "3.14", "3.15", Right, "3.15"},
		{`{"tolerance":"0.01"}`, "3.14", "3.1500001", Wrong, "3.1500001"},
		{`{"plain":true}`, "0.5", "1/2", Wrong, "1/2"},
		{announced, "", "42", NotScored, ""},
		{announced, "forty-two", "42", NotScored, ""},
	} {
		e, err := Lookup("number")
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.New([]byte(c.options))
		if err != nil {
			t.Fatal(err)
		}
		got := v.Verify(Problem{Answer: c.answer}, c.completion)
		checkVerdict(t, got)
		if got.Verdict != c.verdict || got.Extracted != c.extracted {
			t.Errorf("%s: answer %q, completion %q: %+v, want %s with %q", c.options, c.answer, c.completion, got, c.verdict, c.extracted)
		}
	}
}

// TestNumberRandomWrong: a number that differs in any digit of any magnitude is
// wrong, and every way to write the right one is right.
func TestNumberRandomWrong(t *testing.T) {
	n := Number{Extract: ExtractNone, Tolerance: "0"}
	r := newRand(1)
	for range 10_000 {
		numerator, denominator := int64(r.Uint64()>>1)-1<<62, int64(r.IntN(1<<30))+1
		x := big.NewRat(numerator, denominator)
		off := new(big.Rat).Add(x, big.NewRat(1, 1+int64(r.Uint64()>>1)))
		if v := n.Verify(Problem{Answer: x.RatString()}, off.RatString()); v.Verdict != Wrong {
			t.Fatalf("reference %s, answer %s: %+v", x, off, v)
		}
		same := new(big.Int).Mul(big.NewInt(numerator), big.NewInt(7)).String() + "/" + new(big.Int).Mul(big.NewInt(denominator), big.NewInt(7)).String()
		if v := n.Verify(Problem{Answer: x.RatString()}, same); v.Verdict != Right {
			t.Fatalf("reference %s, answer %s: %+v", x, same, v)
		}
	}
}

func TestNumberOptions(t *testing.T) {
	for options, want := range map[string]string{
		`{"extract":"guess"}`:    `option extract is "guess"; accepted: ["announced" "last_line" "last_number" "none"]`,
		`{"tolerance":"-1"}`:     `option tolerance is "-1"`,
		`{"tolerance":"a"}`:      `option tolerance is "a"`,
		`{"tolerence":"0"}`:      `unknown key tolerence; did you mean tolerance?`,
		`{"plain":"yes please"}`: `plain = "yes please" is a string; accepted: true or false`,
	} {
		e, err := Lookup("number")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.New([]byte(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", options, err, want)
		}
	}
}

// TestNumberMarks: TeX around a number is no part of it.
func TestNumberMarks(t *testing.T) {
	checkLines(t, "number", []judged{
		{`{"answer":"7","completion":"The answer is \\(7\\)."}`, Right, 0},
		{`{"answer":"7","completion":"\\[7\\]"}`, Right, 0},
		{`{"answer":"7","completion":"<answer>\\boxed{7}</answer>"}`, Right, 0},
		{`{"answer":"7","completion":"<answer>$\\boxed{ 7 }$</answer>"}`, Right, 0},
		{`{"answer":"1234","completion":"\\boxed{1{,}234}"}`, Right, 0},
		{`{"answer":"7","completion":"<answer>\\boxed{8}\\boxed{7}</answer>"}`, Wrong, 0},
		{`{"answer":"7","completion":"<answer>\\(8\\) \\(7\\)</answer>"}`, Wrong, 0},
		{`{"answer":"7","completion":"<answer>\\boxed{7}}</answer>"}`, Wrong, 0},
	})
}
