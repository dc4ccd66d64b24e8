package seq_test

import (
	"slices"
	"testing"

	"github.com/rlzero/rlzero/model/seq"
)

// TestScored: each token of the spans has its own prediction and the one after it, also where spans
// touch, and where one is empty; weights go where statistics come from.
func TestScored(t *testing.T) {
	for _, c := range []struct {
		about     string
		spans     []seq.Span
		all       []seq.Span
		own, next []float32 // places of the tokens that are predicted
	}{
		{"to the end", []seq.Span{{3, 6}}, []seq.Span{{3, 7}}, []float32{3, 4, 5}, []float32{4, 5, 6}},
		{"two turns", []seq.Span{{1, 2}, {4, 6}}, []seq.Span{{1, 3}, {4, 7}}, []float32{1, 4, 5}, []float32{2, 5, 6}},
		{"turns that touch", []seq.Span{{1, 3}, {3, 5}}, []seq.Span{{1, 6}}, []float32{1, 2, 3, 4}, []float32{2, 3, 4, 5}},
		{"an empty one", []seq.Span{{1, 1}, {2, 3}}, []seq.Span{{2, 4}}, []float32{2}, []float32{3}},
	} {
		s := seq.Sequence{IDs: []int{9, 8, 7, 6, 5, 4}, Spans: c.spans, Temperature: 1}.Scored()
		if !slices.Equal(s.Spans, c.all) || len(s.IDs) != 7 {
			t.Errorf("%s: spans %v of %d tokens", c.about, s.Spans, len(s.IDs))
			continue
		}
		var places []float32
		for _, span := range s.Spans {
			for p := span.From; p < span.To; p++ {
				places = append(places, float32(p))
			}
		}
		got := s.Stats(seq.Stats{Logprob: places, Entropy: places, MeanLogprob: places, Value: places})
		if !slices.Equal(got.Logprob, c.own) || !slices.Equal(got.Value, c.own) || !slices.Equal(got.Score, c.next) {
			t.Errorf("%s: own %v, scores %v", c.about, got.Logprob, got.Score)
		}
		ones := slices.Repeat([]float64{1}, len(c.own))
		tens := slices.Repeat([]float64{10}, len(c.own))
		for i, w := range s.Spread(ones, tens) {
			want := 0.0
			if slices.Contains(c.own, places[i]) {
				want++
			}
			if slices.Contains(c.next, places[i]) {
				want += 10
			}
			if w != want {
				t.Errorf("%s: the weight of place %v is %v, want %v", c.about, places[i], w, want)
			}
		}
		if s.Spread(nil, nil) != nil {
			t.Errorf("%s: weights of nothing", c.about)
		}
	}
}
