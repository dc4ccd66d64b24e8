package fit

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
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
	folder := filepath.Join(fixtures.Selection(t, "models"), "qwen3_tied_f32")
	c, err := model.ReadConfig(folder)
	if err != nil {
		t.Fatal(err)
	}
	c.Vocab, c.Width, c.MLP, c.Layers, c.MaxPositions = 32768, 256, 512, 40, 3000
	c.Heads, c.KVHeads, c.HeadDim = 8, 4, 32
	dev := &with{Device: refdev.New(), memory: 600 << 20}
	defer dev.Close()
	r, err := Model(dev, c, folder)
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
			recipe, err := recipe.Load(Recipe, set)
			if err != nil {
				t.Fatal(err)
			}
			more, plan, ok, err := cast.Afford(recipe, c, dev.Caps())
			if err != nil || !ok || more != nil || plan.Total() != cell.Bytes || cell.Bytes > dev.memory {
				t.Errorf("%s: %+v: planned %d, more changes %v, %v, %v", w.Way, cell, plan.Total(), more, ok, err)
			}
			if recipe.Task.MaxPromptTokens+recipe.Stages[0].Sampling.MaxCompletionTokens != cell.Context || recipe.Stages[0].RL.GroupSize != cell.Group {
				t.Errorf("%s: %+v is not what its changes say", w.Way, cell)
			}
			if cell.Group < groups[0] {
				limited++
				if larger, err := planned(c, dev.Caps(), tried[i].set, folder, cell.Context, 2*cell.Group); larger != nil || err != nil {
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
