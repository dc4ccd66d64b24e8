package tasks

import (
	"math"
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

// TestLibraryLies: the share of the searches that show what is not of the chain is that of the setting, the same in an
// episode that is played again; best play searches again.
func TestLibraryLies(t *testing.T) {
	l := validated(t, &library{Hops: 1, Things: 50, Relations: 6, Noise: 8, Results: 1, Most: 10, Lies: 0.4})
	const n = 2000
	found := 0
	for i := range n {
		row := l.Draw(random.At(4, 1, uint64(i)), Train)
		play := func() world.Reply {
			e, _, err := l.Begin(t.Context(), row, random.At(4, 3, uint64(i)))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Step(t.Context(), world.Turn{Text: l.Best().Play([]world.Message{{Role: world.User, Text: row.Question}}, random.At(4, 5, 0))})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := play()
		if !reflect.DeepEqual(r, play()) {
			t.Fatalf("%s: %+v, and then another reply", row.ID, r)
		}
		found += int(r.Facts["found"])
	}
	if got := float64(found) / n; got < 0.6-binomialBound(0.6, n) || got > 0.6+binomialBound(0.6, n) {
		t.Errorf("a share of %v of the searches shows the chain, want 0.6", got)
	}
	// Nine searches all lie with the chance 0.4^9.
	if mean, turns := playedIn(t, l, l.Best(), 500); mean < 0.98 || turns < 3 {
		t.Errorf("the best player earns %v, in up to %d turns", mean, turns)
	}
	if err := (&library{Hops: 1, Things: 8, Relations: 3, Results: 1, Most: 3, Lies: 0.1}).Validate(); err == nil || !strings.Contains(err.Error(), "noise = 0 is out of range; accepted: at least 1 where") {
		t.Errorf("nothing to lie with: %v", err)
	}
}

// TestLibraryJudged: what a mark says, and what was of use; a mark that is not due is a part of the turn.
func TestLibraryJudged(t *testing.T) {
	l := &library{Hops: 2, Things: 100, Relations: 6, Results: 1, Most: 5, Judged: true}
	row := verify.Problem{Question: "47 k m:", Answer: "80", Metadata: metadata(map[string]any{
		"documents": []string{"12 m 80", "5 k 47", "47 l 12", "47 k 12"}, "chain": []string{"47 k 12", "12 m 80"}})}
	e, _, err := l.Begin(t.Context(), row, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		said                     string
		judged, approved, useful float64
		over                     string
	}{
		{"<search>12 m</search>", 0, 0, 0, ""},
		{"+<search>l</search>", 1, 1, 1, ""},
		{"<search>k 12</search>", 0, 0, 0, ""}, // no mark
		{"-<search>99 t</search>", 1, 0, 1, ""},
		{"-80", 1, 0, 0, verify.Right}, // ? is of no use
	} {
		r, err := e.Step(t.Context(), world.Turn{Text: c.said})
		if err != nil || r.Facts["judged"] != c.judged || r.Facts["approved"] != c.approved || r.Facts["useful"] != c.useful || (r.Verdict != nil) != (c.over != "") || r.Verdict != nil && r.Verdict.Verdict != c.over {
			t.Errorf("%q: %+v, %v; want %+v", c.said, r, err, c)
		}
	}
	if e, _, err = l.Begin(t.Context(), row, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Step(t.Context(), world.Turn{Text: "-80"}); err != nil || r.Verdict == nil || r.Verdict.Verdict != verify.Wrong || r.Facts["judged"] != 0 {
		t.Errorf("a mark before any search: %+v, %v", r, err)
	}
	l.Lies, l.Noise = 0.3, 8
	want := 1 - math.Pow(0.3, 4) - 4*0.7*math.Pow(0.3, 3) // at least two of four searches tell the truth
	if mean, _ := playedIn(t, validated(t, l), l.Best(), 500); mean < want-binomialBound(want, 500) || mean > want+binomialBound(want, 500) {
		t.Errorf("the best player earns %v, want %v", mean, want)
	}
	marks := map[string]int{}
	for i := range 400 {
		row := l.Draw(random.At(5, 1, uint64(i)), Train)
		p, err := world.Play(t.Context(), l, reader{l, 1, false}, row, l.Most, random.At(5, 2, uint64(i)), random.At(5, 3, uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		for k, turn := range p.Turns[1:] {
			mark, _ := marked(turn.Text)
			marks[mark]++
			if again := strings.Contains(turn.Text, "<search>") && strings.TrimPrefix(turn.Text, mark) == strings.TrimLeft(p.Turns[k].Text, approves+rejects); again != (mark == rejects) && k+2 < l.Most && mark != "" && len(p.Turns) < l.Most {
				t.Fatalf("%q after %q", turn.Text, p.Turns[k].Text)
			}
		}
	}
	if marks[""] != 0 || marks[approves] < 300 || marks[rejects] < 300 {
		t.Errorf("marks of the demonstrations: %v", marks)
	}
}

// TestLibraryDemonstrations: which of them search again after what is of no use, and which answer wrongly in the end.
func TestLibraryDemonstrations(t *testing.T) {
	const n = 2000
	for _, c := range []struct{ recovers, slips, right float64 }{
		{1, 0, 1 - math.Pow(0.5, 9)}, {0, 0, 0.5}, {1, 1, 1. / 50}, {0.5, 0, 0.5 * (1 - math.Pow(0.25, 9)) / 0.75},
	} {
		l := validated(t, &library{Hops: 1, Things: 50, Relations: 6, Noise: 8, Results: 1, Most: 10, Searched: 1, Lies: 0.5, Recovers: c.recovers, Slips: c.slips})
		if mean, _ := playedIn(t, l, l.Shown(), n); mean < c.right-binomialBound(c.right, n) || mean > c.right+binomialBound(c.right, n) {
			t.Errorf("recovers %v, slips %v: demonstrations earn %v, want %v", c.recovers, c.slips, mean, c.right)
		}
	}
}

// TestLibraryRoutes: reach shows the way as far as there is one, and its calls are counted; half of the demonstrations
// that search take it, and are right.
func TestLibraryRoutes(t *testing.T) {
	if err := (reach{}).Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := validated(t, &library{Hops: 2, Things: 100, Relations: 6, Results: 1, Noise: 8, Most: 4, Routes: true, Searched: 1})
	row := verify.Problem{Question: "47 k m:", Answer: "80", Metadata: metadata(map[string]any{
		"documents": []string{"12 m 80", "80 n 3", "3 k 47", "47 k 12"}, "chain": []string{"47 k 12", "12 m 80"}})}
	for said, want := range map[string]struct {
		reply          string
		found, reached float64
	}{
		"<reach>47 k m</reach>":                      {"47 k 12\n12 m 80", 2, 1},
		"<reach>47km</reach>":                        {"47 k 12\n12 m 80", 2, 1},
		"<reach>47 k l</reach>":                      {"47 k 12", 1, 1},
		"<reach>12 m n k k m</reach>":                {"12 m 80\n80 n 3\n3 k 47\n47 k 12", 2, 1},
		"<reach>k 47</reach>":                        {"?", 0, 1},
		"<reach></reach>":                            {"?", 0, 1},
		"<reach>47</reach><search>12 m</search>":     {"?\n12 m 80", 1, 1},
		"<search>80 n</search>":                      {"80 n 3", 0, 0},
		"<search>12 m <reach></search>":              {"12 m 80", 1, 0}, // a tag within a call is a part of it
		"<search>12 m</search><reach>12 m n</reach>": {"12 m 80\n12 m 80\n80 n 3", 1, 1},
	} {
		e, _, err := l.Begin(t.Context(), row, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), world.Turn{Text: said})
		if err != nil || len(r.Messages) != 1 || r.Messages[0].Text != want.reply || r.Facts["found"] != want.found || r.Facts["reached"] != want.reached {
			t.Errorf("%q: %+v, %v; want %+v", said, r, err, want)
		}
	}
	const n = 2000
	reached := 0.0
	for i := range n {
		e, err := world.Play(t.Context(), l, l.Shown(), l.Draw(random.At(8, 1, uint64(i)), Train), l.Most, nil, random.At(8, 3, uint64(i)))
		if err != nil || e.Verdict.Verdict != verify.Right {
			t.Fatalf("%+v, %v", e, err)
		}
		reached += e.Turns[0].Reply.Facts["reached"]
	}
	if got := reached / n; got < 0.5-binomialBound(0.5, n) || got > 0.5+binomialBound(0.5, n) {
		t.Errorf("a share of %v of the demonstrations takes reach, want 0.5", got)
	}
}

// TestLibraryKnown: known relations say one thing in all documents of all problems, and an answer without a search is
// right where all are known.
func TestLibraryKnown(t *testing.T) {
	l := validated(t, &library{Hops: 1, Things: 20, Relations: 4, Noise: 6, Results: 1, Most: 3, Known: 2})
	said, all, right, recalled := map[string]string{}, 0, 0, 0
	for i := range 2000 {
		row := l.Draw(random.At(9, 1, uint64(i)), Train)
		documents, chain, err := shelves(row)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			if w := strings.Fields(d); strings.Contains("kl", w[1]) {
				if before, there := said[asked(d)]; there && before != w[2] {
					t.Fatalf("%s after %s", d, before)
				}
				said[asked(d)] = w[2]
			}
		}
		answer := reader{l, 0, false}.Play([]world.Message{{Role: world.User, Text: row.Question}}, random.At(9, 2, uint64(i)))
		known := strings.ContainsAny(chain[0], "kl")
		if known && answer != row.Answer {
			t.Fatalf("%s: %s is known, and not %s", row.ID, row.Answer, answer)
		}
		if known {
			recalled++
		} else if all++; answer == row.Answer {
			right++
		}
	}
	if recalled < 700 || all < 700 || right > all/10 {
		t.Errorf("%d questions are known, and %d of the %d others are right without a search", recalled, right, all)
	}
	if mean, _ := playedIn(t, l, l.Best(), 500); mean != 1 {
		t.Errorf("the best player earns %v", mean)
	}
}

// TestLibraryTalk: i and s stand for what they should, and the overlap is that with the question as it stands alone.
func TestLibraryTalk(t *testing.T) {
	for question, want := range map[string]string{
		"7 k 12 . i m:": "12 m", "7 k 12 . s m:": "7 m", "7 k 12 . i l 3 . s m:": "12 m", "7 k 12 . s l 3 . s m:": "7 m",
		"7 k 12 . s l 3 . i m n:": "3 m n", "7 k m:": "7 k m", "": "", ".:": "",
	} {
		about, relations := asks(question)
		if got := strings.Join(append([]string{about}, relations...), " "); got != want {
			t.Errorf("%q asks for %q, want %q", question, got, want)
		}
	}
	for turn, want := range map[string]float64{"<search>12 m</search>": 1, "<search>m 12</search>": 1, "<search>12</search>": 2. / 3, "<search>7 m</search>": 0.5, "<search>7 m 12 l</search>": 2. / 3, "<search>k</search>": 0, "<search></search>": 0} {
		if got := overlap(turn, "12 m 80"); got != want {
			t.Errorf("%q: %v, want %v", turn, got, want)
		}
	}
	l := validated(t, &library{Hops: 2, Things: 50, Relations: 6, Noise: 20, Results: 1, Most: 3, Talk: 2})
	if mean, turns := playedIn(t, l, l.Best(), 500); mean != 1 || turns != 3 {
		t.Errorf("the best player earns %v, in up to %d turns", mean, turns)
	}
	for i := range 500 {
		row := l.Draw(random.At(6, 1, uint64(i)), Train)
		_, chain, err := shelves(row)
		if about, relations := asks(row.Question); err != nil || about+" "+relations[0] != asked(chain[0]) {
			t.Fatalf("%s asks for %s %v, %v", row.ID, about, relations, err)
		}
	}
}
