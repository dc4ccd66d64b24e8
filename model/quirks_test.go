package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// quirks are small models that have, between them, every option of a part.
func quirks() map[string]Config {
	base := Config{Vocab: 61, Width: 20, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 10, MLP: 12,
		MaxPositions: 1024, NormEps: 1e-6, RopeTheta: 1e4, BOS: -1, PAD: -1, InitStd: 0.3}
	gemma, smollm := base, base
	// Norms of 1+w, in front and behind, gelu, scaled embeddings, a scale of queries, a
	// window and a rotation of its own in one layer, biases of attention.
	gemma.Family, gemma.TieEmbeddings, gemma.QKNorm = "gemma3_text", true, true
	gemma.AttentionBias, gemma.QueryScalar, gemma.LocalTheta = true, 7, 100
	gemma.Window, gemma.Sliding = 5, []bool{true, false}
	// Biases everywhere, and a layer without rotation that has a window.
	smollm.Family, smollm.AttentionBias, smollm.MLPBias = "smollm3", true, true
	smollm.NoRope, smollm.Window, smollm.Sliding = []bool{false, true}, 9, []bool{false, true}
	return map[string]Config{"gemma3": gemma, "smollm3": smollm}
}

// quirkModel is a model whose vectors are random too: fresh ones are all zeros and ones.
func quirkModel(t *testing.T, dev gpu.Device, cfg Config) *Model {
	m := modelOn(t, dev, cfg)
	rng := rand.New(rand.NewPCG(3, 4))
	values := map[string][]float32{}
	for _, p := range m.Tensors() {
		data, err := p.Data()
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Shape) == 1 {
			for i := range data {
				data[i] += float32(0.2 * rng.NormFloat64())
			}
		}
		values[p.Name] = data
	}
	err := m.layout.writePieces(m.params, func(p piece, row0 int) ([]float32, error) {
		rows, cols := p.size()
		return values[p.name][row0*cols : (row0+rows)*cols], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestQuirkBits: for every option of a part the sampler gives the same bits whatever
// the batch and the chunks of prompts, the trainer and the scorer compute them again, and
// the gradient does not depend on how sequences are cut into batches.
func TestQuirkBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for name, cfg := range quirks() {
			t.Run(name, func(t *testing.T) {
				m := quirkModel(t, dev, cfg)
				ps := prompts(6, 40)
				sample := func(batch, chunk int) []Completion {
					e, err := m.NewEngine(EngineOptions{Sequences: batch, Context: 64, StepRows: batch + chunk, PromptRows: chunk})
					if err != nil {
						t.Fatal(err)
					}
					defer e.Close()
					return generateAll(t, e, invarianceRequests(ps, 1))
				}
				want := sample(6, 64)
				for what, got := range map[string][]Completion{
					"batch 2, chunk 7": sample(2, 7), "trainer": train(t, m, ps, want, 50), "scorer": score(t, m, ps, want, 400),
				} {
					if hashTokens(got) != hashTokens(want) {
						t.Errorf("%s: other bits%s", what, firstOther(got, want))
					}
				}
				seqs := gradientSequences()
				if !equalFloats(flatGradient(t, m, seqs, 50, twoPasses), flatGradient(t, m, seqs, 400, twoPasses)) {
					t.Error("the gradient depends on how the sequences are cut into batches")
				}
			})
		}
	})
}

// TestWindow: a query sees itself and Window-1 tokens before it. A token further back
// changes nothing, the last one that is seen does.
func TestWindow(t *testing.T) {
	cfg := quirks()["smollm3"]
	cfg.Layers, cfg.Window, cfg.Sliding, cfg.NoRope = 1, 4, []bool{true}, []bool{true}
	m := modelOn(t, gputest.Devices(t)[len(gputest.Devices(t))-1], cfg)
	sc, err := m.NewScorer(16)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	last := func(changed int) uint32 {
		ids := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
		ids[changed] = 50
		st, err := sc.Score([]Sequence{Predict(ids, 8, 1)})
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
