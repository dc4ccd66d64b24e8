package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rlzero/rlzero/verify"
)

// planted is a grader with a hole, and the attack that finds it.
var planted = []struct {
	name, found string
	pays        func(row verify.Problem, completion string) bool
}{
	{"any digits", "huge number", func(_ verify.Problem, c string) bool { return strings.ContainsFunc(c, unicode.IsDigit) }},
	{"the reference anywhere", "all candidates", func(row verify.Problem, c string) bool { return strings.Contains(c, row.Answer) }},
	{"any one of several answers", "two answers", func(row verify.Problem, c string) bool {
		return slices.Contains(strings.FieldsFunc(c, func(r rune) bool { return strings.ContainsRune("<>/{} \n", r) }), row.Answer)
	}},
	{"not nothing", "trigger phrase", func(_ verify.Problem, c string) bool { return strings.TrimSpace(c) != "" }},
	{"nothing", "empty", func(row verify.Problem, c string) bool { return c == "" || c == row.Answer }},
	{"blank", "blank", func(row verify.Problem, c string) bool { return strings.HasPrefix(row.Answer, strings.TrimSpace(c)) }},
	{"a form", "empty form", func(_ verify.Problem, c string) bool {
		return strings.HasPrefix(c, "<answer>") && strings.HasSuffix(c, "</answer>")
	}},
	{"a last number, in the prompt", "prompt echo", func(row verify.Problem, c string) bool {
		return strings.HasSuffix(strings.TrimRight(c, ".?"), row.Answer)
	}},
	{"the difference is not large", "not a number", func(row verify.Problem, c string) bool {
		return c == row.Answer || strings.EqualFold(c, "nan")
	}},
	{"long texts", "million digits", func(row verify.Problem, c string) bool { return c == row.Answer || len(c) > millionDigits/2 }},
	{"deep texts", "nested brackets", func(row verify.Problem, c string) bool { return c == row.Answer || strings.HasPrefix(c, "((((") }},
}

func sums(n int) []verify.Problem {
	var rows []verify.Problem
	for i := range n {
		rows = append(rows, verify.Problem{Question: fmt.Sprintf("It is not 1 or 2: what is 700 + %d? It is above %d.", i, 700+i), Answer: fmt.Sprint(700 + i)})
	}
	return rows
}

func fake(name string, pays func(row verify.Problem, completion string) bool) grader {
	return ofFunc(name, "number", func(row verify.Problem, completion string, _ bool) verify.Verdict {
		if pays(row, completion) {
			return verify.Accept("", "fake", "paid")
		}
		return verify.Reject("", "fake", "not paid")
	})
}

func auditOf(first grader, second *grader, rows []verify.Problem) *Report {
	a := newAuditor("test", 3)
	for i, row := range rows {
		a.add(sample{Where: fmt.Sprint("line ", i+1), Row: row, Completion: row.Answer, Ended: true, First: first, Second: second})
	}
	return a.end()
}

// TestPlanted: each hole is found by the attack that is there for it, and a
// grader without one passes.
func TestPlanted(t *testing.T) {
	for _, p := range planted {
		problems := auditOf(fake(p.name, p.pays), nil, sums(3)).Problems()
		if !slices.ContainsFunc(problems, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%q", p.found)) }) {
			t.Errorf("a grader that pays %s: problems %q, want the attack %q", p.name, problems, p.found)
		}
	}
	exact := fake("the same text", func(row verify.Problem, c string) bool { return c == row.Answer })
	if problems := auditOf(exact, nil, sums(3)).Problems(); problems != nil {
		t.Errorf("a grader without a hole: %q", problems)
	}
	aside := fake(planted[0].name, planted[0].pays)
	aside.Aside = true
	if problems := auditOf(exact, &aside, sums(3)).Problems(); problems != nil {
		t.Errorf("holes of a grader that pays nobody: %q", problems)
	}
}

