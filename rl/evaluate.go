package rl

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/algo/stats"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/verify"
)

// evaluation is a model's score on held-out problems.
type evaluation struct {
	Problems   int
	Samples    int
	Mean       float64         // mean@n: share of right samples, which is also unbiased pass@1
	MeanCI     [2]float64      // 95 %
	PassAt     map[int]float64 // over the problems of which so many samples were scored; NaN if there are none
	MajAt      map[int]float64
	Greedy     float64 // share of problems whose most likely completion is right, of those scored; NaN if none was
	Valid      float64 // share of samples of the right form; NaN if the task has no notion of form
	NotScored  int
	Tokens     float64 // mean length
	Completion []completion
}

// evaluate samples n completions of each row at a temperature and, if greedy,
// the most likely one too.
func (s *roller) evaluate(ctx context.Context, rows []verify.Problem, n, maxTokens int, ks []int, sampling model.Sampling, greedy bool) (*evaluation, error) {
	cs, err := s.rollout(ctx, rows, n, maxTokens, sampling, nil)
	if err != nil {
		return nil, err
	}
	ev := s.summarise(cs, len(rows), n, ks)
	if greedy {
		best, err := s.rollout(ctx, rows, 1, maxTokens, model.Sampling{}, nil)
		if err != nil {
			return nil, err
		}
		right, scored := 0.0, 0
		for _, c := range best {
			if c.verdict.Verdict != verify.NotScored {
				right += c.verdict.Score
				scored++
			}
		}
		ev.Greedy = right / float64(scored)
	}
	return ev, nil
}

func (s *roller) summarise(cs []completion, problems, n int, ks []int) *evaluation {
	ev := &evaluation{Problems: problems, Samples: n, PassAt: map[int]float64{}, MajAt: map[int]float64{}, Completion: cs}
	var means []float64
	tokens, valid := 0, 0
	tried := map[int]int{} // problems of which k samples were scored, by k
	for _, c := range cs {
		tokens += len(c.IDs)
		if s.form != nil && s.valid(c) {
			valid++
		}
		if c.verdict.Verdict == verify.NotScored {
			ev.NotScored++
		}
	}
	ev.Tokens, ev.Valid = float64(tokens)/float64(len(cs)), math.NaN()
	if s.form != nil {
		ev.Valid = float64(valid) / float64(len(cs))
	}
	for i := range problems {
		group := cs[i*n : (i+1)*n]
		right, scored, sum := 0, 0, 0.0
		var answers []string
		var rights []bool
		for _, c := range group {
			if c.verdict.Verdict == verify.NotScored {
				continue
			}
			scored++
			sum += c.verdict.Score
			if c.verdict.Verdict == verify.Right {
				right++
			}
			answers, rights = append(answers, c.verdict.Extracted), append(rights, c.verdict.Verdict == verify.Right)
		}
		if scored == 0 {
			continue
		}
		means = append(means, sum/float64(scored))
		for _, k := range ks {
			if k <= scored {
				tried[k]++
				ev.PassAt[k] += stats.PassAtK(scored, right, k)
				if stats.MajorityRight(answers[:k], rights[:k]) {
					ev.MajAt[k]++
				}
			}
		}
	}
	for _, k := range ks {
		ev.PassAt[k] /= float64(tried[k])
		ev.MajAt[k] /= float64(tried[k])
	}
	ev.Mean, ev.MeanCI[0], ev.MeanCI[1] = stats.MeanCI95(means, len(cs)-ev.NotScored)
	return ev
}

// metrics are the evaluation's entries in metrics.jsonl.
func (ev *evaluation) metrics() metrics.Row {
	row := metrics.Row{
		"eval/problems": float64(ev.Problems), "eval/samples": float64(ev.Samples),
		"eval/mean": ev.Mean, "eval/mean_low": ev.MeanCI[0], "eval/mean_high": ev.MeanCI[1],
		"eval/length_mean": ev.Tokens, "eval/not_scored": float64(ev.NotScored),
	}
	if !math.IsNaN(ev.Valid) {
		row["eval/valid"] = ev.Valid
	}
	for k, v := range ev.PassAt {
		row[fmt.Sprintf("eval/pass@%d", k)] = v
	}
	return row
}

// line is the evaluation for people. A figure that was not measured is left out.
func (ev *evaluation) line() string {
	var b strings.Builder
	put := func(name string, share float64) {
		if !math.IsNaN(share) {
			fmt.Fprintf(&b, "%s %.1f %%  ", name, 100*share)
		}
	}
	put("pass@1", ev.PassAt[1])
	if ev.Samples > 1 {
		put(fmt.Sprintf("pass@%d", ev.Samples), ev.PassAt[ev.Samples])
	}
	put("greedy", ev.Greedy)
	put("right form", ev.Valid)
	noun := "problems"
	if ev.Problems == 1 {
		noun = "problem"
	}
	fmt.Fprintf(&b, "(%d held-out %s x %d samples)", ev.Problems, noun, ev.Samples)
	return b.String()
}
