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
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestAverage: the average of a model, or of its adapter, is at first what they are, then
// follows the weights of each update. It scores as a model with its weights does, and comes
// back from a file to the bit.
//
// A number is dst + share*(src - dst): three roundings of at most |dst| + |src| each.
func TestAverage(t *testing.T) {
	const share = 0.25
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		quirks := modeltest.QuirkModels()
		half := modeltest.Quirk{Name: "gemma3 in bf16", Config: quirks[2].Config}
		for _, q := range []modeltest.Quirk{quirks[0], half, quirks[2]} {
			t.Run(q.Name, func(t *testing.T) {
				m := q.Open(t, dev)
				tr := modeltest.TrainerOf(t, m, 400)
				a, err := learn.NewAverage(m)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(a.Close)
				if !modeltest.EqualFloats(modeltest.Flat(t, a.Tensors()), trainedOf(t, m)) {
					t.Error("it is not what the model is")
				}
				seqs := modeltest.GradientSequences(dev)[:4]
				want := modeltest.Flat(t, a.Tensors())
				for range 2 {
					modeltest.TwoPasses(t, tr, seqs)
					if _, err := tr.Step(learn.Optimizer{LR: 1.0 / 64, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
						t.Fatal(err)
					}
					if err := a.Follow(share); err != nil {
						t.Fatal(err)
					}
					now, got := trainedOf(t, m), modeltest.Flat(t, a.Tensors())
					for i, x := range want {
						exact := float64(x) + share*(float64(now[i])-float64(x))
						if d := math.Abs(float64(got[i]) - exact); d > math.Ldexp(math.Abs(float64(x))+math.Abs(float64(now[i])), -22) {
							t.Fatalf("number %d is %v, want %v", i, got[i], exact)
						}
					}
					if slices.Equal(got, want) {
						t.Error("it does not follow")
					}
					want = got
				}
				compareAverage(t, q, m, a, seqs)
			})
		}
	})
}

// trainedOf are the numbers that are trained of a model.
func trainedOf(t *testing.T, m *model.Model) []float32 {
	t.Helper()
	if adapter := m.AdapterTensors(); adapter != nil {
		return modeltest.Flat(t, adapter)
	}
	return modeltest.Flat(t, m.Tensors())
}

// compareAverage holds what the average scores against a model with its weights.
func compareAverage(t *testing.T, q modeltest.Quirk, m *model.Model, a *learn.Average, seqs []seq.Sequence) {
	t.Helper()
	scoresOf := func(open func(rows int) (*model.Scorer, error)) [][]uint32 {
		sc, err := open(400)
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		stats, err := sc.Score(seqs)
		if err != nil {
			t.Fatal(err)
		}
		var bits [][]uint32
		for _, s := range stats {
			bits = append(bits, modeltest.StatBits(s))
		}
		return bits
	}
	same := func(x, y [][]uint32) bool { return slices.EqualFunc(x, y, slices.Equal) }
	got := scoresOf(a.Model.NewScorer)
	if same(got, scoresOf(m.NewScorer)) {
		t.Error("the average scores as the model does: the test shows nothing")
	}
	other := q.Open(t, m.Device())
	set := other.SetTensors
	if q.Adapter != nil {
		set = other.SetAdapterTensors
	}
	modeltest.ThroughFile(t, a.Tensors(), set)
	if !same(got, scoresOf(other.NewScorer)) {
		t.Error("a model with the weights of the average scores otherwise")
	}
	if err := a.Reset(); err != nil {
		t.Fatal(err)
	}
	if !same(scoresOf(a.Model.NewScorer), scoresOf(m.NewScorer)) {
		t.Error("after a reset the average scores otherwise than the model")
	}
	var kept []hf.NamedTensor
	if kept = other.AdapterTensors(); kept == nil {
		kept = other.Tensors()
	}
	modeltest.ThroughFile(t, kept, a.SetTensors)
	if !same(scoresOf(a.Model.NewScorer), got) {
		t.Error("an average that was read back scores otherwise")
	}
}
