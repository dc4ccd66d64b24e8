package reward

import (
	"fmt"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestRaw: a completion that a head could not be shown has the least number of its prompt's completions, or of all
// where these have none, or 0. One that is not scored for another reason has none.
func TestRaw(t *testing.T) {
	p, err := Compile("liked.raw", []Verifier{{Name: "liked", Verifier: "judge", Options: map[string]any{"model": "m", "read": "head"}}})
	if err != nil {
		t.Fatal(err)
	}
	says := func(x float64) verify.Verdict {
		return verify.Verdict{Verdict: verify.Graded, Score: 0.5, Rule: "judge", Values: map[string]float64{"raw": x}, Opinions: []verify.Opinion{{Raw: &x}}}
	}
	unseen, unread := verify.Reject("", "judge", "it is too long"), verify.Abstain("its head says NaN")
	for _, c := range []struct {
		groups   []int
		verdicts []verify.Verdict
		want     []float64
	}{
		{[]int{0, 0, 0, 1, 1, 2, 2}, []verify.Verdict{says(-1), unseen, says(-3), unseen, unread, says(-5), unseen}, []float64{-1, -3, -3, -5, nan, -5, -5}},
		{[]int{0, 0, 1}, []verify.Verdict{says(2), unseen, unseen}, []float64{2, 2, 2}},
		{[]int{0, 0, 1}, []verify.Verdict{unseen, unread, unseen}, []float64{0, nan, 0}},
		{[]int{0, 0}, []verify.Verdict{unseen, {Verdict: verify.Wrong, Rule: "judge", Values: map[string]float64{"1": 0}}}, []float64{0, nan}}, // of items it has none
	} {
		var answers []answer
		for _, g := range c.groups {
			answers = append(answers, answer{group: g, tokens: 3})
		}
		b := batchOf(answers)
		for i := range b.Completions {
			b.Completions[i].Path.Verdicts[1] = c.verdicts[i]
			b.Completions[i].Row.ID = fmt.Sprint(c.groups[i])
		}
		scores, err := p.Score(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := paid(scores); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.groups, got, c.want)
		}
	}
}
