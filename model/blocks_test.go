package model

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// packed is a frozen model in blocks, from the weights of one in float32.
func packed(t *testing.T, from *Model, dtype hf.Dtype) *Model {
	t.Helper()
	cfg := from.Config
	cfg.Dtype = dtype
	m, err := NewFrozen(from.Device(), cfg, from.Positions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	give(t, m, from)
	return m
}

// blockedModel is a frozen model in blocks with a random adapter, and a float32 one with
// the numbers that the blocks stand for. Its gate and up together have 640 rows, more than
// a panel of the backward pass, so that the second panel begins inside their factors.
func blockedModel(t *testing.T, dev gpu.Device, dtype hf.Dtype) (blocked, plain *Model) {
	t.Helper()
	cfg := hf.Config{Family: "qwen2", Vocab: 61, Width: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 320,
		MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3}
	plain = modelOn(t, dev, cfg)
	exact := flat(t, plain.Tensors())
	blocked = packed(t, plain, dtype)
	give(t, plain, blocked)
	if equalFloats(flat(t, plain.Tensors()), exact) {
		t.Fatal("quantising the weights changed nothing: this test can show nothing")
	}
	for _, m := range []*Model{blocked, plain} {
		adapt(t, m, hf.AdapterConfig{Rank: 4, Alpha: 2})
	}
	return blocked, plain
}

// TestBlockedWeights: a model in q8_0 or q4_0 computes what a float32 one with the
// numbers of the blocks does: completions, log-probs and the gradient of an adapter have
// the same bits, and the trainer computes the sampler's again.
func TestBlockedWeights(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, dtype := range []hf.Dtype{hf.Q8, hf.Q4} {
			blocked, plain := blockedModel(t, dev, dtype)
			want := completions(t, plain)
			if got := completions(t, blocked); hashTokens(got) != hashTokens(want) {
				t.Errorf("%s: other completions than with its numbers in float32%s", dtype, firstOther(got, want))
			}
			if got := train(t, blocked, completed(dev), want, 100); hashTokens(got) != hashTokens(want) {
				t.Errorf("%s: the trainer computes other bits than the sampler%s", dtype, firstOther(got, want))
			}
			seqs := gradientSequences(dev)
			if !equalFloats(flatGradient(t, blocked, seqs, 130, twoPasses, Recompute), flatGradient(t, plain, seqs, 130, twoPasses)) {
				t.Errorf("%s: another gradient than with its numbers in float32", dtype)
			}
		}
	})
}

// TestBlockedRefused: what blocks cannot be used for is refused by name.
func TestBlockedRefused(t *testing.T) {
	dev := gputest.Devices(t)[len(gputest.Devices(t))-1]
	cfg := smallConfig(hf.Q8, hf.F32)
	if _, err := NewFrozen(dev, cfg, 64); err == nil || !strings.Contains(err.Error(), "hidden_size 36, intermediate_size 44 and the heads' width 72") {
		t.Errorf("widths that are no multiples of 32: %v", err)
	}
	cfg.Width, cfg.MLP, cfg.HeadDim = 32, 32, 8
	if _, err := New(dev, cfg, 1, 64); err == nil || !strings.Contains(err.Error(), "an adapter that is trained") {
		t.Errorf("a model in blocks that is to be trained: %v", err)
	}
	if _, err := Plan(cfg, gpu.Caps{MaxBinding: 1 << 27}, Use{Positions: 8, TrainRows: 8}); err == nil {
		t.Error("the plan of a model in blocks that is to be trained")
	}
	cfg.KVDtype = hf.Q8
	if err := cfg.Complete(); err == nil || !strings.Contains(err.Error(), "accepted: f32, bf16") {
		t.Errorf("keys and values in blocks: %v", err)
	}
}

// TestBlocksPackedAgain: numbers that blocks stand for make the same blocks, so that a
// model that was saved as float32 and read again is the same.
func TestBlocksPackedAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, dtype := range []hf.Dtype{hf.Q8, hf.Q4} {
		data, again := make([]float32, 512*blockSize), make([]float32, 512*blockSize)
		for i := range data {
			data[i] = float32(rng.NormFloat64())
		}
		for _, to := range [][]float32{data, again} {
			numbers, scales, err := storage(dtype).pack(data)
			if err != nil {
				t.Fatal(err)
			}
			storage(dtype).unpack(numbers, scales, to)
		}
		if !equalFloats(data, again) {
			t.Errorf("%s: other numbers the second time", dtype)
		}
	}
}

