package reward

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// textBetween is the text behind one mark and before the next other.
func textBetween(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	inner, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("no text between %q and %q", from, to)
	}
	return inner
}

// TestGuide: what the guide shows is accepted and does what it says.
func TestGuide(t *testing.T) {
	p, err := Compile(textBetween(t, Guide, `reward = """`, `"""`), form)
	if err != nil {
		t.Fatal(err)
	}
	answers := []answer{{0, 9, 1, 1}, {0, 5, 1, 1}, {0, 5, 1, 0}}
	if got, want := p.Score(batchOf(answers)).Reward, []float64{1, 1.1, -1}; !sameAll(got, want) {
		t.Errorf("rewards %v, want %v", got, want)
	}
	source := "def" + textBetween(t, Guide, "   def", "\n\n") + "\n"
	v, err := newScript(Verifier{Name: "mine", Source: strings.ReplaceAll(source, "\n   ", "\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Verify(verify.Problem{}, "why?"); got.Score != 0 || got.Reason != "it asks back" {
		t.Errorf("%+v", got)
	}
	if got := v.Verify(verify.Problem{}, strings.Repeat("a", 100)); got.Score != 0.75 {
		t.Errorf("%+v", got)
	}
}

// TestTables: everything that is listed has a text, one name means one thing, and
// the usage of a function is accepted as it stands.
func TestTables(t *testing.T) {
	seen := map[string]bool{taskTerm: true}
	for _, f := range Facts() {
		if seen[f.Name] || f.Meaning == "" || f.Gives() == "" {
			t.Errorf("fact %+v", f)
		}
		seen[f.Name] = true
	}
	for _, f := range Functions() {
		if seen[f.Name] || f.Meaning == "" || !strings.HasPrefix(f.Usage, f.Name+"(") {
			t.Errorf("function %s: seen before, or without a text", f.Name)
		}
		seen[f.Name] = true
		least, _ := f.arity()
		var args []string
		for i := range least {
			args = append(args, map[byte]string{takesNumber: "task", takesCondition: "ended", takesCount: "2", takesVerifier: "form"}[f.param(i)])
		}
		if _, err := Compile(f.Name+"("+strings.Join(args, ", ")+")", form); err != nil {
			t.Errorf("%s with %d arguments: %v", f.Name, least, err)
		}
	}
}
