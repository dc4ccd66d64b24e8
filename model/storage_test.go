package model_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
)

// TestRoundedWeights: a bf16 model computes what an f32 one with the rounded
// weights does, frozen or not: tokens, log-probs, entropies and gradients have the
// same bits.
func TestRoundedWeights(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		trained := modeltest.SmallAs(t, dev, 64, hf.BF16, hf.F32)
		frozen, err := model.NewFrozen(dev, trained.Config, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer frozen.Close()
		if err := frozen.CopyFrom(trained); err != nil {
			t.Fatal(err)
		}
		plain := modeltest.Small(t, dev, 64)
		before := modeltest.Completions(t, plain)
		modeltest.Give(t, plain, frozen)
		want := modeltest.Completions(t, plain)
		if modeltest.HashTokens(before) == modeltest.HashTokens(want) {
			t.Fatal("rounding the weights changed nothing: this test can show nothing")
		}
		for name, m := range map[string]*model.Model{"trained": trained, "frozen": frozen} {
			if got := modeltest.Completions(t, m); modeltest.HashTokens(got) != modeltest.HashTokens(want) {
				t.Errorf("%s: other completions than with rounded weights in f32%s", name, modeltest.FirstOther(got, want))
			}
		}
		seqs := modeltest.GradientSequences(dev)
		if !modeltest.EqualFloats(modeltest.FlatGradient(t, trained, seqs, 130, modeltest.TwoPasses), modeltest.FlatGradient(t, plain, seqs, 130, modeltest.TwoPasses)) {
			t.Error("the gradient is not that of the rounded weights")
		}
		if _, err := learn.NewTrainer(frozen, 64); err == nil {
			t.Error("a frozen model is trained")
		}
		if err := trained.CopyFrom(frozen); err == nil {
			t.Error("a model takes its float32 parameters from a frozen one that has none")
		}
	})
}
