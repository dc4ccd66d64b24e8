package page

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// sameAsRegexp fails where a dfa and package regexp disagree; false: there is no dfa.
func sameAsRegexp(t *testing.T, expression, text string) bool {
	t.Helper()
	re, err := regexp.Compile(expression)
	if err != nil {
		return false
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	must(t, err)
	d := newDFA(tree)
	if d == nil {
		return false
	}
	for range 2 { // with states that are new, and with known ones
		if got, want := d.match([]byte(text)), re.MatchString(text); got != want {
			t.Errorf("%q in %q: %v, want %v", expression, text, got, want)
		}
	}
	return true
}

func TestDFA(t *testing.T) {
	texts := []string{"", "a", "aab", "2468", "246 8", "zebra", "ZEBRRA", "ü", "\u212a", "a\nb", "\xff", "a\xffb", "日本語", "abcabcabd"}
	for _, expression := range []string{
		"", "a", "a*", "a+b", "[2468]{3}", `\d{2,}\s\d`, "zeb+ra", "(?i)zebra", "(?i)k", "ü", "[^a]", ".", "(?s).", "a.b", "(?s)a.b", `\pL{3}`, "本", "abc.*abd", "(abc|abd){3}", "x|y|", "[^\\x00-\\x7f]", "a?b?c?d", "(a|b)*c[^d]", "^a", "b$", "^$", "$^", "^a*$", "(^|b)a", "a(b|$)", "^(abc)+abd$", `\Aa`, `b\z`, "x*$",
	} {
		for _, text := range texts {
			if !sameAsRegexp(t, expression, text) {
				t.Errorf("%q has no states", expression)
			}
		}
	}
	for _, expression := range []string{`\bword`, "(?m)^x", "(?m)x$"} {
		if sameAsRegexp(t, expression, "") {
			t.Errorf("%q looks beside characters", expression)
		}
	}
}

// TestDFAStates: an expression that has more states than are kept finds the same.
func TestDFAStates(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		b.WriteByte("ab"[(i*i>>3^i>>5)&1])
		if i%997 == 0 {
			b.WriteString("é")
		}
	}
	text := b.String()
	if !sameAsRegexp(t, "a[ab]{40}c", text) || !sameAsRegexp(t, "a[ab]{20}é", text) {
		t.Error("there are no states")
	}
}

// FuzzDFA: a dfa and package regexp agree on every expression and text.
func FuzzDFA(f *testing.F) {
	for _, seed := range [][2]string{{"[2468]{3}", "a 246"}, {"(?i)k|ſ", "\u212a"}, {"(a|b*)*c", "ababc"}, {`\PL`, "\xff"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(expression) < 60 && len(text) < 1000 {
			sameAsRegexp(t, expression, text)
		}
	})
}
