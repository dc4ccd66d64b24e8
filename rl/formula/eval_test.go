package formula

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Many numbers are sorted as few are, infinities, subnormal numbers and both
// zeros among them.
func TestSortFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := []float64{math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64}
	for range 5000 {
		x = append(x, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(40)-20)))
	}
	want := slices.Clone(x)
	slices.Sort(want)
	sortFloats(x)
	if !slices.Equal(x, want) {
		t.Error("the order differs")
	}
}
