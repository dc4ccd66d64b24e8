package model

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
)

// TestSpans: the statistics of a token have the same bits whichever other tokens are
// predicted, and each sequence has its own temperature.
func TestSpans(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			m := small(t, dev, 64)
			sc, err := m.NewScorer(100)
			if err != nil {
				t.Fatal(err)
			}
			defer sc.Close()
			ids := prompts(1, 20)[0]
			ids = append(ids, 1, 2, 3, 4, 5, 6, 7, 8)
			some := Sequence{IDs: ids, Spans: []Span{{2, 4}, {5, 6}, {len(ids) - 2, len(ids)}}, Temperature: 0.7}
			got, err := sc.Score([]Sequence{Predict(ids, 1, 1), some, Predict(ids, 1, 0.7)})
			if err != nil {
				t.Fatal(err)
			}
			all, n := got[2], 0
			for _, span := range some.Spans {
				for place := span.From; place < span.To; place++ {
					if got[1].Logprob[n] != all.Logprob[place-1] || got[1].Entropy[n] != all.Entropy[place-1] || got[1].MeanLogprob[n] != all.MeanLogprob[place-1] {
						t.Errorf("token %d has other statistics in a span", place)
					}
					n++
				}
			}
			if n != len(got[1].Logprob) {
				t.Errorf("%d statistics for spans of %d tokens", len(got[1].Logprob), n)
			}
			if got[0].Logprob[3] == all.Logprob[3] {
				t.Error("the temperature changes nothing")
			}
		})
	}
}

// TestSequenceRefused: spans that cannot be predicted name the sequence.
func TestSequenceRefused(t *testing.T) {
	ids := []int{1, 2, 3, 4}
	for want, s := range map[string]Sequence{
		"span 0 to 2":   {IDs: ids, Spans: []Span{{0, 2}}, Temperature: 1},
		"span 3 to 5":   {IDs: ids, Spans: []Span{{3, 5}}, Temperature: 1},
		"span 2 to 1":   {IDs: ids, Spans: []Span{{2, 1}}, Temperature: 1},
		"span 2 to 4":   {IDs: ids, Spans: []Span{{1, 3}, {2, 4}}, Temperature: 1},
		"temperature 0": {IDs: ids, Spans: []Span{{1, 4}}},
	} {
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one about %s", s, err, want)
		}
	}
}

// TestAccumulate: a loss of each sequence's own statistics takes one forward pass of
// each batch.
func TestAccumulate(t *testing.T) {
	dev := &counting{Device: gputest.Devices(t)[0]}
	m := small(t, dev, 64)
	tr, err := m.NewTrainer(20)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ids := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	seqs := []Sequence{Predict(ids, 1, 1), Predict(ids, 1, 1), Predict(ids, 1, 1), Predict(ids, 1, 1)} // two batches
	for name, c := range map[string]struct {
		pass func(*testing.T, *Trainer, []Sequence)
		want int
	}{"at once": {onePass, 4}, "in two passes": {twoPasses, 6}} {
		dev.submitted = 0
		if c.pass(t, tr, seqs); dev.submitted != c.want {
			t.Errorf("%s: %d programs submitted, want %d", name, dev.submitted, c.want)
		}
	}
	if rows := tr.Rows(); rows != 80 { // of two passes
		t.Errorf("%d rows, want 80", rows)
	}
	if _, err := tr.Step(Optimizer{}); err != nil || tr.Rows() != 0 {
		t.Errorf("%d rows after a step, %v", tr.Rows(), err)
	}
	err = tr.Accumulate(seqs, func(int, []TokenStats) ([]TokenWeights, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "weights for 0 sequences") {
		t.Errorf("missing weights: %v", err)
	}
}
