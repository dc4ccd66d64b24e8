package train

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// shared shares a total out in proportion to weights, each share a whole number from least to most.
// What the bounds take from some goes to the others in proportion; fractions are rounded by their
// largest remainders (Hamilton's method), equal ones in their order. The total is at least least, and
// at most most, times the number of weights, which are finite and at least 0.
func shared(weights []float64, total, least, most int) []int {
	quotas := bounded(weights, float64(total), float64(least), float64(most))
	shares, order := make([]int, len(weights)), make([]int, len(weights))
	left := total
	for i, q := range quotas {
		shares[i], order[i] = int(math.Floor(q)), i
		left -= shares[i]
	}
	remainder := func(i int) float64 { return quotas[i] - float64(shares[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainder(b), remainder(a)) })
	for _, i := range order {
		if left > 0 && shares[i] < most {
			shares[i]++
			left--
		}
	}
	return shares
}

// bounded are the shares before they are rounded. Those that a bound holds are fixed, of the bound
// that takes or gives more, until no other one is beyond a bound; so the rest of CSS's flexible
// lengths is shared (w3.org/TR/css-flexbox-1, 9.7).
func bounded(weights []float64, total, least, most float64) []float64 {
	quotas, fixed := make([]float64, len(weights)), make([]bool, len(weights))
	weights = slices.Clone(weights)
	for i := range weights { // so that their sum is finite; by a power of two, which rounds nothing
		weights[i] = math.Ldexp(weights[i], -bits.Len(uint(len(weights))))
	}
	for range len(weights) + 1 {
		rest, sum, free := total, 0.0, 0
		for i, w := range weights {
			if fixed[i] {
				rest -= quotas[i]
			} else {
				sum, free = sum+w, free+1
			}
		}
		if free == 0 {
			break
		}
		moved := 0.0
		for i, w := range weights {
			if fixed[i] {
				continue
			}
			if quotas[i] = rest / float64(free); sum > 0 {
				quotas[i] = rest * (w / sum)
			}
			moved += min(max(quotas[i], least), most) - quotas[i]
		}
		for i := range quotas {
			switch q := quotas[i]; {
			case fixed[i]:
			case q < least && moved >= 0, q > most && moved <= 0, moved == 0:
				quotas[i], fixed[i] = min(max(q, least), most), true
			}
		}
	}
	return quotas
}
