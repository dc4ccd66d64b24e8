package model

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// TestFiniteDifferences holds the gradient of every tensor against central
// differences of the loss, along the gradient itself.
//
// A central difference with step h has the error h^2/6 |f”'| of its formula and
// e/h of the loss's own rounding e. The direction d has unit norm; doubling the
// step tells the first (Richardson: the difference of the two quotients is three
// times it), and e is taken as 2^-24 times the sum of the absolute terms of the
// loss times the depth of the longest chain, sqrt(K) (Higham 2002, 2.8: rounding
// errors of a chain add up like a random walk). So the bound is computed for
// each tensor and not chosen.
func TestFiniteDifferences(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		t.Run("qwen3", func(t *testing.T) { finiteDifferences(t, small(t, dev, 64), 6) })
		for _, q := range quirkModels() {
			t.Run(q.name, func(t *testing.T) { finiteDifferences(t, q.open(t, dev), 2, ValueHead) })
		}
	})
}

func finiteDifferences(t *testing.T, m *Model, sequences int, options ...TrainerOption) {
	var seqs []Sequence
	for _, p := range prompts(sequences, 30) {
		seqs = append(seqs, Predict(append(p, 1, 2, 3), 1, 1))
	}
	seqs = append(seqs, relatives(8, 9)[:sequences]...)
	weight := func(i, j int) (a, b, c float64) {
		return 0.2 * float64((i+j)%5-2), 0.1 * float64(j%3-1), 0.02 * float64(i%3)
	}
	tr := trainerOf(t, m, 400, options...)
	ws := tokenWeights(seqs, weight)
	if tr.value != nil {
		ws = valued(ws)
	}
	value := func() (loss, terms float64) {
		st, err := tr.Forward(seqs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range st {
			for j := range st[i].Logprob {
				x := ws[i].Logprob[j] * float64(st[i].Logprob[j])
				y := ws[i].Entropy[j] * float64(st[i].Entropy[j])
				z := ws[i].MeanLogprob[j] * float64(st[i].MeanLogprob[j])
				loss += x + y + z
				terms += math.Abs(x) + math.Abs(y) + math.Abs(z)
				if tr.value != nil {
					v := ws[i].Value[j] * float64(st[i].Value[j])
					loss += v
					terms += math.Abs(v)
				}
			}
		}
		return loss, terms
	}
	if _, err := tr.Forward(seqs); err != nil {
		t.Fatal(err)
	}
	if err := tr.Backward(ws); err != nil {
		t.Fatal(err)
	}
	grads, err := tr.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	_, terms := value()
	noise := math.Ldexp(terms, -24) * math.Sqrt(float64(m.layout.mlpp*4*m.Config.Layers))
	for k, g := range grads {
		grad, err := g.Data()
		if err != nil {
			t.Fatal(err)
		}
		dir := direction(grad)
		want := 0.0
		for i := range grad {
			want += float64(grad[i]) * dir[i]
		}
		const h = 1.0 / 64
		one := quotient(t, tr, k, dir, h, value)
		two := quotient(t, tr, k, dir, 2*h, value)
		bound := math.Abs(two-one)/3*2 + noise/h
		if diff := math.Abs(one - want); !(diff <= bound) { // a gradient of zeros has no direction: NaN
			t.Errorf("%s: derivative %.6g, difference quotient %.6g, apart %.3g, bound %.3g", g.Name, want, one, diff, bound)
		}
	}
}

// direction is the unit vector along g: where a right gradient shows most.
func direction(g []float32) []float64 {
	d := make([]float64, len(g))
	n := norm(g, nil)
	for i := range d {
		d[i] = float64(g[i]) / n
	}
	return d
}

// quotient is the central difference of value along dir in tensor k of those that are
// trained.
func quotient(t *testing.T, tr *Trainer, k int, dir []float64, h float64, value func() (loss, terms float64)) float64 {
	t.Helper()
	var base []float32
	set := func(step float64) {
		i := 0
		for n, l := range tr.trained {
			var in store = l.values
			if n == 0 && tr.m.adapter == nil {
				in = tr.m.params
			}
			change(t, l.tensors, in, func(p piece, data []float32) {
				if i == k && base == nil {
					base = slices.Clone(data)
				}
				for j := range data {
					if i == k {
						data[j] = base[j] + float32(step*dir[j])
					}
				}
				i++
			})
		}
	}
	set(h)
	up, _ := value()
	set(-h)
	down, _ := value()
	set(0)
	return (up - down) / (2 * h)
}
