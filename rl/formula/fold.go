package formula

import (
	"math"
	"slices"
	"sort"
)

// fold takes the values of several rows to one.
type fold struct {
	name string
	// value of at least one value. They are in order of size, so that the result
	// does not depend on the order of the rows, or, within a completion and where
	// ordered says so, in the order of the rows. k is the number that it takes.
	value func(x []float64, k float64) float64
	// slope adds the derivative for each value, in the order of the rows; seed is
	// that of the result y. nil: the result is a constant.
	slope   func(x []float64, k, y, seed float64, d []float64)
	none    float64 // the result where nothing counts; NaN: no value
	ordered bool
	linear  bool                             // a sum of its values times a number known without them
	adds    func(t total, k float64) float64 // its value, if a total says enough
}

var missing = math.NaN()

var folds = []fold{
	{name: "mean", none: missing, adds: func(t total, _ float64) float64 { return t.mean() }, value: func(x []float64, _ float64) float64 { return mean(x) },
		slope: func(x []float64, _, _, seed float64, d []float64) { addEach(d, seed/float64(len(x))) }},
	{name: "sum", adds: func(t total, _ float64) float64 { return t.sum }, value: func(x []float64, _ float64) float64 { return sum(x) }, linear: true,
		slope: func(_ []float64, _, _, seed float64, d []float64) { addEach(d, seed) }},
	// over is the sum divided by k, and exactly the value where all k are equal.
	{name: "over", linear: true,
		adds: func(t total, k float64) float64 {
			if float64(t.n) == k {
				return t.mean()
			}
			return t.sum / k
		},
		value: func(x []float64, k float64) float64 {
			if float64(len(x)) == k {
				return mean(x)
			}
			return sum(x) / k
		},
		slope: func(_ []float64, k, _, seed float64, d []float64) { addEach(d, seed/k) }},
	{name: "count", adds: func(t total, _ float64) float64 { return t.sum }, value: func(x []float64, _ float64) float64 { return sum(x) }},
	{name: "std", none: missing, value: func(x []float64, _ float64) float64 { return deviation(x) },
		slope: func(x []float64, _, y, seed float64, d []float64) {
			if y == 0 {
				return
			}
			sorted := slices.Sorted(slices.Values(x))
			m := mean(sorted)
			for i, v := range x {
				d[i] += seed * (v - m) / (float64(len(x)-1) * y)
			}
		}},
	{name: "min", none: missing, value: func(x []float64, _ float64) float64 { return slices.Min(x) },
		slope: func(x []float64, _, y, seed float64, d []float64) { share(x, y, seed, d) }},
	{name: "max", none: missing, value: func(x []float64, _ float64) float64 { return slices.Max(x) },
		slope: func(x []float64, _, y, seed float64, d []float64) { share(x, y, seed, d) }},
	{name: "median", none: missing, value: func(x []float64, _ float64) float64 { return (x[(len(x)-1)/2] + x[len(x)/2]) / 2 }},
	{name: "quantile", none: missing, value: quantile},
	{name: "nth", none: missing, value: func(x []float64, k float64) float64 {
		if k != math.Trunc(k) || k < 1 || k > float64(len(x)) {
			return missing
		}
		return x[len(x)-int(k)]
	}},
	{name: "within", none: math.Inf(-1), value: within},
	{name: "first", none: missing, ordered: true, value: func(x []float64, _ float64) float64 { return x[0] },
		slope: func(_ []float64, _, _, seed float64, d []float64) { d[0] += seed }},
	{name: "last", none: missing, ordered: true, value: func(x []float64, _ float64) float64 { return x[len(x)-1] },
		slope: func(_ []float64, _, _, seed float64, d []float64) { d[len(d)-1] += seed }},
}

func foldNamed(name string) *fold {
	i := slices.IndexFunc(folds, func(f fold) bool { return f.name == name })
	return &folds[i]
}

func addEach(d []float64, seed float64) {
	for i := range d {
		d[i] += seed
	}
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// mean of equal values is exactly that value.
func mean(x []float64) float64 {
	if equal(x) {
		return x[0]
	}
	return sum(x) / float64(len(x))
}

func equal(x []float64) bool {
	for _, v := range x[1:] {
		if v != x[0] {
			return false
		}
	}
	return true
}

// deviation is the standard deviation, divisor n-1; of equal values, and of one,
// exactly 0.
func deviation(x []float64) float64 {
	if equal(x) {
		return 0
	}
	m, s := mean(x), 0.0
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return math.Sqrt(s / float64(len(x)-1))
}

// quantile of sorted values, between two of them along a line (Hyndman and Fan
// 1996, definition 7, which is numpy's and torch's).
func quantile(x []float64, q float64) float64 {
	if !(q >= 0 && q <= 1) {
		return missing
	}
	at := q * float64(len(x)-1)
	below := int(at)
	above := min(below+1, len(x)-1)
	if x[below] == x[above] {
		return x[below]
	}
	return x[below] + (at-float64(below))*(x[above]-x[below])
}

// within is the greatest of sorted values such that the mean of those up to it is
// at most the budget; -inf if already the least is above it.
func within(x []float64, budget float64) float64 {
	total, at := 0.0, math.Inf(-1)
	for i, v := range x {
		total += v
		if total > budget*float64(i+1) {
			break
		}
		if i+1 == len(x) || x[i+1] != v {
			at = v
		}
	}
	return at
}

// rank is the place of x among sorted values between 0, the least, and 1, the
// greatest; equal ones share the middle of their places. x need not be one of them.
func rank(x float64, of []float64) float64 {
	less := sort.SearchFloat64s(of, x)
	atMost := sort.Search(len(of), func(i int) bool { return of[i] > x })
	others := float64(len(of))
	if atMost > less {
		others--
	}
	if others == 0 {
		return 0.5
	}
	return (float64(less) + max(0, float64(atMost-less)-1)/2) / others
}

// fold adds an operation that takes x from one level to another. where and k are
// operations, or -1.
func (c *compiler) fold(s *scope, n *node, f *fold, x, where, k int, from, to Level, over time) int {
	o := op{kind: foldOp, fold: f, args: []int{x}, where: where, k: k, from: from, level: to, update: over == ofUpdate, at: n.at}
	o.fn = functionNamed(n.name)
	o.masked = from == Token && (where < 0 || !c.reads(where, "own", map[int]bool{}))
	o.carries = f.slope != nil && c.ops[x].carries
	return c.add(s, o)
}

// reads tells whether an operation reads a fact.
func (c *compiler) reads(i int, fact string, seen map[int]bool) bool {
	if seen[i] {
		return false
	}
	seen[i] = true
	o := &c.ops[i]
	return o.kind == factOp && o.name == fact || slices.ContainsFunc(o.inputs(), func(a int) bool { return c.reads(a, fact, seen) })
}

// finest is the finest level of operations; those below 0 are none.
func (c *compiler) finest(levels ...int) Level {
	l := Run
	for _, i := range levels {
		if i >= 0 {
			l = max(l, c.ops[i].level)
		}
	}
	return l
}
