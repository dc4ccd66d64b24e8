package formula

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// called are facts with arguments, as a vocabulary has them.
var called = []Fact{
	{Name: "repetition", Level: Completion, Takes: []Argument{{Name: "n", Count: true}}},
	{Name: "agreement", Level: Completion, Takes: []Argument{{Name: "verifier", Names: []string{"reward", "A"}}}},
	{Name: "score_of", Level: Completion, Takes: []Argument{{Name: "text", Text: true}, {Name: "after", Names: []string{"prompt", "completion"}}}},
	{Name: "inside", Level: Token, Condition: true, Takes: []Argument{{Name: "pattern", Pattern: true}}},
	{Name: "row.*", Level: Group, Both: true},
}

// TestCalls: facts that are called name a column of the table by the call, each
// different call once; what is passed through a definition counts as written out.
func TestCalls(t *testing.T) {
	d := small()
	text := "z(x, n) = agreement(x) + repetition(n); z(reward, 3) + repetition( 3 ) + repetition(2) + score_of(\"a \\ b\", prompt) + score_of(row.answer, completion)"
	p, err := Compile(Text{Parts: map[string]string{"f": text}}, append(d.facts, called...))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"agreement(reward)", "repetition(3)", "repetition(2)", `score_of("a \\ b", prompt)`, "score_of(row.answer, completion)"}
	var got []string
	table := d.table(t)
	for i, c := range p.Calls() {
		got = append(got, c.Column())
		x := math.Pow(10, float64(i))
		if err := table.Add(c.Column(), Column{Level: Completion, V: []float64{x, 2 * x, 3 * x}}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	slices.Sort(want)
	if got := p.Needs(); !slices.Equal(got, want) {
		t.Errorf("needs %q, want %q", got, want)
	}
	if c, err := p.On(table).Column("f"); err != nil || !slices.Equal(c.V, []float64{11121, 22242, 33363}) {
		t.Errorf("%v, error %v", c.V, err)
	}
	for text, want := range map[string]string{
		"inside(reward)":                      "column 8: inside(pattern) takes a regular expression in quotes as pattern",
		"inside('(a')":                        "inside(pattern) takes a regular expression in quotes; \"(a\" is none: missing closing ): `(a`; as pattern",
		"repetition":                          "column 1: repetition takes arguments: write repetition(n)",
		"repetition()":                        "column 1: repetition has 0 arguments; accepted: repetition(n)",
		"repetition(1001)":                    "column 12: repetition(n) takes a whole number from 1 to 1000, written out, as n",
		"repetition(reward)":                  "column 12: repetition(n) takes a whole number",
		"z(n) = repetition(n); z(reward)":     "column 19: repetition(n) takes a whole number",
		"agreement(old)":                      "agreement(verifier) takes one of the names reward, A as verifier",
		"agreement(1)":                        "takes one of the names reward, A",
		"score_of(reward, prompt)":            "score_of(text, after) takes a text in quotes, or a fact that is text, as text",
		"score_of(\"a\", reward)":             "takes one of the names prompt, completion as after",
		"repetitoin(2)":                       "unknown function repetitoin; did you mean repetition?",
		"repetition = 1; repetition":          "repetition is a fact",
		"row.a.b":                             "unknown name row.a.b",
		"missing(reward)":                     "missing takes a reason in quotes",
		"missing(\"\")":                       "missing takes a reason in quotes",
		"reward + (\"text\" == row.answer)*x": "unknown name x",
	} {
		_, err := Compile(Text{Parts: map[string]string{"f": text}}, append(d.facts, called...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestBoth: a name may have numbers and text; where a row has no text, comparing it
// has no value either.
func TestBoth(t *testing.T) {
	d := small()
	p, err := Compile(Text{Parts: map[string]string{"f": `if(row.kind == "a", row.kind, -row.kind)`, "g": `row.kind != "a"`}}, append(d.facts, called...))
	if err != nil {
		t.Fatal(err)
	}
	table := d.table(t)
	for _, c := range []Column{{Level: Group, V: []float64{2, 3}}, {Level: Group, Text: []string{"a", "b"}, Why: map[int]string{1: "no text"}}} {
		if err := table.Add("row.kind", c); err != nil {
			t.Fatal(err)
		}
		if table.Add("row.kind", c) == nil {
			t.Error("a column is added twice")
		}
	}
	for name, want := range map[string][]float64{"f": {2, missing}, "g": {0, missing}} {
		c, err := p.On(table).Column(name)
		if err != nil || c.V[0] != want[0] || !math.IsNaN(c.V[1]) || c.Why[1] != "no text" {
			t.Errorf("%s: %+v, error %v", name, c, err)
		}
	}
	part, err := table.Select([]bool{false, false, true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.On(part).Column("g"); err != nil || len(c.V) != 1 || c.Why[0] != "no text" {
		t.Errorf("%+v, error %v", c, err)
	}
}

// TestDefaults: the last arguments of a part may be left out, and what is wrong
// with a call of the library is told at the call.
func TestDefaults(t *testing.T) {
	d := small()
	text := Text{Library: map[string]string{
		"over(x, longest = tokens, by = 2)": "reward = by; (x - longest)/reward", // its own names hide facts
		"one_of(x)":                         "if(x, 1, 2)",
	}}
	compile := func(f string) (*Program, error) {
		text.Parts = map[string]string{"f": f}
		return Compile(text, d.facts)
	}
	for f, want := range map[string][]float64{"over(4)": {1, 1.5, 1.5}, "over(4, 3)": {0.5, 0.5, 0.5}, "over(4, 3, 4)": {0.25, 0.25, 0.25},
		"over(over(4, 0), 1, over(6, 2))": {0.5, 0.5, 0.5}} {
		p, err := compile(f)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.On(d.table(t)).At("f", Completion); err != nil || !slices.Equal(c.V, want) {
			t.Errorf("%s is %v, want %v, error %v", f, c.V, want, err)
		}
	}
	for f, want := range map[string]string{
		"over()":               "f: column 1: over has 0 arguments; accepted: over(x, longest = tokens, by = 2)",
		"1 + over(1, 2, 3, 4)": "f: column 5: over has 4 arguments",
		"2*one_of(reward)":     "f: column 3: one_of(x): if(condition, x, y) takes a condition here, found a number",
	} {
		if _, err := compile(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", f, err, want)
		}
	}
	text.Library = map[string]string{"one(x)": "other(x) + 1", "other(x)": "one(one(x))"}
	if _, err := compile("one(1)"); err == nil || !strings.Contains(err.Error(), "is defined in terms of itself") {
		t.Errorf("%v", err)
	}
	text.Library = map[string]string{"f(x = 1, y)": "x"}
	if _, err := compile("1"); err == nil || !strings.Contains(err.Error(), "y has no default, but an argument before it has one") {
		t.Errorf("%v", err)
	}
}

// TestAt: values that a part names are found by PART.NAME, and a coarse value
// stands in each row of a finer level, with its reason.
func TestAt(t *testing.T) {
	d := small()
	p := d.compile(t, map[string]string{"f": `big = group_max(reward) > 0.5; g(x) = x; if(big, missing("full"), g(step))`})
	if got := p.Named("f"); !slices.Equal(got, []string{"big"}) {
		t.Errorf("names %v", got)
	}
	if level, condition, ok := p.Level("f.big"); level != Group || !condition || !ok {
		t.Errorf("level %v, condition %v, %v", level, condition, ok)
	}
	v := p.On(d.table(t))
	if c, err := v.At("f.big", Completion); err != nil || !slices.Equal(c.V, []float64{1, 1, 0}) {
		t.Errorf("%v, error %v", c.V, err)
	}
	c, err := v.At("f", Token)
	if err != nil || len(c.V) != 5 || c.Why[1] != "full" || c.V[4] != 3 || c.Why[4] != "" {
		t.Errorf("%+v, error %v", c, err)
	}
	if _, err := v.At("f", Run); err == nil || err.Error() != "f has one value for each group; accepted: one value for the run" {
		t.Errorf("%v", err)
	}
	if _, err := v.At("f.small", Token); err == nil {
		t.Error("a name that nothing has is found")
	}
}

// TestGiven: a fact may be called with a formula or a fact whose values are known when a step begins. They are
// there before its column is, at the level of tokens; what they depend on is called before it.
func TestGiven(t *testing.T) {
	d := small()
	facts := append(d.facts, Fact{Name: "influence", Level: Token, Takes: []Argument{{Name: "x", Value: true}}})
	parts := map[string]string{"f": "sum(influence(good)) + sum(influence(again))", "good": "2*reward", "again": "influence(good) + 1"}
	p, err := Compile(Text{Parts: parts}, facts)
	if err != nil {
		t.Fatal(err)
	}
	table := d.table(t)
	for i, c := range p.Calls() {
		if want := []string{"influence(good)", "influence(again)"}[i]; c.Column() != want {
			t.Errorf("call %d is %s, want %s", i, c.Column(), want)
		}
		x, err := p.On(table).Given(c.Column())
		if err != nil || len(x) != table.Size(Token) {
			t.Fatalf("%s is of %v, error %v", c.Column(), x, err)
		}
		for token := range x {
			if i == 0 {
				x[token] /= 2
			}
		}
		if err := table.Add(c.Column(), Column{Level: Token, V: x}); err != nil {
			t.Fatal(err)
		}
	}
	rewards, _ := table.Column("reward")
	again, _ := table.Column("influence(again)")
	for c, reward := range rewards.V {
		for from, to := table.Tokens(c); from < to; from++ {
			if again.V[from] != reward+1 {
				t.Errorf("token %d of completion %d: %v, want %v", from, c, again.V[from], reward+1)
			}
		}
	}
	if needs := p.Needs("f"); !slices.Equal(needs, []string{"influence(again)", "influence(good)", "reward"}) {
		t.Errorf("it needs %v", needs)
	}
	if _, err := p.On(table).Given("influence(f)"); err == nil || !strings.Contains(err.Error(), "no formula of the method calls influence(f)") {
		t.Errorf("of a call that is not there: %v", err)
	}
	for text, want := range map[string]string{
		"influence(reward + 1)":               "column 18: influence(x) takes the name of a formula of its own, or of a fact; write good = \"right(task)\" beside it, and influence(good)",
		"y = 2*reward; influence(y)":          "column 25: influence(x) takes the name of a formula of its own",
		"influence(logp)":                     "influence(x) is computed when a step begins, and logp is a value of an update",
		"influence(f)":                        "f is defined in terms of itself",
		"influence(rewrd)":                    "unknown name rewrd; did you mean reward?",
		"influence(reward, 2)":                "influence has 2 arguments; accepted: influence(x)",
		"influence(2)":                        "influence(x) takes the name of a formula of its own",
		"update_mean(reward) + influence(f2)": "unknown name f2",
	} {
		_, err := Compile(Text{Parts: map[string]string{"f": text}}, facts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
