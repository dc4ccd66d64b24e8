package learn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestInfluence: the influence of each token is the sum over all pairs in float64, from the hidden states and
// the output table, within the bound of the device's roundings: with a tied table and one of its own, in slabs,
// of an adapter, in one batch and in several. The own influences of all tokens, weighted, sum to a square. No
// gradient is left behind.
func TestInfluence(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		cfg := modeltest.SmallConfig(hf.F32, hf.F32)
		untied := cfg
		untied.TieEmbeddings = false
		t.Run("tied", func(t *testing.T) { influence(t, modeltest.ModelOn(t, dev, cfg), 64) })
		t.Run("many in a batch", func(t *testing.T) { influence(t, modeltest.ModelOn(t, dev, cfg), 640) })
		t.Run("in several batches", func(t *testing.T) { influence(t, modeltest.ModelOn(t, dev, cfg), 24) })
		if gputest.Slow(dev) {
			return
		}
		t.Run("a table of its own", func(t *testing.T) { influence(t, modeltest.ModelOn(t, dev, untied), 64) })
		t.Run("in slabs", func(t *testing.T) {
			cfg.Vocab = 2061 // a slab has 2,048 rows
			influence(t, modeltest.ModelOn(t, modeltest.Narrow{Device: dev, MaxBinding: 2048 * 40 * 4}, cfg), 64)
		})
		t.Run("an adapter", func(t *testing.T) {
			m := modeltest.ModelOn(t, dev, untied)
			modeltest.Adapt(t, m, hf.AdapterConfig{Rank: 3, Alpha: 2})
			if _, err := modeltest.TrainerOf(t, m, 64).Influence(nil, nil); err == nil || !strings.Contains(err.Error(), "without Influence") {
				t.Errorf("a trainer without room for it: %v", err)
			}
			influence(t, m, 64, learn.Influence)
		})
	})
}

func influence(t *testing.T, m *model.Model, rows int, options ...learn.Option) {
	tr := modeltest.TrainerOf(t, m, rows, options...)
	var seqs []seq.Sequence
	var x [][]float64
	for i, s := range modeltest.Relatives(1, 4)[:4] {
		if s.Group = 0; rows > 60 {
			s.Group = 1
		}
		s.Temperature = 1 + 0.5*float64(i%2)
		seqs = append(seqs, s)
		x = append(x, nil)
		for j := range s.Predicted() {
			x[i] = append(x[i], []float64{1, 0, -0.5}[(i+j)%3])
		}
	}
	sets, by := [][]seq.Sequence{seqs}, [][][]float64{x}
	all, err := tr.Influence(sets, by)
	if err != nil {
		t.Fatal(err)
	}
	got := all[0]
	want := pairsOf(t, m, tr, seqs, slices.Concat(x...))
	square := 0.0
	for i, v := range slices.Concat(got...) {
		if diff := math.Abs(v - want[i].X); !(diff <= want[i].Err) {
			t.Errorf("token %d: %v, want %v: difference %.3g, bound %.3g", i, v, want[i].X, diff, want[i].Err)
		}
		square += slices.Concat(x...)[i] * v
	}
	if !(square > 0) {
		t.Errorf("the square of a gradient is %v", square)
	}
	grads, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(modeltest.Flat(t, grads), func(g float32) bool { return g != 0 }) {
		t.Error("a gradient is left behind")
	}
	// Again, beside others of which a batch holds some: one with nothing to predict, and each sequence alone.
	last := seqs[3]
	last.Spans = nil
	sets, by = append(sets, []seq.Sequence{last}, seqs), append(by, [][]float64{nil}, x)
	var alone [][][]float64
	for i, s := range seqs {
		one, err := tr.Influence([][]seq.Sequence{{s}}, [][][]float64{{x[i]}})
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, one[0])
		sets, by = append(sets, []seq.Sequence{s}), append(by, [][]float64{x[i]})
	}
	all, err = tr.Influence(sets, by)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range append([][][]float64{got, {nil}, got}, alone...) {
		if !slices.EqualFunc(all[k], want, slices.Equal) {
			t.Errorf("set %d beside others: %v, want %v", k, all[k], want)
		}
	}
}

