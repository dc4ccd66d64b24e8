package tasks

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// askedRow is a problem of library, with more members.
func askedRow(more map[string]any) verify.Problem {
	all := map[string]any{"documents": []string{"12 m 80", "5 k 9", "47 l 12", "47 k 12"}, "chain": []string{"47 k 12", "12 m 80"}}
	for name, value := range more {
		all[name] = value
	}
	return verify.Problem{Question: "47 k m:", Answer: "80", Metadata: metadata(all)}
}

// saying answers every question alike, and keeps the last one.
func saying(text string, asked *string) tools.Answerer {
	return func(_ context.Context, question string) ([]tools.Said, error, error) {
		*asked = question
		return []tools.Said{{Text: text, Ended: true}}, nil, nil
	}
}

// TestLibraryWritten: a model writes what a search shows where the row says so; what is no document is a mistake.
func TestLibraryWritten(t *testing.T) {
	l := validated(t, &library{Hops: 2, Things: 100, Relations: 6, Results: 1, Noise: 2, Most: 4, Writer: "writer"})
	for _, c := range []struct {
		more            map[string]any
		query, writes   string
		asked, want     string
		found, mistakes float64
		nobody          bool
	}{
		{map[string]any{"written": true}, "47k", "47k12", "47 k 12 12 m 80: 47 k:", "47 k 12", 1, 0, false},
		{map[string]any{"written": true, "lies": 1}, "47 k", "9 l 3", "? 47 k 12 12 m 80: 47 k:", "9 l 3", 0, 0, false},
		{map[string]any{"written": true}, "47 k", "9 l 3 9 l 4", "47 k 12 12 m 80: 47 k:", "9 l 3", 0, 0, false},
		{map[string]any{"written": true}, "47 k", "k 47 12", "47 k 12 12 m 80: 47 k:", "?", 0, 1, false},
		{map[string]any{"written": true}, "47 k", "100 l 3", "47 k 12 12 m 80: 47 k:", "?", 0, 1, false},
		{map[string]any{"written": true}, "47 k", "", "47 k 12 12 m 80: 47 k:", "?", 0, 1, false},
		{map[string]any{"written": true}, "47 k", "9 x 3", "47 k 12 12 m 80: 47 k:", "?", 0, 1, false},
		{map[string]any{"written": true}, ">", "9 l 3", "", "?", 0, 1, false},
		{map[string]any{"written": true}, "12 m", "9 l 3", "", "12 m 80", 1, 0, true},
		{nil, "12 m", "9 l 3", "", "12 m 80", 1, 0, false},
	} {
		asked := ""
		var w world.World = l
		if !c.nobody {
			w = l.Answered(saying(c.writes, &asked))
		}
		e, _, err := w.Begin(t.Context(), askedRow(c.more), random.At(1, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), world.Turn{Text: "<search>" + c.query + "</search>"})
		if err != nil || asked != c.asked || !reflect.DeepEqual(r.Messages, []world.Message{{Role: world.User, Text: c.want}}) || r.Facts["found"] != c.found || r.Facts["calls_failed"] != c.mistakes {
			t.Errorf("%+v: asked %q, %+v, %v", c, asked, r, err)
		}
	}
	broken := errors.New("no model")
	e, _, err := l.Answered(func(context.Context, string) ([]tools.Said, error, error) { return nil, nil, broken }).Begin(t.Context(), askedRow(map[string]any{"written": true}), random.At(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step(t.Context(), world.Turn{Text: "<search>1</search>"}); !errors.Is(err, broken) {
		t.Errorf("a model that cannot be asked: %v", err)
	}
}

// TestLibraryReader: a model answers from what was shown, at the end of a plan and where a limit ends it, and before it from
// nothing.
func TestLibraryReader(t *testing.T) {
	l := validated(t, &library{Hops: 2, Things: 100, Relations: 6, Results: 1, Noise: 2, Most: 3, Reader: "reader"})
	var heard []string
	reads := func(_ context.Context, question string) ([]tools.Said, error, error) {
		heard = append(heard, question)
		if strings.Contains(question, "12 m 80") {
			return []tools.Said{{Text: "80", Ended: true}}, nil, nil
		}
		return []tools.Said{{Text: "47", Ended: true}}, nil, nil
	}
	e, _, err := l.Answered(reads).Begin(t.Context(), askedRow(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, said := range []string{"<search>47 k</search>", "<search>47 k</search><search>12 m</search>", "47"} {
		r, err := e.Step(t.Context(), world.Turn{Text: said})
		alone, there := r.Facts["alone"]
		if err != nil || !there || alone != 0 || (r.Verdict != nil) != (i == 2) || i == 2 && (r.Verdict.Verdict != verify.Right || r.Reward != 1) {
			t.Errorf("%q: %+v, %v", said, r, err)
		}
	}
	if want := []string{"47 k m: :", "47 k m: 47 k 12 12 m 80:"}; !slices.Equal(heard, want) {
		t.Errorf("the model was asked %q, want %q", heard, want)
	}
	if v, err := e.(world.Judge).Judge(t.Context()); err != nil || v.Verdict != verify.Right {
		t.Errorf("where a limit ends it: %+v, %v", v, err)
	}
	asked := ""
	if e, _, err = l.Answered(saying("80", &asked)).Begin(t.Context(), askedRow(nil), nil); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Step(t.Context(), world.Turn{Text: "3"}); err != nil || r.Facts["alone"] != 1 || r.Verdict == nil || r.Verdict.Verdict != verify.Right {
		t.Errorf("a model that knows it: %+v, %v", r, err)
	}
	if mean, turns := playedIn(t, l, l.Best(), 200); mean != 1 || turns != 3 {
		t.Errorf("without a model the best player earns %v, in up to %d turns", mean, turns)
	}
}

// TestLibraryLessons: what the models learn is what they are asked, has room, and is right where that can be known.
func TestLibraryLessons(t *testing.T) {
	token := regexp.MustCompile(`[0-9]+|\S`)
	for _, l := range []*library{
		{Hops: 2, Things: 20, Relations: 4, Noise: 6, Results: 1, Most: 5, Writer: "m"},
		{Hops: 3, Things: 30, Relations: 5, Noise: 9, Results: 2, Most: 4, Writer: "m", Judged: true},
		{Hops: 2, Things: 20, Relations: 4, Noise: 6, Results: 1, Most: 3, Known: 2, Reader: "m"},
		{Hops: 1, Things: 8, Relations: 3, Noise: 3, Results: 2, Most: 3, Talk: 1, Reader: "m"},
	} {
		validated(t, l)
		words := l.Vocabulary()
		_, whom := l.Asks()
		fits, marks, answers := 0, map[bool]int{}, 0
		const n = 1000
		for i := range n {
			r := random.At(5, 1, uint64(i))
			row := l.Draw(r, Train)
			_, chain, err := shelves(row)
			if err != nil {
				t.Fatal(err)
			}
			question, answer, err := l.Lesson(r, row)
			if err != nil {
				t.Fatal(err)
			}
			asked, said := token.FindAllString(question, -1), token.FindAllString(answer, -1)
			if len(asked)+whom.MaxTokens > whom.Context || len(said)+1 > whom.MaxTokens {
				t.Fatalf("%+v: %q, %q are %d and %d tokens", whom, question, answer, len(asked), len(said))
			}
			for _, w := range slices.Concat(asked, said) {
				if !slices.Contains(words, w) {
					t.Fatalf("%q, %q: %q is no token", question, answer, w)
				}
			}
			if l.Reader != "" {
				if all := !slices.ContainsFunc(chain, func(d string) bool { return !strings.Contains(question, " "+d) }); all {
					answers++
					if answer != row.Answer {
						t.Fatalf("%q is answered by %q", question, answer)
					}
				}
				continue
			}
			useless := asked[0] == unread
			marks[useless]++
			query := strings.TrimSuffix(question[strings.LastIndex(strings.TrimSuffix(question, ":"), ":")+2:], ":")
			first := firstLine(answer)
			if of := slices.IndexFunc(chain, func(d string) bool { return strings.HasPrefix(d, query+" ") }); of >= 0 && !useless {
				if fits++; first != chain[of] {
					t.Fatalf("%q is answered by %q", question, answer)
				}
			}
			if useless && (slices.Contains(chain, first) || l.documentsIn(answer) == nil) {
				t.Fatalf("%q is answered by %q", question, answer)
			}
		}
		if l.Reader == "" && (marks[false] < n/3 || marks[true] < n/3 || fits < n/6) || l.Reader != "" && answers < n/20 {
			t.Errorf("%+v: %v, %d fit, %d are answered: the lessons teach little", l, marks, fits, answers)
		}
	}
	for _, c := range []struct {
		l    library
		want string
	}{
		{library{Hops: 1, Things: 8, Relations: 3, Noise: 1, Results: 1, Most: 3, Written: true}, "writer is missing: written = true needs a model"},
		{library{Hops: 1, Things: 8, Relations: 3, Noise: 1, Results: 1, Most: 3, Writer: "a", Reader: "b"}, `reader = "b" does not go with writer = "a"`},
		{library{Hops: 1, Things: 8, Relations: 3, Results: 1, Most: 3, Writer: "a"}, "noise = 0 is out of range; accepted: at least 1 where a model learns"},
	} {
		if err := c.l.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
