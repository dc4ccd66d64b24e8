package seq

import "slices"

// Scored is a sequence that is read to its end: the token after each of the tokens of its spans is
// predicted too, so that a head that reads the states of which tokens are predicted says something of the
// state that each token leaves. What the token is that is added at the end does not matter: no other
// number depends on it.
type Scored struct {
	Sequence       // with all that is predicted
	own      []int // [token of the spans] where it is among what is predicted
	next     []int // [token of the spans] where the token after it is
}

// Scored is the sequence, read to its end.
func (s Sequence) Scored() Scored {
	out := Scored{Sequence: s}
	out.IDs = append(slices.Clone(s.IDs), s.IDs[len(s.IDs)-1])
	out.Spans = nil
	n := 0 // predictions before the span
	for _, span := range s.Spans {
		if span.From == span.To {
			continue
		}
		last := len(out.Spans) - 1
		if last >= 0 && out.Spans[last].To > span.From { // the one before it reaches into this one by a token
			out.Spans[last].To, n = span.To+1, n-1
		} else {
			out.Spans = append(out.Spans, Span{span.From, span.To + 1})
		}
		for range span.To - span.From {
			out.own, out.next = append(out.own, n), append(out.next, n+1)
			n++
		}
		n++
	}
	return out
}

// Stats are the statistics of the tokens of the spans, of those of all that is predicted.
func (s Scored) Stats(all Stats) Stats {
	return Stats{Logprob: at(all.Logprob, s.own), Entropy: at(all.Entropy, s.own), MeanLogprob: at(all.MeanLogprob, s.own),
		Value: at(all.Value, s.own), Score: at(all.Value, s.next)}
}

// Spread adds, to the weights of all that is predicted, those of the tokens of the spans: their own, and
// of the scores. Nil counts as zeros; the result is nil of two.
func (s Scored) Spread(own, scores []float64) []float64 {
	if own == nil && scores == nil {
		return nil
	}
	out := make([]float64, s.Predicted())
	for i := range s.own {
		if own != nil {
			out[s.own[i]] += own[i]
		}
		if scores != nil {
			out[s.next[i]] += scores[i]
		}
	}
	return out
}

func at(v []float32, places []int) []float32 {
	if v == nil {
		return nil
	}
	out := make([]float32, len(places))
	for i, p := range places {
		out[i] = v[p]
	}
	return out
}
