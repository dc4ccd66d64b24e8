package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// balance fixes how often problems of each kind are drawn. Without it one constant
// answer, such as True, would be right far more often than another, and a model would
// learn it in place of the task.
//
// The kind is drawn before the problem, and problems are then drawn until one of that
// kind comes up: to draw it anew for each try would leave the shares as they are.
type balance[S any] struct {
	kinds  []string             // what a problem is, for errors: "with the answer True"
	kind   func(p problem) int  // its place in kinds
	shares func(s *S) []float64 // of the draws, one for each kind; nil: as chance has it
}

// truthBalance is a balance of the answers True and False: share says how often True is right.
func truthBalance[S any](share func(s *S) (p float64, balanced bool)) *balance[S] {
	return halves("with the answer True", "with the answer False", func(p problem) bool { return p.answer == yesNo(true) }, share)
}

// halves is a balance of two kinds, of which share says how often the first is drawn.
func halves[S any](first, second string, isFirst func(p problem) bool, share func(s *S) (p float64, balanced bool)) *balance[S] {
	return &balance[S]{
		kinds: []string{first, second},
		kind: func(p problem) int {
			if isFirst(p) {
				return 0
			}
			return 1
		},
		shares: func(s *S) []float64 {
			if p, balanced := share(s); balanced {
				return []float64{p, 1 - p}
			}
			return nil
		},
	}
}

// pick is the kind to draw; -1: any.
func (b *balance[S]) pick(r *random.Rand, s *S) int {
	if b == nil || b.shares(s) == nil {
		return -1
	}
	shares, left := b.shares(s), 1.0
	for kind, share := range shares[:len(shares)-1] {
		if share > 0 && r.Chance(share/left) {
			return kind
		}
		left -= share
	}
	return len(shares) - 1
}

// balanceProbes bounds the draws in which every kind has to come up. A kind that is
// rarer than that would take too long to draw.
const balanceProbes = 2000

// probe returns an error unless problems of every kind that is asked for come up.
func (b *balance[S]) probe(s *S, draw func(s *S, r *random.Rand) (problem, bool)) error {
	if b == nil {
		return nil
	}
	shares, r := b.shares(s), random.At(HeldOutSeed, streamProbe, 1)
	wanted := func(share float64) bool { return share > 0 }
	for range balanceProbes {
		if !slices.ContainsFunc(shares, wanted) {
			return nil
		}
		if p, ok := draw(s, r); ok {
			shares[b.kind(p)] = 0
		}
	}
	if missing := slices.IndexFunc(shares, wanted); missing >= 0 {
		return outOfRange("balanced", true, fmt.Sprintf("false: these settings gave no problem %s in %d draws", b.kinds[missing], balanceProbes))
	}
	return nil
}

// Constant is an answer that is given to every problem, and how many of those that were
// looked at it answers right.
type Constant struct {
	Answer string `json:"answer"`
	Right  int    `json:"right"`
	Of     int    `json:"of"`
}

// Share is the mean score that the answer earns.
func (c Constant) Share() float64 { return float64(c.Right) / float64(c.Of) }

// constantCandidates is how many of the commonest reference answers are tried.
const constantCandidates = 5

// BestConstant is the best constant answer among the reference answers of n training
// problems, at least 1. What it earns is the baseline that a model has to beat. The
// problems are the same whenever it is called.
func BestConstant(t Task, n int) Constant {
	rows, counts := make([]verify.Problem, n), map[string]int{}
	var answers []string
	for i := range rows {
		rows[i] = t.Draw(random.At(HeldOutSeed, streamConstant, uint64(i)), Train)
		if answer := rows[i].Answer; counts[answer] == 0 {
			answers = append(answers, answer)
		}
		counts[rows[i].Answer]++
	}
	slices.SortStableFunc(answers, func(a, b string) int { return counts[b] - counts[a] })
	best := Constant{Of: n}
	for i, answer := range answers[:min(len(answers), constantCandidates)] {
		right := 0
		for _, row := range rows {
			if t.Verify(row, answer, true).Verdict == verify.Right {
				right++
			}
		}
		if i == 0 || right > best.Right {
			best.Answer, best.Right = answer, right
		}
	}
	return best
}

// oneLine is an answer for people, on one line.
func (c Constant) oneLine() string { return short(strings.Join(strings.Fields(c.Answer), " ")) }

// String says what the answer earns: `"True" is right for 49 % of 200 problems`.
func (c Constant) String() string {
	return fmt.Sprintf("%s is right for %.0f %% of %d problems", c.oneLine(), 100*c.Share(), c.Of)
}
