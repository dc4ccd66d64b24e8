package learn

import (
	"errors"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// sumBlock is the number of gradient elements in one partial sum of squares, as
// the kernels grad_sumsq and grad_abs fix it.
const sumBlock = 4096

// trained are parameters with all that an update of them takes.
type trained struct {
	*tensors.Set
	values tensors.Arena   // not its own
	grads  tensors.Arena   // gradient
	kept   []tensors.Arena // what the rule keeps, see momentNames
	ctl    gpu.View        // [8], see kernel adamw
}

// momentNames are what stands before the names of the parameters in those of what rules keep:
// the momentum of SGD or the first moment, the second moment, and the largest second moment.
var momentNames = [...]string{"m.", "v.", "x."}

// allocateUpdate makes gradients and moments, all zeros.
func (t *Trainer) allocateUpdate() (err error) {
	n := 0
	for _, s := range t.trained {
		if s.grads, err = s.NewArena(t.d.Device, "gradient", tensors.Chunk.Whole); err != nil {
			return err
		}
		for i := range t.moments {
			a, err := s.NewArena(t.d.Device, []string{"first moment", "second moment", "largest second moment"}[i], tensors.Chunk.Whole)
			if err != nil {
				return err
			}
			s.kept = append(s.kept, a)
		}
		for _, c := range s.Chunks {
			n += (c.Size/4 + sumBlock - 1) / sumBlock
		}
		s.ctl = t.pool.Words("update control", 8)
	}
	t.part = t.pool.Words("gradient sums", n)
	return t.pool.Err
}

func (s *trained) free() {
	s.grads.Free()
	for _, a := range s.kept {
		a.Free()
	}
}

// Step clips the gradient, updates the parameters and clears the gradient. It
// returns the gradient's norm before clipping. A gradient that is not finite
// changes nothing but is cleared, and gives ErrNotFinite.
func (t *Trainer) Step(o Optimizer) (norm float64, err error) {
	if have := t.moments; o.Rule.moments() > have {
		return 0, fmt.Errorf("the trainer keeps %d moments, and %s takes %d: open it with Optimizes", have, o.Rule, o.Rule.moments())
	}
	t.rows = 0
	norm, err = t.gradNorm(o)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, errors.Join(ErrNotFinite, t.ZeroGrad())
	}
	t.updates++
	t.d.Change()
	for i, s := range t.trained {
		ctl := o.controls(t.updates, []float64{o.LR, o.ValueLR}[i])
		if err := device.Upload(device.Put(device.At(s.ctl, 2), ctl)); err != nil {
			return 0, err
		}
	}
	key := fmt.Sprintf("update %s %v %v %v %v %v", o.Rule, o.Beta1, o.Beta2, o.Eps, o.Momentum, o.Nesterov)
	err = t.progs.Run(key, func(r *device.Recorder) {
		for _, s := range t.trained {
			s.recordUpdate(r, o)
		}
		t.d.RecordRound(r)
		t.recordZero(r)
	})
	if err != nil {
		return 0, err
	}
	return norm, t.d.Device.Wait()
}

func (s *trained) recordUpdate(r *device.Recorder, o Optimizer) {
	for i, c := range s.Chunks {
		var kept []gpu.View
		for _, a := range s.kept {
			kept = append(kept, a[i])
		}
		o.record(r, c.Size/4, s.values[i], s.grads[i], kept, s.ctl, c.Decay)
	}
}

// gradNorm folds the lookup's gradient in, and leaves norm and clip factor in
// every ctl.
func (t *Trainer) gradNorm(o Optimizer) (float64, error) {
	err := t.progs.Run(fmt.Sprintf("gradient norm %s %v", o.ClipBy, o.ClipNorm), func(r *device.Recorder) {
		t.grads.RecordFold(r)
		part := 0
		for _, s := range t.trained {
			for i, c := range s.Chunks {
				n := c.Size / 4
				segments := (n + sumBlock - 1) / sumBlock
				o.recordNorm(r, n, segments, s.grads[i], t.part, part)
				part += segments
			}
		}
		for _, s := range t.trained {
			o.recordClip(r, part, t.part, s.ctl)
		}
	})
	if err != nil {
		return 0, err
	}
	ctl, from := make([]float32, 2), t.trained[0].ctl
	if err := device.Read(from, ctl); err != nil {
		return 0, err
	}
	return float64(ctl[1]), nil
}

// ZeroGrad clears the gradient.
func (t *Trainer) ZeroGrad() error {
	if err := t.progs.Run("zero gradient", t.recordZero); err != nil {
		return err
	}
	return t.d.Device.Wait()
}

func (t *Trainer) recordZero(r *device.Recorder) {
	for _, s := range t.trained {
		for i, c := range s.Chunks {
			r.Op("fill", c.Size/4, 1, []gpu.View{s.grads[i]}, uint32(c.Size/4), 0)
		}
	}
	t.grads.RecordZero(r)
}

// OptimizerState lists the moments, named as the parameters with the prefixes m., v. and x.,
// and the number of updates so far.
func (t *Trainer) OptimizerState() (tensors []hf.NamedTensor, updates int) {
	for _, s := range t.trained {
		for i, a := range s.kept {
			tensors = append(tensors, s.Named(a, momentNames[i])...)
		}
	}
	return tensors, t.updates
}

// SetOptimizerState restores what OptimizerState gave.
func (t *Trainer) SetOptimizerState(ts *hf.TensorSet, updates int) error {
	for _, s := range t.trained {
		for i, a := range s.kept {
			if err := s.Fill(a, momentNames[i], ts); err != nil {
				return fmt.Errorf("optimizer state: %w", err)
			}
		}
	}
	t.updates = updates
	return nil
}

// ResetOptimizer forgets the moments: a stage begins with a fresh state.
func (t *Trainer) ResetOptimizer() error {
	for _, s := range t.trained {
		for _, a := range s.kept {
			for i, c := range s.Chunks {
				if err := a[i].Buffer.Write(a[i].Offset, make([]byte, c.Size)); err != nil {
					return err
				}
			}
		}
	}
	t.updates = 0
	return nil
}
