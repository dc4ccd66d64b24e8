package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near allows the roundings of some dozens of operations, each of half a unit in the
// last place.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 64*0x1p-53*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

// TestQuantileT holds the quantiles against a printed table (Abramowitz and Stegun,
// table 26.10), to its digits.
func TestQuantileT(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980, 1e7: 1.960} {
		if got := quantileT(freedom); math.Round(1000*got) != math.Round(1000*want) {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
}

// TestMean by hand: 1, 2, 3 have mean 2, variance 1/3 of the mean, t(2) = 4.3027.
func TestMean(t *testing.T) {
	got := Mean([]float64{1, 2, 3})
	if half := 4.302652729749464 / math.Sqrt(3); got.Mean != 2 || !near(got.High, 2+half) || !near(got.Low, 2-half) {
		t.Errorf("%+v", got)
	}
	if got := Mean([]float64{5, 5}); got != (Interval{5, 5, 5}) {
		t.Errorf("%+v", got)
	}
	if got := Mean([]float64{5}); got.Mean != 5 || !math.IsNaN(got.Low) {
		t.Errorf("%+v", got)
	}
	if got := Mean(nil); !math.IsNaN(got.Mean) {
		t.Errorf("%+v", got)
	}
	if got := spread([]float64{1, 3}); !near(got, math.Sqrt2) || !math.IsNaN(spread([]float64{1})) {
		t.Errorf("spread %v", got)
	}
}

// TestPaired: what two arms have in common does not widen the interval, what has no
// value is left out, and the order of problems does not matter.
func TestPaired(t *testing.T) {
	nan := math.NaN()
	a := [][]float64{{0, 1, 0.5, nan, 0.25}, {0.25, 1, 0, 1, 0.5}}
	b := [][]float64{{0.5, 1.5, 1, 1, 0.75}, {0.75, 1.5, 0.5, 1, 1}}
	if got := Paired(a, b); got != (Interval{0.5, 0.5, 0.5}) {
		t.Errorf("a constant gain: %+v", got)
	}
	if got := Paired([][]float64{{0, 1, 2}}, [][]float64{{1, 3, 5}}); got != Mean([]float64{1, 2, 3}) {
		t.Errorf("one seed: %+v", got)
	}
	if got := Paired([][]float64{{nan}}, [][]float64{{1}}); !math.IsNaN(got.Mean) {
		t.Errorf("nothing: %+v", got)
	}
	// Two problems, two seeds, differences 1 2 / 3 8: means of problems 1.5 and 5.5, of
	// seeds 2 and 5, mean squares 16 and 9, variance (16+9)/4.
	got := Paired([][]float64{{0, 0}, {0, 0}}, [][]float64{{1, 3}, {2, 8}})
	half := quantileT(25*25/(16*16+9*9.0)) * math.Sqrt(25.0/4)
	if got.Mean != 3.5 || !near(got.High, 3.5+half) {
		t.Errorf("%+v, want 3.5 and half a width of %v", got, half)
	}
}

// TestCoverage: of intervals for a difference of 0 about 95 in 100 hold it, whether seeds, problems, both or neither have effects of their own.
func TestCoverage(t *testing.T) {
	for _, effect := range []struct{ seed, problem float64 }{{0.7, 1}, {0, 1}, {1, 0}, {0, 0}} {
		r := rand.New(rand.NewPCG(8, 8))
		const trials, seeds, problems = 1000, 3, 20
		held := 0
		for range trials {
			a, b := make([][]float64, seeds), make([][]float64, seeds)
			ofProblem := make([]float64, problems)
			for p := range ofProblem {
				ofProblem[p] = effect.problem * r.NormFloat64()
			}
			for s := range seeds {
				ofSeed := effect.seed * r.NormFloat64()
				for p := range problems {
					a[s] = append(a[s], 0)
					b[s] = append(b[s], ofSeed+ofProblem[p]+0.5*r.NormFloat64())
				}
			}
			if !Paired(a, b).excludes(0) {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.95-4*math.Sqrt(0.95*0.05/trials) { // four standard errors
			t.Errorf("%+v: %v of the intervals hold the difference", effect, share)
		}
	}
}
