package learn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestFiniteDifferences holds the gradient of every tensor against central
// differences of the loss, along the gradient itself, on the plain-Go device. Every
// other device has to come to the same loss and, as a whole and not only along one
// direction, to the same gradient of each tensor, as near as the differences can tell.
// So it is not differentiated itself, which takes a hundred passes.
//
// A central difference with step h has the error h^2/6 |f”'| of its formula and
// e/h of the loss's own rounding e. The direction d has unit norm; doubling the
// step tells the first (Richardson: the difference of the two quotients is three
// times it), and e is taken as 2^-24 times the sum of the absolute terms of the
// loss times the depth of the longest chain, sqrt(K) (Higham 2002, 2.8: rounding
// errors of a chain add up like a random walk). So the bound is computed for
// each tensor and not chosen.
func TestFiniteDifferences(t *testing.T) {
	compare := func(name string, open func(t *testing.T, dev gpu.Device) *model.Model, sequences int, options ...learn.Option) {
		t.Run(name, func(t *testing.T) {
			want := finiteDifferences(t, objectiveOf(t, open(t, refdev.New()), sequences, options...))
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				if dev.Caps().Kind != gpu.Reference {
					want.compare(t, objectiveOf(t, open(t, dev), sequences, options...))
				}
			})
		})
	}
	compare("small", func(t *testing.T, dev gpu.Device) *model.Model { return modeltest.Small(t, dev, 64) }, 6)
	for _, q := range modeltest.QuirkModels() {
		compare(q.Name, q.Open, 2, learn.ValueHead)
	}
}

// objective is a trainer and what it differentiates.
type objective struct {
	*learn.Trainer
	config  hf.Config
	seqs    []seq.Sequence
	weights []learn.Weights
}

func objectiveOf(t *testing.T, m *model.Model, sequences int, options ...learn.Option) objective {
	var seqs []seq.Sequence
	for _, p := range modeltest.Prompts(sequences, 30) {
		seqs = append(seqs, seq.Predict(append(p, 1, 2, 3), 1, 1))
	}
	seqs = append(seqs, modeltest.Relatives(8, 9)[:sequences]...)
	p := objective{modeltest.TrainerOf(t, m, 400, options...), m.Config, seqs, modeltest.TokenWeights(seqs, someWeight)}
	if p.ValueTensors() != nil {
		p.weights = modeltest.Valued(p.weights)
	}
	return p
}

// someWeight is that of token j of sequence i.
func someWeight(i, j int) (a, b, c float64) {
	return 0.2 * float64((i+j)%5-2), 0.1 * float64(j%3-1), 0.02 * float64(i%3)
}

// TestTreeGradient: the gradient of a tree is that of its paths apart, whether a token that they share
// counts in each or in the first alone, as near as difference quotients of the paths apart can tell: the
// bound is that of TestFiniteDifferences.
func TestTreeGradient(t *testing.T) {
	for _, once := range []bool{false, true} {
		seqs := modeltest.Relatives(3, 9)
		learned := map[string]bool{}
		shared := 0
		weights := modeltest.TokenWeights(seqs, someWeight)
		for i, s := range seqs {
			n := 0
			for _, span := range s.Spans {
				for place := span.From; place < span.To; place, n = place+1, n+1 {
					key := fmt.Sprint(s.IDs[:place+1])
					if learned[key] {
						if shared++; once {
							weights[i].Logprob[n], weights[i].Entropy[n], weights[i].MeanLogprob[n] = 0, 0, 0
						}
					}
					learned[key] = true
				}
			}
		}
		if shared == 0 {
			t.Fatal("the paths share no token")
		}
		of := func(t *testing.T, dev gpu.Device, seqs []seq.Sequence) objective {
			m := modeltest.Small(t, dev, 64)
			return objective{modeltest.TrainerOf(t, m, 400), m.Config, seqs, weights}
		}
		t.Run(fmt.Sprintf("once %v", once), func(t *testing.T) {
			apart := finiteDifferences(t, of(t, refdev.New(), modeltest.Apart(seqs)))
			gputest.Each(t, func(t *testing.T, dev gpu.Device) { apart.compare(t, of(t, dev, seqs)) })
		})
	}
}

