package rl

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestSummary: figures of an evaluation by hand; what is not scored is left out
// of each, and never counted as wrong.
func TestSummary(t *testing.T) {
	right, wrong, none := verify.Accept("1", "", ""), verify.Reject("2", "", ""), verify.Abstain("no reference")
	var cs []completion
	for problem, verdicts := range [][]verify.Verdict{
		{right, right, wrong, wrong}, // pass@1 1/2, pass@2 1 - 1/6, pass@4 1
		{right, none, none, wrong},   // pass@1 1/2, pass@2 1
		{none, none, none, none},     // nothing
		{wrong, wrong, wrong, none},  // 0
	} {
		for i, v := range verdicts {
			cs = append(cs, completion{group: problem, sample: i, verdict: v})
		}
	}
	ev := new(roller).summarise(cs, 4, 4, []int{1, 2, 4})
	const eps = 0x1p-50 // some roundings of numbers of at most 1
	for k, want := range map[int]float64{1: 1.0 / 3, 2: (5.0/6 + 1) / 3, 4: 1} {
		if math.Abs(ev.PassAt[k]-want) > eps {
			t.Errorf("pass@%d is %v, want %v", k, ev.PassAt[k], want)
		}
	}
	if ev.NotScored != 7 || math.Abs(ev.Mean-1.0/3) > eps {
		t.Errorf("not scored %d, mean %v", ev.NotScored, ev.Mean)
	}
	ev = new(roller).summarise([]completion{{verdict: none}}, 1, 1, []int{1})
	if !math.IsNaN(ev.PassAt[1]) || !math.IsNaN(ev.MajAt[1]) || ev.NotScored != 1 {
		t.Errorf("of nothing: %+v", ev)
	}
}
