package student

import (
	"math"
	"testing"
)

// TestTail: closed forms for 1 and 2 degrees of freedom, and a table (NIST, Engineering Statistics
// Handbook, 1.3.6.7.2) for others.
func TestTail(t *testing.T) {
	for _, x := range []float64{0.1, 1, 3, 30} {
		for freedom, want := range map[float64]float64{1: 0.5 - math.Atan(x)/math.Pi, 2: 0.5 - x/(2*math.Sqrt(2+x*x))} {
			if got := Tail(x, freedom); math.Abs(got-want) > 1e-12 { // the closed form of 2 cancels to some 1e-13 at 30
				t.Errorf("above %g with %g degrees: %g, want %g", x, freedom, got, want)
			}
		}
	}
	for _, c := range []struct{ freedom, x, chance float64 }{{10, 1.812, 0.05}, {30, 1.697, 0.05}, {100, 1.660, 0.05}, {100, 2.364, 0.01}} {
		if got := Tail(c.x, c.freedom); math.Abs(got-c.chance) > 0.0001 { // the table has three decimals
			t.Errorf("above %g with %g degrees: %g, want %g", c.x, c.freedom, got, c.chance)
		}
	}
}
