package tasks

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// TestRewrite: the question as it stands alone finds its document, and what takes i and s for something else does not.
func TestRewrite(t *testing.T) {
	for _, w := range []*rewrite{defaultRewrite(), {Things: 1000, Relations: 8, Noise: 100, Talk: 1}, {Things: 8, Relations: 3, Noise: 8, Talk: 2},
		{Things: 50, Relations: 6, Noise: 40, Talk: 2, Aimed: 0.3, Thought: true}} {
		validated(t, w)
		const n = 400
		right := 0
		for i := range n {
			row := w.Draw(random.At(7, 1, uint64(i)), Train)
			if v := w.Verify(row, row.Answer, true); v.Verdict != verify.Right || v.Values["rank"] != 1 {
				t.Fatalf("%s: %q is %+v", row.ID, row.Answer, v)
			}
			thing, relation, _ := strings.Cut(row.Answer, " ")
			for _, text := range []string{"", ".", "i " + relation, relation, "s" + relation, "1001 " + relation, row.Answer + " " + row.Answer, row.Answer + " or 1 k", "<answer>" + row.Answer + "</answer>"} {
				if v := w.Verify(row, text, true); v.Verdict != verify.Wrong || v.Values["rank"] < 2 {
					t.Fatalf("%s: %q is %+v", row.ID, text, v)
				}
			}
			if w.Verify(row, row.Answer, false).Verdict != verify.Wrong {
				t.Fatal("what is cut off is right")
			}
			text, err := w.Demonstration(random.At(7, 2, uint64(i)), row)
			if err != nil || !w.Valid(row, text, true) {
				t.Fatalf("%q, %v", text, err)
			}
			if before, after, found := strings.Cut(text, ":"); found != w.Thought {
				t.Fatalf("%q: thought %v", text, w.Thought)
			} else if found {
				// The words of the last question, and the thing that is asked for.
				question := strings.Fields(row.Question)
				if about, meant, _ := strings.Cut(before, "."); about != question[len(question)-2] || !strings.HasPrefix(after, meant+" ") {
					t.Fatalf("%s %q", row.Question, text)
				}
				if w.Valid(row, after, true) || w.Valid(row, before+":", true) || w.Valid(row, "k.7:"+after, true) || w.Verify(row, before+":", true).Verdict != verify.Wrong {
					t.Fatalf("part of %q is a whole answer", text)
				}
				if w.Verify(row, text, true).Verdict != w.Verify(row, "s.1:"+after, true).Verdict {
					t.Fatalf("%q: the thought is judged", text)
				}
				text = after
			}
			if text == row.Answer {
				right++
			} else if strings.HasPrefix(text, thing+" ") {
				t.Fatalf("%q has another relation than %q", text, row.Answer)
			}
		}
		// A conversation of two has three things, and one of one two.
		if p := w.Aimed + (1-w.Aimed)/float64(w.Talk+1); float64(right)/n < p-binomialBound(p, n) || float64(right)/n > p+binomialBound(p, n) {
			t.Errorf("%s: %d of %d demonstrations are right, want a share of %v", w.Difficulty(), right, n, p)
		}
	}
}
