package settings

import (
	"fmt"
	"strings"
	"testing"
)

// numbered is a text for each number below n.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBounds: texts that would keep the TOML parser busy for hours, or take all the
// memory, are refused before it sees them, with their place.
func TestBounds(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a.", 100_000) + "a = 1":                                           "r.toml:1:32: a key of more than 16 parts",
		"# a.b\n[" + strings.Repeat("a.", 100_000) + "a]":                                 "r.toml:2:33: a key of more than 16 parts",
		"x = 'a.b'\n" + strings.Repeat("\"a\".", 100_000) + "a = 1":                       "r.toml:2:64: a key of more than 16 parts",
		"a = {" + strings.Repeat("a = {", 100_000):                                        "in more than 32 others",
		"a = " + strings.Repeat("[", 500_000) + strings.Repeat("]", 1000):                 "r.toml:1:37: lists or tables in more than 32 others",
		strings.Repeat("[[stage]]\n", 100_000):                                            "r.toml:2001:1: more than 2000 keys and tables",
		numbered(50_000, "[a%d]\n"):                                                       "more than 2000 keys and tables",
		numbered(50_000, "a%d = 1\n"):                                                     "more than 2000 keys and tables",
		"a = {" + numbered(50_000, "a%d = 1, ") + "}":                                     "more than 2000 keys and tables",
		strings.Repeat("# a\n", 1<<18) + "#":                                              "r.toml:1:1: 1048577 bytes; accepted: at most 1048576",
		"a = '''" + strings.Repeat("a.", 100) + "\n" + "'''\n" + strings.Repeat("b.", 20): "r.toml:3:32: a key of more than 16 parts",
	} {
		_, err := Parse("r.toml", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %.200v, want %s", text, err, want)
		}
	}
	for _, set := range []string{strings.Repeat("a.", 10_000) + "a=1", "stage." + strings.Repeat("a.", 10_000) + "a=1"} {
		d := &Document{tree: map[string]any{}}
		if d.Override(set); d.Err() == nil || !strings.Contains(d.Err().Error(), "a key of more than 16 parts") {
			t.Errorf("%.30q: %.200v", set, d.Err())
		}
	}
}

// TestWithinBounds: dots, brackets and marks in texts and comments count for nothing.
func TestWithinBounds(t *testing.T) {
	dots := strings.Repeat(".[{=", 50)
	for _, text := range []string{"", "# " + dots, "a = '" + dots + "'", `a = "\"` + dots + `"`, "a = '''\n" + dots + "'''", `a = """` + "\n\\\"\"" + dots + `"""`,
		"a = [" + strings.Repeat("1.5, [1], ", 1000) + "]", "'a." + dots + "' = 1", "a = '" + dots, "#", "a = \"\\"} {
		if line, column, err := bounded(text); err != nil {
			t.Errorf("%q:%d:%d: %v", text, line, column, err)
		}
	}
}

// FuzzBounds: whatever the text, the look at it ends, and what it lets through parses
// or fails, with a place in the text.
func FuzzBounds(f *testing.F) {
	for _, text := range []string{"a = 1", "[a.b]\nc = '''x'''", "a = {b = [1.5, \"\\\"\"]} # c", strings.Repeat("a.", 20), "a = \"\"\"\\\"\"\"", "'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, column, err := bounded(text)
		if lines := strings.Count(text, "\n") + 1; err != nil && (line < 1 || line > lines || column < 1) {
			t.Errorf("%d:%d of %d lines: %v", line, column, lines, err)
		}
		_, _ = Parse("r.toml", text)
	})
}
