package learn_test

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestRoundedKeys: with keys and values in bf16 statistics and gradient are those
// of a float32 model whose keys and values are rounded in place after the
// rotation: what is rounded counts in the forward pass, and the gradient goes
// through the rounding as it is.
func TestRoundedKeys(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		seqs := modeltest.GradientSequences(dev)
		gradient := func(m *model.Model, forward func(*learn.Trainer) []seq.Stats) ([]float32, []seq.Stats) {
			tr, err := learn.NewTrainer(m, 400)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			stats := forward(tr)
			ws := modeltest.TokenWeights(seqs, func(i, j int) (a, b, c float64) { return float64(i%5) - 2, 0.1 * float64(j%3), 0.05 })
			if err := tr.Backward(ws); err != nil {
				t.Fatal(err)
			}
			return modeltest.GradientOf(t, tr), stats
		}
		plain := func(tr *learn.Trainer) []seq.Stats {
			stats, err := tr.Forward(seqs)
			if err != nil {
				t.Fatal(err)
			}
			return stats
		}
		got, gotStats := gradient(modeltest.SmallAs(t, dev, 64, hf.F32, hf.BF16), plain)
		without, _ := gradient(modeltest.Small(t, dev, 64), plain)
		want, wantStats := gradient(modeltest.Small(t, dev, 64), func(tr *learn.Trainer) []seq.Stats {
			stats, err := tr.ForwardRounding(seqs)
			if err != nil || len(stats) != len(seqs) {
				t.Fatal(len(stats), err)
			}
			return stats
		})
		if !modeltest.EqualFloats(got, want) {
			t.Error("the gradient is not that of rounded keys and values")
		}
		if modeltest.EqualFloats(without, want) {
			t.Error("rounding changed nothing: this test can show nothing")
		}
		for i := range wantStats {
			if !modeltest.EqualFloats(gotStats[i].Logprob, wantStats[i].Logprob) || !modeltest.EqualFloats(gotStats[i].Entropy, wantStats[i].Entropy) {
				t.Fatalf("sequence %d: other statistics than with rounded keys and values", i)
			}
		}
	})
}

// TestStepRoundsAgain: after an update the passes read the new weights, rounded
// once, and what is saved are the float32 ones.
func TestStepRoundsAgain(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.SmallAs(t, dev, 64, hf.BF16, hf.BF16)
		before := modeltest.Completions(t, m)
		tr, err := learn.NewTrainer(m, 400)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		seqs := modeltest.GradientSequences(dev)
		if _, err := tr.Forward(seqs); err != nil {
			t.Fatal(err)
		}
		if err := tr.Backward(modeltest.TokenWeights(seqs, func(i, j int) (a, b, c float64) { return -1, 0, 0 })); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(learn.Optimizer{LR: 1.0 / 1024, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
			t.Fatal(err)
		}
		after := modeltest.Completions(t, m)
		if modeltest.HashTokens(after) == modeltest.HashTokens(before) {
			t.Error("an update changed nothing")
		}
		again := modeltest.SmallAs(t, dev, 64, hf.BF16, hf.BF16)
		modeltest.Give(t, again, m)
		if got := modeltest.Completions(t, again); modeltest.HashTokens(got) != modeltest.HashTokens(after) {
			t.Errorf("a model with the saved parameters samples otherwise%s", modeltest.FirstOther(got, after))
		}
		exact := 0
		for _, p := range m.Tensors() {
			data, err := p.Data()
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range data {
				if math.Float32bits(x)&0xffff == 0 {
					exact++
				}
			}
		}
		if total := m.Config.Parameters(); exact > total/10 {
			t.Errorf("%d of %d saved parameters are bf16: they should be those that the optimizer keeps", exact, total)
		}
	})
}
