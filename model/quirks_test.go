package model_test

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// TestQuirkBits: for every option of a part the sampler gives the same bits whatever
// the batch and the chunks of prompts, the trainer and the scorer compute them again, and
// the gradient does not depend on how sequences are cut into batches.
func TestQuirkBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, q := range modeltest.QuirkModels() {
			if gputest.Slow(dev) && !q.Typical {
				continue
			}
			t.Run(q.Name, func(t *testing.T) {
				m := q.Open(t, dev)
				ps := modeltest.Prompts(6, 40)
				draw := func(batch, chunk int) []sample.Completion {
					e, err := sample.NewEngine(m, sample.Options{Sequences: batch, Context: 64, StepRows: batch + chunk, PromptRows: chunk})
					if err != nil {
						t.Fatal(err)
					}
					defer e.Close()
					return modeltest.GenerateFirst(t, e, modeltest.Requests(ps, 1))
				}
				want := draw(6, 64)
				for what, got := range map[string][]sample.Completion{
					"batch 2, chunk 7": draw(2, 7), "trainer": modeltest.Train(t, m, ps, want, 50), "scorer": modeltest.Score(t, m, ps, want, 400),
				} {
					if modeltest.HashTokens(got) != modeltest.HashTokens(want) {
						t.Errorf("%s: other bits%s", what, modeltest.FirstOther(got, want))
					}
				}
				seqs := modeltest.GradientSequences(dev)
				whole := modeltest.FlatGradient(t, m, seqs, 400, modeltest.TwoPasses, learn.ValueHead)
				if !modeltest.EqualFloats(modeltest.FlatGradient(t, m, seqs, 50, modeltest.TwoPasses, learn.ValueHead), whole) {
					t.Error("the gradient depends on how the sequences are cut into batches")
				}
				if !modeltest.EqualFloats(modeltest.FlatGradient(t, m, seqs, 50, modeltest.TwoPasses, learn.ValueHead, learn.Recompute), whole) {
					t.Error("the gradient is another one where activations are made again")
				}
			})
		}
	})
}

// TestWindow: a query sees itself and Window-1 tokens before it. A token further back
// changes nothing, the last one that is seen does.
func TestWindow(t *testing.T) {
	cfg := modeltest.Quirks()["smollm3"]
	cfg.Layers, cfg.Window, cfg.Sliding, cfg.NoRope = 1, 4, []bool{true}, []bool{true}
	m := modeltest.ModelOn(t, gputest.Devices(t)[len(gputest.Devices(t))-1], cfg)
	sc, err := m.NewScorer(16)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	last := func(changed int) uint32 {
		ids := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
		ids[changed] = 50
		st, err := sc.Score([]seq.Sequence{seq.Predict(ids, 8, 1)})
		if err != nil {
			t.Fatal(err)
		}
		return math.Float32bits(st[0].Entropy[0])
	}
	// Row 7 predicts token 8 and sees rows 4 to 7.
	if last(3) != last(0) {
		t.Error("a token before the window counts")
	}
	if last(4) == last(0) {
		t.Error("the first token of the window does not count")
	}
}
