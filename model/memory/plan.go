package memory

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
)

// driverBytes is what a driver on the CPU keeps in the same memory for the kernels of the
// forward pass and of sampling, and once more for those of the backward pass. Measured with
// lavapipe of Mesa 22.3: 23 and 26 MiB, and up to 26 more while it compiles them for the
// first time (see TestResident).
const driverBytes = 24 << 20

// Use says, for the memory plan, what a run does with a model.
type Use struct {
	Positions int               // longest sequence
	Recompute bool              // the trainer makes activations again, see [learn.Recompute]
	TrainRows int               // tokens in one batch of the trainer; 0: no training, and the model is opened frozen
	Adapter   *hf.AdapterConfig // what is trained instead of the model, which is frozen; nil: nothing
	Optimizes []learn.Rule      // by which the trainer will step, see [learn.Optimizes]; none: AdamW
	ValueHead bool              // the trainer has one, see [learn.ValueHead]
	Reference bool              // a second, frozen copy of the parameters and a scorer for it; with an adapter a scorer alone
	Average   bool              // a moving average of what is trained and a scorer for it
	Best      bool              // a copy of what is trained that samples by an engine of its own
	Engine    *sample.Options   // nil: no sampling
}

// Plan computes the device memory of a run before any of it is allocated.
func Plan(cfg hf.Config, caps gpu.Caps, use Use) (gpu.Plan, error) {
	var plan gpu.Plan
	l := decoder.NewLayout(cfg, caps.MaxBinding)
	if err := l.Fits(use.TrainRows == 0 || use.Adapter != nil); err != nil {
		return plan, err
	}
	if cfg.Dtype.Blocked() && use.TrainRows > 0 && use.Adapter == nil {
		return plan, tensors.Storage(cfg.Dtype).ErrTrained()
	}
	params := l.Bytes(tensors.Chunk.Whole)
	frozen := l.Bytes(tensors.Chunk.Unpacked) + l.Bytes(tensors.Chunk.Packed)
	trained := &l.Set
	if use.Adapter != nil {
		a, err := decoder.NewAdapter(*use.Adapter, cfg, l)
		if err != nil {
			return plan, err
		}
		trained = &a.Set
		plan.Add("adapter", trained.Bytes(tensors.Chunk.Whole), fmt.Sprintf("%d x f32", trained.Count()))
	}
	update := trained.Bytes(tensors.Chunk.Whole)
	if (use.TrainRows == 0 || use.Adapter != nil) && frozen < params {
		plan.Add("parameters", frozen, fmt.Sprintf("%d, matrices in %s", l.Count(), cfg.Dtype))
	} else {
		plan.Add("parameters", params, fmt.Sprintf("%d x f32", l.Count()))
	}
	rope := l.RopeBytes(use.Positions)
	plan.Add("rope table", rope, fmt.Sprintf("%d positions", use.Positions))
	if use.TrainRows > 0 {
		if cfg.Dtype == hf.BF16 && use.Adapter == nil {
			plan.Add("rounded parameters", l.Bytes(tensors.Chunk.Packed), "the matrices in bf16, as the passes read them")
		}
		lookup := 0
		if use.Adapter == nil {
			lookup = l.LookupBytes()
		}
		plan.Add("gradient", update+lookup, "f32")
		moments := learn.Moments(use.Optimizes...)
		plan.Add("optimizer state", moments*update, fmt.Sprintf("moments, %d x f32", moments))
		addTraining(&plan, l, use, caps)
		if use.ValueHead {
			p := device.NewPool(nil, "")
			h := decoder.NewValueHead(p, l.Dims, use.TrainRows, caps.MaxBinding)
			p.Note(&plan)
			plan.Add("value head", (2+moments)*h.Bytes(tensors.Chunk.Whole)+p.Bytes, "f32, with gradient and optimizer state")
		}
	}
	if use.Reference {
		bytes, hint := scoring(l, use.TrainRows, caps), "the model with its adapter off"
		if use.Adapter == nil {
			bytes, hint = bytes+frozen+rope, "frozen copy and its workspace"
		}
		plan.Add("reference policy", bytes, hint)
	}
	if use.Average {
		bytes, hint := scoring(l, use.TrainRows, caps)+update, "a second adapter and its workspace"
		if use.Adapter == nil {
			bytes, hint = bytes+l.Bytes(tensors.Chunk.Packed)+rope, "a second set of weights in f32 and its workspace"
		}
		plan.Add("average of the policy", bytes, hint)
	}
	if use.Best {
		p := sample.Space(l, *use.Engine, caps)
		p.Note(&plan)
		bytes, hint := p.Bytes+update, "a second adapter and its sampler"
		if use.Adapter == nil {
			bytes, hint = bytes+l.Bytes(tensors.Chunk.Packed)+rope, "a second set of weights in f32 and its sampler"
		}
		plan.Add("best policy so far", bytes, hint)
	}
	if use.Engine != nil {
		addSampling(&plan, l, *use.Engine, caps)
	}
	if caps.Kind == gpu.CPU {
		kernels := driverBytes
		if use.TrainRows > 0 {
			kernels *= 2
		}
		plan.Add("driver", kernels, "compiled kernels and recorded work")
	}
	return plan, nil
}

// addTraining adds what a batch of the trainer needs.
func addTraining(plan *gpu.Plan, l *decoder.Layout, use Use, caps gpu.Caps) {
	keep, hint := decoder.KeptAll, fmt.Sprintf("%d tokens", use.TrainRows)
	if use.Recompute {
		keep = decoder.KeptInputs
		hint += ", recomputed in the backward pass"
	}
	p := device.NewPool(nil, "")
	decoder.NewWorkspace(p, l.Dims, use.TrainRows, keep, caps)
	decoder.NewBackwardSpace(p, l.Dims, use.TrainRows)
	p.Note(plan)
	plan.Add("training activations", p.Bytes, hint)
}

// scoring is what a scorer needs, bytes. It has no buffer that training has not.
func scoring(l *decoder.Layout, rows int, caps gpu.Caps) int {
	p := device.NewPool(nil, "")
	decoder.NewWorkspace(p, l.Dims, rows, decoder.KeptNothing, caps)
	return p.Bytes
}

// addSampling adds what an engine needs.
func addSampling(plan *gpu.Plan, l *decoder.Layout, o sample.Options, caps gpu.Caps) {
	hint := fmt.Sprintf("%d sequences of %d tokens", o.Sequences, o.Context)
	if l.KVDtype == tensors.BF16 {
		hint += ", keys and values in bf16"
	}
	p := sample.Space(l, o, caps)
	p.Note(plan)
	plan.Add("sampler and its cache", p.Bytes, hint)
}
