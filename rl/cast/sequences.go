package cast

import (
	"errors"

	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// sequences are views as the trainer takes them: one for each context, in which alone its tokens were drawn.
func sequences(views []rollout.View) []seq.Sequence {
	seqs := make([]seq.Sequence, 0, len(views))
	for _, whole := range views {
		for _, v := range whole.Contexts() {
			s := seq.Sequence{IDs: v.IDs, Temperature: v.Temperature, Group: v.Group}
			for _, span := range v.Spans {
				s.Spans = append(s.Spans, seq.Span(span))
			}
			seqs = append(seqs, s)
		}
	}
	return seqs
}

// wholeOf are the statistics of views from those of their sequences: the tokens of a view stand one after the other,
// through all of its contexts.
func wholeOf(views []rollout.View, stats []seq.Stats) []seq.Stats {
	if stats == nil || len(stats) == len(views) { // there was an error, or no context begins anew
		return stats
	}
	var out []seq.Stats
	for _, v := range views {
		n := 1 + len(v.Fresh)
		one := stats[0]
		for _, s := range stats[1:n] {
			one = one.Then(s)
		}
		out, stats = append(out, one), stats[n:]
	}
	return out
}

// partsOf are the weights of the sequences of views.
func partsOf(views []rollout.View, weights []learn.Weights) []learn.Weights {
	var out []learn.Weights
	for i, w := range weights {
		if i >= len(views) || views[i].Fresh == nil {
			out = append(out, w)
			continue
		}
		from := 0
		for _, v := range views[i].Contexts() {
			to := from + v.Tokens()
			out, from = append(out, w.Part(from, to)), to
		}
	}
	return out
}

// oneContext refuses views of several contexts, where something is of one sequence.
func oneContext(views []rollout.View) error {
	for _, v := range views {
		if v.Fresh != nil {
			return errors.New("the context of an episode begins anew, and states and gradients of completions are of one context")
		}
	}
	return nil
}
