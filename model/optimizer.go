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
	Beta1       float64
	Beta2       float64
	Eps         float64
	WeightDecay float64
	ClipNorm    float64 // global gradient norm; 0: no clipping
}

// sumBlock is the number of gradient elements in one partial sum of squares, as
// the kernel grad_sumsq fixes it.
const sumBlock = 4096

// optimizer is AdamW's state on the device.
type optimizer struct {
	m, v arena
	ctl  gpu.View // [8], see kernel adamw
	part gpu.View // partial sums of squares
	step int      // updates so far
}

func (o *optimizer) allocate(t *Trainer) error {
	l, dev := t.trained, t.m.dev
	var err error
	if o.m, err = l.newArena(dev, "first moment", chunk.whole); err != nil {
		return err
	}
	if o.v, err = l.newArena(dev, "second moment", chunk.whole); err != nil {
		return err
	}
	n := 0
	for _, c := range l.chunks {
		n += (c.size/4 + sumBlock - 1) / sumBlock
	}
	o.ctl, o.part = t.pool.words("update control", 8), t.pool.words("gradient sums", n)
	return t.pool.err
}

func (o *optimizer) free() {
	o.m.free()
	o.v.free()
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
	o := &t.opt
	o.step++
	bc1, bc2 := 1-math.Pow(h.Beta1, float64(o.step)), 1-math.Pow(h.Beta2, float64(o.step))
	ctl := []float32{float32(h.LR), float32(h.WeightDecay), float32(1 / bc1), float32(1 / math.Sqrt(bc2)), float32(1 - h.Beta1), float32(1 - h.Beta2)}
	if err := o.ctl.Buffer.Write(o.ctl.Offset+8, f32Bytes(ctl)); err != nil {
		return 0, err
	}
	key := fmt.Sprintf("adamw %v %v %v", h.Beta1, h.Beta2, h.Eps)
	err = t.progs.run(key, func(r *recorder) {
		for i, c := range t.trained.chunks {
			decay, n := 0, c.size/4
			if c.decay {
				decay = 1
			}
			view := func(a arena) gpu.View { return gpu.View{Buffer: a[i], Size: c.size} }
			r.op("adamw", n, 1, []gpu.View{view(t.values), view(t.grads.arena), view(o.m), view(o.v), o.ctl},
				u(n), f(h.Beta1), f(h.Beta2), f(h.Eps), u(decay))
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

// gradNorm folds the lookup's gradient in, and leaves norm and clip factor in
// ctl.
func (t *Trainer) gradNorm(clip float64) (float64, error) {
	err := t.progs.run(fmt.Sprintf("gradient norm %v", clip), func(r *recorder) {
		t.recordFold(r)
		part := 0
		for i, c := range t.trained.chunks {
			n := c.size / 4
			segments := (n + sumBlock - 1) / sumBlock
			r.op("grad_sumsq", segments, 1, []gpu.View{{Buffer: t.grads.arena[i], Size: c.size}, t.opt.part}, u(n), u(part))
			part += segments
		}
		r.op("grad_clip", 1, 1, []gpu.View{t.opt.part, t.opt.ctl}, u(part), f(clip))
	})
	if err != nil {
		return 0, err
	}
	ctl := make([]float32, 2)
	if err := readF32(t.opt.ctl.Buffer, t.opt.ctl.Offset, ctl); err != nil {
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
	for i, c := range t.trained.chunks {
		r.op("fill", c.size/4, 1, []gpu.View{{Buffer: t.grads.arena[i], Size: c.size}}, u(c.size/4), 0)
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
	return append(t.trained.named(t.opt.m, "m."), t.trained.named(t.opt.v, "v.")...), t.opt.step
}

// SetOptimizerState restores what OptimizerState gave.
func (t *Trainer) SetOptimizerState(ts *TensorSet, updates int) error {
	for prefix, a := range map[string]arena{"m.": t.opt.m, "v.": t.opt.v} {
		err := t.trained.writePieces(a, func(p piece, from, n int) ([]float32, error) { return ts.rows(prefix+p.name, p, from, n) })
		if err != nil {
			return fmt.Errorf("optimizer state: %w", err)
		}
	}
	t.opt.step = updates
	return nil
}

// ResetOptimizer forgets the moments: a stage begins with a fresh state.
func (t *Trainer) ResetOptimizer() error {
	for _, a := range []arena{t.opt.m, t.opt.v} {
		for i, c := range t.trained.chunks {
			if err := a[i].Write(0, make([]byte, c.size)); err != nil {
				return err
			}
		}
	}
	t.opt.step = 0
	return nil
}
