package bench

import (
	"math"
	"testing"
)

// TestStep: a step samples completions of full length, learns from all of them, and tells
// its phases.
func TestStep(t *testing.T) {
	s := rlStep{grouped{"small", shape().Config, 5, 3, 2}, 2}
	var got []Result
	if err := s.measure(Bench{Device: device(t), Limits: limits(), Emit: func(r Result) { got = append(got, r) }}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Case != "small, 2 prompts of 5 tokens x 2 samples x 3 tokens" || got[0].Unit != "s" || got[0].Value <= 0 || got[0].Rate == nil {
		t.Fatalf("results %+v", got)
	}
	p := got[0].Phases
	if p["rollout"] <= 0 || p["train"] <= 0 || math.Abs(p["rollout"]+p["train"]-got[0].Value) > 0x1p-50*got[0].Value {
		t.Errorf("phases %v of %g s", p, got[0].Value)
	}
	// 2 prompts of 5 rows, and 2 rows of each of 4 completions: their last token is not read.
	n := Shape{Config: s.config}.matrices()
	if want := (work{8 * n * 18, 4 * n * 15}); s.work() != want {
		t.Errorf("work %v, want %v", s.work(), want)
	}
}
