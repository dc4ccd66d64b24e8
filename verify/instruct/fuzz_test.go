package instruct

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// FuzzKinds gives any kind any argument and any text: it ends, says the same
// twice, and what is right strictly is right loosely. Whether it is scored at all
// is up to the arguments: where one text is, every text is.
func FuzzKinds(f *testing.F) {
	var names []string
	eachKind(func(name string, _ kind) { names = append(names, name) })
	for i := range names {
		f.Add(uint8(i), "sea", 1, "*The sea.*\n\n- a \"b\" <<c>> [d] ***\nID,Country\nP.S. sea")
		f.Add(uint8(i), "(a|b)+c++", 3, "١ \x1c Σ' İ\u0301 😀!? e.g. Mr. A. B's ``can't''\r")
		f.Add(uint8(i), `(x*)*\1`, 2, `{"a": ["b", 1e9]}`)
	}
	f.Fuzz(func(t *testing.T, which uint8, word string, number int, text string) {
		name := names[int(which)%len(names)]
		kwargs := kwargsOf(t, word, number)
		v := newOf(t, name, nil)
		strict, loose := v.Verify(row(kwargs, "null"), text), v.Verify(row(kwargs, `"loose"`), text)
		if again := v.Verify(row(kwargs, "null"), text); again.Reason != strict.Reason || again.Verdict != strict.Verdict {
			t.Errorf("%s: %+v, then %+v", name, strict, again)
		}
		if plain := v.Verify(row(kwargs, "null"), "x"); (plain.Verdict == verify.NotScored) != (strict.Verdict == verify.NotScored) {
			t.Errorf("%s: %q makes it %+v, another text %+v", name, text, strict, plain)
		}
		if strict.Verdict == verify.Right && loose.Verdict != verify.Right {
			t.Errorf("%s: strict %+v, loose %+v", name, strict, loose)
		}
		for _, got := range []verify.Verdict{strict, loose} {
			scored := got.Verdict == verify.Right && got.Score == 1 || got.Verdict == verify.Wrong && got.Score == 0
			if got.Reason == "" || !scored && got.Verdict != verify.NotScored {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

// kwargsOf are arguments for every kind, with word as each text and number as
// each number.
func kwargsOf(t *testing.T, word string, number int) string {
	var kwargs map[string]any
	if err := json.Unmarshal([]byte(everything), &kwargs); err != nil {
		t.Fatal(err)
	}
	for key, value := range kwargs {
		switch value.(type) {
		case float64:
			kwargs[key] = number
		case []any:
			kwargs[key] = []string{word}
		case string:
			if !strings.Contains(key, "relation") && key != "language" {
				kwargs[key] = word
			}
		}
	}
	raw, err := json.Marshal(kwargs)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// FuzzPattern: no pattern makes its reader or the matcher panic or run away, and
// where Go's engine reads the same syntax it finds the same matches.
func FuzzPattern(f *testing.F) {
	for _, python := range []string{`a+`, `(?:a|b)*?c`, `[^a-b]{2,}`, `(a)|b`, `^a|b$`, `(?<=a)b\b`, `(.)\1`, `(?>a*)a`, `a{,2}+`, `[\w-]`, `(?P<x>a)(?P=x)`, `()*`, `(|a)+`, `\123\x41`} {
		f.Add(python, "aabbcab c\n", false)
		f.Add(python, "aAbB\u212akİ ", true)
	}
	plain := regexp.MustCompile(`^[abc.|()*+?\[\]0-3{,}:^]*$`)
	literal := regexp.MustCompile(`\{,|\{[0-9]*,?0[0-9]|\[\]`) // in Go, and not in Python
	f.Fuzz(func(t *testing.T, python, text string, ignoreCase bool) {
		p, err := newPattern(python, ignoreCase)
		if err != nil {
			return
		}
		text = toValid(text)
		all, err := p.findAll(text)
		if err != nil {
			return
		}
		again, err := newPattern(python, ignoreCase) // with all steps
		if err != nil {
			t.Fatal(err)
		}
		found, err := again.found(text)
		if err != nil || found != (len(all) > 0) {
			t.Errorf("%q in %q: found is %v (%v), and there are %d matches", python, text, found, err, len(all))
		}
		// Elsewhere the two differ: \w is about ASCII in Go, {,2} and {02} are
		// literal, a match of nothing cannot follow another match.
		if !plain.MatchString(python) || ignoreCase || p.program.memos == 0 || literal.MatchString(python) {
			return
		}
		re, err := regexp.Compile(python)
		if err != nil || re.MatchString("") {
			return
		}
		matches := re.FindAllStringSubmatch(text, -1)
		if len(matches) != len(all) {
			t.Fatalf("%q in %q: %q, and Go's engine %q", python, text, all, matches)
		}
		for i, m := range matches {
			if m[min(1, len(m)-1)] != all[i] {
				t.Fatalf("%q in %q: %q, and Go's engine %q", python, text, all, matches)
			}
		}
	})
}
