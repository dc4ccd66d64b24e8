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
	Summed    bool              // the sampler draws by sums of logits, to which members add theirs
	Shared    bool              // phases take turns in one scratch, see [model.Scratch]
}

// Names of phases. Those of a member are named after it, see [Reading] and [Writing].
const (
	Sampling = "sampling"
	Training = "training"
)

// Reading is the phase in which a member scores, where it is of other sizes than the trainer or leaves.
func Reading(member string) string { return member + ", reading" }

// Writing is the phase in which a member draws, unless it plays.
func Writing(member string) string { return member + ", writing" }

// LearningOf is the phase in which a Novice learns and scores.
func LearningOf(member string) string { return member + ", learning" }

// Member is a model beside the one that is trained.
type Member struct {
	Kind    Kind
	Name    string            // in the plan; "": that of its kind
	Config  hf.Config         // of a Folder and of a Novice; of the others the config is that of the model
	Adapter *hf.AdapterConfig // that a Folder has; nil: none
	Rides   bool              // the parameters of a Folder are those of the model; it has its adapter alone
	Engine  *sample.Options   // by which it draws; nil: it draws nothing
	Learns  *Learning         // by which an Average or a Novice learns; nil: it does not
	Summed  bool              // its logits are added to those of the model, in the trainer and, see [Use], the sampler
	Keeps   bool              // what it keeps is what the sampler draws from, see [sample.Engine.FilterBy]
	Plays   bool              // it draws while the model draws
	Leaves  bool              // the parameters of a Folder are there in its own phases alone, see [model.LoadOptions]
}

// writes is the phase of its sampler.
func (m Member) writes() string {
	if m.Plays {
		return Sampling
	}
	return Writing(m.name())
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
	Best                  // a second set of what is trained that follows nothing
	Folder                // frozen parameters of its own and a scorer for them
	Novice                // parameters of its own, and a trainer for them that lends to no other
)

// planning is a plan that is being made.
type planning struct {
	gpu.Plan
	l       *decoder.Layout
	use     Use
	caps    gpu.Caps
	trained int             // bytes that are trained of the model
	scratch *device.Scratch // nil: nothing is shared
}

// Plan computes the device memory of a run before any of it is allocated.
func Plan(cfg hf.Config, caps gpu.Caps, use Use) (gpu.Plan, error) {
	l := decoder.NewLayout(cfg, caps.MaxBinding)
	plan := planning{l: l, use: use, caps: caps}
	if use.Shared {
		plan.scratch = device.PlanScratch(caps.MaxAllocation)
	}
	err := plan.all(cfg)
	return plan.Plan, err
}

// pool counts what is allocated in a phase.
func (plan *planning) pool(phase string) *device.Pool {
	return device.NewPoolIn(plan.scratch.Phase(phase), nil, "")
}

// part counts what is allocated in a phase of a member, beside its parameters if it leaves.
func (plan *planning) part(m Member, phase string) *device.Pool {
	if !m.Leaves {
		return plan.pool(phase)
	}
	return device.NewPoolIn(plan.scratch.Phase(m.name()).Part(phase), nil, "")
}

// lay adds what was counted in a phase.
func (plan *planning) lay(phase, name string, p *device.Pool, hint string) {
	p.Note(&plan.Plan)
	if plan.scratch == nil {
		plan.Add(name, p.Bytes, hint)
		return
	}
	plan.AddTo(phase, gpu.Item{Name: name, Bytes: p.Bytes, Hint: hint})
}

