package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// with is a device with so much memory.
type with struct {
	gpu.Device
	memory int
	most   int // bytes of the largest buffer that was asked for
}

func (w *with) Caps() gpu.Caps {
	c := w.Device.Caps()
	c.Memory = w.memory
	return c
}

func (w *with) NewBuffer(label string, size int) (gpu.Buffer, error) {
	w.most = max(w.most, size)
	return w.Device.NewBuffer(label, size)
}

// TestModel: what is said to fit does, by the plan of the recipe with the changes that are
// named; the next larger group does not; ways that keep less take longer contexts; and
// nothing of the model's size is allocated.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: plans many models")
	}
	folder := filepath.Join(fixtures.Selection(t, "models"), "qwen3_tied_f32")
	c, err := hf.ReadConfig(folder)
	if err != nil {
		t.Fatal(err)
	}
	c.Vocab, c.Width, c.MLP, c.Layers, c.MaxPositions = 32768, 256, 512, 40, 3000
	c.Heads, c.KVHeads, c.HeadDim = 8, 4, 32
	dev := &with{Device: refdev.New(), memory: 600 << 20}
	defer dev.Close()
	r, err := Model(dev, Planned{Path: folder, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ways) != len(tried) || r.Start == nil {
		t.Fatalf("%+v", r)
	}
	if dev.most > 2*slowBytes {
		t.Errorf("a buffer of %d bytes was made", dev.most)
	}
	if !(r.Spread >= 0) || math.IsInf(r.Spread, 0) {
		t.Errorf("the measurements varied by %v", r.Spread)
	}
	longest, limited := 0, 0
	for i, w := range r.Ways {
		if w.Never != "" || w.Sampling <= 0 || w.Training <= 0 {
			t.Errorf("%+v", w)
		}
		for _, cell := range w.Fits {
			set := append(cast.Set{"model.path=" + folder}, cell.Set...)
			recipe, err := recipe.Load(base, set)
			if err != nil {
				t.Fatal(err)
			}
			more, plan, ok, err := cast.Afford(recipe, c, nil, dev.Caps())
			if err != nil || !ok || more != nil || plan.Total() != cell.Bytes || cell.Bytes > dev.memory {
				t.Errorf("%s: %+v: planned %d, more changes %v, %v, %v", w.Way, cell, plan.Total(), more, ok, err)
			}
			if recipe.Task.MaxPromptTokens+recipe.Stages[0].Sampling.MaxCompletionTokens != cell.Context || recipe.Stages[0].RL.GroupSize != cell.Group {
				t.Errorf("%s: %+v is not what its changes say", w.Way, cell)
			}
			if cell.Group < groups[0] {
				limited++
				if larger, err := planned(Planned{Path: folder, Config: c}, dev.Caps(), tried[i].set, cell.Context, 2*cell.Group); larger != nil || err != nil {
					t.Errorf("%s: %d completions of %d tokens fit too, %v", w.Way, 2*cell.Group, cell.Context, err)
				}
			}
		}
		reached := 0
		if n := len(w.Fits); n > 0 {
			reached = w.Fits[n-1].Context
		}
		if reached < longest && i > 1 { // the second row is of the first kind
			t.Errorf("%s: contexts of %d tokens, another way has %d", w.Way, reached, longest)
		}
		longest = max(longest, reached)
	}
	if limited == 0 {
		t.Error("every group fits: this test can show nothing")
	}
}

// TestCellsRun: what is said to fit does run: for each cell, models, trainer and sampler are
// made on a device of those limits, and a step of the largest batches is recorded, in no more
// memory than was planned. Bindings are small beside what the steps take.
func TestCellsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: makes the models of every cell")
	}
	folder, c := blockModel(t)
	caps := gpu.Caps{ID: "paper", Kind: gpu.Discrete, Tier: gpu.TierBase, Memory: 48 << 20, MaxBinding: 1 << 20, MaxAllocation: 16 << 20}
	dev := &gputest.Paper{Limits: caps}
	cut := 0
	for i, w := range tried {
		fits, never := cells(Planned{Path: folder, Config: c}, caps, w.set)
		if never != nil {
			t.Errorf("%s: %v", w.name, never)
		}
		if len(fits) == 0 {
			t.Errorf("%s fits in no context", w.name)
		}
		for _, cell := range fits {
			cut += len(cell.Set) - len(tried[i].set)
			dev.Bound = 0
			if err := step(t, dev, cell, folder); err != nil {
				t.Errorf("%s: %+v: %v", w.name, cell, err)
			}
			if dev.Taken != 0 {
				t.Fatalf("%d bytes were not freed", dev.Taken)
			}
			if dev.Bound > caps.MaxBinding || dev.Bound < caps.MaxBinding/4 {
				t.Errorf("%s: %+v: the largest view has %d bytes", w.name, cell, dev.Bound)
			}
		}
	}
	if cut == 0 {
		t.Error("nothing had to be changed: this test can show nothing")
	}
}

