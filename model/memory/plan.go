package memory

import (
	"cmp"
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
// lavapipe of Mesa 22.3 (TestResident): 23 and 26 MiB where kernels read storage buffers, 20
// more each where they read texel buffers, and up to 20 more while it compiles them for the
// first time.
const driverBytes = 44 << 20

// Use says, for the memory plan, what a run does with a model.
type Use struct {
	Positions int               // longest sequence
	Recompute bool              // the trainer makes activations again, see [learn.Recompute]
	TrainRows int               // tokens in one batch of the trainer; 0: no training, and the model is opened frozen
	Adapter   *hf.AdapterConfig // what is trained instead of the model, which is frozen; nil: nothing
	Optimizes []learn.Rule      // by which the trainer will step, see [learn.Optimizes]; none: AdamW
	ValueHead bool              // the trainer has one, see [learn.ValueHead]
	Influence bool              // it computes influences, see [learn.Influence]
	Members   []Member          // models beside it
	Engine    *sample.Options   // nil: no sampling
}

// Member is a model beside the one that is trained.
type Member struct {
	Kind    Kind
	Name    string            // in the plan; "": that of its kind
	Config  hf.Config         // of a Folder; of the others the config is that of the model
	Adapter *hf.AdapterConfig // that a Folder has; nil: none
	Engine  *sample.Options   // by which it draws; nil: it draws nothing, or is Best
	Learns  *Learning         // by which an Average learns; nil: it does not
	Summed  bool              // its logits are added to those of the model, in trainer and sampler
}

// Learning is how a model learns beside the one that is trained: by a trainer of its own, which writes its activations
// where the other one does, see [learn.Beside].
type Learning struct {
	Optimizes []learn.Rule // as those of [Use]
	ValueHead bool         // the trainer has one
}

// Kind is how a member lies beside the model.
type Kind uint8

const (
	Reference Kind = iota // a second, frozen copy of the parameters; with an adapter nothing
	Average               // a second set of what is trained
	Best                  // a second set of what is trained that samples by an engine of its own
	Folder                // frozen parameters of its own and a scorer for them
)

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
		if use.Influence && use.Adapter != nil {
			plan.Add("influence", l.TableBytes(), "a gradient of the output table in f32")
		}
		if use.ValueHead {
			plan.Add("value head", valueHead(&plan, l, use, caps, moments), "f32, with gradient and optimizer state")
		}
	}
	var summed []*decoder.Decoder
	for _, m := range use.Members {
		own, err := addMember(&plan, l, use, caps, m, update)
		if err != nil {
			return plan, err
		}
		if m.Summed {
			summed = append(summed, &decoder.Decoder{Layout: own})
		}
	}
	addSums(&plan, l, use, caps, summed)
	if use.Engine != nil {
		addSampling(&plan, l, *use.Engine, caps, summed)
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

// addSums adds what adding the logits of others needs in the trainer.
func addSums(plan *gpu.Plan, l *decoder.Layout, use Use, caps gpu.Caps, summed []*decoder.Decoder) {
	if len(summed) == 0 {
		return
	}
	p := device.NewPool(nil, "")
	ws := decoder.NewWorkspace(device.NewPool(nil, ""), l.Dims, use.TrainRows, decoder.KeptNothing, caps)
	ws.Mix(p, use.TrainRows, summed, nil)
	p.Note(plan)
	plan.Add("logits of others", p.Bytes, fmt.Sprintf("workspaces of %d models that a sum adds", len(summed)))
}

// addMember adds what a model beside the one of a layout needs, of which so many bytes are trained. It returns the
// layout of its own numbers.
func addMember(plan *gpu.Plan, l *decoder.Layout, use Use, caps gpu.Caps, m Member, trained int) (*decoder.Layout, error) {
	whole, rope := use.Adapter == nil, l.RopeBytes(use.Positions)
	packed, frozen := l.Bytes(tensors.Chunk.Packed), l.Bytes(tensors.Chunk.Unpacked)+l.Bytes(tensors.Chunk.Packed)
	var name, hint string
	var bytes int
	drawing := l // whose engine it is
	switch m.Kind {
	case Reference:
		name, hint = "reference policy", "the model with its adapter off, in the trainer's memory"
		if whole {
			bytes, hint = frozen+rope, "frozen copy"
		}
	case Average:
		name, bytes, hint = "average of the policy", trained, "a second adapter"
		if whole {
			bytes, hint = bytes+packed+rope, "a second set of weights in f32"
		}
	case Best:
		p := sample.Space(l, *use.Engine, caps)
		p.Note(plan)
		name, bytes, hint = "best policy so far", p.Bytes+trained, "a second adapter and its sampler"
		if whole {
			bytes, hint = bytes+packed+rope, "a second set of weights in f32 and its sampler"
		}
	case Folder:
		own := decoder.NewLayout(m.Config, caps.MaxBinding)
		drawing = own
		if err := own.Fits(true); err != nil {
			return nil, err
		}
		if m.Adapter != nil { // which the workspace has rows for
			a, err := decoder.NewAdapter(*m.Adapter, m.Config, own)
			if err != nil {
				return nil, err
			}
			bytes = a.Set.Bytes(tensors.Chunk.Whole)
		}
		room := ""
		if own.Dims != l.Dims { // else it writes where the trainer does
			p := scoring(own, use.TrainRows, caps)
			p.Note(plan)
			bytes, room = bytes+p.Bytes, ", and its workspace"
		}
		bytes += own.Bytes(tensors.Chunk.Unpacked) + own.Bytes(tensors.Chunk.Packed) + own.RopeBytes(use.Positions)
		hint = fmt.Sprintf("%d parameters, matrices in %s%s", own.Count(), cmp.Or(m.Config.Dtype, hf.F32), room)
	}
	if m.Learns != nil {
		bytes += learning(plan, l, use, caps, *m.Learns, trained)
		hint += ", gradient and optimizer state"
	}
	if m.Engine != nil {
		p := sample.Space(drawing, *m.Engine, caps)
		p.Note(plan)
		bytes, hint = bytes+p.Bytes, hint+fmt.Sprintf(", and a sampler of %d sequences", m.Engine.Sequences)
	}
	plan.Add(cmp.Or(m.Name, name), bytes, hint)
	return drawing, nil
}

// learning is what a trainer needs beside that of the model of a layout, of which so many bytes are trained.
func learning(plan *gpu.Plan, l *decoder.Layout, use Use, caps gpu.Caps, by Learning, trained int) int {
	moments := learn.Moments(by.Optimizes...)
	bytes := (1 + moments) * trained
	if use.Adapter == nil {
		bytes += l.LookupBytes()
	}
	if by.ValueHead {
		bytes += valueHead(plan, l, use, caps, moments)
	}
	return bytes
}

// valueHead is what a value head needs, with its gradient and what the rule of its updates keeps.
func valueHead(plan *gpu.Plan, l *decoder.Layout, use Use, caps gpu.Caps, moments int) int {
	p := device.NewPool(nil, "")
	h := decoder.NewValueHead(p, l.Dims, use.TrainRows, caps.MaxBinding)
	p.Note(plan)
	return (2+moments)*h.Bytes(tensors.Chunk.Whole) + p.Bytes
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

// scoring is what a scorer of a model of its own layout needs. Others write where the trainer does, see
// [learn.Trainer.NewScorer].
func scoring(l *decoder.Layout, rows int, caps gpu.Caps) *device.Pool {
	p := device.NewPool(nil, "")
	decoder.NewWorkspace(p, l.Dims, rows, decoder.KeptNothing, caps)
	return p
}

// addSampling adds what an engine needs.
func addSampling(plan *gpu.Plan, l *decoder.Layout, o sample.Options, caps gpu.Caps, summed []*decoder.Decoder) {
	hint := fmt.Sprintf("%d sequences of %d tokens", o.Sequences, o.Context)
	if l.KVDtype == tensors.BF16 {
		hint += ", keys and values in bf16"
	}
	if len(summed) > 0 {
		hint += fmt.Sprintf(", and those of %d models that a sum adds", len(summed))
	}
	p := sample.Space(l, o, caps, summed...)
	p.Note(plan)
	plan.Add("sampler and its cache", p.Bytes, hint)
}
