package cast

import (
	"io"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Cast is the models of a run.
type Cast struct {
	Policy    *Policy
	Sampler   rollout.Sampler // of the policy: Own, or workers that draw the same
	Own       *Sampler        // on the policy's device
	Panel     rollout.Panel   // judges completions elsewhere; nil: nobody does
	Folder    string          // that the policy was read from; "": random weights
	reference *reference
	average   *average
	positions int // of the longest sequence, tokens
}

// Keeper has state that a resumed run needs.
type Keeper interface {
	// Save returns what writes each file of a checkpoint, by its name there.
	Save() (map[string]func(io.Writer) error, error)
	// Load continues from a checkpoint's folder.
	Load(dir string) error
}

// Open makes the models that a recipe needs. folder is the Hugging Face folder behind its
// model.path; "": random weights. It plans their memory first and refuses what does not
// fit.
func Open(r *recipe.Recipe, folder string, dev gpu.Device) (*Cast, error) {
	if _, err := Plan(r, folder, dev.Caps()); err != nil {
		return nil, err
	}
	c := &Cast{Policy: &Policy{}, Folder: folder}
	if err := c.build(r, dev); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cast) build(r *recipe.Recipe, dev gpu.Device) error {
	b, err := read(r, c.Folder)
	if err != nil {
		return err
	}
	s, p := sizesOf(r), c.Policy
	c.positions = s.positions
	if p.Model, err = b.open(r.Seed, c.Folder, dev, s.positions); err != nil {
		return err
	}
	p.fresh = c.Folder == ""
	options := []model.TrainerOption{model.Optimizes(s.optimizes...)}
	if r.Recompute {
		options = append(options, model.Recompute)
	}
	if p.valued = b.roles["value head"]; p.valued {
		options = append(options, model.ValueHead)
	}
	if p.trainer, err = p.Model.NewTrainer(s.trainRows, options...); err != nil {
		return err
	}
	c.Own = &Sampler{Role: "policy", Seed: func(k random.Key) uint64 { return k.Seed(r.Seed) }, Version: p.Version}
	c.Sampler = c.Own
	if c.Own.Engine, err = p.Model.NewEngine(s.engine); err != nil {
		return err
	}
	if b.roles["average"] {
		if c.average, err = openAverage(p.Model, s); err != nil {
			return err
		}
	}
	if b.roles["reference"] {
		if b.adapter != nil {
			c.reference, err = adapterOff(p.Model, s)
		} else {
			c.reference, err = openReference(dev, b.config, s)
		}
	}
	return err
}

// open makes the policy's model as it is before the first update of a run of a seed. One whose adapter is
// trained is frozen.
func (b blueprint) open(run uint64, folder string, dev gpu.Device, positions int) (*model.Model, error) {
	seed := func(n int) uint64 { return random.At(run, random.Stream(random.Init, n), 0).Uint64() }
	var m *model.Model
	var err error
	switch {
	case folder != "":
		m, err = load(dev, folder, model.LoadOptions{Positions: positions, Dtype: b.config.Dtype, KVDtype: b.config.KVDtype, Frozen: b.adapter != nil})
	case b.adapter == nil:
		m, err = model.New(dev, b.config, seed(0), positions)
	default:
		if m, err = model.NewFrozen(dev, b.config, positions); err == nil {
			err = m.Initialize(seed(0))
		}
	}
	if err == nil && b.adapter != nil {
		err = m.AddAdapter(*b.adapter, seed(1))
	}
	if err != nil {
		if m != nil {
			m.Close()
		}
		return nil, err
	}
	m.Tokenizer, m.Config.EOS = b.tokenizer, b.config.EOS
	return m, nil
}

// Tokenizer is the policy's.
func (c *Cast) Tokenizer() *text.Tokenizer { return c.Policy.Model.Tokenizer }

// Begin prepares for a stage: the optimizer forgets, and the average and the reference
// become what the policy is now, but for a reference that is the policy with its adapter off.
func (c *Cast) Begin() error {
	if err := c.Policy.trainer.ResetOptimizer(); err != nil {
		return err
	}
	if c.average != nil {
		if err := c.average.weights.Reset(); err != nil {
			return err
		}
	}
	if c.reference != nil && c.reference.model != nil {
		return c.reference.model.CopyFrom(c.Policy.Model)
	}
	return nil
}

// Follow moves the average a share of the way to the policy, if there is one.
func (c *Cast) Follow(share float64) error {
	if c.average == nil {
		return nil
	}
	return c.average.weights.Follow(share)
}

// Keepers are the models with state that a resumed run needs.
func (c *Cast) Keepers() []Keeper {
	keepers := []Keeper{c.Policy}
	if c.reference != nil && c.reference.model != nil {
		keepers = append(keepers, c.reference)
	}
	if c.average != nil {
		keepers = append(keepers, c.average)
	}
	return keepers
}

// Close frees the device memory.
func (c *Cast) Close() {
	if c.Own != nil && c.Own.Engine != nil {
		c.Own.Engine.Close()
	}
	if c.reference != nil {
		c.reference.close()
	}
	if c.average != nil {
		c.average.close()
	}
	c.Policy.close()
}
