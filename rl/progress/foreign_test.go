package progress

import (
	"errors"
	"strings"
	"testing"
)

// TestLine: text of others reaches the terminal as text alone.
func TestLine(t *testing.T) {
	var out strings.Builder
	New(&out).Line("step %d: %s", 3, "\x1b[2J\u202eprompt")
	if want := `step 3: \x1b[2J\u202eprompt` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// closed is a terminal that has gone away.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("input/output error") }

// TestClosed: what cannot be shown is lost, with and without bars, and nothing waits.
func TestClosed(t *testing.T) {
	for _, width := range []int{0, 80} {
		r := New(closed{})
		r.width = width
		r.Begin("rl", 0, 3)
		for step := 1; step <= 3; step++ {
			r.Step(step, "reward 0.5")
			r.Line("a line")
		}
		r.End()
	}
}
