package reward

import (
	"cmp"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// textBetween is the text after one mark and before the next other.
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
	s, err := p.Score(batchOf(answers))
	if want := []float64{1, 1.1, -1}; err != nil || !sameAll(paid(s), want) {
		t.Errorf("rewards %v, want %v, error %v", paid(s), want, err)
	}
	source := "def" + textBetween(t, Guide, "   def", "\n\n") + "\n"
	v, err := Verifier{Name: "mine", Source: strings.ReplaceAll(source, "\n   ", "\n")}.script()
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
// what takes arguments is accepted with them.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	name := func(name, meaning string) {
		if seen[name] || meaning == "" || formula.Taken(name) != "" {
			t.Errorf("%s: seen before, without a text, or a name of the language", name)
		}
		seen[name] = true
	}
	for _, f := range append(Facts(), formula.Structure()...) {
		name(f.Name, f.Meaning)
		usage := f.Name
		var args []string
		for _, a := range f.Takes {
			switch {
			case a.Count:
				args = append(args, "2")
			case a.Text:
				args = append(args, "row.answer")
			case a.Names != nil:
				args = append(args, a.Names[0])
			default:
				args = append(args, "form")
			}
		}
		if f.Takes != nil {
			usage += "(" + strings.Join(args, ", ") + ")"
		}
		if f.Text {
			usage += ` == "x"`
		}
		if f.Level > formula.Completion {
			usage = "last(" + usage + ")"
		}
		if _, err := Compile(strings.Replace(usage, "*", "budget", 1), form); err != nil {
			t.Errorf("%s: %v", usage, err)
		}
	}
	for _, p := range Parts() {
		first, args, call := strings.Cut(p.Name, "(")
		name(first, p.Meaning)
		if call {
			given := cmp.Or(map[string]string{"verifier)": "form", "text)": "row.answer"}[args], "right(task)")
			first += "(" + given + strings.Repeat(", 2", strings.Count(args, ",")) + ")"
		}
		if _, err := Compile(first, form); err != nil {
			t.Errorf("%s: %v", first, err)
		}
	}
}
