package tasks

import (
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestHoles: answers that our own verifiers once paid, numbered by hole.
func TestHoles(t *testing.T) {
	for i, c := range []struct{ family, reference, answer, want string }{
		{"polynomial_equations", "none", ",", verify.Wrong}, // 1: commas alone stood for no solution
		{"polynomial_equations", "none", ", ;", verify.Wrong},
		{"polynomial_equations", "none", "None.", verify.Right},
		{"polynomial_equations", "none", "[]", verify.Right},
		{"polynomial_equations", "1", "1, not none", verify.Wrong}, // 2: words that deny a solution were passed over
		{"polynomial_equations", "1", "1, and no other", verify.Wrong},
		{"polynomial_equations", "1", "1, and that is all", verify.Right},
		{"coin_flip", "3/1024", "3/1020", verify.Wrong}, // 3: fractions were taken for rounded decimals
		{"coin_flip", "3/1024", "6/2048", verify.Right},
		{"coin_flip", "3/1024", "0.00293", verify.Right},
	} {
		row := verify.Problem{Question: "Solve it.", Answer: c.reference}
		if v := byItsVerifier(t, c.family, row, c.answer); v.Verdict != c.want {
			t.Errorf("%d: %s, %q for %q: %+v, want %s", i, c.family, c.answer, c.reference, v, c.want)
		}
	}
}
