package learn_test

import (
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestScores: the score of a token is the value of the state that the next one is predicted from, and
// that of the last one of a state that is read for it; all else has the bits that it has without scores.
// Weights of scores have the gradient of weights of values one place on, to the bit, in one pass and in
// two, and with both kinds.
func TestScores(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.Small(t, dev, 64)
		seqs := []seq.Sequence{seq.Predict([]int{9, 8, 7, 30, 4}, 2, 1), {IDs: []int{3, 5, 17, 8, 60, 2}, Spans: []seq.Span{{From: 1, To: 3}, {From: 4, To: 6}}, Temperature: 0.7}}
		longer := make([]seq.Sequence, len(seqs)) // of which one more token is predicted; which one is added does not matter
		for i, s := range seqs {
			longer[i] = seq.Sequence{IDs: append(slices.Clone(s.IDs), 11), Spans: slices.Clone(s.Spans), Temperature: s.Temperature}
			for j := range s.Spans {
				longer[i].Spans[j].To++
			}
		}
		own := [][]int{{0, 1, 2}, {0, 1, 3, 4}} // places in longer
		plain := modeltest.TrainerOf(t, m, 64, learn.ValueHead)
		want, err := plain.Forward(seqs)
		if err != nil {
			t.Fatal(err)
		}
		values, err := plain.Forward(longer)
		if err != nil {
			t.Fatal(err)
		}
		tr := modeltest.TrainerOf(t, m, 64, learn.ValueHead)
		tr.Scores(true)
		got, err := tr.Forward(seqs)
		if err != nil {
			t.Fatal(err)
		}
		weights, byHand := make([]learn.Weights, len(seqs)), make([]learn.Weights, len(seqs))
		for i := range seqs {
			if !slices.Equal(modeltest.StatBits(got[i]), modeltest.StatBits(want[i])) || !modeltest.EqualFloats(got[i].Value, want[i].Value) {
				t.Errorf("sequence %d: %+v with scores, %+v without", i, got[i], want[i])
			}
			n := len(own[i])
			weights[i] = learn.Weights{Logprob: make([]float64, n), Value: make([]float64, n), Score: make([]float64, n)}
			byHand[i] = learn.Weights{Logprob: make([]float64, longer[i].Predicted()), Value: make([]float64, longer[i].Predicted())}
			for j, place := range own[i] {
				if got[i].Score[j] != values[i].Value[place+1] {
					t.Errorf("sequence %d, token %d: score %v, the value one place on is %v", i, j, got[i].Score[j], values[i].Value[place+1])
				}
				a, b, c := 0.5-0.25*float64(j), 0.125*float64(j+1), 1-0.5*float64(i+j)
				weights[i].Logprob[j], weights[i].Value[j], weights[i].Score[j] = a, b, c
				byHand[i].Logprob[place] += a
				byHand[i].Value[place] += b
				byHand[i].Value[place+1] += c
			}
		}
		if err := plain.Backward(byHand); err != nil {
			t.Fatal(err)
		}
		expected := modeltest.GradientOf(t, plain)
		if err := tr.Backward(weights); err != nil {
			t.Fatal(err)
		}
		if !modeltest.EqualFloats(modeltest.GradientOf(t, tr), expected) {
			t.Error("weights of scores have another gradient than those of values one place on")
		}
		once := modeltest.TrainerOf(t, m, 8, learn.ValueHead) // a batch for each sequence
		once.Scores(true)
		if err := once.Accumulate(seqs, func(first int, part []seq.Stats) ([]learn.Weights, error) {
			if !modeltest.EqualFloats(part[0].Score, got[first].Score) {
				t.Errorf("sequence %d: %v in one pass, %v in two", first, part[0].Score, got[first].Score)
			}
			return weights[first : first+len(part)], nil
		}); err != nil {
			t.Fatal(err)
		}
		if !modeltest.EqualFloats(modeltest.GradientOf(t, once), expected) {
			t.Error("another gradient in one pass")
		}
		once.Scores(false)
		if stats, err := once.Forward(seqs); err != nil || stats[0].Score != nil {
			t.Errorf("scores that nobody asked for: %v (%v)", stats, err)
		}
	})
}
