package rollout

import (
	"context"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// opinion is a verifier that asks a model, of its name.
type opinion struct {
	rejecting
	name string
}

func (o opinion) Asks() string { return o.name }

// notes are judges that accept what they are shown, and note it. together is the name of one that compares.
type notes struct {
	together string
	shown    []string
}

func (n *notes) Judge(_ context.Context, by verify.Asking, groups []Group) ([][]verify.Verdict, error) {
	out := make([][]verify.Verdict, len(groups))
	for i, g := range groups {
		said := by.Asks() + " " + g.Problem.Question
		for _, p := range g.Paths {
			out[i] = append(out[i], verify.Accept(p.Text, "", "%s", by.Asks()))
			said += " " + p.Text
		}
		n.shown = append(n.shown, said)
	}
	return out, nil
}

func (n *notes) Compares(by verify.Asking) bool { return by.Asks() == n.together }

// TestJudgesAreShown: a verifier that asks a model is shown the completions that lack its verdict, and no other. One that
// compares is shown all of a group of which some lacks it.
func TestJudgesAreShown(t *testing.T) {
	had := func(n int) (out []verify.Verdict) {
		for i := range n {
			out = append(out, verify.Reject("", "", "had %d", i))
		}
		return out
	}
	leaf := func(letter int, stop Stop) Segment {
		ids := []int{letter}
		if stop == EOS {
			ids = append(ids, 0)
		}
		return Segment{Author: Policy, IDs: ids, Stop: stop}
	}
	drawn := func() []Group {
		prompt := Segment{Parent: -1, IDs: []int{'?'}}
		return []Group{
			{Problem: verify.Problem{Question: "one"}, Segments: []Segment{prompt, leaf('a', EOS), leaf('b', Length), leaf('c', EOS), leaf('d', EOS)},
				Paths: []Path{{Leaf: 1, Verdicts: had(3)}, {Leaf: 2}, {Leaf: 3}, {Leaf: 4, Verdicts: had(1)}}},
			{Problem: verify.Problem{Question: "two"}, Segments: []Segment{prompt, leaf('e', EOS)}, Paths: []Path{{Leaf: 1, Verdicts: had(3)}}},
		}
	}
	const verdicts = "had 0 had 1 had 2, cut each both, task each both, had 0 each both, had 0 had 1 had 2"
	for _, c := range []struct{ together, shown string }{
		{"", "task one c, each one b c d, both one b c d"},
		{"both", "task one c, each one b c d, both one a b c d"},
	} {
		judges := &notes{together: c.together}
		coll := judgedBy(func(string) verify.Verdict { return verify.Reject("", "", "cut") })
		coll.Asks, coll.Judges = opinion{name: "task"}, judges
		groups := drawn()
		if err := coll.Judge(t.Context(), groups, opinion{name: "each"}, opinion{name: "both"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(judges.shown, ", "); got != c.shown {
			t.Errorf("shown %q, want %q", got, c.shown)
		}
		var all []string
		for _, g := range groups {
			for _, p := range g.Paths {
				var said []string
				for _, v := range p.Verdicts {
					said = append(said, v.Reason)
				}
				all = append(all, strings.Join(said, " "))
			}
		}
		if got := strings.Join(all, ", "); got != verdicts {
			t.Errorf("verdicts %q, want %q", got, verdicts)
		}
	}
	coll := judgedBy(func(string) verify.Verdict { return verify.Reject("", "", "cut") })
	judges := &notes{}
	coll.Judges = judges
	if err := coll.Judge(t.Context(), drawn()[1:], opinion{name: "each"}); err != nil || judges.shown != nil {
		t.Errorf("%v, shown %q", err, judges.shown)
	}
}
