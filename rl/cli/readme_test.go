package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedCommands: the command lines in the blocks of docs/why, most of which would run
// for hours, are ones that the program takes, and a benchmark that is to measure some cases
// alone finds them. internal/blackbox runs those of README.md and of the guides.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "why", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands, measured := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			if block[1] != "" && block[1] != "sh" {
				continue
			}
			for line := range strings.Lines(joined(block[2])) {
				for _, args := range exampleCommands("   " + line) {
					commands++
					if got, err := parse(args); err != nil || got.command == "" {
						t.Errorf("%s: %q: %v", page, args, err)
					}
					if args[0] != "bench" || !strings.Contains(line, "--only") {
						continue
					}
					measured++
					code, out, stderr := rlzero(t, append(args, "--device", "ref", "--gflops", "1", "--gb-s", "1", "--longest", "1ns")...)
					if code != 0 || !strings.Contains(out, "skipped: ") {
						t.Errorf("%s: %q: exit code %d, %s%s", page, args, code, out, stderr)
					}
				}
			}
		}
	}
	if commands < 12 || measured < 4 {
		t.Errorf("%d commands and %d benchmarks in the documents: is the shape of their lines still known here?", commands, measured)
	}
}
