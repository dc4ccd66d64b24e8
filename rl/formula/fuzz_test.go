package formula

import (
	"errors"
	"strings"
	"testing"
)

// Whatever the text, reading ends with a program or with errors that point into
// it, and a program can be evaluated: no panic but none of the language's own.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"token_mean(-min(ratio*A, clip(ratio, 0.8, 1.2)*A))", "z(x) = x - group_mean(x); z(reward)", "a(x) = x + x; b(x) = a(a(x)); c(x) = b(b(x)); c(c(c(logp)))",
		"if(reward > 0, 1, 2", "row.domain == \"math\"", "1e", "((((", "f", "x = 1; x = 2; x", "not not true", "-(-(-1))", "# nothing", "gae(logp, old, 1, 1)", "pass_at(1e300, 1e300, 1e300)",
		"token_mean(log(old))", "mod(1, 0)", "group_nth(reward, 0.5)", "trim(old, inf)", "piecewise(1, 2, 3, 4)", "\xff", "straight(logp, )",
		"repetition(3) + agreement(reward)", "score_of(row.answer, prompt)", "missing('why')",
	} {
		f.Add(seed)
	}
	d := small()
	facts := append(d.facts, called...)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Compile(Text{Parts: map[string]string{"f": text}, Library: map[string]string{"ratio": "exp(logp - old)"}}, facts)
		if err != nil {
			for _, one := range strings.Split(err.Error(), "\n") {
				if one == "" {
					t.Errorf("an empty error for %q", text)
				}
			}
			return
		}
		if len(p.ops) > maxOps+maxArguments {
			t.Errorf("%d operations for %q", len(p.ops), text)
		}
		v := p.On(d.table(t))
		_, err = v.Column("f")
		var own *Error
		if err != nil && !errors.As(err, &own) {
			t.Errorf("%q: %v", text, err)
		}
		if level, _, _ := p.Level("f"); level == Run && err == nil {
			_, _ = v.Slopes("f")
		}
	})
}

// Definitions that call each other grow without bound; reading them does not.
func TestBoundedWork(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0(x) = x*x + 1; ")
	for i := range 40 {
		text.WriteString(strings.NewReplacer("N", string(rune('a'+i%26))+strings.Repeat("b", i/26), "P", previousName(i)).Replace("N1(x) = P(x) + P(x + 1); "))
	}
	text.WriteString(previousName(40) + "(logp)")
	d := small()
	_, err := Compile(Text{Parts: map[string]string{"f": text.String()}}, d.facts)
	if err == nil || !strings.Contains(err.Error(), "have more than") {
		t.Errorf("%v", err)
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 1 {
		t.Errorf("%d errors for one fault", n)
	}
}

func previousName(i int) string {
	if i == 0 {
		return "a0"
	}
	i--
	return string(rune('a'+i%26)) + strings.Repeat("b", i/26) + "1"
}
