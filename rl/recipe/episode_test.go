package recipe

import (
	"strings"
	"testing"
)

// TestTold: formulas read what the task's world tells of a turn, and nothing else.
func TestTold(t *testing.T) {
	for set, want := range map[string]string{
		"stage.rl.algorithm.advantage=own*turn.lost":             "",
		"stage.rl.reward=task - 0.1*sum(turn.left)":              "",
		"stage.rl.algorithm.advantage=own*turn.bits":             "stage.rl.algorithm reads turn.bits, which task guess does not tell of a turn; accepted: turn.left, turn.lost",
		"stage.rl.reward=task - 0.1*sum(default(turn.calls, 0))": "stage.rl.reward reads turn.calls, which task guess does not tell of a turn; accepted: turn.left, turn.lost",
	} {
		_, err := Load("guess-tiny", []string{set})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (want == "") != (err == nil) || !strings.HasSuffix(said, want) {
			t.Errorf("%s: %q, want %q", set, said, want)
		}
	}
}