func (plan *planning) all(cfg hf.Config) error {
	l, use, caps := plan.l, plan.use, plan.caps
	if err := l.Fits(use.TrainRows == 0 || use.Adapter != nil); err != nil {
		return err
	}
	if cfg.Dtype.Blocked() && use.TrainRows > 0 && use.Adapter == nil {
		return tensors.Storage(cfg.Dtype).ErrTrained()
	}
	params := l.Bytes(tensors.Chunk.Whole)
	frozen := l.Bytes(tensors.Chunk.Unpacked) + l.Bytes(tensors.Chunk.Packed)
	trained := &l.Set
	if use.Adapter != nil {
		a, err := decoder.NewAdapter(*use.Adapter, cfg, l)
		if err != nil {
			return err
		}
		trained = &a.Set
		plan.Add("adapter", trained.Bytes(tensors.Chunk.Whole), fmt.Sprintf("%d x f32", trained.Count()))
	}
	plan.trained = trained.Bytes(tensors.Chunk.Whole)
	if (use.TrainRows == 0 || use.Adapter != nil) && frozen < params {
		plan.Add("parameters", frozen, fmt.Sprintf("%d, matrices in %s", l.Count(), cfg.Dtype))
	} else {
		plan.Add("parameters", params, fmt.Sprintf("%d x f32", l.Count()))
	}
	plan.Add("rope table", l.RopeBytes(use.Positions), fmt.Sprintf("%d positions", use.Positions))
	if use.TrainRows > 0 {
		if cfg.Dtype == hf.BF16 && use.Adapter == nil {
			plan.Add("rounded parameters", l.Bytes(tensors.Chunk.Packed), "the matrices in bf16, as the passes read them")
		}
		lookup := 0
		if use.Adapter == nil {
			lookup = l.LookupBytes()
		}
		plan.Add("gradient", plan.trained+lookup, "f32")
		moments := learn.Moments(use.Optimizes...)
		plan.Add("optimizer state", moments*plan.trained, fmt.Sprintf("moments, %d x f32", moments))
		plan.addTraining()
		if use.Influence && use.Adapter != nil {
			plan.Add("influence", l.TableBytes(), "a gradient of the output table in f32")
		}
		if use.ValueHead {
			plan.Add("value head", plan.valueHead(moments), "f32, with gradient and optimizer state")
		}
	}
	layouts := make([]*decoder.Layout, len(use.Members))
	var summed, keeps []*decoder.Decoder
	for i, m := range use.Members {
		var err error
		if layouts[i], err = plan.addMember(m); err != nil {
			return err
		}
		of := &decoder.Decoder{Layout: layouts[i]}
		if m.Summed {
			summed = append(summed, of)
		}
		if m.Keeps && !(m.Summed && use.Summed) { // else it is there
			keeps = append(keeps, of)
		}
	}
	plan.addSums(summed)
	if use.Engine != nil {
		if !use.Summed {
			summed = nil
		}
		plan.addSampling(summed, keeps)
	}
	for i, m := range use.Members {
		if m.Engine != nil {
			p := plan.part(m, m.writes())
			sample.Space(p, layouts[i], *m.Engine, caps)
			plan.lay(m.writes(), "sampler of "+m.name(), p, fmt.Sprintf("%d sequences of %d tokens", m.Engine.Sequences, m.Engine.Context))
		}
	}
	if plan.scratch != nil {
		plan.Share(plan.scratch.Blocks())
	}
	if caps.Kind == gpu.CPU {
		kernels := driverBytes
		if use.TrainRows > 0 {
			kernels *= 2
		}
		plan.Add("driver", kernels, "compiled kernels and recorded work")
	}
	return nil
}

// addSums adds what adding the logits of others needs in the trainer.
func (plan *planning) addSums(summed []*decoder.Decoder) {
	if len(summed) == 0 {
		return
	}
	p, rows := plan.pool(Training), plan.use.TrainRows
	ws := decoder.NewWorkspace(device.NewPool(nil, ""), plan.l.Dims, rows, decoder.KeptNothing, plan.caps)
	ws.Mix(p, rows, summed, nil)
	plan.lay(Training, "logits of others", p, fmt.Sprintf("workspaces of %d models that a sum adds", len(summed)))
}

// phases are those of its own.
func (m Member) phases() []string {
	if m.Engine == nil {
		return []string{Reading(m.name())}
	}
	return []string{Reading(m.name()), m.writes()}
}

// name is that of the member in the plan.
func (m Member) name() string {
	return cmp.Or(m.Name, [...]string{"reference policy", "average of the policy", "best policy so far", "model", "model"}[m.Kind])
}

// addMember adds what a model beside the one that is trained needs, but for a sampler. It returns the layout of its own
// numbers.
func (plan *planning) addMember(m Member) (*decoder.Layout, error) {
	l, use := plan.l, plan.use
	whole, rope := use.Adapter == nil, l.RopeBytes(use.Positions)
	packed, frozen := l.Bytes(tensors.Chunk.Packed), l.Bytes(tensors.Chunk.Unpacked)+l.Bytes(tensors.Chunk.Packed)
	var hint string
	var bytes int
	of := l // whose layout it is
	switch m.Kind {
	case Reference:
		hint = "the model with its adapter off, in the trainer's memory"
		if whole {
			bytes, hint = frozen+rope, "frozen copy"
		}
	case Average, Best:
		bytes, hint = plan.trained, "a second adapter"
		if whole {
			bytes, hint = bytes+packed+rope, "a second set of weights in f32"
		}
	case Folder:
		of = decoder.NewLayout(m.Config, plan.caps.MaxBinding)
		if err := of.Fits(true); err != nil {
			return nil, err
		}
		if m.Adapter != nil { // which the workspace has rows for
			a, err := decoder.NewAdapter(*m.Adapter, m.Config, of)
			if err != nil {
				return nil, err
			}
			bytes = a.Set.Bytes(tensors.Chunk.Whole)
		}
		if m.Rides {
			hint = "an adapter over the model's own parameters"
			break
		}
		numbers := fmt.Sprintf("%d parameters, matrices in %s", of.Count(), cmp.Or(m.Config.Dtype, hf.F32))
		bytes, hint = bytes+of.RopeBytes(use.Positions), numbers
		if m.Leaves {
			p := plan.pool(m.name())
			of.ParametersIn(p)
			p.Note(&plan.Plan)
			hint = "what stays: its parameters leave"
			for _, phase := range m.phases() {
				plan.AddTo(phase, gpu.Item{Name: "parameters of " + m.name(), Bytes: p.Bytes, Hint: numbers})
			}
		} else {
			bytes += of.Bytes(tensors.Chunk.Unpacked) + of.Bytes(tensors.Chunk.Packed)
		}
	}
	if m.Kind == Novice {
		return plan.addNovice(m)
	}
	if m.Learns != nil {
		bytes += plan.learning(*m.Learns)
		hint += ", gradient and optimizer state"
	}
	plan.Add(m.name(), bytes, hint)
	if of.Dims != l.Dims || m.Leaves { // else it writes where the trainer does, see [learn.Trainer.NewScorer]
		phase := Reading(m.name())
		p := plan.part(m, phase)
		decoder.NewWorkspace(p, of.Dims, use.TrainRows, decoder.KeptNothing, plan.caps)
		plan.lay(phase, "workspace of "+m.name(), p, fmt.Sprintf("%d tokens", use.TrainRows))
	}
	return of, nil
}