// pairsOf are the sums over pairs, and what a device may be off by that goes through a sum of gradients.
func pairsOf(t *testing.T, m *model.Model, tr *learn.Trainer, seqs []seq.Sequence, x []float64) []oracle.Value {
	t.Helper()
	width := m.Config.Width
	var table [][]oracle.Value
	for _, v := range m.Tensors() {
		if v.Name == hf.HeadName || m.Config.TieEmbeddings && v.Name == hf.EmbedName {
			for row := range slices.Chunk(modeltest.Flat(t, []hf.NamedTensor{v}), width) {
				table = append(table, exactly(row))
			}
		}
	}
	before := slices.Clone(seqs) // the states of which the tokens are predicted are those that the tokens before them leave
	var targets []int
	var temperatures []float64
	for i, s := range seqs {
		before[i].Spans = nil
		for _, span := range s.Spans {
			before[i].Spans = append(before[i].Spans, seq.Span{From: span.From - 1, To: span.To - 1})
			for _, id := range s.IDs[span.From:span.To] {
				targets, temperatures = append(targets, id), append(temperatures, s.Temperature)
			}
		}
	}
	var h [][]oracle.Value
	err := tr.States(before, m.Config.Layers, func(_ int, states [][]float32) error {
		for _, s := range states {
			h = append(h, exactly(s))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d := make([][]oracle.Value, len(h)) // gradients of log-probs by logits
	for i := range h {
		cool := oracle.Exact(float32(1 / temperatures[i]))
		var z []oracle.Value
		top := math.Inf(-1)
		for _, row := range table {
			z = append(z, oracle.Mul(oracle.Dot(h[i], row), cool))
			top = max(top, z[len(z)-1].X)
		}
		var terms []oracle.Value
		for _, v := range z {
			terms = append(terms, oracle.Exp(oracle.Sub(v, oracle.Value{X: top})))
		}
		lse := oracle.Add(oracle.Value{X: top}, oracle.Log(oracle.Sum(terms)))
		for v := range z {
			is := oracle.Exact(0)
			if v == targets[i] {
				is = oracle.Exact(1)
			}
			d[i] = append(d[i], oracle.Mul(cool, oracle.Sub(is, oracle.Exp(oracle.Sub(z[v], lse)))))
		}
	}
	sum := make([][]oracle.Value, len(table)) // of the gradients, as the device has it
	for v := range sum {
		for k := range width {
			var a, b []oracle.Value
			for j := range h {
				a, b = append(a, d[j][v]), append(b, oracle.Mul(oracle.Exact(float32(x[j])), h[j][k]))
			}
			sum[v] = append(sum[v], oracle.Dot(a, b))
		}
	}
	out := make([]oracle.Value, len(h))
	for i := range h {
		for k := range width {
			column := make([]oracle.Value, len(sum))
			for v := range sum {
				column[v] = sum[v][k]
			}
			dh := oracle.Dot(d[i], column)
			out[i].Err += math.Abs(h[i][k].X) * dh.Err
		}
		for j := range h {
			out[i].X += x[j] * inner(h[i], h[j]) * inner(d[i], d[j])
		}
	}
	return out
}

func exactly(x []float32) []oracle.Value {
	out := make([]oracle.Value, len(x))
	for i, v := range x {
		out[i] = oracle.Exact(v)
	}
	return out
}

// inner is a product in float64.
func inner(a, b []oracle.Value) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i].X * b[i].X
	}
	return sum
}

// TestGradientNorm: the norm is that of the gradient which difference quotients of the sum of log-probs confirm,
// tensor by tensor, and no gradient is left behind.
func TestGradientNorm(t *testing.T) {
	s := seq.Predict(modeltest.Prompts(1, 30)[0], 1, 1)
	s.IDs = append(s.IDs, 1, 2, 3)
	s.Spans[0].To += 3
	of := func(t *testing.T, dev gpu.Device) objective {
		m := modeltest.Small(t, dev, 64)
		return objective{modeltest.TrainerOf(t, m, 64), m.Config, []seq.Sequence{s}, modeltest.TokenWeights([]seq.Sequence{s}, func(int, int) (a, b, c float64) { return 1, 0, 0 })}
	}
	plain := finiteDifferences(t, of(t, refdev.New()))
	squares, bounds, n := 0.0, 0.0, 0
	for k, g := range plain.gradients {
		squares, bounds, n = squares+math.Pow(modeltest.Norm(g, nil), 2), bounds+plain.bounds[k]*plain.bounds[k], n+len(g)
	}
	want := math.Sqrt(squares)
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		p := of(t, dev)
		for range 2 { // the second time it would be twice as large if anything had stayed
			got, err := p.GradientNorm(s)
			if err != nil {
				t.Fatal(err)
			}
			if bound := math.Sqrt(bounds) + oracle.Tolerance(n, want); !(math.Abs(got-want) <= bound) {
				t.Errorf("the norm is %v, want %v: bound %.3g", got, want, bound)
			}
		}
		if p.Rows() != 0 {
			t.Errorf("%d rows are counted for the next step", p.Rows())
		}
	})
}
