package algebra

import (
	"slices"
	"strings"
	"testing"
)

// TestLogits: a sum has a term for each model that it names, in the order of the names.
func TestLogits(t *testing.T) {
	terms, err := CompileLogits("0.5*(tuned - small) + policy", []string{"policy", "small", "tuned", "unread"})
	if want := []Term{{"policy", 1}, {"small", -0.5}, {"tuned", 0.5}}; err != nil || !slices.Equal(terms, want) {
		t.Errorf("%v (%v), want %v", terms, err, want)
	}
	for text, want := range map[string]string{
		"policy*tuned":      "column 7: * multiplies what is no number; accepted: a sum of models with factors",
		"policy + position": "position tells of completions, and is no model",
		"0":                 "the formula names no model",
	} {
		if _, err := CompileLogits(text, []string{"policy", "tuned"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