// addNovice adds what a model needs that learns by a trainer of its own.
func (plan *planning) addNovice(m Member) (*decoder.Layout, error) {
	l := decoder.NewLayout(m.Config, plan.caps.MaxBinding)
	if err := l.Fits(false); err != nil {
		return nil, err
	}
	params, moments := l.Bytes(tensors.Chunk.Whole), learn.Moments(m.Learns.Optimizes...)
	plan.Add(m.name(), params+l.RopeBytes(plan.use.Positions), fmt.Sprintf("%d x f32", l.Count()))
	plan.Add("learning of "+m.name(), (1+moments)*params+l.LookupBytes(), "gradient and optimizer state")
	phase := LearningOf(m.name())
	p := plan.pool(phase)
	plan.trainer(p, l.Dims)
	plan.lay(phase, "training activations of "+m.name(), p, fmt.Sprintf("%d tokens", plan.use.TrainRows))
	return l, nil
}

// trainer counts the activations of a batch of a trainer, and their gradients.
func (plan *planning) trainer(p *device.Pool, d decoder.Dims) {
	keep := decoder.KeptAll
	if plan.use.Recompute {
		keep = decoder.KeptInputs
	}
	decoder.NewWorkspace(p, d, plan.use.TrainRows, keep, plan.caps)
	decoder.NewBackwardSpace(p, d, plan.use.TrainRows)
}

// learning is what a trainer needs beside that of the model.
func (plan *planning) learning(by Learning) int {
	moments := learn.Moments(by.Optimizes...)
	bytes := (1 + moments) * plan.trained
	if plan.use.Adapter == nil {
		bytes += plan.l.LookupBytes()
	}
	if by.ValueHead {
		bytes += plan.valueHead(moments)
	}
	return bytes
}

// valueHead is what a value head needs, with its gradient and what the rule of its updates keeps.
func (plan *planning) valueHead(moments int) int {
	p := device.NewPool(nil, "")
	h := decoder.NewValueHead(p, plan.l.Dims, plan.use.TrainRows, plan.caps.MaxBinding)
	p.Note(&plan.Plan)
	return (2+moments)*h.Bytes(tensors.Chunk.Whole) + p.Bytes
}

// addTraining adds what a batch of the trainer needs.
func (plan *planning) addTraining() {
	rows := plan.use.TrainRows
	hint := fmt.Sprintf("%d tokens", rows)
	if plan.use.Recompute {
		hint += ", recomputed in the backward pass"
	}
	p := plan.pool(Training)
	plan.trainer(p, plan.l.Dims)
	plan.lay(Training, "training activations", p, hint)
}

// addSampling adds what the engine needs.
func (plan *planning) addSampling(summed, keeps []*decoder.Decoder) {
	o := *plan.use.Engine
	hint := fmt.Sprintf("%d sequences of %d tokens", o.Sequences, o.Context)
	if plan.l.KVDtype == tensors.BF16 {
		hint += ", keys and values in bf16"
	}
	if len(summed) > 0 {
		hint += fmt.Sprintf(", and those of %d models that a sum adds", len(summed))
	}
	if len(keeps) > 0 {
		hint += fmt.Sprintf(", and of models that filter: %d", len(keeps))
	}
	p := plan.pool(Sampling)
	sample.Space(p, plan.l, o, plan.caps, append(summed, keeps...)...)
	plan.lay(Sampling, "sampler and its cache", p, hint)
}
