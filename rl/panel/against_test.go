package panel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify/judge"
)

// noisy is a judge of pairs a|b of strengths that errs: it sees their difference with normal noise.
type noisy struct {
	noise   float64 // standard deviation
	verdict bool    // it says 1 or 0, and else how probable it is that a is better
	r       *rand.Rand
}

func (*noisy) Question(text string) (ids []int, err error) {
	for _, b := range []byte(text) {
		ids = append(ids, int(b))
	}
	return ids, nil
}
func (*noisy) Room() int    { return 1000 }
func (*noisy) Version() any { return nil }

func (n *noisy) Write(_ context.Context, asked []Asked) (out [][]judge.Said, err error) {
	for _, q := range asked {
		var text strings.Builder
		for _, id := range q.IDs {
			text.WriteByte(byte(id))
		}
		var a, b float64
		if _, err := fmt.Sscanf(text.String(), "%f|%f", &a, &b); err != nil {
			return nil, err
		}
		said := make([]judge.Said, q.Answers)
		for vote := range said {
			says := 1 / (1 + math.Exp(b-a+n.noise*n.r.NormFloat64()))
			if n.verdict {
				says = math.Round(says)
			}
			said[vote] = judge.Said{Text: fmt.Sprintf("%.6f", says), Ended: true}
		}
		out = append(out, said)
	}
	return out, nil
}

// ranks are places from 0 up; equal ones share the middle of theirs.
func ranks(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, a := range x {
		for k, b := range x {
			switch c := cmp.Compare(b, a); {
			case c < 0:
				out[i]++
			case c == 0 && k != i:
				out[i] += 0.5
			}
		}
	}
	return out
}

// spearman is the correlation of the ranks of x and y; 0 where one does not vary.
func spearman(x, y []float64) float64 {
	var xy, xx, yy float64
	middle := float64(len(x)-1) / 2
	for i, a := range ranks(x) {
		a -= middle
		b := ranks(y)[i] - middle
		xy, xx, yy = xy+a*b, xx+a*a, yy+b*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// TestAgainst: how well each way to compare ranks 100 groups of n completions, whose strengths are normal, by a judge
// that answers a stated share of the questions wrong: the mean rank correlation with the strengths where it says 1 or
// 0, where it says a probability, and the questions for a group. docs/why/findings.md has the table. A tournament ranks better
// than the first one alone and worse than all pairs.
func TestAgainst(t *testing.T) {
	const groups = 100
	doc, err := os.ReadFile("../../docs/why/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	ranked := func(n int, errs float64, against string, votes int, verdict bool) (correlation, questions float64) {
		// The difference of two has the variance 2: with noise s it has the wrong sign at the rate atan(s/sqrt(2))/pi.
		m := &noisy{noise: math.Sqrt2 * math.Tan(math.Pi*errs), verdict: verdict, r: rand.New(rand.NewPCG(3, 4))}
		p := &Panel{Models: func(string) (Model, error) { return m, nil }, Off: true}
		j := made(t, fmt.Sprintf(`{"model":"m","source":"{a}|{b}","shows":"pairs","against":%q,"votes":%d,"temperature":1,"read":"(.*)","context":1000,"max_tokens":9}`, against, votes))
		r := rand.New(rand.NewPCG(1, 2))
		all, strengths := make([]rollout.Group, groups), make([][]float64, groups)
		for g := range all {
			var texts []string
			for range n {
				x := r.NormFloat64()
				strengths[g], texts = append(strengths[g], x), append(texts, fmt.Sprintf("%.9f", x))
			}
			all[g] = about("?", texts...)
		}
		for g, verdicts := range verdictsOf(t, p, j, all...) {
			var scores []float64
			for _, v := range verdicts {
				scores = append(scores, v.Score)
			}
			correlation += spearman(scores, strengths[g]) / groups
		}
		return correlation, float64(p.Counts.Questions*votes) / groups
	}
	sizes := []int{4, 8, 16}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		for _, errs := range []float64{0, 0.1, 0.2, 0.3} {
			row := fmt.Sprintf("| %d | %.0f |", n, 100*errs)
			var before [2]float64
			for _, by := range []struct {
				against string
				votes   int
			}{{judge.Anchor, 1}, {judge.Anchor, 2}, {judge.Bracket, 1}, {"all", 1}} {
				plain, questions := ranked(n, errs, by.against, by.votes, true)
				probable, _ := ranked(n, errs, by.against, by.votes, false)
				row += fmt.Sprintf(" %.2f, %.2f (%.0f) |", plain, probable, questions)
				if by.votes == 1 {
					if plain < before[0] || probable < before[1] {
						t.Errorf("%d completions, %v wrong: %s has %v and %v, the one before %v", n, errs, by.against, plain, probable, before)
					}
					before = [2]float64{plain, probable}
				}
			}
			if t.Log(row); !strings.Contains(string(doc), row+"\n") {
				t.Errorf("docs/why/findings.md has not %s", row)
			}
		}
	}
}
