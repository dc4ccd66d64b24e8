package cast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/tasks"
)

// Worker is a copy of the policy that samples for it, on a device of its own.
type Worker struct {
	model  *model.Model
	engine *sample.Engine
	plays  *rollout.Episodes // of the run's world; nil: it has none that can be played here
}

// Spec is what the workers of a run have to know about its policy: everything that a copy of the
// model is made from, except the weights, which come with each version. It goes to other machines
// as JSON. It names no file, and nothing in it is run.
type Spec struct {
	model     blueprint
	positions int
	engine    sample.Options
	base      baseOf
	seed      uint64         // of the recipe: an adapter's base may be a fresh model
	world     tasks.Episodic // that workers play; nil: there is none, or contexts begin anew, which the trainer alone writes
	style     prompts.Style  // of its prompts
}

// baseOf says where the weights come from that no version has.
type baseOf string

const (
	noBase     baseOf = ""       // each version has all
	freshBase  baseOf = "fresh"  // random, from the recipe's seed
	folderBase baseOf = "folder" // a folder that the worker has too
)

// SpecOf is the spec of a recipe's policy. folder is the Hugging Face folder that its
// model.path means; "": random weights.
func SpecOf(r *recipe.Recipe, folder string) (Spec, error) {
	b, err := read(r, folder)
	sizes := sizesOf(r)
	s := Spec{model: b, positions: sizes.positions, engine: sizes.engine, seed: r.Seed}
	if played := r.Task.Episodic(); played != nil && !r.Task.Episode.Restarts() {
		s.world, s.style = played, resolve.Style(r)
	}
	switch {
	case b.adapter == nil:
	case folder == "":
		s.base = freshBase
	default:
		s.base = folderBase
	}
	return s, err
}

// specLine is a spec as JSON.
type specLine struct {
	Config    json.RawMessage `json:"config"`            // config.json
	Tokenizer []byte          `json:"tokenizer"`         // tokenizer.json
	Adapter   json.RawMessage `json:"adapter,omitempty"` // adapter_config.json
	Base      baseOf          `json:"base,omitempty"`
	Seed      uint64          `json:"seed"`
	Positions int             `json:"positions"`
	Sequences int             `json:"sequences"`
	Context   int             `json:"context"`
	StepRows  int             `json:"step_rows"`
	Keeps     bool            `json:"keeps,omitempty"`  // what turns read again
	Guides    bool            `json:"guides,omitempty"` // what completions may begin with
	World     *worldLine      `json:"world,omitempty"`
}

// worldLine is a task that is played in turns, and how its prompts are written.
type worldLine struct {
	Task      string          `json:"task"`
	Settings  json.RawMessage `json:"settings"`
	Form      string          `json:"form"`
	System    string          `json:"system,omitempty"`
	Variables map[string]any  `json:"template_vars,omitempty"`
	Control   bool            `json:"allow_control,omitempty"`
}

// MarshalJSON writes a spec for another machine.
func (s Spec) MarshalJSON() ([]byte, error) {
	files, err := hf.FolderFiles(s.model.config, s.model.tokenizer)
	if err != nil {
		return nil, err
	}
	line := specLine{Config: files["config.json"], Tokenizer: files["tokenizer.json"], Base: s.base, Seed: s.seed,
		Positions: s.positions, Sequences: s.engine.Sequences, Context: s.engine.Context, StepRows: s.engine.StepRows, Keeps: s.engine.Prefixes > 0, Guides: s.engine.Guides}
	if s.world != nil {
		if line.World, err = lineOf(s.world, s.style); err != nil {
			return nil, err
		}
	}
	if a := s.model.adapter; a != nil {
		own := *a
		own.Base = "" // a path of the trainer's machine
		if line.Adapter, err = json.Marshal(own); err != nil {
			return nil, err
		}
	}
	return json.Marshal(line)
}

// UnmarshalJSON reads a spec of another machine.
func (s *Spec) UnmarshalJSON(data []byte) error {
	var line specLine
	err := json.Unmarshal(data, &line)
	if err != nil {
		return err
	}
	if s.model.config, err = hf.ParseConfig(line.Config); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if s.model.tokenizer, err = text.ParseTokenizer(line.Tokenizer); err != nil {
		return fmt.Errorf("tokenizer: %w", err)
	}
	if line.Adapter != nil {
		a, err := hf.ParseAdapterConfig(line.Adapter)
		if err != nil {
			return fmt.Errorf("adapter: %w", err)
		}
		s.model.adapter = &a
	}
	if known := line.Base == noBase || line.Base == freshBase || line.Base == folderBase; !known || (line.Base == noBase) != (line.Adapter == nil) {
		return fmt.Errorf("base is %q of a model that has an adapter: %t", line.Base, line.Adapter != nil)
	}
	for _, n := range []int{line.Positions, line.Sequences, line.Context, line.StepRows} {
		if n < 1 || n > maxSize {
			return fmt.Errorf("a size of the sampler is %d; accepted: 1 to %d", n, maxSize)
		}
	}
	s.base, s.seed, s.positions = line.Base, line.Seed, line.Positions
	s.engine = sample.Options{Sequences: line.Sequences, Context: line.Context, StepRows: line.StepRows, Guides: line.Guides}
	if line.Keeps {
		s.engine.Prefixes = sample.EveryPage
	}
	if line.World != nil {
		if s.world, err = line.World.open(); err != nil {
			return fmt.Errorf("world: %w", err)
		}
		s.style = prompts.Style{Form: line.World.Form, System: line.World.System, Task: s.world, Options: chat.Options{Variables: line.World.Variables, AllowControl: line.World.Control}}
	}
	return nil
}

