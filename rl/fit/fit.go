package fit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/bench"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
)

// base is the preset that is planned.
const base = "lora-math"

// Usual are the context and the group of the preset: what speed is estimated for, and
// what is proposed first.
const (
	usualContext = 1024
	usualGroup   = 8
)

// tried are the ways to train, those that change least first.
var tried = []struct {
	name string
	set  cast.Set
}{
	{"full, f32", cast.Set{"model.lora.rank=0", "model.dtype=f32"}},
	{"full, bf16", cast.Set{"model.lora.rank=0", "model.dtype=bf16"}},
	{"LoRA, bf16", cast.Set{"model.dtype=bf16"}},
	{"LoRA, q8_0", cast.Set{"model.dtype=q8_0"}},
	{"LoRA, q4_0", cast.Set{"model.dtype=q4_0"}},
}

// adapters is the first of them with an adapter.
const adapters = 2

// contexts and groups are what is tried. A context is a prompt and a completion, half
// each.
var (
	contexts = []int{512, 1024, 2048, 4096, 8192, 16384, 32768}
	groups   = []int{64, 32, 16, 8, 4} // the preset evaluates with four samples of a problem
)

// Report is what fits a device.
type Report struct {
	Family     string `json:"family"`
	Parameters int    `json:"parameters"`
	Context    int    `json:"context"` // of the model, tokens
	Device     string `json:"device"`
	Memory     int    `json:"memory"` // of the device, bytes
	Recipe     string `json:"recipe"` // that is planned
	Ways       []Way  `json:"ways"`
	Start      *Cell  `json:"start"` // what to begin with; null: nothing fits

	// Memory of what to begin with, by phase of a step.
	Phases []Phase `json:"phases"`

	// How much the measurements of the speeds varied: the largest distance of the quartiles
	// of one, as a share of its median.
	Spread float64 `json:"speed_spread"`
}

// Way is one way to train.
type Way struct {
	Way   string `json:"way"`
	Fits  []Cell `json:"fits"`  // by context; none: no context fits
	Never string `json:"never"` // why the model cannot be trained so on this device, whatever its memory; "" if it can

	// Estimates for the usual context, tokens per second: of sampling a usual group, and of
	// an update.
	Sampling float64 `json:"sampling_tokens_per_s"`
	Training float64 `json:"training_tokens_per_s"`
}

// Cell is the largest group that fits with a context.
type Cell struct {
	Context int      `json:"context"`    // tokens
	Group   int      `json:"group_size"` // completions of a prompt
	Bytes   int      `json:"bytes"`      // of the run
	Set     cast.Set `json:"set"`        // changes of the recipe

	plan gpu.Plan
}

// Phase is what is on the device in a phase of a step, bytes.
type Phase struct {
	Phase   string `json:"phase"`
	Bytes   int    `json:"bytes"`   // that it needs, with what always stays
	Scratch int    `json:"scratch"` // of these, what others take in their turn
}

// Planned is what is planned: a model, and a judge beside it.
type Planned struct {
	Path   string // that stands for it in the recipe
	Config hf.Config
	Judge  *Judge // nil: there is none
}

// Judge is a model that is asked about each completion, by the probabilities of two answers.
type Judge struct {
	Path   string
	Config hf.Config
}

// judgeName is the judge's in the recipe.
const judgeName = "grader"

// set are the changes of the recipe for a way and a context, which is also the longest that the judge reads.
func (p Planned) set(way cast.Set, context int) cast.Set {
	set := cast.Set{"model.path=" + p.Path}
	if p.Judge != nil {
		set = append(set, fmt.Sprintf("models.%s={path=%q, dtype=%q}", judgeName, filepath.ToSlash(p.Judge.Path), storageOf(way)),
			fmt.Sprintf("stage.rl.verifier=[{name=\"says\", verifier=\"judge\", options={model=%q, source=\"{question} {completion}\", context=%d, read={yes=1, no=0}}}]", judgeName, context), "stage.rl.reward=task + says")
	}
	return append(set, way...)
}

// beside are the configs of the models beside the one that is trained.
func (p Planned) beside(way cast.Set) map[string]hf.Config {
	if p.Judge == nil {
		return nil
	}
	c := p.Judge.Config
	c.Dtype = hf.Dtype(storageOf(way))
	return map[string]hf.Config{judgeName: c}
}

// storageOf is that of a way's matrices.
func storageOf(way cast.Set) string {
	for _, change := range way {
		if dtype, ok := strings.CutPrefix(change, "model.dtype="); ok {
			return dtype
		}
	}
	return "auto"
}

// Model reports what fits a device of a model, and of a judge beside it whose matrices are kept as the model's are.
func Model(dev gpu.Device, m Planned) (*Report, error) {
	caps, c := dev.Caps(), m.Config
	r := &Report{Family: c.Family, Parameters: c.Parameters(), Context: c.MaxPositions, Device: caps.ID, Memory: caps.Memory, Recipe: base}
	for _, w := range tried {
		fits, never := cells(m, caps, w.set)
		way := Way{Way: w.name, Fits: fits}
		if never != nil {
			way.Never = never.Error()
		}
		r.Ways = append(r.Ways, way)
	}
	if err := r.estimate(dev, c); err != nil {
		return nil, err
	}
	if r.Start = start(m, caps, r.Ways); r.Start != nil {
		r.Phases = phasesOf(r.Start.plan)
	}
	return r, nil
}

