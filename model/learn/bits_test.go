package learn_test

import (
	"fmt"
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

// TestGradientBits: the gradient has the same bits however the batch is cut.
func TestGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			m := modeltest.Small(t, dev, 128)
			n, passes := 20, []func(*testing.T, *learn.Trainer, []seq.Sequence){modeltest.TwoPasses, modeltest.OnePass}
			if gputest.Slow(dev) {
				n, passes = 8, passes[1:]
			}
			var seqs []seq.Sequence
			for _, p := range modeltest.Prompts(n, 40) {
				p = append(p, 3, 4, 5)
				seqs = append(seqs, seq.Predict(p, max(1, len(p)/3), 1))
			}
			seqs[3].Spans = []seq.Span{{From: 2, To: 4}, {From: 4, To: 4}, {From: 6, To: 7}}               // tokens between two turns are read, not learnt
			seqs = slices.Concat(seqs[:7], modeltest.Relatives(1, 5), modeltest.Relatives(2, 6), seqs[7:]) // with 64 predicted tokens each
			var want []float32
			for _, rows := range []int{2000, 130, 64} {
				for _, pass := range passes {
					got := modeltest.FlatGradient(t, m, seqs, rows, pass)
					if want == nil {
						want = got
						continue
					}
					for i := range want {
						if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
							t.Fatalf("batches of %d rows: element %d is %v, was %v", rows, i, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

// TestSlabGradientBits: the gradient has the same bits whether the vocabulary's
// table fits one binding or is cut into slabs. One slab has 2048 rows, one 452.
func TestSlabGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			cfg := modeltest.SmallConfig(hf.F32, hf.F32)
			cfg.Vocab = 2500
			var seqs []seq.Sequence
			for _, p := range modeltest.Prompts(3, 20) {
				seqs = append(seqs, seq.Predict(append(p, 2300, 4, 2499), 1, 1))
			}
			whole, cut := modeltest.ModelOn(t, dev, cfg), modeltest.ModelOn(t, modeltest.Narrow{Device: dev, MaxBinding: 2048 * ((cfg.Width + 7) / 8 * 8) * 4}, cfg)
			if n := slabsOf(cut); n != 2 || slabsOf(whole) != 1 {
				t.Fatalf("the table is cut into %d slabs, the test wants 2", n)
			}
			modeltest.Give(t, cut, whole) // a slab has a random stream of its own
			want, got := modeltest.FlatGradient(t, whole, seqs, 100, modeltest.TwoPasses), modeltest.FlatGradient(t, cut, seqs, 100, modeltest.TwoPasses)
			for i := range want {
				if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
					t.Fatalf("element %d is %v in slabs, %v in one table", i, got[i], want[i])
				}
			}
		})
	}
}

// slabsOf is into how many parts the embedding of a model is cut.
func slabsOf(m *model.Model) int {
	n := 0
	for _, p := range m.Decoder().Layout.Pieces {
		if p.Name == hf.EmbedName {
			n++
		}
	}
	return n
}

// TestPanelGradientBits: the gradient has the same bits in however many dispatches
// long sums are added up.
func TestPanelGradientBits(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		for _, dtype := range []hf.Dtype{hf.F32, hf.BF16} {
			t.Run(fmt.Sprint(dev.Caps().ID, " ", dev.Caps().Tier, " ", dtype), func(t *testing.T) {
				cfg := modeltest.SmallConfig(dtype, hf.F32)
				cfg.Vocab, cfg.MLP = 200, 60
				m := modeltest.ModelOn(t, dev, cfg)
				n, panels := 12, []int{0, 64, 128}
				if gputest.Slow(dev) {
					n, panels = 6, panels[:2]
				}
				var seqs []seq.Sequence
				for _, p := range modeltest.Prompts(n, 40) {
					seqs = append(seqs, seq.Predict(append(p, 199, 4, 5), 1, 1))
				}
				var want []float32
				for _, panel := range panels {
					tr := modeltest.TrainerOf(t, m, 1000)
					tr.SetPanel(panel)
					modeltest.TwoPasses(t, tr, seqs)
					got := modeltest.GradientOf(t, tr)
					if want == nil {
						want = got
					}
					for i := range want {
						if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
							t.Fatalf("panels of %d products: element %d is %v, is %v without", panel, i, got[i], want[i])
						}
					}
				}
			})
		}
	}
}

// TestSharedGradient: where the loss weighs one sequence of a group alone, the gradient is
// that of the sequence without its group, exactly: the others add zeros to each sum. What
// a loss of several adds up to is held against finite differences (grad_test.go).
func TestSharedGradient(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		windowed := modeltest.Quirks()["gemma3"]
		windowed.Window = 19 // one sequence is longer
		for name, m := range map[string]*model.Model{"qwen3": modeltest.Small(t, dev, 64), "a window": modeltest.Quirk{Name: "a window", Config: windowed}.Open(t, dev)} {
			group := modeltest.Relatives(1, 9)
			for _, i := range []int{0, 4, 5, 6} { // the first; a leaf; two that end where others go on
				alone := modeltest.Apart(group[i : i+1])
				want := weighted(t, m, alone, modeltest.Valued(modeltest.SomeWeights(alone)))
				weights := make([]learn.Weights, len(group))
				weights[i] = modeltest.Valued(modeltest.SomeWeights(alone))[0]
				got := weighted(t, m, group, weights)
				for j := range want {
					if got[j] != want[j] {
						t.Fatalf("%s, sequence %d: element %d of the gradient is %v in its group, %v alone", name, i, j, got[j], want[j])
					}
				}
			}
		}
	})
}

// weighted is the gradient of weighted sequences, with a value head.
func weighted(t *testing.T, m *model.Model, seqs []seq.Sequence, weights []learn.Weights) []float32 {
	t.Helper()
	return modeltest.FlatGradient(t, m, seqs, 100, func(t *testing.T, tr *learn.Trainer, seqs []seq.Sequence) {
		err := tr.Accumulate(seqs, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
			return weights[first : first+len(stats)], nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}, learn.ValueHead)
}

// TestCutBits: the gradient has the same bits whether the MLP sees all rows at once or in
// runs of 64, of the model and of an adapter.
func TestCutBits(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes seconds for each device")
	}
	var seqs []seq.Sequence
	rows := 0
	for _, p := range modeltest.Prompts(12, 40) {
		seqs = append(seqs, seq.Predict(append(p, 3, 4, 5), 1, 1))
		rows += len(p) + 3
	}
	if rows < 3*64 {
		t.Fatalf("%d rows are too few", rows)
	}
	for _, dev := range gputest.Devices(t) {
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			for _, cfg := range modeltest.Quirks() {
				for _, adapted := range []bool{false, true} {
					whole, cut := modeltest.ModelOn(t, dev, cfg), modeltest.ModelOn(t, dev, cfg)
					cut.Decoder().Layout.MaxBinding = 1
					for _, m := range []*model.Model{whole, cut} {
						if adapted {
							if err := m.AddAdapter(hf.AdapterConfig{Rank: 3, Alpha: 6}, 1); err != nil {
								t.Fatal(err)
							}
						}
					}
					if !modeltest.EqualFloats(modeltest.FlatGradient(t, cut, seqs, rows, modeltest.TwoPasses, learn.Recompute), modeltest.FlatGradient(t, whole, seqs, rows, modeltest.TwoPasses)) {
						t.Errorf("%s, adapter %v: other bits in runs of rows", cfg.Family, adapted)
					}
				}
			}
		})
	}
}
