package seq

import (
	"fmt"
	"slices"
)

// Span is the range of places From to To-1 in a sequence of tokens.
type Span struct{ From, To int }

// Sequence is a token sequence. The tokens of its spans are predicted, each from
// all tokens before it, by logits divided by the temperature.
type Sequence struct {
	IDs         []int
	Spans       []Span  // ascending and disjoint, within 1 to len(IDs)
	Temperature float64 // above 0

	// Group makes sequences that follow each other with the same number, not 0, a group,
	// such as the completions of one prompt: what they have in common at their beginnings
	// is computed once. Log-probs have the bits that they have without; gradients are
	// added up in another order, which depends on the group alone.
	Group int
}

// Predict is the sequence whose tokens from a place on are predicted.
func Predict(ids []int, from int, temperature float64) Sequence {
	return Sequence{IDs: ids, Spans: []Span{{from, len(ids)}}, Temperature: temperature}
}

// Read is the sequence with its spans one place further and one more token, so that the states of
// which its tokens are predicted are those that each token of the spans leaves once it is read. What the
// token is that is added does not matter: no state depends on it.
func (s Sequence) Read() Sequence {
	s.IDs = append(slices.Clone(s.IDs), s.IDs[len(s.IDs)-1])
	s.Spans = slices.Clone(s.Spans)
	for i := range s.Spans {
		s.Spans[i].From++
		s.Spans[i].To++
	}
	return s
}

// inputs are the tokens that are read: all but the last.
func (s Sequence) inputs() []int { return s.IDs[:max(0, len(s.IDs)-1)] }

// Predicted is the number of tokens in the spans.
func (s Sequence) Predicted() int {
	n := 0
	for _, span := range s.Spans {
		n += span.To - span.From
	}
	return n
}

// rows calls do for each row of the sequence: its input token's place, and
// whether the token after it is predicted.
func (s Sequence) rows(do func(place int, predicts bool)) {
	spans := s.Spans
	for p := range len(s.IDs) - 1 {
		for len(spans) > 0 && spans[0].To <= p+1 {
			spans = spans[1:]
		}
		do(p, len(spans) > 0 && spans[0].From <= p+1)
	}
}

// check refuses spans that are not ranges of predictable tokens.
func (s Sequence) check() error {
	end := 1
	for _, span := range s.Spans {
		if span.From < end || span.To < span.From || span.To > len(s.IDs) {
			return fmt.Errorf("span %d to %d; accepted: ascending, disjoint spans within 1 to %d", span.From, span.To, len(s.IDs))
		}
		end = span.To
	}
	if !(s.Temperature > 0) {
		return fmt.Errorf("temperature %v; accepted: numbers above 0", s.Temperature)
	}
	return nil
}

// Stats are what the device computes for each predicted token of a
// sequence: entry i is about the i-th token of its spans. Nats.
type Stats struct {
	Logprob     []float32 // log-prob of the token itself
	Entropy     []float32 // of the whole distribution
	MeanLogprob []float32 // mean of the log-softmax over the vocabulary
	Value       []float32 // of the state that the token was drawn in; nil without a value head
	Score       []float32 // what a head says of the state that the token leaves; nil where none is asked
}

// Then are the statistics of tokens, and after them those of others.
func (s Stats) Then(t Stats) Stats {
	return Stats{slices.Concat(s.Logprob, t.Logprob), slices.Concat(s.Entropy, t.Entropy), slices.Concat(s.MeanLogprob, t.MeanLogprob),
		slices.Concat(s.Value, t.Value), slices.Concat(s.Score, t.Score)}
}
