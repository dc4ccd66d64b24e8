package train

import (
	"math"
	"testing"
)

// TestPaired: cases by hand. With three differences Student's t has two degrees of freedom, and the
// chance of more than t is 1/2 - t/(2 sqrt(2 + t^2)).
func TestPaired(t *testing.T) {
	three := 2 * math.Sqrt(3) // of 1, 2, 3: mean 2, deviation 1
	for _, c := range []struct {
		gains        []float64
		mean, chance float64
	}{
		{nil, 0, 1}, {[]float64{3}, 0, 1}, {[]float64{-1, -2, -3}, -2, 1}, {[]float64{1, -1}, 0, 1}, {[]float64{2, 2, 2, 2}, 2, 0},
		{[]float64{1, 2, 3}, 2, 0.5 - three/(2*math.Sqrt(2+three*three))},
	} {
		if mean, chance := paired(c.gains); math.Abs(mean-c.mean) > 0x1p-50 || math.Abs(chance-c.chance) > 1e-12 { // a continued fraction
			t.Errorf("%v: mean %g, chance %g; want %g and %g", c.gains, mean, chance, c.mean, c.chance)
		}
	}
}