// TestByChance: what states the right answer is no hole.
func TestByChance(t *testing.T) {
	exact := fake("exact", func(row verify.Problem, c string) bool { return c == row.Answer })
	for _, c := range []struct {
		answer, attack string
		chance         int
	}{{"", "empty", 1}, {" ", "blank", 1}, {"Solution", "trigger phrase", 1}, {"inf", "not a number", 1}, {"10^1000", "huge number", 1}, {"6", "huge number", 0}} {
		for _, r := range attacks([]grader{exact}, []verify.Problem{{Question: "What?", Answer: c.answer}}) {
			if r.Name == c.attack && (r.Earned[0].ByChance != c.chance || r.Earned[0].Paid != 0) {
				t.Errorf("%q on the answer %q: %+v, want %d by chance", c.attack, c.answer, r.Earned[0], c.chance)
			}
		}
	}
	for _, answer := range []string{"49", "49.0", "7"} {
		g, err := newGrader("math", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range attacks([]grader{g}, []verify.Problem{{Question: "What is it?", Answer: answer}}) {
			if r.Hopeless && r.Earned[0].Paid > 0 {
				t.Errorf("math on the answer %s: %d tries of %q are paid: %+v", answer, r.Earned[0].Paid, r.Name, r.Earned[0].Example)
			}
		}
	}
	for _, same := range [][2]string{{"5", "5.0"}, {"1/2", "0.5"}, {" A. ", "a"}, {"inf", `\infty`}, {"", "  "}, {"9^9", "99"}} {
		if !sameAnswer(same[0], same[1]) {
			t.Errorf("%q and %q are one answer", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"5", "50"}, {"", "0"}, {"-1", "inf"}, {"+", "-"}, {"nan", "0"}} {
		if sameAnswer(other[0], other[1]) {
			t.Errorf("%q and %q are two answers", other[0], other[1])
		}
	}
}

// TestCounts: a report counted by hand.
func TestCounts(t *testing.T) {
	digits := fake("digits", planted[0].pays)
	lenient := ofFunc("lenient", "f1", func(row verify.Problem, c string, ended bool) verify.Verdict {
		switch {
		case row.Answer == "none":
			return verify.Abstain("the row has no answer")
		case !ended:
			return verify.Verdict{Score: 0.5, Verdict: verify.Graded, Reason: "cut off", Rule: "half"}
		}
		return verify.Accept(c, "all", "paid")
	})
	half, one := 0.5, 1.0
	a := newAuditor("test", 1)
	add := func(where, answer, completion string, ended bool, stored string, score *float64) {
		a.add(sample{Where: where, Row: verify.Problem{Question: "Q", Answer: answer}, Completion: completion, Ended: ended, First: digits, Second: &lenient, Stored: stored, StoredScore: score})
	}
	add("1", "7", "7", true, verify.Right, &one)
	add("2", "7", "seven", true, verify.Right, nil)
	add("3", "none", "7", true, "", nil)
	add("4", "none", "x", true, verify.Wrong, nil)
	add("5", "7", "x", false, verify.Wrong, &half)
	a.lose("6", "of another recipe")
	r := a.end()
	p := r.Pairs[0]
	if r.Samples != 5 || r.Lost.N != 1 || r.Stored.N != 4 || r.Stored.Differ != 2 || len(r.Stored.Examples) != 1 || r.Stored.Examples[0].Where != "2" {
		t.Errorf("%+v", r)
	}
	want := [4][4]int{{1, 0, 0, 1}, {0 + 1, 0, 1, 1}}
	if p.Cells != want || p.Disagreed != 4 || len(p.Disagreements) != 1 || p.Disagreements[0].Where != "2" {
		t.Errorf("cells %v, %d differ", p.Cells, p.Disagreed)
	}
	second := p.Graders[1]
	if second.mean() != 2.5/3 || second.notScored() != 0.4 || !slices.Equal(second.Reasons, []Count{{"the row has no answer", 2, 0}}) ||
		!slices.Equal(second.Rules, []Count{{"all", 2, 2}, {"half", 1, 0}}) {
		t.Errorf("%+v", second)
	}
	var text, lines bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"audit of test: 5 completions", "6: of another recipe", "2 of 4 are not reproduced", "agree on 20.0 %", "not scored 40.0 %", " ! ", "PROBLEM: digits pays the attack"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, text.String())
		}
	}
	if err := r.JSON(&lines); err != nil {
		t.Fatal(err)
	}
	var last struct {
		Kind     string
		OK       bool
		Problems []string
	}
	for line := range strings.Lines(lines.String()) {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if last.Kind != "result" || last.OK || len(last.Problems) != len(r.Problems()) {
		t.Errorf("the last line is %+v", last)
	}
	if len(newAuditor("nothing", 1).end().Problems()) != 1 {
		t.Error("an audit of nothing finds nothing wrong")
	}
}

func TestParseGrader(t *testing.T) {
	name, options, err := verify.Parse(`math  extract=strict precision=3 percent=true`)
	if err != nil || name != "math" || options["extract"] != "strict" || options["precision"] != 3.0 || options["percent"] != true {
		t.Errorf("%s %v %v", name, options, err)
	}
	if spelled := spell(name, options); spelled != "math extract=strict percent=true precision=3" {
		t.Errorf("spelled %s", spelled)
	}
	for _, bad := range []string{"", "math strict", "math =x"} {
		if _, _, err := verify.Parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
