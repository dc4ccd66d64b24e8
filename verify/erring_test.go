package verify

import (
	"fmt"
	"math"
	"testing"
)

// TestErring: verdicts are turned round at the stated rate, the same ones each time, others with another
// seed, and what is not scored stays so.
func TestErring(t *testing.T) {
	row := Problem{Question: "6*7?", Answer: "42"}
	const n = 4000
	for _, errs := range []float64{0, 0.1, 1} {
		v, err := New("erring", map[string]any{"verifier": "exact", "errs": errs})
		if err != nil {
			t.Fatal(err)
		}
		other, err := New("erring", map[string]any{"verifier": "exact", "errs": errs, "seed": 2})
		if err != nil {
			t.Fatal(err)
		}
		erred, differ := 0, 0
		for i := range n {
			text := "42"
			if i%2 == 1 {
				text = fmt.Sprint(i)
			}
			row.ID = fmt.Sprint(i)
			got, truth := v.Verify(row, text), Accept("", "", "")
			if text != "42" {
				truth = Reject("", "", "")
			}
			if got.Values["erred"] == 1 {
				erred++
				truth.Score = 1 - truth.Score
			}
			if again := v.Verify(row, text); got.Score != truth.Score || again.Score != got.Score || (got.Verdict == Right) != (got.Score == 1) {
				t.Fatalf("%q: %+v, then %+v, want %v", text, got, again, truth.Score)
			}
			if other.Verify(row, text).Score != got.Score {
				differ++
			}
		}
		// Five standard deviations of the number of errors in n tries.
		if bound := 5 * math.Sqrt(n*errs*(1-errs)); math.Abs(float64(erred)-n*errs) > bound || errs == 0.1 && differ == 0 {
			t.Errorf("errs = %v: %d of %d, %d differ with another seed", errs, erred, n, differ)
		}
	}
	v, err := New("erring", map[string]any{"verifier": "number", "errs": 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Verify(Problem{Question: "?"}, "42"); got.Verdict != NotScored || Check(v, Problem{Question: "?"}) == nil {
		t.Errorf("without a reference: %+v", got)
	}
	if _, err := New("erring", map[string]any{"verifier": "erring"}); err == nil {
		t.Error("it wraps itself")
	}
}