// TestPlanOfRealModels: what fits where, by the shapes of published models
// (https://huggingface.co: config.json of each), in lavapipe's bindings and with what its
// driver takes.
func TestPlanOfRealModels(t *testing.T) {
	qwen := func(width, layers, heads, kv, mlp, vocab int, tied bool, dtype hf.Dtype) hf.Config {
		return hf.Config{Family: "qwen2", Vocab: vocab, Width: width, Layers: layers, Heads: heads, KVHeads: kv, HeadDim: width / heads, MLP: mlp,
			MaxPositions: 32768, NormEps: 0x1p-20, RopeTheta: 1e6, TieEmbeddings: tied, InitStd: 0.02, Dtype: dtype}
	}
	adapter := &hf.AdapterConfig{Rank: 16, Alpha: 32}
	step := EngineOptions{Sequences: 16, Context: 64}
	smol := hf.Config{Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536,
		MaxPositions: 8192, NormEps: 0x1p-20, RopeTheta: 1e5, TieEmbeddings: true, InitStd: 0.02, Dtype: hf.BF16}
	mistral := qwen(4096, 32, 32, 8, 14336, 32768, false, hf.Q4)
	mistral.Family = "mistral"
	// A step on 16 completions, with the reference that a penalty by KL needs.
	sampled := Use{Positions: 64, TrainRows: 256, Recompute: true, Adapter: adapter, Reference: true, Engine: &step}
	caps := gpu.Caps{Kind: gpu.CPU, MaxBinding: 128 << 20, MaxAllocation: 1 << 30}
	for _, c := range []struct {
		name   string
		config hf.Config
		use    Use
		gib    int
	}{
		{"Qwen2.5-0.5B in q8_0 with an adapter", qwen(896, 24, 14, 2, 4864, 151936, true, hf.Q8),
			Use{Positions: 64, TrainRows: 256, Adapter: adapter, Reference: true, Engine: &step}, 3},
		{"Qwen2.5-3B in q8_0, whose gate and up are 172 MiB as float32", qwen(2048, 36, 16, 2, 11008, 151936, true, hf.Q8),
			Use{Positions: 64, TrainRows: 256, Recompute: true, Adapter: adapter, Engine: &step}, 6},
		{"SmolLM2-135M whole in bf16", smol, Use{Positions: 128, TrainRows: 256, Recompute: true}, 3},
		{"Qwen2.5-7B in q4_0 with an adapter", qwen(3584, 28, 28, 4, 18944, 152064, false, hf.Q4), sampled, 8},
		{"Mistral-7B-v0.3 in q4_0 with an adapter", mistral, sampled, 8},
	} {
		l := newLayout(c.config, caps.MaxBinding)
		for i, chunk := range l.chunks {
			if chunk.bound() > caps.MaxBinding {
				t.Errorf("%s: chunk %d has %d bytes, more than a binding", c.name, i, chunk.bound())
			}
		}
		plan, err := Plan(c.config, caps, c.use)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		caps.Memory = c.gib << 30
		if total := plan.Total(); plan.Fits(caps) != nil {
			t.Errorf("%s: %d MiB: %v\n%s", c.name, total>>20, plan.Fits(caps), plan)
		} else {
			t.Logf("%s: %d MiB", c.name, total>>20)
		}
	}
	for _, c := range []struct {
		dtype  hf.Dtype
		frozen bool
		want   string
	}{{hf.F32, true, "172 MiB in f32"}, {hf.BF16, false, "172 MiB in f32"}, {hf.BF16, true, "86 MiB in bf16"}, {hf.Q8, true, "48 MiB in q8_0"}, {hf.Q4, true, "26 MiB in q4_0"}} {
		config := qwen(2044, 1, 16, 2, 11007, 64, true, c.dtype) // which are padded to 2048 and 11008
		config.HeadDim = 128
		err := newLayout(config, 16<<20).fits(c.frozen)
		if err == nil || !strings.Contains(err.Error(), "one matrix of 22014 x 2044 numbers, "+c.want) {
			t.Errorf("gate and up in bindings of 16 MiB: %v, want %s", err, c.want)
		}
	}
}