func lineOf(world tasks.Episodic, style prompts.Style) (*worldLine, error) {
	own, err := json.Marshal(world)
	return &worldLine{world.Name(), own, style.Form, style.System, style.Variables, style.AllowControl}, err
}

// open makes the task.
func (w *worldLine) open() (tasks.Episodic, error) {
	task, err := tasks.New(w.Task)
	if err != nil {
		return nil, err
	}
	played, can := task.(tasks.Episodic)
	if !can {
		return nil, fmt.Errorf("task %s is not played in turns", w.Task)
	}
	if err := json.Unmarshal(w.Settings, played); err != nil {
		return nil, err
	}
	return played, played.Validate()
}

// maxSize is above each size of a sampler in a spec: products of them do not overflow.
const maxSize = 1 << 24

// NeedsFolder says whether a worker needs the folder of the model whose adapter is trained, since
// the versions of the policy have only the adapter.
func (s Spec) NeedsFolder() bool { return s.base == folderBase }

// Base is that folder on the machine of the run; "": no worker needs it.
func (s Spec) Base() string {
	if !s.NeedsFolder() {
		return ""
	}
	return s.model.folder
}

// Open makes a worker on a device. folder is that of NeedsFolder. The worker has no
// weights until Load.
func (s Spec) Open(folder string, dev gpu.Device) (*Worker, error) {
	b := s.model
	w := &Worker{}
	var err error
	switch s.base {
	case noBase:
		if w.model, err = model.NewFrozen(dev, b.config, s.positions); err == nil {
			w.model.Tokenizer = b.tokenizer // for stop texts
		}
	case freshBase:
		w.model, err = b.open(s.seed, "", dev, s.positions)
	case folderBase:
		w.model, err = b.open(s.seed, folder, dev, s.positions)
	}
	if err != nil {
		return nil, err
	}
	w.engine, err = sample.NewEngine(w.model, s.engine)
	if err == nil && s.world != nil {
		var renderer *prompts.Renderer
		renderer, err = prompts.NewRenderer(b.tokenizer, b.config.EOS, s.style)
		w.plays = &rollout.Episodes{World: s.world, Renderer: renderer}
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Plan is the device memory that a worker needs.
func (s Spec) Plan(caps gpu.Caps) (gpu.Plan, error) {
	return memory.Plan(s.model.config, caps, memory.Use{Positions: s.positions, Adapter: s.model.adapter, Engine: &s.engine})
}

// MaxWeights is the size of the largest weights that Load accepts, bytes: the tensors with
// four bytes for a number, and the head of their file.
func (w *Worker) MaxWeights() int {
	tensors := w.model.AdapterTensors()
	if tensors == nil {
		tensors = w.model.Tensors()
	}
	n := 1 << 20
	for _, t := range tensors {
		size := 4
		for _, d := range t.Shape {
			size *= d
		}
		n += size + len(t.Name) + 256
	}
	return n
}

// Load takes over the policy's weights, as [Policy.Weights] returns them.
func (w *Worker) Load(weights []byte) error {
	ts, err := hf.ReadTensors("the policy's weights", bytes.NewReader(weights), int64(len(weights)))
	if err != nil {
		return err
	}
	if w.model.AdapterTensors() != nil {
		return w.model.SetAdapterTensors(ts)
	}
	return w.model.SetTensors(ts)
}

// Sample draws completions. seed is that of the generator, and of the requests' keys the
// streams alone count.
func (w *Worker) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	return w.sampler(seed).Sample(ctx, requests)
}

func (w *Worker) sampler(seed uint64) *Sampler {
	return &Sampler{Engine: w.engine, Seed: func(random.Key) uint64 { return seed }}
}

// Play plays the episodes that requests begin, in the run's world, as [rollout.Episodes.Ahead] returns them. Of the
// requests' keys the streams and stages alone count.
func (w *Worker) Play(ctx context.Context, requests []rollout.Request, seed uint64) ([][][]rollout.Segment, error) {
	if w.plays == nil {
		return nil, errors.New("episodes of a world that this worker does not know")
	}
	plays := *w.plays
	plays.Dice = func(k random.Key, of random.Purpose) *random.Rand { return k.DiceBy(seed, of) }
	return plays.Ahead(ctx, w.sampler(seed), requests)
}

// Close frees the device memory.
func (w *Worker) Close() {
	if w.engine != nil {
		w.engine.Close()
	}
	w.model.Close()
}
