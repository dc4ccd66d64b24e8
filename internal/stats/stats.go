package stats

import (
	"math"
	"slices"
)

// PassAtK is the unbiased estimate of the chance that at least one of k samples
// is right, from n samples of which c were:
//
//	1 − C(n−c, k)/C(n, k)    (arXiv 2107.03374)
//
// as a sum of logarithms over min(c, k) factors, accurate also where the result
// is close to 0. NaN unless 0 <= c <= n and 1 <= k <= n.
func PassAtK(n, c, k int) float64 {
	if c < 0 || c > n || k < 1 || k > n {
		return math.NaN()
	}
	if c > n-k {
		return 1
	}
	// C(n−c, k)/C(n, k) = Π_{j<c} (n−k−j)/(n−j), and the same with c and k exchanged.
	few, many := min(c, k), max(c, k)
	sum := 0.0
	for j := range few {
		sum += math.Log1p(-float64(many) / float64(n-j))
	}
	return -math.Expm1(sum)
}

// PassHatK is pass^k, the chance that all of k samples are right, estimated as
// C(c, k)/C(n, k) (arXiv 2406.12045). NaN as in PassAtK.
func PassHatK(n, c, k int) float64 {
	if c < 0 || c > n || k < 1 || k > n {
		return math.NaN()
	}
	p := 1.0
	for j := range k {
		p *= float64(max(0, c-j)) / float64(n-j)
	}
	return p
}

// Majority returns the answer with the most votes and its votes; of equal ones
// the first seen wins. "" stands for no answer and has no vote; it is returned,
// with 0, if nothing else is there. votes[i] is the weight of answer i; nil: 1 each.
func Majority(answers []string, votes []float64) (winner string, won float64) {
	tally := map[string]float64{}
	for i, a := range answers {
		if a == "" {
			continue
		}
		if votes == nil {
			tally[a]++
		} else {
			tally[a] += votes[i]
		}
	}
	for _, a := range answers { // in order, so that the first seen wins a tie
		if n, there := tally[a]; there && (winner == "" || n > won) {
			winner, won = a, n
		}
	}
	return winner, won
}

// MajorityRight reports whether the majority's answer is right, for maj@k over
// the k samples given: right[i] is the verdict on answer i.
func MajorityRight(answers []string, right []bool) bool {
	winner, _ := Majority(answers, nil)
	for i, a := range answers {
		if a == winner && a != "" {
			return right[i]
		}
	}
	return false
}

// z95 is the 97.5 % quantile of the normal distribution.
const z95 = 1.959963984540054

// MeanCI95 is the mean of the problems' scores, each in 0..1 (the mean over its
// samples), with the 95 % Wilson interval. samples is the number of samples of
// all problems together.
//
// Samples of one problem are not independent, so the interval is over problems
// (arXiv 2411.00640): its effective size is mean·(1−mean) over the
// variance of the mean, kept between the number of problems and of samples. With
// one 0/1 sample per problem it is the plain Wilson interval (JASA 22, 1927).
// Wilson, because it holds its level for few problems and for means near 0 and
// 1, where the normal interval has no width or leaves 0..1, and because it needs
// no random numbers, as a bootstrap would. Without problems all three are NaN.
func MeanCI95(scores []float64, samples int) (mean, low, high float64) {
	problems := float64(len(scores))
	if problems == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	for _, s := range scores {
		mean += s / problems
	}
	variance := 0.0 // of the mean
	for _, s := range scores {
		variance += (s - mean) * (s - mean) / (problems * problems)
	}
	size := math.Max(float64(samples), problems)
	if variance > 0 {
		size = math.Min(size, math.Max(problems, mean*(1-mean)/variance))
	} else if mean == 0 || mean == 1 {
		size = problems
	}
	z2 := z95 * z95 / size
	centre := (mean + z2/2) / (1 + z2)
	half := math.Sqrt(mean*(1-mean)*z2+z2*z2/4) / (1 + z2)
	return mean, math.Max(0, centre-half), math.Min(1, centre+half)
}

// BestOfK is the expected greatest of k of the scores, drawn without putting any back: of scores that are 0 or 1
// it is pass@k. NaN unless 1 <= k <= their number.
func BestOfK(scores []float64, k int) float64 {
	n := len(scores)
	if k < 1 || k > n {
		return math.NaN()
	}
	best := 0.0
	for i, x := range slices.Sorted(slices.Values(scores)) { // it is the greatest where it is drawn, and the rest from those before it
		best += x * (PassHatK(n, i+1, k) - PassHatK(n, i, k))
	}
	return best
}
