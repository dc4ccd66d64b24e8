package page

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// sameAsRegexp fails where a dfa that does not give up and package regexp disagree; false:
// there is no dfa.
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
		got, gaveUp := d.match([]byte(text))
		if want := re.MatchString(text); !gaveUp && got != want {
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

// dfaOf is that of an expression.
func dfaOf(t *testing.T, expression string) *dfa {
	t.Helper()
	tree, err := syntax.Parse(expression, syntax.Perl)
	must(t, err)
	return newDFA(tree)
}

// letters are a and b in no order, each pause of them followed by as many z.
func letters(size, every, z int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteByte("ab"[random.IntN(2)])
		if i%every == 0 {
			b.WriteString(strings.Repeat("z", z))
		}
	}
	return b.String()
}

// TestDFAForgets: an expression that has more states than are kept, each of which serves many
// bytes, finds the same with those that are left.
func TestDFAForgets(t *testing.T) {
	const expression = "a[ab]{13}c"
	text := letters(400_000, 14, 200) // 14 states at most for each 214 bytes
	for _, end := range []string{"", "abbbbbaaaaabbbc", "abbbbbaaaaabbc"} {
		d := dfaOf(t, expression)
		got, gaveUp := d.match([]byte(text + end))
		if want := regexp.MustCompile(expression).MatchString(text + end); got != want || gaveUp || !d.forgot {
			t.Errorf("%q at the end: %v, want %v; gave up %v, forgot %v", end, got, want, gaveUp, d.forgot)
		}
	}
}

// TestDFAGivesUp: where states are not met again, package regexp goes on. What a dfa holds is
// bounded by the words of its sets, however large one state is.
func TestDFAGivesUp(t *testing.T) {
	for _, c := range []struct{ expression, text string }{
		{"a.{0,200}b.{0,200}Z", letters(1<<20, 1<<20, 0)},
		{"a[ab]{40}c", letters(1<<20, 1<<20, 0)},
		{"(" + strings.Repeat("a.{0,900}|", 12) + "x)Z", letters(2500, 2500, 0)},
	} {
		d := dfaOf(t, c.expression)
		if _, gaveUp := d.match([]byte(c.text)); !gaveUp {
			t.Errorf("%s: %d bytes are read with states", c.expression, len(c.text))
		}
		words := 0
		for _, set := range d.sets[:cap(d.sets)] {
			words += len(set)
		}
		if most := maxWords + len(d.prog.Inst); words > most {
			t.Errorf("%s: the states hold %d words, want %d at most", c.expression, words, most)
		}
		m, err := search{Text: c.expression, Regexp: true}.matcher()
		must(t, err)
		find, text := m.finder(), c.text[:min(len(c.text), 10_000)]
		for _, end := range []string{"", "Z"} { // it gives up on the way; from the beginning
			if got, want := find([]byte(text+end)), m.re.MatchString(text+end); got != want {
				t.Errorf("%s, %q at the end: %v, want %v", c.expression, end, got, want)
			}
		}
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