// phasesOf is a plan by phase.
func phasesOf(plan gpu.Plan) (phases []Phase) {
	for _, p := range plan.Phases {
		phases = append(phases, Phase{p.Name, plan.Stays() + p.Total(), p.Total()})
	}
	return phases
}

// cells are the contexts that fit in one way to train, each with its largest group. never is
// why the model cannot be trained so at all.
func cells(m Planned, caps gpu.Caps, way cast.Set) (fits []Cell, never error) {
	fits = []Cell{}
	at, most := 0, m.context()
	for _, context := range contexts {
		if context > most && len(fits) > 0 {
			break
		}
		cell, next, err := largest(m, caps, way, min(context, most), at)
		if cell == nil {
			return fits, err
		}
		fits, at = append(fits, *cell), next
	}
	return fits, nil
}

// context is the longest that the models have.
func (p Planned) context() int {
	if p.Judge != nil {
		return min(p.Config.MaxPositions, p.Judge.Config.MaxPositions)
	}
	return p.Config.MaxPositions
}

// largest finds the largest group with which a context fits, from groups[from] on, and
// its place there; nil if none does. never is why not even the smallest can be planned.
func largest(m Planned, caps gpu.Caps, way cast.Set, context, from int) (cell *Cell, at int, never error) {
	for at = from; at < len(groups); at++ {
		cell, err := planned(m, caps, way, context, groups[at])
		if cell != nil || err != nil {
			return cell, at, err
		}
	}
	return nil, at, nil
}

// planned is a cell if it fits, with the cheapest changes that make it fit; nil if not.
func planned(m Planned, caps gpu.Caps, way cast.Set, context, group int) (*Cell, error) {
	set := slices.Clone(way)
	if context != usualContext {
		set = append(set, fmt.Sprintf("task.max_prompt_tokens=%d", context/2), fmt.Sprintf("stage.rl.sampling.max_completion_tokens=%d", context-context/2))
	}
	if group != usualGroup {
		set = append(set, fmt.Sprintf("stage.rl.group_size=%d", group))
	}
	r, err := recipe.Load(base, m.set(set, context))
	if err != nil {
		return nil, err
	}
	more, plan, ok, err := cast.Afford(r, m.Config, m.beside(way), caps)
	if err != nil || !ok {
		return nil, err
	}
	return &Cell{context, group, plan.Total(), append(set, more...), plan}, nil
}

// start is what to begin with: the usual context and group in the first way with an adapter
// that they fit, for the preset's learning rate is for adapters; or else the largest context
// of the last way.
func start(m Planned, caps gpu.Caps, ways []Way) *Cell {
	var last *Cell
	for i, w := range ways[adapters:] {
		usual := min(usualContext, m.context())
		for _, cell := range w.Fits {
			if cell.Context == usual && cell.Group >= usualGroup {
				if cell, err := planned(m, caps, tried[adapters+i].set, usual, usualGroup); err == nil {
					return cell
				}
			}
			last = &cell
		}
	}
	return last
}

// Of the layer that is measured.
const (
	trainRows  = 256
	layerBytes = 32 << 20 // of its matrix as float32
	turns      = 5

	slowBytes = 1 << 18 // on the plain-Go device
	slowTurns = 3
)

// estimate measures a layer in the storage of each way, and fills in the speeds.
func (r *Report) estimate(dev gpu.Device, c hf.Config) error {
	most, turns := layerBytes, turns
	if dev.Caps().Kind == gpu.Reference {
		most, turns = slowBytes, slowTurns
	}
	in := max(32, c.Width/32*32)
	out := max(32, min(2*c.MLP, most/4/in)/32*32)
	var ways []*Way
	var layers []bench.Layer // two of each: a step of sampling, and an update
	for i := range r.Ways {
		if r.Ways[i].Never != "" {
			continue
		}
		recipe, err := recipe.Load(base, tried[i].set)
		if err != nil {
			return err
		}
		l := bench.Layer{Storage: hf.Dtype(recipe.Model.Dtype), Rank: recipe.Model.LoRA.Rank, Rows: usualGroup, Out: out, In: in}
		update := l
		update.Rows = trainRows
		ways, layers = append(ways, &r.Ways[i]), append(layers, l, update)
	}
	rates, spread, err := bench.Linear(dev, turns, layers...)
	if err != nil {
		return err
	}
	r.Spread = spread
	for i, w := range ways {
		w.speeds(c, rates[2*i], rates[2*i+1])
	}
	return nil
}

// speeds makes speeds of a model of those of a layer.
func (w *Way) speeds(c hf.Config, step, update bench.Rates) {
	context := min(usualContext, c.MaxPositions)
	heads := c.Heads * c.HeadDim
	blocks := float64(c.Layers * c.Width * (2*heads + 2*c.KVHeads*c.HeadDim + 3*c.MLP))
	head := float64(c.Vocab * c.Width)
	attention := float64(c.Layers * 2 * context / 2 * heads) // scores and values of half of the keys
	w.Sampling = 1 / ((blocks+head)*step.Forward + attention*update.Forward)
	// The backward pass makes the logits again. Attention has two products forward and five
	// backward, one of them the scores again.
	w.Training = 1 / ((blocks+head)*(update.Forward+update.Backward) + head*update.Forward + attention*3.5*update.Forward)
}
