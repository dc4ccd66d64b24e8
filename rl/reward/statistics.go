package reward

import (
	"math"
	"slices"
)

// statisticsOf are the statistics over the completions of one prompt ("group")
// or of a step ("batch"). Completions whose value is not scored are left out;
// so are those where the last argument, a condition, does not hold or is not
// scored. Values are put in order before they are added, so a result does not
// depend on the order of the completions, not even in its last bit.
func statisticsOf(scope string) []Function {
	over := map[string]string{"group": "over the completions of the prompt", "batch": "over all completions of the step"}[scope]
	row := func(name, args, meaning, formula string, f func(x float64, of []float64) float64) Function {
		own := name == "rank" || name == "zscore"
		return Function{
			Name: scope + "_" + name, Usage: scope + "_" + name + "(" + args + "[, where])", Meaning: meaning + ", " + over, Formula: formula,
			params: "rc", optional: 1,
			eval: func(b *batch, n *node) column { return b.statistic(n, scope, own, f) },
		}
	}
	return []Function{
		row("mean", "x", "mean of x", "", func(_ float64, of []float64) float64 { return mean(of) }),
		row("std", "x", "standard deviation of x, divisor n-1; 0 for one value", "", func(_ float64, of []float64) float64 { return std(of) }),
		row("sum", "x", "sum of x; for a condition, how often it holds", "", func(_ float64, of []float64) float64 { return sum(of) }),
		row("min", "x", "smallest x", "", func(_ float64, of []float64) float64 { return of[0] }),
		row("max", "x", "largest x", "", func(_ float64, of []float64) float64 { return of[len(of)-1] }),
		row("median", "x", "median of x; for an even number of values, the mean of the two in the middle", "", func(_ float64, of []float64) float64 {
			return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
		}),
		row("rank", "x", "rank of x from 0 (smallest) to 1 (largest); equal values share the mean of their ranks",
			"(less + (equal - 1)/2)/(n - 1), 1/2 for n = 1", rank),
		row("zscore", "x", "z-score: distance of x from the mean in standard deviations; 0 if all values are equal", "(x - mean)/std", func(x float64, of []float64) float64 {
			if s := std(of); s > 0 {
				return (x - mean(of)) / s
			}
			return x - mean(of)
		}),
	}
}

// statistic evaluates one for each group: own says that a completion's own value
// is part of its result.
func (b *batch) statistic(n *node, scope string, own bool, f func(x float64, of []float64) float64) column {
	x, out := n.args[0].eval(b), b.column()
	where := b.constant(1)
	if len(n.args) > 1 {
		where = n.args[1].eval(b)
	}
	groups := b.groups
	if scope == "batch" {
		groups = [][]int{b.all}
	}
	for _, group := range groups {
		var of []float64
		for _, i := range group {
			if where.v[i] == 1 && !math.IsNaN(x.v[i]) {
				of = append(of, x.v[i])
			}
		}
		slices.Sort(of)
		shared := math.NaN() // the result where it is the same for all
		if len(of) > 0 && !own {
			shared = f(0, of)
		}
		for _, i := range group {
			switch {
			case own && math.IsNaN(x.v[i]):
				out.take(i, x)
				continue
			case len(of) == 0 && n.name == scope+"_sum":
				continue // 0
			case len(of) == 0:
				out.unscore(i, n.name+": no completion of the "+scope+" counts")
				continue
			case own:
				out.v[i] = f(x.v[i], of)
			default:
				out.v[i] = shared
			}
			if out.v[i] += 0; math.IsNaN(out.v[i]) || math.IsInf(out.v[i], 0) {
				out.unscore(i, n.name+" is not a finite number")
			}
		}
	}
	return out
}

// The functions below take values in ascending order, at least one.

func sum(of []float64) float64 {
	s := 0.0
	for _, x := range of {
		s += x
	}
	return s
}

// mean of equal values is exactly that value.
func mean(of []float64) float64 {
	if of[0] == of[len(of)-1] {
		return of[0]
	}
	return sum(of) / float64(len(of))
}

func std(of []float64) float64 {
	if of[0] == of[len(of)-1] {
		return 0
	}
	m, s := mean(of), 0.0
	for _, x := range of {
		s += (x - m) * (x - m)
	}
	return math.Sqrt(s / float64(len(of)-1))
}

// rank is that of x among the values; x need not be one of them.
func rank(x float64, of []float64) float64 {
	less, _ := slices.BinarySearch(of, x)
	atMost, _ := slices.BinarySearchFunc(of, x, func(e, t float64) int {
		if e <= t {
			return -1
		}
		return 1
	})
	others := float64(len(of))
	if atMost > less {
		others--
	}
	if others == 0 {
		return 0.5
	}
	equal := max(0, float64(atMost-less)-1)
	return (float64(less) + equal/2) / others
}
