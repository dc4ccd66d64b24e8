package learn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestLentMemory: scorers that write where a trainer does have the bits of those with memory of their own, in any order,
// after passes that left NaN in all of it, and the gradient between their passes has the bits that it has without
// them.
func TestLentMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, options := range [][]learn.Option{nil, {learn.Recompute, learn.ValueHead}} {
			open := func(seed uint64) *model.Model {
				m, err := model.New(dev, modeltest.SmallConfig(hf.F32, hf.F32), seed, 64)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(m.Close)
				return m
			}
			policy, other, broken := open(7), open(8), open(9)
			modeltest.Change(t, &broken.Decoder().Layout.Set, broken.Decoder().Params, func(_ tensors.Piece, data []float32) {
				for i := range data {
					data[i] = float32(math.NaN())
				}
			})
			seqs := modeltest.GradientSequences(dev)
			weights := modeltest.SomeWeights(seqs)
			bits := func(score func([]seq.Sequence) ([]seq.Stats, error)) (all []uint32) {
				t.Helper()
				stats, err := score(seqs)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range stats {
					all = append(all, modeltest.StatBits(seq.Stats{Logprob: s.Logprob, Entropy: s.Entropy, MeanLogprob: s.MeanLogprob})...)
				}
				return all
			}
			own, err := other.NewScorer(400)
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			want := bits(own.Score)
			gradient := func(between func(tr *learn.Trainer)) []float32 {
				tr := modeltest.TrainerOf(t, policy, 400, options...)
				if _, err := tr.Forward(seqs); err != nil {
					t.Fatal(err)
				}
				between(tr)
				if err := tr.Backward(weights); err != nil {
					t.Fatal(err)
				}
				return modeltest.GradientOf(t, tr)
			}
			plain := gradient(func(*learn.Trainer) {})
			mixed := gradient(func(tr *learn.Trainer) {
				a, nan := tr.NewScorer(other, false), tr.NewScorer(broken, false)
				defer a.Close()
				defer nan.Close()
				for range 2 {
					if dirty := bits(nan.Score); !slices.ContainsFunc(dirty, func(b uint32) bool { x := math.Float32frombits(b); return x != x }) {
						t.Error("a broken model leaves no NaN")
					}
					if !slices.Equal(bits(a.Score), want) {
						t.Error("a scorer in the trainer's memory has other bits")
					}
				}
				bits(nan.Score)
			})
			if !modeltest.EqualFloats(plain, mixed) {
				t.Error("passes of others change the gradient")
			}
		}
	})
}
