//go:build unix

package terminal

import (
	"os/exec"
	"testing"
)

// TestShellWord: a shell reads back what was quoted, and plain names stay as they are.
func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"runs/first-20260101": "runs/first-20260101",
		"my runs/first":       "'my runs/first'",
		"it's":                `'it'\''s'`,
		"28 9 7 > 12:":        "'28 9 7 > 12:'",
		"$(date)`x`\"*~":      "'$(date)`x`\"*~'",
		"":                    "''",
		"é\nx":                "'é\nx'",
		`a\b`:                 `'a\b'`,
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if out, err := exec.Command("sh", "-c", "printf %s "+ShellWord(text)).Output(); err != nil || string(out) != text {
			t.Errorf("the shell reads %s as %q, %v, want %q", ShellWord(text), out, err, text)
		}
	}
}
