package doctor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// gradientBits: a gradient has the same bits however its batch is cut.
func gradientBits(p *subject) (string, error) {
	s, err := newSlope(p)
	if err != nil {
		return "", err
	}
	defer s.close()
	var first [][]float32
	sizes := []int{slopeRows, 70, 33}
	for _, rows := range sizes {
		s.trainer.Close()
		if s.trainer, err = learn.NewTrainer(s.m, rows); err != nil {
			return "", err
		}
		grads, _, err := s.gradient()
		if err != nil {
			return "", err
		}
		if first == nil {
			first = grads
		}
		for k, g := range grads {
			for i := range g {
				if err := equalBits(g[i], first[k][i]); err != nil {
					return "", fmt.Errorf("%s, element %d: in batches of %d tokens it %w in batches of %d", s.names[k], i, rows, err, sizes[0])
				}
			}
		}
	}
	return fmt.Sprintf("%d tensors equal to the bit over batches of %v tokens", len(first), sizes), nil
}

// slopeRows is more tokens than newSlope's sequences have together.
const slopeRows = 400

// slope measures the loss of a small model and moves its parameters.
type slope struct {
	m       *model.Model
	trainer *learn.Trainer
	seqs    []seq.Sequence
	weights []learn.Weights // dLoss/d(statistic): the loss is linear in the statistics
	names   []string
	shapes  [][]int
	params  [][]float32 // [tensor][element] as they were
	file    string      // for the moved parameters
}

// gradients holds the gradient of every tensor against central differences of
// the loss, along the gradient itself.
//
// A central difference with step h has the error h^2/6 |f”'| of its formula and
// e/h of the loss's own rounding e. The direction has unit norm; doubling the step
// tells the first (Richardson: the difference of the two quotients is three times
// it), and e is taken as 2^-24 times the sum of the absolute terms of the loss
// times the root of the longest chain of roundings (Higham 2002, 2.8: the errors of
// a chain add up like a random walk). So the bound is computed for each tensor.
//
// Matrix cores round operands to 2^-11: the same bound is 114 then, and derivatives here are
// between 1.4 and 64, so that every gradient would pass. They are left out (see leftOut).
func gradients(p *subject) (string, error) {
	s, err := newSlope(p)
	if err != nil {
		return "", err
	}
	defer s.close()
	grads, noise, err := s.gradient()
	if err != nil {
		return "", err
	}
	worst, at := 0.0, ""
	for k, g := range grads {
		share, err := s.compare(k, g, noise)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.names[k], err)
		}
		if share >= worst {
			worst, at = share, s.names[k]
		}
	}
	return fmt.Sprintf("%d tensors, worst error %.2g %% of its bound (%s)", len(grads), 100*worst, at), nil
}

func newSlope(p *subject) (*slope, error) {
	m, err := small(p.dev, 64, hf.F32, hf.F32)
	if err != nil {
		return nil, err
	}
	s := &slope{m: m, file: filepath.Join(p.dir, "moved.safetensors")}
	for i, ids := range somePrompts(6, 30, m.Config.Vocab) {
		ids = append(ids, 1, 2, 3)
		s.seqs = append(s.seqs, seq.Predict(ids, 1, 1))
		var w learn.Weights
		for j := range len(ids) - 1 {
			w.Logprob = append(w.Logprob, 0.2*float64((i+j)%5-2))
			w.Entropy = append(w.Entropy, 0.1*float64(j%3-1))
			w.MeanLogprob = append(w.MeanLogprob, 0.02*float64(i%3))
		}
		s.weights = append(s.weights, w)
	}
	for _, t := range m.Tensors() {
		data, err := t.Data()
		if err != nil {
			s.close()
			return nil, err
		}
		s.names, s.shapes, s.params = append(s.names, t.Name), append(s.shapes, t.Shape), append(s.params, data)
	}
	if s.trainer, err = learn.NewTrainer(m, slopeRows); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *slope) close() {
	if s.trainer != nil {
		s.trainer.Close()
	}
	s.m.Close()
}

