package verify

import (
	"strings"
	"testing"
)

// attacks are completions that deserve nothing from any verifier: none of them
// is the answer 24, a form of it, or two tagged parts.
func attacks() map[string]string {
	const many = 100_000
	return map[string]string{
		"empty":              "",
		"blank":              " \n\t\r\n ",
		"zero byte":          "\x00",
		"bad UTF-8":          "\xff\xfe<answer>\xc3\x28</answer>",
		"prompt echo":        "Using the numbers 3, 8, 2, 5 create an expression that equals 24.",
		"empty tag":          "<answer></answer>",
		"empty box":          `\boxed{}`,
		"all candidates":     "24, 23, 22, 21, 25",
		"two answers":        "<answer>24</answer><answer>23</answer>",
		"two in one answer":  "<answer>24 or 23</answer>",
		"answer in thoughts": "<think><answer>3*8</answer></think>",
		"unclosed thoughts":  "<think>\\boxed{24}",
		"power tower":        "9^9^9^9^9",
		"power":              "9**9**9**9",
		"factorial":          "99999999!",
		"exponent":           "1e999999999",
		"long exponent":      "1e" + strings.Repeat("9", many),
		"overflow":           "9223372036854775808+9223372036854775808",
		"negative overflow":  "-9223372036854775808*-1",
		"many digits":        strings.Repeat("9", many),
		"many zeros":         "0." + strings.Repeat("0", many) + "1",
		"many commas":        "1" + strings.Repeat(",000", many),
		"open brackets":      strings.Repeat("(", many),
		"nested brackets":    strings.Repeat("(", many) + "3*8" + strings.Repeat(")", many),
		"nested boxes":       strings.Repeat(`\boxed{`, many) + "24",
		"nested tags":        strings.Repeat("<answer>", many) + "24",
		"closing tags":       strings.Repeat("</answer>", many),
		"signs":              strings.Repeat("-", many) + "3*8",
		"short nesting":      strings.Repeat("(", maxDepth) + "3" + strings.Repeat(")", maxDepth) + "*8",
		"operators":          strings.Repeat("3+", many) + "8",
		"fractions":          strings.Repeat("1/", many) + "1",
		"one over zero":      "24/0",
		"phrase":             strings.Repeat("answer is ", many),
		"not a number":       "nan",
		"infinity":           "inf",
		"unicode operators":  "３＊８",
		"superscript":        "2⁴",
		"code":               "__import__('os').system('touch x')",
		"huge":               strings.Repeat("x", maxCompletionBytes+1),
		"huge right answer":  strings.Repeat(" ", maxCompletionBytes) + "<answer>24</answer>",
		"very long answer":   "<answer>" + strings.Repeat("(", maxAnswerBytes) + "</answer>",
		"right-to-left":      "\u202e42",
		"zero-width":         "2\u200b4",
	}
}

func TestAttacksEarnNothing(t *testing.T) {
	row := countdownRowOf([]int64{3, 8, 2, 5}, 24)
	row.Answer = "24"
	for _, v := range []struct {
		name    string
		options map[string]any
	}{
		{"number", map[string]any{"extract": ExtractAnnounced}},
		{"number", map[string]any{"extract": ExtractLastNumber}},
		{"number", map[string]any{"extract": ExtractNone}},
		{"countdown", nil},
		{"countdown", map[string]any{"extract": ExtractAnnounced, "use_all": true}},
		{"countdown", map[string]any{"extract": ExtractNone}},
		{"countdown", map[string]any{"form": FormRunningTotal}},
		{"format", nil},
		{"format", map[string]any{"pattern": "(a+)+b"}},
	} {
		verifier, err := New(v.name, v.options)
		if err != nil {
			t.Fatal(err)
		}
		for name, completion := range attacks() {
			got := verifier.Verify(row, completion)
			checkVerdict(t, got)
			// The last number of a text that holds the answer is the answer:
			// what "last_number" asks for, and why it is not the default.
			lucky := v.options["extract"] == ExtractLastNumber && got.Extracted == "24"
			if got.Verdict != Wrong && !lucky {
				t.Errorf("%s %v: the attack %q earned %+v", v.name, v.options, name, got)
			}
		}
	}
}

// TestMathAttacks: no attack earns anything in strict extraction, and in lenient
// extraction only those in which 24, or a product that is 24, stands alone or is the
// last number: why the options offer the strict one for rewards.
func TestMathAttacks(t *testing.T) {
	lenient := map[string]bool{"prompt echo": true, "nested tags": true, "nested boxes": true, "short nesting": true}
	for _, how := range []string{ExtractStrict, ExtractLenient} {
		v, err := New("math", map[string]any{"extract": how})
		if err != nil {
			t.Fatal(err)
		}
		for name, completion := range attacks() {
			got := v.Verify(Problem{Answer: "24"}, completion)
			checkVerdict(t, got)
			if got.Verdict != Wrong && !(how == ExtractLenient && lenient[name]) {
				t.Errorf("%s: the attack %q earned %+v", how, name, got)
			}
		}
	}
}
