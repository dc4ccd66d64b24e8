package learn

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// EachTrained calls do for each set of parameters that updates change, and where they are.
func (t *Trainer) EachTrained(do func(set *tensors.Set, in tensors.Store)) {
	for i, part := range t.trained {
		if i == 0 && t.d.Adapter == nil {
			do(part.Set, t.d.Params)
		} else {
			do(part.Set, part.values)
		}
	}
}

// SetPanel sets how many products of a sum one dispatch adds up; 0: all.
func (t *Trainer) SetPanel(n int) { t.progs.Panel = n }

// ForwardRounding is Forward of one batch with keys and values rounded to bf16 where they lie.
func (t *Trainer) ForwardRounding(seqs []seq.Sequence) ([]seq.Stats, error) {
	batches, err := t.cut(seqs)
	if err != nil {
		return nil, err
	}
	b := batches[0]
	t.batches, t.room.resident = batches[:1], t
	if err := t.ws.Upload(b); err != nil {
		return nil, err
	}
	n := t.d.Layout.Dims.KVWords(b.T)
	half := t.pool.Words("rounded", n/2)
	err = t.progs.Run("rounding", func(r *device.Recorder) {
		t.d.RecordScores(r, t.ws, b.T, b.R)
		all := r.Ops
		r.Ops = nil
		for _, op := range all {
			r.Ops = append(r.Ops, op)
			if op.Kernel == "qk_rope" {
				for _, x := range op.Bind[5:7] {
					r.Op("round_bf16", n, 1, []gpu.View{x, half}, uint32(n))
					r.Op("expand_bf16", n, 1, []gpu.View{half, x}, uint32(n))
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := t.d.Device.Wait(); err != nil {
		return nil, err
	}
	return t.ws.ReadStats(b, nil)
}
