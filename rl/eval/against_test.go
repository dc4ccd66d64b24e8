package eval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestAgainst: what is kept, lost, gained and out of reach, counted by hand, and the entropies.
func TestAgainst(t *testing.T) {
	right, wrong, other := verify.Accept("1", "", ""), verify.Reject("2", "", ""), verify.Reject("3", "", "")
	report := func(verdicts ...[]verify.Verdict) *Report {
		r := &Report{Task: "sums", Result: &Result{Samples: 4}, ks: []int{1, 4}}
		for _, v := range verdicts {
			g := judgedAs(v...)
			for i := range g.Segments[1:] {
				g.Segments[1+i].Entropy = []float32{0.5, 1}
			}
			r.Groups = append(r.Groups, g)
		}
		return r
	}
	four := func(a, b, c, d verify.Verdict) []verify.Verdict { return []verify.Verdict{a, b, c, d} }
	base := report(four(right, right, wrong, wrong), four(right, wrong, wrong, other), four(wrong, wrong, wrong, wrong), four(wrong, wrong, wrong, wrong))
	after := report(four(right, right, right, right), four(wrong, wrong, wrong, wrong), four(right, wrong, wrong, wrong), four(wrong, wrong, wrong, wrong))
	a := NewAgainst(after, base)
	const eps = 0x1p-50 // some roundings of numbers of at most 4
	for i, want := range []Reach{
		{1, 0.5, 0.25, 0.5 + 0.25, 0.75 + 0.75 + 1, 0.75 / 3.25},
		{4, 1, 1, 1, 1, 0.5},
	} {
		got := a.Reach[i]
		for _, pair := range [][2]float64{{got.Kept, want.Kept}, {got.Lost, want.Lost}, {got.Gained, want.Gained}, {got.Out, want.Out}, {got.Expansion, want.Expansion}} {
			if got.K != want.K || math.Abs(pair[0]-pair[1]) > eps {
				t.Errorf("%+v, want %+v", got, want)
				break
			}
		}
	}
	// Answers of the base: two and two; one, two and one; all alike; all alike.
	if h, want := base.answerEntropy(), (math.Ln2+(math.Log(4)/2+math.Ln2/2))/4; math.Abs(h-want) > eps {
		t.Errorf("entropy of the answers %v, want %v", h, want)
	}
	if h := base.tokenEntropy(); h != 0.75 {
		t.Errorf("entropy of the tokens %v, want 0.75", h)
	}
	if text := a.Table(); !strings.Contains(text, "pass@4     50.0 %   50.0 %        1.0      1.0      1.0      1.0     50.0 %") {
		t.Errorf("the table is\n%s", text)
	}
	all := report(four(right, right, right, right))
	text, err := json.Marshal(NewAgainst(all, all))
	if err != nil || !strings.Contains(string(text), `"k":4,"kept":1,"lost":0,"gained":0,"out_of_reach":0,"expansion":null`) {
		t.Errorf("%s, %v", text, err)
	}
}
