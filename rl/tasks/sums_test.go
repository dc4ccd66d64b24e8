package tasks

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestSums: the calculator finds every result, random numbers find as many as is said, demonstrations
// those that call it, and what is no answer earns nothing.
func TestSums(t *testing.T) {
	for _, s := range []*sums{defaultSums(), {Terms: 8, Digits: 3, Most: 2}, {Terms: 2, Digits: 1, Most: 10}} {
		validated(t, s)
		if mean, turns := playedIn(t, s, s.Best(), 1000); mean != 1 || turns != 2 {
			t.Errorf("%s: the best player earns %v, in up to %d turns", s.Difficulty(), mean, turns)
		}
	}
	const n = 4000
	s := validated(t, defaultSums())
	chance := math.Pow10(-s.Digits)
	if mean, turns := playedIn(t, s, s.Random(), n); math.Abs(mean-chance) > binomialBound(chance, n) || turns != 1 {
		t.Errorf("random numbers earn %v in up to %d turns, want %v", mean, turns, chance)
	}
	first := 0.0 // how often the first term is right
	for i := range n {
		row := s.Draw(random.At(3, 1, uint64(i)), Train)
		if strings.FieldsFunc(row.Question, func(r rune) bool { return r < '0' || r > '9' })[0] == row.Answer {
			first++
		}
	}
	want := s.Called + (1-s.Called)*first/n
	if mean, _ := playedIn(t, s, s.Shown(), n); math.Abs(mean-want) > binomialBound(want, n) {
		t.Errorf("demonstrations earn %v, want %v", mean, want)
	}
	for _, text := range []string{"", "?", "right", "<eos>", "<calculator>", "<calculator>7</calculator>", "<calculator></calculator>", "</calculator>7", "1 2 3 4 5 6 7 8 9",
		strings.Repeat("<calculator>1</calculator>", 40), "the answer is <calculator>7</calculator>"} {
		if mean, turns := playedIn(t, s, always(text), 50); mean != 0 || turns > s.Turns() {
			t.Errorf("%q earns %v in %d turns", text, mean, turns)
		}
	}
	for _, echo := range []func(row verify.Problem) string{
		func(row verify.Problem) string { return row.Question },
		func(row verify.Problem) string { return strings.TrimSuffix(row.Question, ":") },
	} {
		for i := range 50 {
			row := s.Draw(random.At(3, 1, uint64(i)), Train)
			if v := s.Verify(row, echo(row), true); v.Verdict != verify.Wrong {
				t.Errorf("%q earns %+v", echo(row), v)
			}
		}
	}
}

// TestSumsReplies: what the calculator says, and that words around a call are not read.
func TestSumsReplies(t *testing.T) {
	s := validated(t, defaultSums())
	row := s.Draw(random.At(3, 1, 0), Train)
	for said, want := range map[string]string{
		"<calculator>47+38-12</calculator>":                        "73",
		row.Answer + "<calculator>1-9/2</calculator>" + row.Answer: "-3.5",
		"<calculator>1/3</calculator>":                             "1/3",
		"<calculator>50+50</calculator>":                           "?",
		"<calculator>1/0</calculator>":                             "?",
		"<calculator>7":                                            "?",
		"<calculator>1</calculator>2<calculator>+</calculator>":    "1\n?",
		`<calculator>{"expression":"7*8"}</calculator>`:            "56",
	} {
		e, first, err := s.Begin(t.Context(), row, nil)
		if err != nil || first.Messages != nil || first.Verdict != nil {
			t.Fatalf("%+v, %v", first, err)
		}
		if r, err := e.Step(t.Context(), world.Turn{Text: said}); err != nil || r.Verdict != nil || len(r.Messages) != 1 || r.Messages[0].Text != want {
			t.Errorf("%q: %+v, %v; want %q", said, r, err, want)
		}
	}
	if _, _, err := s.Begin(t.Context(), verify.Problem{ID: "foreign", Answer: "7"}, nil); err == nil {
		t.Error("a row of another task begins")
	}
}

// FuzzSums: whatever a policy says, the world answers in words of its vocabulary or ends the episode, and
// each turn is scored.
func FuzzSums(f *testing.F) {
	s := defaultSums()
	words, err := text.NewWords(s.Vocabulary())
	if err != nil {
		f.Fatal(err)
	}
	row := s.Draw(random.At(3, 1, 0), Train)
	for _, said := range []string{"73", "<calculator>1/8</calculator>", "<calculator>{", "<calculator>1/20-.05</calculator> <calculator>9*9*9</calculator>", "<calculator>\xff</calculator>", "<calculator>{\"expression\":\"-0\"}</calculator>"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		e, _, err := s.Begin(t.Context(), row, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), world.Turn{Text: said})
		if err != nil || r.Verdict != nil && r.Verdict.Verdict == verify.NotScored || (r.Verdict == nil) != (len(r.Messages) == 1) {
			t.Fatalf("%q: %+v, %v", said, r, err)
		}
		for _, m := range r.Messages {
			if _, err := words.Encode(m.Text); err != nil {
				t.Errorf("%q is told %q: %v", said, m.Text, err)
			}
		}
	})
}
