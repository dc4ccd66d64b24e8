package tasks

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestLibrary: the search finds every document of the chain, in libraries of every size, and what is no answer
// earns nothing.
func TestLibrary(t *testing.T) {
	for _, l := range []*library{defaultLibrary(), {Hops: 4, Things: 8, Relations: 3, Noise: 6, Results: 1, Most: 5}, {Hops: 1, Things: 1000, Relations: 8, Noise: 100, Results: 5, Most: 2}, {Hops: 3, Things: 30, Relations: 5, Noise: 30, Results: 3, Most: 10}} {
		validated(t, l)
		if mean, turns := playedIn(t, l, l.Best(), 500); mean != 1 || turns != l.Hops+1 {
			t.Errorf("%s: the best player earns %v, in up to %d turns", l.Difficulty(), mean, turns)
		}
	}
	l := validated(t, defaultLibrary())
	const n = 2000
	found := 0.0 // chains of which every document is shown
	for i := range n {
		row := l.Draw(random.At(3, 1, uint64(i)), Train)
		e, err := world.Play(t.Context(), l, l.Shown(), row, l.Most, nil, random.At(3, 3, uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, turn := range e.Turns {
			sum += turn.Reply.Facts["found"]
		}
		if found += sum / float64(l.Hops); (len(e.Turns) > 1) != (sum == float64(l.Hops)) {
			t.Fatalf("%s: %d turns show %v documents of the chain", row.ID, len(e.Turns), sum)
		}
	}
	if got := found / n; got < l.Searched-binomialBound(l.Searched, n) || got > l.Searched+binomialBound(l.Searched, n) {
		t.Errorf("a share of %v of the demonstrations searches, want %v", got, l.Searched)
	}
	for _, text := range []string{"", "?", "right", "<search>", "<search>k</search>", "<search></search>", "</search>7", strings.Repeat("<search>1</search>", 40), "<search>everything</search>"} {
		if mean, turns := playedIn(t, l, always(text), 50); mean != 0 || turns > l.Turns() {
			t.Errorf("%q earns %v in %d turns", text, mean, turns)
		}
	}
	if err := (&library{Hops: 2, Things: 8, Relations: 3, Noise: 11, Results: 1, Most: 3}).Validate(); err == nil || !strings.Contains(err.Error(), "noise = 11 is out of range; accepted: at most half of things relations, less hops = 10") {
		t.Errorf("more documents than are found: %v", err)
	}
	if err := (&library{Hops: 3, Things: 8, Relations: 3, Results: 1, Most: 3}).Validate(); err == nil || !strings.Contains(err.Error(), "turns = 3 is out of range; accepted: more than hops = 3") {
		t.Errorf("too few turns: %v", err)
	}
}

// TestLibraryReplies: what a search shows, and which documents of the chain it is the first to show.
func TestLibraryReplies(t *testing.T) {
	l := &library{Hops: 2, Things: 100, Relations: 6, Results: 2, Most: 4}
	row := verify.Problem{Question: "47 k m:", Answer: "80", Metadata: metadata(map[string]any{
		"documents": []string{"12 m 80", "5 k 47", "47 l 12", "47 k 12"}, "chain": []string{"47 k 12", "12 m 80"}})}
	// 47 k is in two documents of three words, of which the first comes first; that is why the task draws no such.
	for _, c := range []struct {
		said, want string
		found      float64
	}{
		{"<search>47k</search>", "5 k 47\n47 k 12", 1},
		{"<search>12 m</search>", "12 m 80\n47 l 12", 1},
		{"so <search>80</search> 80", "12 m 80", 1},
		{"<search>99 t</search>", "?", 0},
		{"<search>12</search><search>m</search>", "12 m 80\n47 l 12\n12 m 80", 1},
	} {
		e, _, err := l.Begin(t.Context(), row, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), world.Turn{Text: c.said})
		if err != nil || r.Verdict != nil || !reflect.DeepEqual(r.Messages, []world.Message{{Role: world.User, Text: c.want}}) || r.Facts["found"] != c.found {
			t.Errorf("%q: %+v, %v; want %q", c.said, r, err, c.want)
		}
		again, err := e.Step(t.Context(), world.Turn{Text: c.said})
		if err != nil || again.Facts["found"] != 0 {
			t.Errorf("%q again: %+v, %v", c.said, again, err)
		}
		if r, err := e.Step(t.Context(), world.Turn{Text: "80"}); err != nil || r.Verdict == nil || r.Verdict.Verdict != verify.Right || r.Facts["found"] != 0 {
			t.Errorf("the answer: %+v, %v", r, err)
		}
	}
}
