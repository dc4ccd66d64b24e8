package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/internal/stats"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Reach compares what a model and its base solve of the same problems in k tries each. Its counts
// are expected ones over the draws of k of the scored completions, and whole numbers where k is all
// of them (arXiv 2507.14843).
type Reach struct {
	K      int     `json:"k"`
	Kept   float64 `json:"kept"`         // both solve
	Lost   float64 `json:"lost"`         // only the base solves
	Gained float64 `json:"gained"`       // only the model solves
	Out    float64 `json:"out_of_reach"` // neither solves

	// Expansion is the share of what the base does not solve that the model solves (arXiv 2510.11653);
	// NaN where the base solves all.
	Expansion float64 `json:"-"`
}

// Against is a model held against its base.
type Against struct {
	Of, Base *Report
	Reach    []Reach // by k, rising
}

// NewAgainst holds a report against that of a base on the same problems, for every k of both.
func NewAgainst(of, base *Report) Against {
	a := Against{Of: of, Base: base}
	after, before := of.Outcomes(), base.Outcomes()
	for _, k := range of.ks {
		r, tried := Reach{K: k}, 0
		for i := range after {
			p, q := stats.PassAtK(before[i].Scored, before[i].Right, k), stats.PassAtK(after[i].Scored, after[i].Right, k)
			if math.IsNaN(p) || math.IsNaN(q) {
				continue
			}
			tried++
			r.Kept, r.Lost, r.Gained, r.Out = r.Kept+p*q, r.Lost+p*(1-q), r.Gained+(1-p)*q, r.Out+(1-p)*(1-q)
		}
		if tried > 0 {
			r.Expansion = r.Gained / (r.Gained + r.Out)
			a.Reach = append(a.Reach, r)
		}
	}
	return a
}

// answerEntropy is the mean over problems of the entropy of the answers of a problem, in nats:
// -log of the share of completions with the same answer, over its scored completions. NaN without
// one.
func (r *Result) answerEntropy() float64 {
	var all []float64
	for i := range r.Groups {
		t := tallyOf(&r.Groups[i])
		count := map[string]int{}
		for _, a := range t.answers {
			count[a]++
		}
		h := 0.0
		for _, a := range t.answers {
			h -= math.Log(float64(count[a])/float64(t.scored())) / float64(t.scored())
		}
		if t.scored() > 0 {
			all = append(all, h)
		}
	}
	return meanOf(all)
}

// tokenEntropy is the mean entropy of the distributions that tokens were drawn from, in nats. NaN
// without a token.
func (r *Result) tokenEntropy() float64 {
	var all []float64
	for i := range r.Groups {
		for _, s := range r.Groups[i].Segments {
			if s.Author == rollout.Policy {
				for _, h := range s.Entropy {
					all = append(all, float64(h))
				}
			}
		}
	}
	return meanOf(all)
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Table is the comparison for people.
func (a Against) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s x %s of the model and of its base\n", a.Of.Task, terminal.Count(len(a.Of.Groups), "problem", ""), terminal.Count(a.Of.Samples, "sample", ""))
	if a.Of.Logits != "" {
		fmt.Fprintf(&b, "%-8s %s\n", "logits", terminal.Line(a.Of.Logits, 200))
	}
	fmt.Fprintf(&b, "%-8s %8s %8s   %8s %8s %8s %8s %10s\n", "", "base", "model", "kept", "lost", "gained", "out", "expansion")
	for _, r := range a.Reach {
		expansion := "-"
		if !math.IsNaN(r.Expansion) {
			expansion = fmt.Sprintf("%.1f %%", 100*r.Expansion)
		}
		all := r.Kept + r.Lost + r.Gained + r.Out
		fmt.Fprintf(&b, "%-8s %6.1f %% %6.1f %%   %8.1f %8.1f %8.1f %8.1f %10s\n", fmt.Sprintf("pass@%d", r.K),
			100*(r.Kept+r.Lost)/all, 100*(r.Kept+r.Gained)/all, r.Kept, r.Lost, r.Gained, r.Out, expansion)
	}
	fmt.Fprintf(&b, "%-8s %8.3f %8.3f   nats, of the answers to a problem\n", "entropy", a.Base.answerEntropy(), a.Of.answerEntropy())
	fmt.Fprintf(&b, "%-8s %8.3f %8.3f   nats, of a token\n", "", a.Base.tokenEntropy(), a.Of.tokenEntropy())
	return b.String()
}

// MarshalJSON writes both reports and the comparison.
func (a Against) MarshalJSON() ([]byte, error) {
	type reach struct {
		Reach
		Expansion *float64 `json:"expansion"` // null: the base solves all
	}
	type entropy struct {
		Answers *float64 `json:"answers"`
		Tokens  *float64 `json:"tokens"`
	}
	var all []reach
	for _, r := range a.Reach {
		all = append(all, reach{r, known(r.Expansion)})
	}
	return json.Marshal(struct {
		Model   *Report `json:"model"`
		Base    *Report `json:"base"`
		Reach   []reach `json:"reach"`
		Entropy struct {
			Model entropy `json:"model"`
			Base  entropy `json:"base"`
		} `json:"entropy_nats"`
	}{Model: a.Of, Base: a.Base, Reach: all, Entropy: struct {
		Model entropy `json:"model"`
		Base  entropy `json:"base"`
	}{entropy{known(a.Of.answerEntropy()), known(a.Of.tokenEntropy())}, entropy{known(a.Base.answerEntropy()), known(a.Base.tokenEntropy())}}})
}
