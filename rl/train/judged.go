package train

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/verify"
)

// judgedSteps is what a judge of the stage says of the step in which each token ends. Of a step that could not be
// shown to it that is 0, as the completion is wrong.
func judgedSteps(x subject, fact string) (formula.Column, error) {
	name := strings.TrimSuffix(fact, algo.StepFact)
	judge, place := x.judges[fact], x.verifier(name)
	c := formula.Column{Level: formula.Token, Why: map[int]string{}}
	put := func(v float64, why string) {
		if math.IsNaN(v) {
			c.Why[len(c.V)] = why
		}
		c.V = append(c.V, v)
	}
	for i := range x.cs {
		group, path, verdict := x.cs[i].From, x.cs[i].Sample, x.cs[i].Path().Verdicts[place]
		starts := judge.Cut(x.cs[i].Path().Text)
		said := group.Said(path)
		pieces := x.prompts.Pieces(group.IDs(said))
		learned := group.Learned(said)
		for range x.cs[i].View.Tokens() - len(learned) {
			put(math.NaN(), name+": the token is not of the text that is judged")
		}
		at, next := 0, 0
		for k, piece := range pieces {
			if at += len(piece); next == len(learned) || learned[next] != k {
				continue
			}
			next++
			switch step := sort.SearchInts(starts, at); {
			case verdict.Verdict == verify.Wrong && verdict.Opinions == nil: // nothing was asked
				put(0, "")
			case step == 0 && starts[0] > 0:
				put(math.NaN(), name+": the token stands before the part that is judged")
			default:
				put(verdict.Number(name, strconv.Itoa(max(1, step))))
			}
		}
	}
	return c, nil
}
