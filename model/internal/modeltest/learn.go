package modeltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
)

// Train and score compute the statistics of given completions.
func Train(t *testing.T, m *model.Model, ps [][]int, of []sample.Completion, rows int) []sample.Completion {
	t.Helper()
	tr, err := learn.NewTrainer(m, rows)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	stats, err := tr.Forward(Sequences(ps, of))
	return Restated(t, of, stats, err)
}

// Score computes the statistics of completions by a scorer.
func Score(t *testing.T, m *model.Model, ps [][]int, of []sample.Completion, rows int) []sample.Completion {
	t.Helper()
	sc, err := m.NewScorer(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	stats, err := sc.Score(Sequences(ps, of))
	return Restated(t, of, stats, err)
}

// Sequences are prompts with their completions, whose tokens are predicted.
func Sequences(ps [][]int, of []sample.Completion) []seq.Sequence {
	seqs := make([]seq.Sequence, len(ps))
	for i, p := range ps {
		seqs[i] = seq.Predict(slices.Concat(p, of[i].IDs), len(p), 0.9)
	}
	return seqs
}

// Restated are completions with other statistics.
func Restated(t *testing.T, of []sample.Completion, stats []seq.Stats, err error) []sample.Completion {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]sample.Completion, len(of))
	for i, s := range stats {
		out[i] = sample.Completion{IDs: of[i].IDs, Logprob: s.Logprob, Entropy: s.Entropy}
	}
	return out
}

// FlatGradient is the gradient that a pass comes to, tensors one after the other.
func FlatGradient(t *testing.T, m *model.Model, seqs []seq.Sequence, rows int, pass func(*testing.T, *learn.Trainer, []seq.Sequence), options ...learn.Option) []float32 {
	t.Helper()
	tr := TrainerOf(t, m, rows, options...)
	pass(t, tr, seqs)
	return GradientOf(t, tr)
}

// TrainerOf is a trainer that is closed when the test ends; its value head is random.
func TrainerOf(t *testing.T, m *model.Model, rows int, options ...learn.Option) *learn.Trainer {
	t.Helper()
	tr, err := learn.NewTrainer(m, rows, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	if tr.ValueTensors() != nil { // zeros at first
		rng := rand.New(rand.NewPCG(5, 6))
		SetValue(t, tr, func(_ string, data []float32) {
			for i := range data {
				data[i] = float32(0.3 * rng.NormFloat64())
			}
		})
	}
	return tr
}

// SetValue edits the tensors of a trainer's value head.
func SetValue(t *testing.T, tr *learn.Trainer, edit func(name string, data []float32)) {
	t.Helper()
	tensors := tr.ValueTensors()
	for i, v := range tensors {
		data, err := v.Data()
		if err != nil {
			t.Fatal(err)
		}
		edit(v.Name, data)
		tensors[i].Data = func() ([]float32, error) { return data, nil }
	}
	ThroughFile(t, tensors, tr.SetValueTensors)
}

// SomeWeights differ by sequence and token.
func SomeWeights(seqs []seq.Sequence) []learn.Weights {
	return TokenWeights(seqs, func(i, j int) (a, b, c float64) { return float64(i%5) - 2, 0.1 * float64(j%3), 0.05 })
}

// Valued adds weights of values.
func Valued(weights []learn.Weights) []learn.Weights {
	for i := range weights {
		w := &weights[i]
		for j := range w.Logprob {
			w.Value = append(w.Value, 0.1*float64((i+2*j)%5-2))
		}
	}
	return weights
}

// TwoPasses computes all statistics before the first gradient.
func TwoPasses(t *testing.T, tr *learn.Trainer, seqs []seq.Sequence) {
	t.Helper()
	if _, err := tr.Forward(seqs); err != nil {
		t.Fatal(err)
	}
	weights := SomeWeights(seqs)
	if tr.ValueTensors() != nil {
		weights = Valued(weights)
	}
	if err := tr.Backward(weights); err != nil {
		t.Fatal(err)
	}
}

// OnePass goes batch by batch.
func OnePass(t *testing.T, tr *learn.Trainer, seqs []seq.Sequence) {
	t.Helper()
	weights := SomeWeights(seqs)
	err := tr.Accumulate(seqs, func(first int, stats []seq.Stats) ([]learn.Weights, error) {
		return weights[first : first+len(stats)], nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// GradientOf is the gradient of a trainer, tensors one after the other.
func GradientOf(t *testing.T, tr *learn.Trainer) []float32 {
	t.Helper()
	grads, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	for _, g := range grads {
		data, err := g.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// GradientSequences are sequences for a gradient, fewer where a device is slow.
func GradientSequences(dev gpu.Device) []seq.Sequence {
	n := 12
	if gputest.Slow(dev) {
		n = 6
	}
	var seqs []seq.Sequence
	for _, p := range Prompts(n, 40) {
		p = append(p, 3, 4, 5)
		seqs = append(seqs, seq.Predict(p, max(1, len(p)/3), 1))
	}
	return seqs
}

// TokenWeights are weights by sequence and predicted token.
func TokenWeights(seqs []seq.Sequence, weight func(i, j int) (a, b, c float64)) []learn.Weights {
	out := make([]learn.Weights, len(seqs))
	for i, s := range seqs {
		for j := range s.Predicted() {
			a, b, c := weight(i, j)
			out[i].Logprob = append(out[i].Logprob, a)
			out[i].Entropy = append(out[i].Entropy, b)
			out[i].MeanLogprob = append(out[i].MeanLogprob, c)
		}
	}
	return out
}

// Norm is the Euclidean norm of a, or of a - b.
func Norm(a, b []float32) float64 {
	s := 0.0
	for i, x := range a {
		d := float64(x)
		if b != nil {
			d -= float64(b[i])
		}
		s += d * d
	}
	return math.Sqrt(s)
}
