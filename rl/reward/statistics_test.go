package reward

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plain are the statistics written the plain way: for the value x of a
// completion among the values of its group or step.
var plain = map[string]func(x float64, of []float64) float64{
	"mean":   func(_ float64, of []float64) float64 { return plainMean(of) },
	"std":    func(_ float64, of []float64) float64 { return plainStd(of) },
	"sum":    func(_ float64, of []float64) float64 { return plainMean(of) * float64(len(of)) },
	"min":    func(_ float64, of []float64) float64 { return slices.Min(of) },
	"max":    func(_ float64, of []float64) float64 { return slices.Max(of) },
	"median": plainMedian,
	"zscore": func(x float64, of []float64) float64 {
		if plainStd(of) == 0 {
			return x - of[0]
		}
		return (x - plainMean(of)) / plainStd(of)
	},
	"rank": plainRank,
}

func plainMean(of []float64) float64 {
	s := 0.0
	for _, x := range of {
		s += x
	}
	return s / float64(len(of))
}

func plainStd(of []float64) float64 {
	if slices.Min(of) == slices.Max(of) {
		return 0
	}
	s := 0.0
	for _, x := range of {
		s += math.Pow(x-plainMean(of), 2)
	}
	return math.Sqrt(s / float64(len(of)-1))
}

func plainMedian(_ float64, of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	if n := len(of); n%2 == 0 {
		return (of[n/2-1] + of[n/2]) / 2
	}
	return of[len(of)/2]
}

func plainRank(x float64, of []float64) float64 {
	less, equal := 0.0, 0.0
	for _, y := range of {
		less += holds(y < x)
		equal += holds(y == x)
	}
	others := float64(len(of)) - min(1, equal)
	if others == 0 {
		return 0.5
	}
	return (less + max(0, equal-1)/2) / others
}

// TestStatistics: statistics of group and step, with and without a condition,
// equal the plain formulas.
func TestStatistics(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 60 {
		answers := randomAnswers(r)
		for _, scope := range []string{"group", "step"} {
			for _, where := range []bool{false, true} {
				for name, f := range plain {
					checkStatistic(t, answers, scope, name, where, f)
				}
			}
		}
	}
}

func checkStatistic(t *testing.T, answers []answer, scope, name string, where bool, f func(x float64, of []float64) float64) {
	t.Helper()
	expression := scope + "_" + name + "(form)"
	if where {
		expression = scope + "_" + name + "(form, right(task))"
	}
	got := rewards(t, expression, answers)
	for i, a := range answers {
		var of []float64
		for _, other := range answers {
			in := (scope == "step" || other.group == a.group) && (!where || other.task == 1)
			if in && !math.IsNaN(other.form) {
				of = append(of, other.form)
			}
		}
		own := name == "zscore" || name == "rank"
		want := nan
		switch {
		case own && math.IsNaN(a.form):
		case len(of) > 0:
			want = f(a.form, of)
		case name == "sum" && !own:
			want = 0
		}
		if !same(got[i], want) {
			t.Errorf("%s of %v: completion %d has %v, want %v", expression, answers, i, got[i], want)
		}
	}
}

// TestRanks by hand: equal values share the middle of their places.
func TestRanks(t *testing.T) {
	answers := []answer{{0, 5, 1, 1}, {0, 9, 1, 1}, {0, 5, 1, 1}, {0, 2, 1, 1}, {1, 7, 1, 1}}
	if got, want := rewards(t, "group_rank(tokens)", answers), []float64{0.5, 1, 0.5, 0, 0.5}; !sameAll(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}
