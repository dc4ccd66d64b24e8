package eval

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/stats"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Valid says whether a completion has the form of an answer, right or wrong.
type Valid func(problem verify.Problem, text string, ended bool) bool

// Evaluator measures a model.
type Evaluator struct {
	Collector *rollout.Collector
	Valid     Valid // nil: the task does not say what is valid
}

// Question says what is measured.
type Question struct {
	Problems []verify.Problem
	N        int            // completions of each
	K        []int          // for pass@k, pass^k and maj@k
	Params   rollout.Params // how they are drawn
	Key      random.Key
	Greedy   bool // measure the most likely completion of each problem too
	Votes    bool // majority votes are logged, of all completions
}

// Result is what a model reached.
type Result struct {
	Samples   int             // of each problem
	Mean      float64         // score
	MeanCI    [2]float64      // its 95 % interval
	PassAt    map[int]float64 // by k; NaN without a problem that has k scored completions
	MajAt     map[int]float64 // likewise
	Greedy    float64         // mean score of the most likely completions; NaN if not asked for, or none was scored
	Valid     float64         // share of valid completions; NaN if the task does not say what is valid
	NotScored int             // completions
	Length    float64         // mean, tokens
	Votes     bool            // majority votes are logged
	Groups    []rollout.Group // [problem]
}

// Measure samples completions of each problem and judges them.
func (e *Evaluator) Measure(ctx context.Context, q Question) (*Result, error) {
	groups, err := e.Collector.Collect(ctx, q.Problems, q.N, q.Params, q.Key)
	if err != nil {
		return nil, err
	}
	r := e.summarise(groups, q.N, q.K)
	r.Votes = q.Votes
	if !q.Greedy {
		return r, nil
	}
	best, err := e.Collector.Collect(ctx, q.Problems, 1, rollout.Params{MaxTokens: q.Params.MaxTokens}, q.Key)
	if err != nil {
		return nil, err
	}
	right, scored := 0.0, 0
	for _, g := range best {
		if v := g.Paths[0].Verdict(); v.Verdict != verify.NotScored {
			right += v.Score
			scored++
		}
	}
	r.Greedy = right / float64(scored)
	return r, nil
}

// ValidShare is the share of completions that have the form of an answer; NaN if the
// task does not say what is valid.
func (e *Evaluator) ValidShare(groups []rollout.Group) float64 {
	if e.Valid == nil {
		return math.NaN()
	}
	formed, all := 0, 0
	for i := range groups {
		g := &groups[i]
		for _, p := range g.Paths {
			all++
			if e.Valid(g.Problem, p.Text, g.Segments[p.Leaf].Ended()) {
				formed++
			}
		}
	}
	return float64(formed) / float64(all)
}

func (e *Evaluator) summarise(groups []rollout.Group, n int, ks []int) *Result {
	r := &Result{Samples: n, PassAt: map[int]float64{}, MajAt: map[int]float64{}, Greedy: math.NaN(), Valid: e.ValidShare(groups), Groups: groups}
	var means []float64
	tokens, all := 0, 0
	tried := map[int]int{} // problems of which k completions were scored, by k
	for i := range groups {
		g := &groups[i]
		t := tallyOf(g)
		tokens, all = tokens+t.tokens, all+len(g.Paths)
		r.NotScored += len(g.Paths) - t.scored()
		if t.scored() == 0 {
			continue
		}
		means = append(means, t.sum/float64(t.scored()))
		for _, k := range ks {
			if k <= t.scored() {
				tried[k]++
				r.PassAt[k] += stats.PassAtK(t.scored(), t.right, k)
				if stats.MajorityRight(t.answers[:k], t.rights[:k]) {
					r.MajAt[k]++
				}
			}
		}
	}
	for _, k := range ks {
		r.PassAt[k] /= float64(tried[k])
		r.MajAt[k] /= float64(tried[k])
	}
	r.Length = float64(tokens) / float64(all)
	r.Mean, r.MeanCI[0], r.MeanCI[1] = stats.MeanCI95(means, all-r.NotScored)
	return r
}

// tally counts a group's completions.
type tally struct {
	tokens, right int
	sum           float64   // of the scores
	scores        []float64 // of the scored
	answers       []string  // of the scored
	rights        []bool    // of the scored
}

func (t tally) scored() int { return len(t.answers) }

func tallyOf(g *rollout.Group) tally {
	var t tally
	for i, p := range g.Paths {
		t.tokens += g.Tokens(i)
		v := p.Verdict()
		if v.Verdict == verify.NotScored {
			continue
		}
		t.sum, t.scores = t.sum+v.Score, append(t.scores, v.Score)
		if v.Verdict == verify.Right {
			t.right++
		}
		t.answers, t.rights = append(t.answers, v.Extracted), append(t.rights, v.Verdict == verify.Right)
	}
	return t
}

// Outcomes are those of the problems, in their order.
func (r *Result) Outcomes() []record.Outcome {
	out := make([]record.Outcome, len(r.Groups))
	for i := range r.Groups {
		t := tallyOf(&r.Groups[i])
		out[i] = record.Outcome{Scored: t.scored(), Right: t.right, Score: t.sum}
		if out[i].Voted = r.Votes && t.scored() > 0; out[i].Voted {
			out[i].Elects = stats.MajorityRight(t.answers, t.rights)
		}
	}
	return out
}

// passHat is pass^k: the chance that all of k completions of a problem are right. NaN without a
// problem that has k scored completions.
func (r *Result) passHat(k int) float64 {
	sum, tried := 0.0, 0
	for _, o := range r.Outcomes() {
		if k <= o.Scored {
			sum += stats.PassHatK(o.Scored, o.Right, k)
			tried++
		}
	}
	return sum / float64(tried)
}

// Metrics are the result's entries in metrics.jsonl.
func (r *Result) Metrics() metrics.Row {
	row := metrics.Row{
		"eval/problems": float64(len(r.Groups)), "eval/samples": float64(r.Samples),
		"eval/mean": r.Mean, "eval/mean_low": r.MeanCI[0], "eval/mean_high": r.MeanCI[1],
		"eval/length_mean": r.Length, "eval/not_scored": float64(r.NotScored),
	}
	if !math.IsNaN(r.Valid) {
		row["eval/valid"] = r.Valid
	}
	for k, v := range r.PassAt {
		row[fmt.Sprintf("eval/pass@%d", k)] = v
	}
	if r.Votes {
		row[fmt.Sprintf("eval/maj@%d", r.Samples)] = r.MajAt[r.Samples]
	}
	return row
}

// Line is the result for people. A figure that was not measured is left out.
func (r *Result) Line() string {
	var b strings.Builder
	put := func(name string, share float64) {
		if !math.IsNaN(share) {
			fmt.Fprintf(&b, "%s %.1f %%  ", name, 100*share)
		}
	}
	put("pass@1", r.PassAt[1])
	if r.Samples > 1 {
		put(fmt.Sprintf("pass@%d", r.Samples), r.PassAt[r.Samples])
	}
	put("greedy", r.Greedy)
	put("valid", r.Valid)
	fmt.Fprintf(&b, "(%s x %s)", terminal.Count(len(r.Groups), "held-out problem", ""), terminal.Count(r.Samples, "sample", ""))
	return b.String()
}