// blockModel is a folder with a small model whose widths are whole blocks, with its config.
func blockModel(t *testing.T) (folder string, c hf.Config) {
	t.Helper()
	folder = fixtures.ChatModel(t)
	c, err := hf.ReadConfig(folder)
	if err != nil {
		t.Fatal(err)
	}
	c.Width, c.Layers, c.Heads, c.KVHeads, c.HeadDim, c.MLP, c.MaxPositions = 64, 2, 4, 2, 16, 160, 2048
	m, err := model.New(refdev.New(), c, 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var tensors bytes.Buffer
	config, err := json.Marshal(c)
	if err == nil {
		err = hf.WriteSafetensors(&tensors, m.Tensors())
	}
	for name, data := range map[string][]byte{"config.json": config, "model.safetensors": tensors.Bytes()} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder, c
}

// step makes what a cell's recipe needs, samples a group and learns from it and from
// sequences of the whole context.
func step(t *testing.T, dev *gputest.Paper, cell Cell, folder string) error {
	t.Helper()
	r, err := recipe.Load(base, append(cast.Set{"model.path=" + folder}, cell.Set...))
	if err != nil {
		return err
	}
	c, err := cast.Open(r, folder, dev)
	if err != nil {
		return err
	}
	defer c.Close()
	if dev.Taken > cell.Bytes+64<<10 { // the few words that the optimizer sums up in
		return fmt.Errorf("%d bytes are taken and %d planned", dev.Taken, cell.Bytes)
	}
	prompt := make([]int, cell.Context/2)
	if _, err := c.Own.Engine.Generate(t.Context(), sample.Request{Prompt: prompt, N: cell.Group, MaxTokens: 2}); err != nil {
		return err
	}
	var views []rollout.View
	for i := range cell.Group + 2 {
		v := rollout.View{IDs: make([]int, cell.Context), Spans: []rollout.Span{{From: len(prompt), To: cell.Context}}, Temperature: 1}
		if i < cell.Group {
			v.Group = 1
		}
		views = append(views, v)
	}
	err = c.Policy.Accumulate(views, func(_ int, stats []seq.Stats) ([]learn.Weights, error) {
		weights := make([]learn.Weights, len(stats))
		for i, s := range stats {
			weights[i].Logprob = make([]float64, len(s.Logprob))
		}
		return weights, nil
	})
	if err == nil {
		_, err = c.Policy.Update(learn.Optimizer{Rule: learn.AdamW, LR: 1, Beta1: 0.5, Beta2: 0.5, Eps: 1, ClipNorm: 1})
	}
	return err
}

// TestBeside: a judge takes its weights, and activations in a phase of its own, where the plan of the recipe with a judge
// has as many bytes; with less memory it leaves, and what fits is what fits beside it.
func TestBeside(t *testing.T) {
	folder, c := blockModel(t)
	judge := c
	judge.Width, judge.Layers, judge.MaxPositions = 96, 4, 1024
	m := Planned{Path: folder, Config: c, Judge: &Judge{folder, judge}}
	caps := gpu.Caps{ID: "paper", Kind: gpu.Discrete, Tier: gpu.TierBase, Memory: 1 << 40, MaxBinding: 1 << 20, MaxAllocation: 16 << 20}
	way := tried[3].set // in q8_0
	alone, err := planned(Planned{Path: folder, Config: c}, caps, way, usualContext, usualGroup)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := planned(m, caps, way, usualContext, usualGroup)
	if err != nil {
		t.Fatal(err)
	}
	phases := phasesOf(beside.plan)
	if more := beside.Bytes - alone.Bytes; more <= 0 || len(phases) != len(phasesOf(alone.plan))+1 || phases[1].Phase != "model grader, reading" {
		t.Errorf("a judge takes %d bytes more, by phase %+v", more, phases)
	}
	for _, p := range phases {
		if p.Bytes > beside.Bytes || p.Scratch <= 0 || p.Bytes <= p.Scratch {
			t.Errorf("%+v of %d bytes", p, beside.Bytes)
		}
	}
	caps.Memory = beside.Bytes - 1
	if less, err := planned(m, caps, way, usualContext, usualGroup); err != nil || less == nil || less.Bytes > caps.Memory || phasesOf(less.plan)[1].Scratch <= phases[1].Scratch {
		t.Errorf("with a byte less: %+v, %v", less, err)
	}
	if m.context() != 1024 || m.set(way, 1024)[1] != `models.grader={path="`+filepath.ToSlash(folder)+`", dtype="q8_0"}` {
		t.Errorf("contexts of %d, %q", m.context(), m.set(way, 1024))
	}
}
