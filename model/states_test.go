package model_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/seq"
)

// TestStates: the state in a layer is what a model of only so many blocks has before its final norm: that
// norm, computed in plain Go of what the one says, gives what the other says after its last layer, within the
// bound of its roundings. States have the same bits alone, in a batch, in a group, and from a trainer; each is
// told once, in order.
func TestStates(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		cfg := modeltest.SmallConfig(hf.F32, hf.F32)
		cfg.Layers = 3
		m := statesModel(t, dev, cfg)
		seqs := modeltest.Apart(modeltest.Relatives(1, 5))
		for i := range seqs { // from the first token on, which no one predicts
			seqs[i].Spans[0].From = 0
		}
		grouped := slices.Clone(seqs)
		for i := range grouped {
			grouped[i].Group = 1
		}
		scorer, err := m.NewScorer(64)
		if err != nil {
			t.Fatal(err)
		}
		defer scorer.Close()
		trainer := modeltest.TrainerOf(t, m, 200)
		for layer := 1; layer <= cfg.Layers; layer++ {
			want := statesOf(t, seqs, layer, scorer.States)
			for i := range seqs {
				if alone := statesOf(t, seqs[i:i+1], layer, scorer.States); !modeltest.EqualFloats(alone[0], want[i]) {
					t.Errorf("layer %d, sequence %d has other bits alone", layer, i)
				}
			}
			for name, got := range map[string][][]float32{"in a group": statesOf(t, grouped, layer, scorer.States), "of a trainer": statesOf(t, grouped, layer, trainer.States)} {
				for i := range want {
					if !modeltest.EqualFloats(got[i], want[i]) {
						t.Errorf("layer %d, sequence %d %s has other bits", layer, i, name)
					}
				}
			}
			short := cfg
			short.Layers = layer
			got := statesOfShort(t, m, short, seqs)
			if layer == cfg.Layers {
				if last := statesOf(t, seqs, 0, scorer.States); !slices.EqualFunc(got, want, modeltest.EqualFloats) || !slices.EqualFunc(got, last, modeltest.EqualFloats) {
					t.Error("the last layer of an equal model has other bits")
				}
				continue
			}
			for i, norms := range normed(t, m, want) {
				for k, y := range norms {
					if diff := math.Abs(float64(got[i][k]) - y.X); !(diff <= y.Err) {
						t.Fatalf("layer %d, sequence %d, number %d: %v, want %v: difference %.3g, bound %.3g", layer, i, k, got[i][k], y.X, diff, y.Err)
					}
				}
			}
		}
		if err := scorer.States(seqs, 4, func(int, [][]float32) error { return nil }); err == nil || err.Error() != "layer 4; accepted: 1 to 3" {
			t.Errorf("a layer that the model has not: %v", err)
		}
	})
}

// TestFewRead: the last block is computed for the rows that are read alone where they are few. Statistics and last states
// have the bits that they have where every row is read, for every part of every family, with adapters and in every storage,
// in groups and apart.
func TestFewRead(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		half := modeltest.Quirk{Name: "qwen3 with keys in bf16", Config: modeltest.SmallConfig(hf.F32, hf.BF16), Typical: true}
		for _, q := range append(modeltest.QuirkModels(), half) {
			if !q.Typical && !gputest.Long() {
				continue
			}
			t.Run(q.Name, func(t *testing.T) {
				m := q.Open(t, dev)
				every := modeltest.Apart(modeltest.Relatives(1, 5))
				few, grouped := slices.Clone(every), slices.Clone(every)
				for i, s := range every {
					n := len(s.IDs)
					every[i].Spans, few[i].Spans, grouped[i].Spans = []seq.Span{{From: 1, To: n}}, []seq.Span{{From: n - 1, To: n}}, []seq.Span{{From: n - 1, To: n}}
					grouped[i].Group = 1
				}
				scorer, err := m.NewScorer(200)
				if err != nil {
					t.Fatal(err)
				}
				defer scorer.Close()
				last := func(of []seq.Sequence) (out [][]uint32) {
					t.Helper()
					stats, err := scorer.Score(of)
					if err != nil {
						t.Fatal(err)
					}
					states := statesOf(t, of, 0, scorer.States)
					for i, s := range stats {
						k := len(s.Logprob) - 1
						bits := modeltest.StatBits(seq.Stats{Logprob: s.Logprob[k:], Entropy: s.Entropy[k:], MeanLogprob: s.MeanLogprob[k:]})
						for _, x := range states[i][len(states[i])-m.Config.Width:] {
							bits = append(bits, math.Float32bits(x))
						}
						out = append(out, bits)
					}
					return out
				}
				want := last(every)
				for name, of := range map[string][]seq.Sequence{"apart": few, "in a group": grouped} {
					for i, got := range last(of) {
						if !slices.Equal(got, want[i]) {
							t.Errorf("sequence %d %s has other bits than where every row is read", i, name)
						}
					}
				}
			})
		}
	})
}

func statesModel(t *testing.T, dev gpu.Device, cfg hf.Config) *model.Model {
	t.Helper()
	m, err := model.New(dev, cfg, 7, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// statesOf are the states of sequences, those of its tokens one after the other.
func statesOf(t *testing.T, seqs []seq.Sequence, layer int, states func([]seq.Sequence, int, func(int, [][]float32) error) error) [][]float32 {
	t.Helper()
	var out [][]float32
	err := states(seqs, layer, func(i int, states [][]float32) error {
		if i != len(out) || len(states) != seqs[i].Predicted() {
			return fmt.Errorf("sequence %d after %d, with %d states of %d tokens", i, len(out), len(states), seqs[i].Predicted())
		}
		out = append(out, slices.Concat(states...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// statesOfShort are the last states of a model that has only the first blocks of another.
func statesOfShort(t *testing.T, m *model.Model, cfg hf.Config, seqs []seq.Sequence) [][]float32 {
	t.Helper()
	short := statesModel(t, m.Device(), cfg)
	modeltest.ThroughFile(t, slices.DeleteFunc(m.Tensors(), func(v hf.NamedTensor) bool {
		return !slices.ContainsFunc(short.Tensors(), func(own hf.NamedTensor) bool { return own.Name == v.Name })
	}), short.SetTensors)
	scorer, err := short.NewScorer(200)
	if err != nil {
		t.Fatal(err)
	}
	defer scorer.Close()
	return statesOf(t, seqs, cfg.Layers, scorer.States)
}

// normed is the final norm of states, with what a device may be off by.
func normed(t *testing.T, m *model.Model, states [][]float32) [][]oracle.Value {
	t.Helper()
	var weight []float32
	for _, v := range m.Tensors() {
		if strings.HasSuffix(v.Name, "model.norm.weight") {
			weight = modeltest.Flat(t, []hf.NamedTensor{v})
		}
	}
	width, eps := m.Config.Width, oracle.Exact(float32(m.Config.NormEps))
	out := make([][]oracle.Value, len(states))
	for i, all := range states {
		for x := range slices.Chunk(all, width) {
			row := make([]oracle.Value, width)
			for k := range x {
				row[k] = oracle.Exact(x[k])
			}
			scale := oracle.RSqrt(oracle.Add(oracle.Div(oracle.Dot(row, row), oracle.Exact(float32(width))), eps))
			for k := range row {
				out[i] = append(out[i], oracle.Mul(oracle.Mul(row[k], scale), oracle.Exact(weight[k])))
			}
		}
	}
	return out
}
