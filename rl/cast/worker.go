package cast

import (
	"context"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Worker is a copy of the policy that samples for it, on a device of its own.
type Worker struct {
	model  *model.Model
	engine *model.Engine
}

// OpenWorker makes the worker of a recipe's policy. folder is the Hugging Face folder
// behind its model.path; "": random weights. The worker has no weights until Load.
func OpenWorker(r *recipe.Recipe, folder string, dev gpu.Device) (*Worker, error) {
	b, err := read(r, folder)
	if err != nil {
		return nil, err
	}
	s := sizesOf(r)
	w := &Worker{}
	if b.adapter != nil { // the weights are the adapter's, and the rest is as in the beginning
		w.model, err = b.open(r, folder, dev, s.positions)
	} else if w.model, err = model.NewFrozen(dev, b.config, s.positions); err == nil {
		w.model.Tokenizer = b.tokenizer // for stop texts
	}
	if err != nil {
		return nil, err
	}
	if w.engine, err = w.model.NewEngine(s.engine); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// PlanWorker is the device memory that a worker needs.
func PlanWorker(r *recipe.Recipe, folder string, caps gpu.Caps) (gpu.Plan, error) {
	b, err := read(r, folder)
	if err != nil {
		return gpu.Plan{}, err
	}
	s := sizesOf(r)
	return model.Plan(b.config, caps, model.Use{Positions: s.positions, Adapter: b.adapter, Engine: &s.engine})
}

// Load takes over the policy's weights, as [Policy.Weights] returns them.
func (w *Worker) Load(weights []byte) error {
	ts, err := model.ReadTensors("the policy's weights", weights)
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
	s := Sampler{Engine: w.engine, Seed: func(random.Key) uint64 { return seed }}
	return s.Sample(ctx, requests)
}

// Close frees the device memory.
func (w *Worker) Close() {
	if w.engine != nil {
		w.engine.Close()
	}
	w.model.Close()
}
