package model

import (
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
)

// Use says what a run does with a model, for the memory plan.
type Use struct {
	Positions int            // longest sequence
	TrainRows int            // tokens in one batch of the trainer; 0: no training, and the model is opened frozen
	Reference bool           // a second, frozen copy of the parameters and a scorer for it
	Engine    *EngineOptions // nil: no sampling
}

// Plan computes the device memory of a run before any of it is allocated.
func Plan(cfg Config, caps gpu.Caps, use Use) (gpu.Plan, error) {
	var plan gpu.Plan
	l := newLayout(cfg, caps.MaxBinding)
	if err := l.fits(); err != nil {
		return plan, err
	}
	params := l.bytes(chunk.whole)
	frozen := params
	if cfg.Dtype == BF16 {
		frozen = l.bytes(chunk.vectors) + l.bytes(chunk.halves)
	}
	if use.TrainRows == 0 && frozen < params {
		plan.Add("parameters", frozen, fmt.Sprintf("%d, matrices in bf16", l.count()))
	} else {
		plan.Add("parameters", params, fmt.Sprintf("%d x f32", l.count()))
	}
	rope := len(l.ropes()) * use.Positions * l.hdp * 4
	plan.Add("rope table", rope, fmt.Sprintf("%d positions", use.Positions))
	if use.TrainRows > 0 {
		if cfg.Dtype == BF16 {
			plan.Add("rounded parameters", l.bytes(chunk.halves), "the matrices in bf16, as the passes read them")
		}
		plan.Add("gradient", params+l.lookupBytes(), "f32")
		plan.Add("optimizer state", 2*params, "AdamW, 2 x f32")
		rows, half := l.trainBytes(use.TrainRows, caps), l.trainBytes((use.TrainRows+1)/2, caps)
		plan.Add("training activations", rows, fmt.Sprintf("%d tokens", use.TrainRows),
			gpu.Saving{Change: fmt.Sprintf("--set micro_batch_tokens=%d", (use.TrainRows+1)/2), Bytes: rows - half})
	}
	if use.Reference {
		bytes := frozen + rope + l.scoreBytes(use.TrainRows, caps)
		plan.Add("reference policy", bytes, "frozen copy and its workspace", gpu.Saving{Change: "a recipe without kl_coef", Bytes: bytes})
	}
	if use.Engine != nil {
		o := *use.Engine
		full := l.engineBytes(o, caps)
		half := o
		half.Sequences = max(1, o.Sequences/2)
		savings := []gpu.Saving{{Change: fmt.Sprintf("--set sampler_sequences=%d", half.Sequences), Bytes: full - l.engineBytes(half, caps)}}
		hint := fmt.Sprintf("%d sequences of %d tokens", o.Sequences, o.Context)
		if cfg.KVDtype == BF16 {
			hint += ", keys and values in bf16"
		} else {
			short := *l
			short.kvDtype = BF16
			savings = append(savings, gpu.Saving{Change: "--set model.kv_dtype=bf16", Bytes: full - short.engineBytes(o, caps)})
		}
		plan.Add("sampler and its cache", full, hint, savings...)
	}
	return plan, nil
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

func (l *layout) trainBytes(rows int, caps gpu.Caps) int {
	p := &pool{}
	p.planWorkspace(l.dims, rows, true, caps.MaxBinding)
	p.backwardSpace(l.dims, rows)
	return p.bytes
}

func (l *layout) scoreBytes(rows int, caps gpu.Caps) int {
	p := &pool{}
	p.planWorkspace(l.dims, rows, false, caps.MaxBinding)
	return p.bytes
}

func (l *layout) engineBytes(o EngineOptions, caps gpu.Caps) int {
	e := &Engine{opt: o.withDefaults(), pool: &pool{}}
	e.plan(l.dims, caps.MaxBinding)
	return e.pool.bytes
}

// count is the number of parameters, padding left out.
func (l *layout) count() int {
	n := 0
	for _, p := range l.pieces {
		rows, cols := p.size()
		n += rows * cols
	}
	return n
}

// Parameters is the number of parameters of a config.
func (c Config) Parameters() int {
	return newLayout(c, math.MaxInt).count()
}
