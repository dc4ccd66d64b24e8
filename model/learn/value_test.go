package learn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestValueBits: values have the same bits with any cut into batches, whether sequences
// share the rows of their beginnings or not, and where all statistics are computed before
// the first gradient; and the other statistics have the bits that they have without a
// value head.
func TestValueBits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.Small(t, dev, 64)
		seqs := slices.Concat(modeltest.Relatives(1, 9), modeltest.GradientSequences(dev)[:3])
		plain, err := modeltest.TrainerOf(t, m, 400).Forward(seqs)
		if err != nil {
			t.Fatal(err)
		}
		bitsOf := func(rows int, seqs []seq.Sequence) [][]float32 {
			tr := modeltest.TrainerOf(t, m, rows, learn.ValueHead)
			stats, err := tr.Forward(seqs)
			if err != nil {
				t.Fatal(err)
			}
			var once []seq.Stats
			if err := tr.Accumulate(seqs, func(first int, part []seq.Stats) ([]learn.Weights, error) {
				once = append(once, part...)
				return modeltest.Valued(modeltest.SomeWeights(seqs))[first : first+len(part)], nil
			}); err != nil {
				t.Fatal(err)
			}
			var out [][]float32
			for i := range stats {
				if !slices.Equal(modeltest.StatBits(stats[i]), modeltest.StatBits(plain[i])) {
					t.Errorf("%d rows, sequence %d: other log-probs than without a value head", rows, i)
				}
				if len(stats[i].Value) != len(stats[i].Logprob) || !modeltest.EqualFloats(once[i].Value, stats[i].Value) {
					t.Errorf("%d rows, sequence %d: %v before the gradient, %v with it", rows, i, stats[i].Value, once[i].Value)
				}
				out = append(out, stats[i].Value)
			}
			return out
		}
		want := bitsOf(400, seqs)
		for i, got := range bitsOf(90, modeltest.Apart(seqs)) {
			if !modeltest.EqualFloats(got, want[i]) {
				t.Errorf("sequence %d: %v in smaller batches, %v in one", i, got, want[i])
			}
		}
		if math.Abs(float64(want[0][0]-want[1][1])) == 0 {
			t.Error("the values do not differ: the test shows nothing")
		}
	})
}

// TestValueOfLogits: a head whose weights are the difference of two rows of the tied
// embedding says how much more likely one token is than the other, in nats; and b more
// with a bias.
//
// The final hidden state has a norm of at most sqrt(width), as the factors of the last norm
// are 1, so a product of K = width terms with a row is off by at most K u sqrt(width) |row|
// (Higham 2002, 3.1), each of the three. Statistics are log-probs, each rounded a few times
// at the size of the largest of them.
func TestValueOfLogits(t *testing.T) {
	const a, b, bias = 5, 17, 0.25
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.Small(t, dev, 64)
		tr, width := modeltest.TrainerOf(t, m, 200, learn.ValueHead), m.Config.Width
		table, err := m.Tensors()[0].Data()
		if err != nil {
			t.Fatal(err)
		}
		row := func(id int) []float32 { return table[id*width : (id+1)*width] }
		difference := make([]float32, width)
		modeltest.SetValue(t, tr, func(name string, data []float32) {
			if name == "value.bias" {
				data[0] = bias
				return
			}
			for i := range data {
				data[i] = row(a)[i] - row(b)[i]
			}
			copy(difference, data)
		})
		before := []int{9, 8, 7, 30}
		stats, err := tr.Forward([]seq.Sequence{seq.Predict(append(slices.Clone(before), a), 4, 1), seq.Predict(append(slices.Clone(before), b), 4, 1)})
		if err != nil {
			t.Fatal(err)
		}
		x, y := float64(stats[0].Logprob[0]), float64(stats[1].Logprob[0])
		products := math.Sqrt(float64(width)) * (modeltest.Norm(row(a), nil) + modeltest.Norm(row(b), nil) + modeltest.Norm(difference, nil))
		bound := math.Ldexp(float64(width+2)*products+8*(math.Abs(x)+math.Abs(y)+bias), -24)
		for i := range stats {
			if got, want := float64(stats[i].Value[0]), x-y+bias; math.Abs(got-want) > bound {
				t.Errorf("the value is %v, want %v, apart %.3g, bound %.3g", got, want, got-want, bound)
			}
		}
	})
}

// TestValueLearns: a head learns at its own rate, its state is read back to the bit, and a
// trainer without one refuses weights of values.
func TestValueLearns(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	m := modeltest.Small(t, dev, 64)
	seqs := modeltest.GradientSequences(dev)
	update := func(tr *learn.Trainer, lr, valueLR float64) {
		t.Helper()
		modeltest.TwoPasses(t, tr, seqs)
		if _, err := tr.Step(learn.Optimizer{LR: lr, ValueLR: valueLR, Beta1: 0.9, Beta2: 0.99, Eps: 0x1p-26, ClipNorm: 1}); err != nil {
			t.Fatal(err)
		}
	}
	tr := modeltest.TrainerOf(t, m, 400, learn.ValueHead)
	weights, head := modeltest.Flat(t, m.Tensors()), modeltest.Flat(t, tr.ValueTensors())
	if update(tr, 0, 0.01); !modeltest.EqualFloats(modeltest.Flat(t, m.Tensors()), weights) || modeltest.EqualFloats(modeltest.Flat(t, tr.ValueTensors()), head) {
		t.Error("with the rate 0 for the model and 0.01 for the head, the model moved or the head did not")
	}
	head = modeltest.Flat(t, tr.ValueTensors())
	if update(tr, 0.01, 0); modeltest.EqualFloats(modeltest.Flat(t, m.Tensors()), weights) || !modeltest.EqualFloats(modeltest.Flat(t, tr.ValueTensors()), head) {
		t.Error("with the rate 0 for the head and 0.01 for the model, the head moved or the model did not")
	}

	// Another trainer with the head and the moments of this one takes the same step.
	other := modeltest.TrainerOf(t, m, 400, learn.ValueHead)
	moments, updates := tr.OptimizerState()
	for _, file := range []struct {
		tensors []hf.NamedTensor
		use     func(*hf.TensorSet) error
	}{{tr.ValueTensors(), other.SetValueTensors}, {moments, func(ts *hf.TensorSet) error { return other.SetOptimizerState(ts, updates) }}} {
		modeltest.ThroughFile(t, file.tensors, file.use)
	}
	update(tr, 0, 0.01)
	update(other, 0, 0.01)
	if got, want := modeltest.Flat(t, other.ValueTensors()), modeltest.Flat(t, tr.ValueTensors()); !modeltest.EqualFloats(got, want) {
		t.Errorf("a head that was read back learns %v, want %v", got, want)
	}

	bare := modeltest.TrainerOf(t, m, 400)
	if _, err := bare.Forward(seqs); err != nil {
		t.Fatal(err)
	}
	if err := bare.Backward(modeltest.Valued(modeltest.SomeWeights(seqs))); err == nil {
		t.Error("a trainer without a value head took weights of values")
	}
}
