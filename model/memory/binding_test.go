package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// TestPlannedWithinBindings: what the plan says fits is recorded without a view that is
// larger than a binding of lavapipe, at the sizes of lora-math and in the widths of published
// models; and what does not fit is refused by the plan.
func TestPlannedWithinBindings(t *testing.T) {
	const group = 512 + 8*512
	adapter := hf.AdapterConfig{Rank: 16, Alpha: 32}
	for _, c := range []struct {
		name                                       string
		family                                     string
		width, heads, kv, headDim, mlp, vocabulary int
		dtype                                      hf.Dtype
	}{ // https://huggingface.co: config.json of each
		{"SmolLM2-135M", "llama", 576, 9, 3, 64, 1536, 49152, ""},
		{"Qwen2.5-0.5B", "qwen2", 896, 14, 2, 64, 4864, 151936, ""},
		{"Llama-3.2-1B", "llama", 2048, 32, 8, 64, 8192, 128256, ""},
		{"Gemma-3-1B", "gemma3_text", 1152, 4, 1, 256, 6912, 262144, ""},
		{"Qwen3-0.6B", "qwen3", 1024, 16, 8, 128, 3072, 151936, ""},
		{"Qwen2.5-3B", "qwen2", 2048, 16, 2, 128, 11008, 151936, hf.BF16}, // gate and up are 172 MiB as float32
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := hf.Config{Family: c.family, Vocab: c.vocabulary, Width: c.width, Layers: 1, Heads: c.heads, KVHeads: c.kv, HeadDim: c.headDim, MLP: c.mlp,
				MaxPositions: 8192, NormEps: 0x1p-20, RopeTheta: 1e5, TieEmbeddings: true, InitStd: 0.02, Dtype: c.dtype}
			dev := &gputest.Paper{Limits: gpu.Caps{ID: "paper", Kind: gpu.CPU, Tier: gpu.TierLanes, Memory: 1 << 40, MaxBinding: 128 << 20, MaxAllocation: 1 << 30}}
			engine := sample.Options{Sequences: 32, Context: 1024, StepRows: 256}
			use := memory.Use{Positions: 1024, TrainRows: group, Recompute: true, Adapter: &adapter, Members: []memory.Member{{Kind: memory.Reference}}, Engine: &engine}
			plan, err := memory.Plan(cfg, dev.Limits, use)
			if err = errors.Join(err, plan.Fits(dev.Limits)); err != nil {
				t.Fatal(err)
			}
			m, err := model.NewFrozen(dev, cfg, use.Positions)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if err := m.AddAdapter(adapter, 1); err != nil {
				t.Fatal(err)
			}
			var seqs []seq.Sequence
			for range group / 512 {
				seqs = append(seqs, seq.Predict(make([]int, 512), 256, 1))
			}
			modeltest.TwoPasses(t, modeltest.TrainerOf(t, m, group, learn.Recompute), seqs)
			if _, err := modeltest.EngineOf(t, m, engine).Generate(context.Background(), sample.Request{Prompt: make([]int, 512), N: 8, MaxTokens: 2}); err != nil {
				t.Fatal(err)
			}
			if dev.Bound < 32<<20 {
				t.Errorf("no view is larger than %d bytes: nothing was recorded", dev.Bound)
			}

			engine.Sequences = 1 << 12
			plan, err = memory.Plan(cfg, dev.Limits, use)
			if err == nil {
				err = plan.Fits(dev.Limits)
			}
			if !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "key cache in one piece") {
				t.Errorf("a cache of 4096 sequences: %v", err)
			}
		})
	}
}
