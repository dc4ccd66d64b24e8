package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
)

// AdamW are the settings of one update (Loshchilov and Hutter 2019,
// arXiv 1711.05101, in PyTorch's form). Norm factors are not decayed.
type AdamW struct {
	LR          float64 // of this update
	ValueLR     float64 // of this update of the value head, if there is one
	Beta1       float64
	Beta2       float64
	Eps         float64
	WeightDecay float64
	ClipNorm    float64 // global gradient norm; 0: no clipping
}

// sumBlock is the number of gradient elements in one partial sum of squares, as
// the kernel grad_sumsq fixes it.
const sumBlock = 4096

// trained are parameters with all that an update of them takes.
type trained struct {
	*tensors
	values      arena    // not its own
	grads, m, v arena    // gradient and its moments
	ctl         gpu.View // [8], see kernel adamw
}

// allocateUpdate makes gradients and moments, all zeros.
func (t *Trainer) allocateUpdate() (err error) {
	n := 0
	for _, s := range t.trained {
		for i, a := range []*arena{&s.grads, &s.m, &s.v} {
			if *a, err = s.newArena(t.m.dev, []string{"gradient", "first moment", "second moment"}[i], chunk.whole); err != nil {
				return err
			}
		}
		for _, c := range s.chunks {
			n += (c.size/4 + sumBlock - 1) / sumBlock
		}
		s.ctl = t.pool.words("update control", 8)
	}
	t.part = t.pool.words("gradient sums", n)
	return t.pool.err
}

func (s *trained) free() {
	s.grads.free()
	s.m.free()
	s.v.free()
}

// Step clips the gradient, updates the parameters and clears the gradient. It
// returns the gradient's norm before clipping. A gradient that is not finite
// changes nothing but is cleared, and gives ErrNotFinite.
func (t *Trainer) Step(h AdamW) (norm float64, err error) {
	t.rows = 0
	norm, err = t.gradNorm(h.ClipNorm)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, errors.Join(ErrNotFinite, t.ZeroGrad())
	}
	t.updates++
	bc1, bc2 := 1-math.Pow(h.Beta1, float64(t.updates)), 1-math.Pow(h.Beta2, float64(t.updates))
	for i, s := range t.trained {
		ctl := []float32{float32([]float64{h.LR, h.ValueLR}[i]), float32(h.WeightDecay), float32(1 / bc1), float32(1 / math.Sqrt(bc2)), float32(1 - h.Beta1), float32(1 - h.Beta2)}
		if err := s.ctl.Buffer.Write(s.ctl.Offset+8, f32Bytes(ctl)); err != nil {
			return 0, err
		}
	}
	key := fmt.Sprintf("adamw %v %v %v", h.Beta1, h.Beta2, h.Eps)
	err = t.progs.run(key, func(r *recorder) {
		for _, s := range t.trained {
			s.recordUpdate(r, h)
		}
		if t.m.adapter == nil {
			t.m.params.recordRound(r)
		}
		t.recordZero(r)
	})
	if err != nil {
		return 0, err
	}
	return norm, t.m.dev.Wait()
}

func (s *trained) recordUpdate(r *recorder, h AdamW) {
	for i, c := range s.chunks {
		decay, n := 0, c.size/4
		if c.decay {
			decay = 1
		}
		view := func(a arena) gpu.View { return gpu.View{Buffer: a[i], Size: c.size} }
		r.op("adamw", n, 1, []gpu.View{view(s.values), view(s.grads), view(s.m), view(s.v), s.ctl},
			u(n), f(h.Beta1), f(h.Beta2), f(h.Eps), u(decay))
	}
}

// gradNorm folds the lookup's gradient in, and leaves norm and clip factor in
// every ctl.
func (t *Trainer) gradNorm(clip float64) (float64, error) {
	err := t.progs.run(fmt.Sprintf("gradient norm %v", clip), func(r *recorder) {
		t.recordFold(r)
		part := 0
		for _, s := range t.trained {
			for i, c := range s.chunks {
				n := c.size / 4
				segments := (n + sumBlock - 1) / sumBlock
				r.op("grad_sumsq", segments, 1, []gpu.View{{Buffer: s.grads[i], Size: c.size}, t.part}, u(n), u(part))
				part += segments
			}
		}
		for _, s := range t.trained {
			r.op("grad_clip", 1, 1, []gpu.View{t.part, s.ctl}, u(part), f(clip))
		}
	})
	if err != nil {
		return 0, err
	}
	ctl, from := make([]float32, 2), t.trained[0].ctl
	if err := readF32(from.Buffer, from.Offset, ctl); err != nil {
		return 0, err
	}
	return float64(ctl[1]), nil
}

// ZeroGrad clears the gradient.
func (t *Trainer) ZeroGrad() error {
	if err := t.progs.run("zero gradient", t.recordZero); err != nil {
		return err
	}
	return t.m.dev.Wait()
}

func (t *Trainer) recordZero(r *recorder) {
	for _, s := range t.trained {
		for i, c := range s.chunks {
			r.op("fill", c.size/4, 1, []gpu.View{{Buffer: s.grads[i], Size: c.size}}, u(c.size/4), 0)
		}
	}
	if t.m.layout.tied {
		for i, s := range t.lookups() {
			r.op("fill", s.weight.rows*s.weight.cols, 1, []gpu.View{t.grads.lookup[i]}, u(s.weight.rows*s.weight.cols), 0)
		}
	}
}

// OptimizerState lists the moments, named m.* and v.* after the parameters,
// and the number of updates so far.
func (t *Trainer) OptimizerState() (tensors []NamedTensor, updates int) {
	for _, s := range t.trained {
		tensors = append(tensors, append(s.named(s.m, "m."), s.named(s.v, "v.")...)...)
	}
	return tensors, t.updates
}

// SetOptimizerState restores what OptimizerState gave.
func (t *Trainer) SetOptimizerState(ts *TensorSet, updates int) error {
	for _, s := range t.trained {
		for prefix, a := range map[string]arena{"m.": s.m, "v.": s.v} {
			if err := s.fill(a, prefix, ts); err != nil {
				return fmt.Errorf("optimizer state: %w", err)
			}
		}
	}
	t.updates = updates
	return nil
}

// fill overwrites an arena with tensors that have the names of the pieces behind a prefix.
func (l *tensors) fill(to arena, prefix string, ts *TensorSet) error {
	return l.writePieces(to, func(p piece, from, n int) ([]float32, error) { return ts.rows(prefix+p.name, p, from, n) })
}

// ResetOptimizer forgets the moments: a stage begins with a fresh state.
func (t *Trainer) ResetOptimizer() error {
	for _, s := range t.trained {
		for _, a := range []arena{s.m, s.v} {
			for i, c := range s.chunks {
				if err := a[i].Write(0, make([]byte, c.size)); err != nil {
					return err
				}
			}
		}
	}
	t.updates = 0
	return nil
}
