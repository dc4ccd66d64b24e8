package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCommands: the command lines in the README's blocks are ones that the program
// takes, and a benchmark that is to measure some cases alone finds them.
func TestReadmeCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands, measured := 0, 0
	for _, block := range regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			for _, args := range exampleCommands("   " + line) {
				commands++
				if got, err := parse(args); err != nil || got.command == "" {
					t.Errorf("%q: %v", args, err)
				}
				if args[0] != "bench" || !strings.Contains(line, "--only") {
					continue
				}
				measured++
				code, out, stderr := rlzero(t, append(args, "--device", "ref", "--gflops", "1", "--gb-s", "1", "--longest", "1ns")...)
				if code != 0 || !strings.Contains(out, "skipped: ") {
					t.Errorf("%q: exit code %d, %s%s", args, code, out, stderr)
				}
			}
		}
	}
	if commands < 20 || measured < 4 {
		t.Errorf("%d commands and %d benchmarks in the README: is the shape of their lines still known here?", commands, measured)
	}
}