// loss is the loss, and the sum of the absolute values of its terms.
func (p objective) loss(t *testing.T) (loss, terms float64) {
	t.Helper()
	st, err := p.Forward(p.seqs)
	if err != nil {
		t.Fatal(err)
	}
	add := func(weights []float64, values []float32) {
		for j, w := range weights {
			x := w * float64(values[j])
			loss += x
			terms += math.Abs(x)
		}
	}
	for i, w := range p.weights {
		add(w.Logprob, st[i].Logprob)
		add(w.Entropy, st[i].Entropy)
		add(w.MeanLogprob, st[i].MeanLogprob)
		add(w.Value, st[i].Value)
	}
	return loss, terms
}

// noise is what rounding may move the loss by.
func (p objective) noise(terms float64) float64 {
	return math.Ldexp(terms, -24) * math.Sqrt(float64((p.config.MLP+7)/8*8*4*p.config.Layers))
}

// gradient are the gradients of the loss, after a forward pass.
func (p objective) gradient(t *testing.T) []hf.NamedTensor {
	t.Helper()
	if err := p.Backward(p.weights); err != nil {
		t.Fatal(err)
	}
	grads, err := p.Gradients()
	if err != nil {
		t.Fatal(err)
	}
	return grads
}

// derivative is a loss, and for each tensor its gradient and how far a difference quotient
// may be from it.
type derivative struct {
	loss, noise float64
	gradients   [][]float32
	bounds      []float64
}

func finiteDifferences(t *testing.T, p objective) derivative {
	t.Helper()
	loss, terms := p.loss(t)
	d := derivative{loss: loss, noise: p.noise(terms)}
	value := func() float64 { loss, _ := p.loss(t); return loss }
	for k, g := range p.gradient(t) {
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
		one := quotient(t, p.Trainer, k, dir, h, value)
		two := quotient(t, p.Trainer, k, dir, 2*h, value)
		bound := math.Abs(two-one)/3*2 + d.noise/h
		if diff := math.Abs(one - want); !(diff <= bound) { // a gradient of zeros has no direction: NaN
			t.Errorf("%s: derivative %.6g, difference quotient %.6g, apart %.3g, bound %.3g", g.Name, want, one, diff, bound)
		}
		d.gradients, d.bounds = append(d.gradients, grad), append(d.bounds, bound)
	}
	return d
}

// compare holds the loss and the gradient of an objective on another device against d.
func (d derivative) compare(t *testing.T, p objective) {
	t.Helper()
	loss, terms := p.loss(t)
	if noise := d.noise + p.noise(terms); !(math.Abs(loss-d.loss) <= noise) {
		t.Errorf("the loss is %v, %v in plain Go, bound %.3g", loss, d.loss, noise)
	}
	for k, g := range p.gradient(t) {
		grad, err := g.Data()
		if err != nil {
			t.Fatal(err)
		}
		if diff := modeltest.Norm(grad, d.gradients[k]); !(diff <= d.bounds[k]) {
			t.Errorf("%s: gradient %.3g apart from that in plain Go, bound %.3g", g.Name, diff, d.bounds[k])
		}
	}
}

// direction is the unit vector along g: where a right gradient shows most.
func direction(g []float32) []float64 {
	d := make([]float64, len(g))
	n := modeltest.Norm(g, nil)
	for i := range d {
		d[i] = float64(g[i]) / n
	}
	return d
}

// quotient is the central difference of value along dir in tensor k of those that are
// trained.
func quotient(t *testing.T, tr *learn.Trainer, k int, dir []float64, h float64, value func() float64) float64 {
	t.Helper()
	var base []float32
	set := func(step float64) {
		i := 0
		tr.EachTrained(func(l *tensors.Set, in tensors.Store) {
			modeltest.Change(t, l, in, func(p tensors.Piece, data []float32) {
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
		})
	}
	set(h)
	up := value()
	set(-h)
	down := value()
	set(0)
	return (up - down) / (2 * h)
}
