package random

import (
	"math"
	"testing"
)

// TestRestarted: each context has a key of its own, which tells what it was made of; the step after a stage, which
// is the largest there is, stays the largest.
func TestRestarted(t *testing.T) {
	seen := map[Key]bool{}
	for _, p := range []Purpose{Sample, HeldOut, FreshPass} {
		for step, want := range map[int]int{0: 0, 7: 7, 1 << 30: 1 << 30, math.MaxInt: maxStep} {
			for _, n := range []int{1, 2, maxContexts - 1} {
				k := Key{Purpose: p, Stage: 1, Step: step, Stream: 3}.Restarted(n)
				of, its := Restarts(k.Step)
				if k.Purpose != Restart || k.Stage != 1 || k.Stream != 3 || k.Step < 0 || of != p || its != want || seen[k] {
					t.Errorf("step %d of purpose %d, begun %d times: %+v of step %d of purpose %d", step, p, n, k, its, of)
				}
				seen[k] = true
			}
		}
	}
}
