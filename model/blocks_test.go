package model_test

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
)

// blockedModel is a frozen model in blocks with a random adapter, and a float32 one with
// the numbers that the blocks stand for. Its gate and up together have 640 rows, more than
// a panel of the backward pass, so that the second panel begins inside their factors.
func blockedModel(t *testing.T, dev gpu.Device, dtype hf.Dtype) (blocked, plain *model.Model) {
	t.Helper()
	cfg := hf.Config{Family: "qwen2", Vocab: 61, Width: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 320,
		MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3}
	plain = modeltest.ModelOn(t, dev, cfg)
	exact := modeltest.Flat(t, plain.Tensors())
	blocked = modeltest.Packed(t, plain, dtype)
	modeltest.Give(t, plain, blocked)
	if modeltest.EqualFloats(modeltest.Flat(t, plain.Tensors()), exact) {
		t.Fatal("quantising the weights changed nothing: this test can show nothing")
	}
	for _, m := range []*model.Model{blocked, plain} {
		modeltest.Adapt(t, m, hf.AdapterConfig{Rank: 4, Alpha: 2})
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
			want := modeltest.Completions(t, plain)
			if got := modeltest.Completions(t, blocked); modeltest.HashTokens(got) != modeltest.HashTokens(want) {
				t.Errorf("%s: other completions than with its numbers in float32%s", dtype, modeltest.FirstOther(got, want))
			}
			if got := modeltest.Train(t, blocked, modeltest.Completed(dev), want, 100); modeltest.HashTokens(got) != modeltest.HashTokens(want) {
				t.Errorf("%s: the trainer computes other bits than the sampler%s", dtype, modeltest.FirstOther(got, want))
			}
			seqs := modeltest.GradientSequences(dev)
			if !modeltest.EqualFloats(modeltest.FlatGradient(t, blocked, seqs, 130, modeltest.TwoPasses, learn.Recompute), modeltest.FlatGradient(t, plain, seqs, 130, modeltest.TwoPasses)) {
				t.Errorf("%s: another gradient than with its numbers in float32", dtype)
			}
		}
	})
}

// TestBlockedRefused: what blocks cannot be used for is refused by name.
func TestBlockedRefused(t *testing.T) {
	dev := gputest.Devices(t)[len(gputest.Devices(t))-1]
	cfg := modeltest.SmallConfig(hf.Q8, hf.F32)
	if _, err := model.NewFrozen(dev, cfg, 64); err == nil || !strings.Contains(err.Error(), "hidden_size 36, intermediate_size 44 and the heads' width 72") {
		t.Errorf("widths that are no multiples of 32: %v", err)
	}
	cfg.Width, cfg.MLP, cfg.HeadDim = 32, 32, 8
	if _, err := model.New(dev, cfg, 1, 64); err == nil || !strings.Contains(err.Error(), "an adapter that is trained") {
		t.Errorf("a model in blocks that is to be trained: %v", err)
	}
	if _, err := memory.Plan(cfg, gpu.Caps{MaxBinding: 1 << 27}, memory.Use{Positions: 8, TrainRows: 8}); err == nil {
		t.Error("the plan of a model in blocks that is to be trained")
	}
	cfg.KVDtype = hf.Q8
	if err := cfg.Complete(); err == nil || !strings.Contains(err.Error(), "accepted: f32, bf16") {
		t.Errorf("keys and values in blocks: %v", err)
	}
}
