package terminal

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 problems": Count(0, "problem", ""), "1 problem": Count(1, "problem", ""), "2 problems": Count(2, "problem", ""),
		"1 entry": Count(1, "entry", "entries"), "3 entries": Count(3, "entry", "entries"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
