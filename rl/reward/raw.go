package reward

import (
	"math"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// Raw puts a number where a head could not be shown a completion: the least one of its group, or else of the column, or
// 0. A head's number has no bound, so that the verdict alone has none to give: it does not depend on others, and a column may.
// So the completion cannot leave itself out, and does not gain.
func Raw(c formula.Column, group func(i int) int, verdict func(i int) *verify.Verdict) {
	ofAll, least := math.Inf(1), map[int]float64{}
	for i, x := range c.V {
		if math.IsNaN(x) {
			continue
		}
		ofAll = min(ofAll, x)
		if before, there := least[group(i)]; !there || x < before {
			least[group(i)] = x
		}
	}
	if math.IsInf(ofAll, 1) {
		ofAll = 0
	}
	for i := range c.V {
		if !judge.Unseen(*verdict(i)) {
			continue
		}
		x, there := least[group(i)]
		if !there {
			x = ofAll
		}
		c.V[i] = x
		delete(c.Why, i)
	}
}
