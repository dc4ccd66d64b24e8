package model_test

import (
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/seq"
)

// TestSharedLogprobBits: log-probs, entropies and means have the same bits whether
// sequences share the rows of their beginnings or not, in every storage.
func TestSharedLogprobBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, kv := range []hf.Dtype{hf.F32, hf.BF16} {
			m := modeltest.SmallAs(t, dev, 128, hf.F32, kv)
			alone := seq.Predict(modeltest.Prompts(1, 20)[0], 0, 1)
			alone.Spans[0].From, alone.Group = 1, 5
			seqs := slices.Concat(modeltest.Relatives(1, 9), modeltest.Relatives(2, 1), []seq.Sequence{alone}, modeltest.Relatives(7, 40))
			shared, computed := scores(t, m, seqs)
			want, rows := scores(t, m, modeltest.Apart(seqs))
			if 2*computed > rows {
				t.Errorf("%d rows, %d without sharing: hardly any is shared", computed, rows)
			}
			for i := range want {
				if a, b := modeltest.StatBits(shared[i]), modeltest.StatBits(want[i]); !slices.Equal(a, b) {
					t.Errorf("keys and values %s, sequence %d: %x shared, %x apart", kv, i, a, b)
				}
			}
		}
	})
}

func scores(t *testing.T, m *model.Model, seqs []seq.Sequence) (stats []seq.Stats, rows int) {
	t.Helper()
	batches, err := m.Decoder().Pack(seqs, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		rows += b.T
	}
	sc, err := m.NewScorer(1000)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	if stats, err = sc.Score(seqs); err != nil {
		t.Fatal(err)
	}
	return stats, rows
}

// TestSpans: the statistics of a token have the same bits whichever other tokens are
// predicted, and each sequence has its own temperature.
func TestSpans(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			m := modeltest.Small(t, dev, 64)
			sc, err := m.NewScorer(100)
			if err != nil {
				t.Fatal(err)
			}
			defer sc.Close()
			ids := modeltest.Prompts(1, 20)[0]
			ids = append(ids, 1, 2, 3, 4, 5, 6, 7, 8)
			some := seq.Sequence{IDs: ids, Spans: []seq.Span{{From: 2, To: 4}, {From: 5, To: 6}, {From: len(ids) - 2, To: len(ids)}}, Temperature: 0.7}
			got, err := sc.Score([]seq.Sequence{seq.Predict(ids, 1, 1), some, seq.Predict(ids, 1, 0.7)})
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
