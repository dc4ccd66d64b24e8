package verify

import (
	"strings"
	"testing"
)

// TestEvaluate: decimal numbers are read exactly, and what cannot be read is named.
func TestEvaluate(t *testing.T) {
	for text, want := range map[string]string{
		"0.1+0.2": "3/10", "1,234.5*2": "2469", "1_000/3": "1000/3", " ( 7 ) ": "7", "--7": "7", ".5+5.": "11/2", `\left(2\right)\times 3`: "6",
	} {
		if value, err := Evaluate(text); err != nil || value.RatString() != want {
			t.Errorf("%q: %v, %v; want %s", text, value, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                         "it ends where a number is expected",
		"1.2.3":                    `"1.2.3": not a number`,
		"12,34":                    `"12,34": not a number`,
		".":                        `".": not a number`,
		"2^3":                      `found "^" where an operator is expected`,
		"1/0.0":                    "it divides by zero",
		strings.Repeat("-", 65):    "nested deeper than 64",
		strings.Repeat("7", 401):   "more than 400 digits",
		strings.Repeat("1+", 1000): "it has 2000 bytes; accepted: at most 1024",
	} {
		if value, err := Evaluate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, %v; want %s", text, value, err, want)
		}
	}
}
