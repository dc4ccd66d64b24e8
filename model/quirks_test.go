package model

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// quirks are small models that have, between them, every option of a part.
func quirks() map[string]hf.Config {
	base := hf.Config{Vocab: 61, Width: 20, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 10, MLP: 12,
		MaxPositions: 1024, NormEps: 0x1p-20, RopeTheta: 1e4, BOS: -1, PAD: -1, InitStd: 0.3}
	gemma, smollm, mistral, qwen := base, base, base, base
	mistral.Family, mistral.Window, mistral.Sliding = "mistral", 7, []bool{true, true}
	qwen.Family = "qwen2" // biases of queries, keys and values
	// Norms of 1+w, before and after, gelu, scaled embeddings, a scale of queries, a
	// window and a rotation of its own in one layer, biases of attention.
	gemma.Family, gemma.TieEmbeddings, gemma.QKNorm = "gemma3_text", true, true
	gemma.AttentionBias, gemma.QueryScalar, gemma.LocalTheta = true, 7, 100
	gemma.Window, gemma.Sliding = 5, []bool{true, false}
	// Biases everywhere, and a layer without rotation that has a window.
	smollm.Layers = 3
	smollm.Family, smollm.AttentionBias, smollm.MLPBias = "smollm3", true, true
	smollm.NoRope, smollm.Window, smollm.Sliding = []bool{false, true, false}, 9, []bool{false, true, false}
	return map[string]hf.Config{"gemma3": gemma, "mistral": mistral, "qwen2": qwen, "qwen3": smallConfig(hf.F32, hf.F32), "smollm3": smollm}
}

// quirk is a small model, maybe with an adapter.
type quirk struct {
	name    string
	config  hf.Config
	adapter *hf.AdapterConfig
	typical bool // of those with an adapter over its storage
}

// quirkModels are the quirks, alone and with an adapter over each storage.
func quirkModels() []quirk {
	adapters := []struct {
		over    hf.Dtype
		adapter hf.AdapterConfig
	}{
		{hf.F32, hf.AdapterConfig{Rank: 2, Alpha: 1, RSLoRA: true}},
		{hf.BF16, hf.AdapterConfig{Rank: 3, Alpha: 1, Targets: []string{"k_proj", "o_proj", "up_proj"}, Ranks: []hf.Override{{Pattern: "layers.1.*", Value: 10}}}},
		{hf.Q8, hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj", "v_proj", "down_proj"}}},
		{hf.Q4, hf.AdapterConfig{Rank: 3, Alpha: 1}},
	}
	var all []quirk
	for i, name := range slices.Sorted(maps.Keys(quirks())) {
		c := quirks()[name]
		all = append(all, quirk{name, c, nil, true})
		for j, a := range adapters {
			if c.Dtype = a.over; a.over.Blocked() { // a block has 32 numbers
				c.Width, c.HeadDim, c.MLP = 32, 16, 32
			}
			all = append(all, quirk{fmt.Sprintf("%s in %s with adapter", name, a.over), c, &a.adapter, i == j})
		}
	}
	return all
}

// open makes the model. Its vectors and its adapter are random too: fresh ones are zeros
// and ones.
func (q quirk) open(t *testing.T, dev gpu.Device) *Model {
	plain := q.config
	if plain.Dtype.Blocked() {
		plain.Dtype = hf.F32
	}
	m := modelOn(t, dev, plain)
	rng := rand.New(rand.NewPCG(3, 4))
	change(t, &m.layout.tensors, m.params, func(p piece, data []float32) {
		if p.vector {
			for i := range data {
				data[i] += float32(0.2 * rng.NormFloat64())
			}
		}
	})
	if q.config.Dtype.Blocked() {
		m = packed(t, m, q.config.Dtype)
	}
	if q.adapter != nil {
		adapt(t, m, *q.adapter)
	}
	return m
}

// adapt gives a model a random adapter.
func adapt(t *testing.T, m *Model, cfg hf.AdapterConfig) {
	t.Helper()
	if err := m.AddAdapter(cfg, 9); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	change(t, &m.adapter.tensors, m.adapter.values, func(p piece, data []float32) {
		for i := range data {
			data[i] = float32(0.1 * rng.NormFloat64())
		}
	})
}

// change edits tensors of one piece each where they lie.
func change(t *testing.T, l *tensors, in store, edit func(p piece, data []float32)) {
	t.Helper()
	values := map[string][]float32{}
	for _, v := range l.named(in, "") {
		var err error
		if values[v.Name], err = v.Data(); err != nil {
			t.Fatal(err)
		}
	}
	err := l.writePieces(in, func(p piece, from, n int) ([]float32, error) {
		_, cols := p.size()
		data := values[p.name][from*cols : (from+n)*cols]
		edit(p, data)
		return data, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuirkBits: for every option of a part the sampler gives the same bits whatever
// the batch and the chunks of prompts, the trainer and the scorer compute them again, and
// the gradient does not depend on how sequences are cut into batches.
func TestQuirkBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, q := range quirkModels() {
			if gputest.Slow(dev) && !q.typical {
				continue
			}
			t.Run(q.name, func(t *testing.T) {
				m := q.open(t, dev)
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
				seqs := gradientSequences(dev)
				whole := flatGradient(t, m, seqs, 400, twoPasses, ValueHead)
				if !equalFloats(flatGradient(t, m, seqs, 50, twoPasses, ValueHead), whole) {
					t.Error("the gradient depends on how the sequences are cut into batches")
				}
				if !equalFloats(flatGradient(t, m, seqs, 50, twoPasses, ValueHead, Recompute), whole) {
					t.Error("the gradient is another one where activations are made again")
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
