package learn_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
)

// TestAdapterTrains: a fresh adapter changes nothing; an update changes it and leaves the
// model; with the adapter off the model scores as it did; and an adapter that was
// written and read again gives the same bits.
func TestAdapterTrains(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		if gputest.Slow(dev) {
			return
		}
		q := modeltest.QuirkModels()[2]
		cfg := *q.Adapter
		q.Adapter = nil
		m := q.Open(t, dev)
		before, weights := modeltest.Completions(t, m), modeltest.Flat(t, m.Tensors())
		ps := modeltest.Prompts(16, 40)
		if err := m.AddAdapter(cfg, 5); err != nil {
			t.Fatal(err)
		}
		if modeltest.HashTokens(modeltest.Completions(t, m)) != modeltest.HashTokens(before) {
			t.Fatal("a fresh adapter changes completions")
		}
		tr, err := learn.NewTrainer(m, 400)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		seqs := modeltest.GradientSequences(dev)
		for range 2 { // the first update moves B alone: A has no gradient while B is zero
			if _, err := tr.Forward(seqs); err != nil {
				t.Fatal(err)
			}
			if err := tr.Backward(modeltest.TokenWeights(seqs, func(i, j int) (a, b, c float64) { return -1, 0, 0 })); err != nil {
				t.Fatal(err)
			}
			if _, err := tr.Step(learn.Optimizer{LR: 1.0 / 64, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
				t.Fatal(err)
			}
		}
		after := modeltest.Completions(t, m)
		if modeltest.HashTokens(after) == modeltest.HashTokens(before) {
			t.Error("two updates changed no completion")
		}
		if !modeltest.EqualFloats(modeltest.Flat(t, m.Tensors()), weights) {
			t.Error("the model's own weights changed")
		}
		sc := tr.NewScorer(m, true)
		defer sc.Close()
		stats, err := sc.Score(modeltest.Sequences(ps, before))
		if off := modeltest.Restated(t, before, stats, err); modeltest.HashTokens(off) != modeltest.HashTokens(before) {
			t.Errorf("with the adapter off the model scores differently%s", modeltest.FirstOther(off, before))
		}
		again := q.Open(t, dev)
		if err := again.LoadAdapter(modeltest.WriteAdapter(t, m)); err != nil {
			t.Fatal(err)
		}
		if got := modeltest.Completions(t, again); modeltest.HashTokens(got) != modeltest.HashTokens(after) {
			t.Errorf("the adapter read again gives other bits%s", modeltest.FirstOther(got, after))
		}
	})
}
