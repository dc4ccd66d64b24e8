package natsd

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// textsOf are all texts of one to most tokens.
func textsOf(tokens []string, most int) []string {
	var all, last []string
	last = []string{""}
	for range most {
		var next []string
		for _, t := range last {
			for _, token := range tokens {
				next = append(next, strings.TrimPrefix(t+"."+token, "."))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// plain is a pattern as a regular expression over subjects, by the definition.
func plain(pattern string) *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `[^.]+`)
	return regexp.MustCompile("^" + strings.ReplaceAll(text, ">", ".+") + "$")
}

// TestCovers compares patterns with the definition: they have the subjects that their regular
// expressions meet, and one covers another if it has all of its subjects. Of these a letter more
// and a token more than the patterns have are enough to tell patterns apart.
func TestCovers(t *testing.T) {
	subjects := textsOf([]string{"a", "b", "c"}, 4)
	patterns := slices.DeleteFunc(textsOf([]string{"a", "b", "*", ">"}, 3), func(p string) bool { return strings.Contains(p, ">.") })
	has := map[string][]bool{}
	for _, p := range patterns {
		meets := plain(p)
		for _, s := range subjects {
			has[p] = append(has[p], meets.MatchString(s))
			if got := covers(p, s); got != meets.MatchString(s) {
				t.Errorf("%s covers %s: %t", p, s, got)
			}
		}
	}
	for _, p := range patterns {
		for _, q := range patterns {
			want := true
			for i := range subjects {
				want = want && (has[p][i] || !has[q][i])
			}
			if got := covers(p, q); got != want {
				t.Errorf("%s covers %s: %t", p, q, got)
			}
		}
	}
}

func TestForms(t *testing.T) {
	for text, want := range map[string]struct{ pattern, literal bool }{
		"a": {true, true}, "a.b": {true, true}, "a*.>b": {true, true}, "ä.$": {true, true},
		"*": {true, false}, ">": {true, false}, "a.*.b": {true, false}, "a.>": {true, false}, "*.>": {true, false},
		"": {false, false}, ".": {false, false}, ".a": {false, false}, "a.": {false, false}, "a..b": {false, false},
		">.a": {false, false}, "a.>.b": {false, false}, ">.": {false, false},
	} {
		if p, l := wellFormed(text), literal(text); p != want.pattern || l != want.literal {
			t.Errorf("%q: a pattern %t, a literal %t", text, p, l)
		}
	}
}