// gradient is the trainer's, in the order of the tensors, and the rounding error
// of the loss.
func (s *slope) gradient() (grads [][]float32, noise float64, err error) {
	_, terms, err := s.loss()
	if err != nil {
		return nil, 0, err
	}
	if err := s.trainer.Backward(s.weights); err != nil {
		return nil, 0, err
	}
	named, err := s.trainer.Gradients()
	if err != nil {
		return nil, 0, err
	}
	for k, g := range named {
		if g.Name != s.names[k] {
			return nil, 0, fmt.Errorf("found the gradient of %s, expected that of %s", g.Name, s.names[k])
		}
		data, err := g.Data()
		if err != nil {
			return nil, 0, err
		}
		grads = append(grads, data)
	}
	chain := 4 * s.m.Config.MLP * s.m.Config.Layers // roundings one after the other
	return grads, math.Ldexp(terms, -24) * math.Sqrt(float64(chain)), nil
}

// loss is the loss and the sum of its absolute terms.
func (s *slope) loss() (loss, terms float64, err error) {
	stats, err := s.trainer.Forward(s.seqs)
	if err != nil {
		return 0, 0, err
	}
	for i, st := range stats {
		for j := range st.Logprob {
			for _, term := range []float64{
				s.weights[i].Logprob[j] * float64(st.Logprob[j]),
				s.weights[i].Entropy[j] * float64(st.Entropy[j]),
				s.weights[i].MeanLogprob[j] * float64(st.MeanLogprob[j]),
			} {
				loss += term
				terms += math.Abs(term)
			}
		}
	}
	return loss, terms, nil
}

// compare tells how much of its bound the error of tensor k's gradient is; more
// than 1 is an error.
func (s *slope) compare(k int, grad []float32, noise float64) (float64, error) {
	want := 0.0 // the derivative along the gradient is its norm
	for _, g := range grad {
		want += float64(g) * float64(g)
	}
	want = math.Sqrt(want)
	if want == 0 || math.IsNaN(want) || math.IsInf(want, 0) {
		return 0, fmt.Errorf("the gradient's norm is %v", want)
	}
	const h = 1.0 / 64
	one, err := s.quotient(k, grad, want, h)
	if err != nil {
		return 0, err
	}
	two, err := s.quotient(k, grad, want, 2*h)
	if err != nil {
		return 0, err
	}
	bound := math.Abs(two-one)/3*2 + noise/h
	share := math.Abs(one-want) / bound
	if !(share <= 1) {
		return 0, fmt.Errorf("derivative %.6g and finite difference %.6g differ by %.3g, more than the bound %.3g", want, one, math.Abs(one-want), bound)
	}
	return share, nil
}

// quotient is the central difference of the loss in tensor k along its gradient
// of this norm, with step h.
func (s *slope) quotient(k int, grad []float32, norm, h float64) (float64, error) {
	var at [2]float64
	for i, step := range []float64{h, -h} {
		moved := make([]float32, len(grad))
		for j, x := range s.params[k] {
			moved[j] = x + float32(step*float64(grad[j])/norm)
		}
		if err := s.set(k, moved); err != nil {
			return 0, err
		}
		var err error
		if at[i], _, err = s.loss(); err != nil {
			return 0, err
		}
	}
	return (at[0] - at[1]) / (2 * h), s.set(k, s.params[k])
}

// set gives the model its old parameters with tensor k replaced.
func (s *slope) set(k int, data []float32) error {
	var tensors []hf.NamedTensor
	for i, name := range s.names {
		values := s.params[i]
		if i == k {
			values = data
		}
		tensors = append(tensors, hf.NamedTensor{Name: name, Shape: s.shapes[i], Data: func() ([]float32, error) { return values, nil }})
	}
	f, err := os.Create(s.file)
	if err != nil {
		return err
	}
	if err := hf.WriteSafetensors(f, tensors); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	set, err := hf.OpenTensorFile(s.file)
	if err != nil {
		return err
	}
	defer set.Close()
	return s.m.SetTensors(set)
}
