package compare

import (
	"math"

	"github.com/rlzero/rlzero/internal/student"
)

// Interval is an estimate with its 95 % interval. Low and High are NaN where nothing
// says how much the estimate varies.
type Interval struct{ Mean, Low, High float64 }

// excludes tells whether a value lies outside of the interval.
func (i Interval) excludes(x float64) bool { return x < i.Low || x > i.High }

// mean and sum of squares about it.
func moments(x []float64) (mean, squares float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}

// spread is the standard deviation, divisor n-1; NaN for fewer than two values.
func spread(x []float64) float64 {
	_, squares := moments(x)
	if len(x) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// Mean is that of independent values with its t interval. NaN if there is none.
func Mean(x []float64) Interval {
	mean, squares := moments(x)
	n := float64(len(x))
	switch len(x) {
	case 0:
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	case 1:
		return Interval{mean, math.NaN(), math.NaN()}
	}
	return around(mean, squares/(n-1)/n, n-1)
}

// around is the interval of an estimate with a variance and its degrees of freedom.
func around(mean, variance, freedom float64) Interval {
	if variance == 0 {
		return Interval{mean, mean, mean}
	}
	half := quantileT(freedom) * math.Sqrt(variance)
	return Interval{mean, mean - half, mean + half}
}

// Paired is the mean of b - a over the same seeds and problems: a[seed][problem].
// A problem that has no value (NaN) anywhere is left out. The slices have equal
// lengths.
func Paired(a, b [][]float64) Interval {
	var d [][]float64 // [problem][seed]
	seeds := len(a)
	for p := 0; seeds > 0 && p < len(a[0]); p++ {
		row := make([]float64, seeds)
		whole := true
		for s := range seeds {
			row[s] = b[s][p] - a[s][p]
			whole = whole && !math.IsNaN(row[s])
		}
		if whole {
			d = append(d, row)
		}
	}
	switch {
	case len(d) == 0:
		return Mean(nil)
	case seeds == 1 || len(d) == 1:
		var x []float64
		for _, row := range d {
			x = append(x, row...)
		}
		return Mean(x)
	}
	return crossed(d)
}

// crossed is the mean of differences d[problem][seed] where both are samples of more:
// a two-way layout with one value a cell.
func crossed(d [][]float64) Interval {
	n, s := float64(len(d)), float64(len(d[0]))
	ofProblem, ofSeed := make([]float64, len(d)), make([]float64, len(d[0]))
	for p, row := range d {
		for k, v := range row {
			ofProblem[p] += v / s
			ofSeed[k] += v / n
		}
	}
	mean, squares := moments(ofProblem)
	problems := s * squares / (n - 1)
	_, squares = moments(ofSeed)
	seeds := n * squares / (s - 1)
	total := problems + seeds
	return around(mean, total/(n*s), total*total/(problems*problems/(n-1)+seeds*seeds/(s-1)))
}

// quantileT is the 97.5 % quantile of Student's t with so many degrees of freedom, at
// least 0.1, found by halving.
func quantileT(freedom float64) float64 {
	low, high := 0.0, 1.0
	for student.Tail(high, freedom) > 0.025 {
		low, high = high, 2*high
	}
	for range 60 {
		if mid := (low + high) / 2; student.Tail(mid, freedom) > 0.025 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
