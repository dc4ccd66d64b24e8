package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"20 13 7 > 10:", "20 13 7 > 10:"},
		{"12345678901234567890", "12345678901234567890"},
		{"123456789012345678901", "12345678901234567890…"},
		{"naïve 日本", "naïve 日本"},
		{"\x1b[31mred\x1b]0;title\a", `\x1b[31mred\x1b]0;title\a`},
		{"a\r\nb\tc\x00\x7f", `a\r\nb\tc\x00\x7f`},
		{"\u009b31m", `\u009b31m`}, // the escape sequence of C1
		{"a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"a\u2028b\u2029", `a\u2028b\u2029`},
		{"a\xffb\xe2\x82", `a\xffb\xe2\x82`},
		{"\ufffd", "\ufffd"}, // as it stands
		{`a"b\`, `a"b\`},
	} {
		if got := Line(c.text, 20); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"": `""`, "a\x1b[m\"": `"a\x1b[m\""`, strings.Repeat("é", 81): `"` + strings.Repeat("é", 80) + `"…`, strings.Repeat("é", 80): `"` + strings.Repeat("é", 80) + `"`} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	for text, want := range map[string]string{
		"two\n\tlines\n":                  "two\n\tlines\n",
		"a\x1b[2Jb\nc\u202ed":             `a\x1b[2Jb` + "\n" + `c\u202ed`,
		strings.Repeat("a\n", 100) + "b":  strings.Repeat("a\n", 60) + "…",
		"x" + strings.Repeat("é", 1<<20):  "x" + strings.Repeat("é", 1999) + "…",
		strings.Repeat("a", 2000) + "\nb": strings.Repeat("a", 2000) + "\nb",
	} {
		if got := Message(text); got != want {
			t.Errorf("%.60q: %.60q", text, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]bool{"20 13 7 > 10:": true, "": true, "a\nb": false, "a\x1b": false, "\xff": false, strings.Repeat("a", 21): false} {
		if Printable(text, 20) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// FuzzTerminal: nothing that a terminal acts on comes through, however long the text.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"one\n\n\ttwo":          "one\n\n\ttwo",
		"\n":                    "\n",
		"a\x1b[2Jb\nc\u202ed\t": `a\x1b[2Jb` + "\n" + `c\u202ed` + "\t",
		"é\xff":                 `é\xff`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if long := strings.Repeat("aé\n", 1<<16); Text(long) != long {
		t.Error("a long text is cut")
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[31mred\u202e\xff\n\t" + strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, text string) {
		for _, shown := range []string{Line(text, 50), Quote(text), strings.NewReplacer("\n", "", "\t", "").Replace(Message(text)), strings.NewReplacer("\n", "", "\t", "").Replace(Text(text))} {
			if !utf8.ValidString(shown) || !Printable(shown, len(shown)) {
				t.Errorf("%q is shown as %q", text, shown)
			}
		}
		if n := utf8.RuneCountInString(Line(text, 50)); n > 50*len(`\U0010ffff`)+1 {
			t.Errorf("%q: %d characters", text, n)
		}
	})
}
