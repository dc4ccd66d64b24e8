package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShared: shares that were counted by hand.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		weights            []float64
		total, least, most int
		want               []int
	}{
		{[]float64{1, 1, 1, 1}, 32, 2, 32, []int{8, 8, 8, 8}},
		{[]float64{0, 0, 0}, 12, 2, 16, []int{4, 4, 4}},
		{[]float64{1, 2, 3, 2}, 32, 2, 32, []int{4, 8, 12, 8}},
		{[]float64{1, 1, 1}, 8, 2, 8, []int{3, 3, 2}},                  // 8/3 each: the first two remainders
		{[]float64{5, 3, 2}, 16, 2, 16, []int{8, 5, 3}},                // 8, 4.8, 3.2
		{[]float64{0, 1, 3}, 16, 2, 16, []int{2, 4, 10}},               // 14 are left: 3.5 and 10.5, and the first of two equal remainders
		{[]float64{10, 1, 1}, 24, 2, 16, []int{16, 4, 4}},              // 20, 2, 2: the first gives 4 away
		{[]float64{100, 1, 0}, 24, 2, 12, []int{12, 10, 2}},            // what the first gives away goes to the second
		{[]float64{1e300, 1e-300}, 16, 2, 12, []int{12, 4}},            //
		{[]float64{1e308, 1e308, 0}, 24, 2, 16, []int{11, 11, 2}},      // their sum is no number
		{[]float64{1e308, 1e-300, 3e-300}, 24, 2, 12, []int{12, 3, 9}}, // what the first gives away goes to the others by their weights
		{[]float64{3}, 8, 2, 32, []int{8}},                             //
		{[]float64{9, 9, 0, 0}, 16, 2, 4, []int{4, 4, 4, 4}},           // all at the most
		{[]float64{9, 1, 0, 0}, 8, 2, 4, []int{2, 2, 2, 2}},            // all at the least
		{[]float64{0.25, 0, 0.25, 0}, 32, 2, 32, []int{14, 2, 14, 2}},  //
	} {
		if got := shared(c.weights, c.total, c.least, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%v share %d as %v, want %v", c.weights, c.total, got, c.want)
		}
	}
}

// TestSharedHolds: shares add up to the total, keep their bounds and the order of the weights, do not
// depend on the scale of the weights, and where no bound holds are less than 1 from what is fair.
func TestSharedHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n, least := 1+rng.IntN(9), 2
		most := least + rng.IntN(20)
		total := least*n + rng.IntN((most-least)*n+1)
		weights, scaled, sum := make([]float64, n), make([]float64, n), 0.0
		for i := range weights {
			if rng.IntN(4) > 0 {
				weights[i] = math.Exp(4 * rng.NormFloat64())
			}
			scaled[i], sum = 0x1p20*weights[i], sum+weights[i]
		}
		got := shared(weights, total, least, most)
		given, held := 0, false
		for i, x := range got {
			given += x
			held = held || x == least || x == most
			if x < least || x > most {
				t.Fatalf("%v share %d as %v, from %d to %d", weights, total, got, least, most)
			}
			for k, y := range got {
				if weights[i] > weights[k] && x < y {
					t.Fatalf("%v share %d as %v: a greater weight gets less", weights, total, got)
				}
			}
		}
		if given != total {
			t.Fatalf("%v share %d as %v, which is %d", weights, total, got, given)
		}
		if !slices.Equal(shared(scaled, total, least, most), got) {
			t.Fatalf("%v share %d as %v, but not when they are all as much greater", weights, total, got)
		}
		for i, x := range got {
			if fair := float64(total) * weights[i] / sum; !held && sum > 0 && !(math.Abs(float64(x)-fair) < 1) {
				t.Fatalf("%v share %d as %v; fair are %v", weights, total, got, fair)
			}
		}
	}
}
