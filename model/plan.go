package model

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
)

// driverBytes is what a driver on the CPU keeps in the same memory for the kernels of the
// forward pass and of sampling, and once more for those of the backward pass. Measured with
// lavapipe of Mesa 22.3: 23 and 26 MiB, and up to 26 more while it compiles them for the
// first time (see TestResident).
const driverBytes = 24 << 20

// Use says what a run does with a model, for the memory plan.
type Use struct {
	Positions int               // longest sequence
	Recompute bool              // the trainer makes activations again, see [Recompute]
	TrainRows int               // tokens in one batch of the trainer; 0: no training, and the model is opened frozen
	Adapter   *hf.AdapterConfig // what is trained instead of the model, which is frozen; nil: nothing
	Optimizes []Rule            // by which the trainer will step, see [Optimizes]; none: AdamW
	ValueHead bool              // the trainer has one, see [ValueHead]
	Reference bool              // a second, frozen copy of the parameters and a scorer for it; with an adapter a scorer alone
	Average   bool              // a moving average of what is trained and a scorer for it
	Engine    *EngineOptions    // nil: no sampling
}

// Plan computes the device memory of a run before any of it is allocated.
func Plan(cfg hf.Config, caps gpu.Caps, use Use) (gpu.Plan, error) {
	var plan gpu.Plan
	l := newLayout(cfg, caps.MaxBinding)
	if err := l.fits(use.TrainRows == 0 || use.Adapter != nil); err != nil {
		return plan, err
	}
	if cfg.Dtype.Blocked() && use.TrainRows > 0 && use.Adapter == nil {
		return plan, storage(cfg.Dtype).errTrained()
	}
	params := l.bytes(chunk.whole)
	frozen := l.bytes(chunk.unpacked) + l.bytes(chunk.packed)
	trained := &l.tensors
	if use.Adapter != nil {
		a, err := newAdapter(*use.Adapter, cfg, l)
		if err != nil {
			return plan, err
		}
		trained = &a.tensors
		plan.Add("adapter", trained.bytes(chunk.whole), fmt.Sprintf("%d x f32", trained.count()))
	}
	update := trained.bytes(chunk.whole)
	if (use.TrainRows == 0 || use.Adapter != nil) && frozen < params {
		plan.Add("parameters", frozen, fmt.Sprintf("%d, matrices in %s", l.count(), cfg.Dtype))
	} else {
		plan.Add("parameters", params, fmt.Sprintf("%d x f32", l.count()))
	}
	rope := len(l.ropes()) * use.Positions * l.hdp * 4
	plan.Add("rope table", rope, fmt.Sprintf("%d positions", use.Positions))
	if use.TrainRows > 0 {
		if cfg.Dtype == hf.BF16 && use.Adapter == nil {
			plan.Add("rounded parameters", l.bytes(chunk.packed), "the matrices in bf16, as the passes read them")
		}
		lookup := 0
		if use.Adapter == nil {
			lookup = l.lookupBytes()
		}
		plan.Add("gradient", update+lookup, "f32")
		moments := momentsOf(use.Optimizes)
		plan.Add("optimizer state", moments*update, fmt.Sprintf("moments, %d x f32", moments))
		l.planActivations(&plan, use, caps)
		if use.ValueHead {
			p, h := &pool{}, newValueHead(l.dims, caps.MaxBinding)
			h.space(p, use.TrainRows)
			join(&plan, p)
			plan.Add("value head", (2+moments)*h.bytes(chunk.whole)+p.bytes, "f32, with gradient and optimizer state")
		}
	}
	if use.Reference {
		bytes, hint := l.scoreSpace(use.TrainRows, caps).bytes, "the model with its adapter off"
		if use.Adapter == nil {
			bytes, hint = bytes+frozen+rope, "frozen copy and its workspace"
		}
		plan.Add("reference policy", bytes, hint)
	}
	if use.Average {
		bytes, hint := l.scoreSpace(use.TrainRows, caps).bytes+update, "a second adapter and its workspace"
		if use.Adapter == nil {
			bytes, hint = bytes+l.bytes(chunk.packed)+rope, "a second set of weights in f32 and its workspace"
		}
		plan.Add("average of the policy", bytes, hint)
	}
	if use.Engine != nil {
		l.planEngine(&plan, *use.Engine, caps)
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

// planActivations adds what a batch of the trainer needs.
func (l *layout) planActivations(plan *gpu.Plan, use Use, caps gpu.Caps) {
	keep, hint := keptAll, fmt.Sprintf("%d tokens", use.TrainRows)
	if use.Recompute {
		keep = keptInputs
		hint += ", made again in the backward pass"
	}
	p := l.trainSpace(use.TrainRows, keep, caps)
	join(plan, p)
	plan.Add("training activations", p.bytes, hint)
}

// join notes the largest buffers of a pool in a plan.
func join(plan *gpu.Plan, p *pool) {
	plan.Note(p.plan.Buffer, false)
	plan.Note(p.plan.Bound, true)
}

// planEngine adds what sampling needs.
func (l *layout) planEngine(plan *gpu.Plan, o EngineOptions, caps gpu.Caps) {
	hint := fmt.Sprintf("%d sequences of %d tokens", o.Sequences, o.Context)
	if l.kvDtype == bf16 {
		hint += ", keys and values in bf16"
	}
	p := l.engineSpace(o, caps)
	join(plan, p)
	plan.Add("sampler and its cache", p.bytes, hint)
}

func (l *layout) lookupBytes() int {
	if !l.tied {
		return 0
	}
	n := 0
	for _, s := range l.embed {
		n += s.weight.bytes()
	}
	return n
}

func (l *layout) trainSpace(rows int, keep kept, caps gpu.Caps) *pool {
	p := &pool{}
	p.planWorkspace(l.dims, rows, keep, caps)
	p.backwardSpace(l.dims, rows)
	return p
}

// scoreSpace has no buffer that trainSpace has not.
func (l *layout) scoreSpace(rows int, caps gpu.Caps) *pool {
	p := &pool{}
	p.planWorkspace(l.dims, rows, keptNothing, caps)
	return p
}

func (l *layout) engineSpace(o EngineOptions, caps gpu.Caps) *pool {
	e := &Engine{opt: o.withDefaults(), pool: &pool{}}
	e.plan(l.dims, caps)
	return e.pool
}

// count is the number of parameters, padding left out.
func (l *tensors) count() int {
	n := 0
	for _, p := range l.pieces {
		rows, cols := p.size()
		n += rows * cols
	}
	return n
}
