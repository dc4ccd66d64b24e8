package train

import (
	"strings"
	"testing"
)

// TestThought: a thought ends before the token in which the last place of the answer begins, and what that token has before
// the answer goes with the text that is scored. No character is cut.
func TestThought(t *testing.T) {
	for _, c := range []struct {
		pieces, answer string
		n              int
		lead           string
	}{
		{"12|+|7|=|19", "19", 4, ""},
		{"11|=|11", "11", 2, ""},               // the last one
		{"the answer| is| 11|.", "11", 2, " "}, // with its space
		{"say| \"x\"", "x", 1, " \""},
		{"11", "11", 0, ""},
		{"12|+|7", "19", 3, ""}, // it stands nowhere
		{"12|+|7", "", 3, ""},   // there is none
		{"", "", 1, ""},
		{"=||é|", "é", 1, ""},  // a character of two tokens, and the end
		{"a||éb", "b", 1, "é"}, // and with the answer
	} {
		if n, lead := thought(strings.Split(c.pieces, "|"), c.answer); n != c.n || lead != c.lead {
			t.Errorf("%q of %q: %d tokens and %q, want %d and %q", c.answer, c.pieces, n, lead, c.n, c.lead)
		}
	}
}
