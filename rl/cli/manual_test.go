package cli

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/reward"
)

// TestShowFormula: every name of the manual can be asked for, whatever it is.
func TestShowFormula(t *testing.T) {
	for name, want := range map[string]string{
		"tis":        "tis (named formula, for weight)\n   = clip(exp(start - old), is_low, is_high)\n",
		"apart":      "apart(x) (named formula, for preference)\n",
		"token_mean": "token_mean(x[, where]) (function)\n",
		"steps":      "steps (fact, one value for the run)\n",
		"inside":     "inside(pattern) (fact, one value for each token, for algorithm)\n",
	} {
		if code, stdout, stderr := rlzero(t, "formulas", "show", name); code != 0 || !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: exit code %d, %q%s, want %q", name, code, stdout, stderr, want)
		}
	}
}

// TestOneManual: every fact is listed once, and what rewards and methods share has one
// text, level and unit.
func TestOneManual(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range vocabularies() {
		for _, f := range v.facts {
			if seen[f.Name] {
				t.Errorf("%s is listed twice", f.Name)
			}
			seen[f.Name] = true
		}
	}
	known := map[string]formula.Fact{}
	for _, f := range reward.Facts() {
		known[f.Name] = f
	}
	shared := 0
	for _, f := range algo.Facts() {
		f.Meaning = strings.TrimSuffix(f.Meaning, "; no stage supplies it yet") // to methods; rewards may have it
		if k, ok := known[f.Name]; ok {
			if shared++; k.Meaning != f.Meaning || k.Level != f.Level || k.Unit != f.Unit || k.Condition != f.Condition {
				t.Errorf("%s: %+v for rewards, %+v for methods", f.Name, k, f)
			}
		}
		if !seen[f.Name] {
			t.Errorf("%s is not listed", f.Name)
		}
	}
	if shared < 5 {
		t.Errorf("%d shared facts", shared)
	}
}
