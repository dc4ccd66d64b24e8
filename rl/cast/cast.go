package cast

import (
	"io"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Cast is the models of a run.
type Cast struct {
	Policy    *Policy         // the member that is trained
	Sampler   rollout.Sampler // of the policy: Own, or workers that draw the same
	Own       *Sampler        // on the policy's device
	Panel     rollout.Panel   // judges completions elsewhere; nil: nobody does
	Folder    string          // that the policy was read from; "": random weights
	members   []namedMember   // in the order of the roles, the policy first
	positions int             // of the longest sequence, tokens
}

// Keeper has state that a resumed run needs.
type Keeper interface {
	// Save returns what writes each file of a checkpoint, by its name there.
	Save() (map[string]func(io.Writer) error, error)
	// Load continues from a checkpoint's folder.
	Load(dir string) error
}

// Open makes the models that a recipe needs. folder is the Hugging Face folder that its
// model.path means; "": random weights. It plans their memory first and refuses what does
// not fit.
func Open(r *recipe.Recipe, folder string, dev gpu.Device) (*Cast, error) {
	if _, err := Plan(r, folder, dev.Caps()); err != nil {
		return nil, err
	}
	c := &Cast{Folder: folder}
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
	o := opening{blueprint: b, sizes: sizesOf(r), dev: dev, seed: r.Seed, recompute: r.Recompute}
	for _, w := range b.wants {
		o.want = w
		m, err := roleOf(w.name).open(o)
		if err != nil {
			return err
		}
		c.members = append(c.members, namedMember{w.name, m})
		if p, ok := m.(*Policy); ok {
			c.Policy, o.policy = p, p
		}
	}
	engine, err := sample.NewEngine(c.Policy.Model, o.engine)
	if err != nil {
		return err
	}
	c.Own = &Sampler{Engine: engine, Role: policyName, Seed: func(k random.Key) uint64 { return k.Seed(r.Seed) }, Version: c.Policy.Version}
	c.Sampler, c.positions = c.Own, o.positions
	return nil
}

// Tokenizer is the policy's.
func (c *Cast) Tokenizer() *text.Tokenizer { return c.Policy.Model.Tokenizer }

// Begin prepares the members for a stage: the optimizer forgets, and copies of the policy
// become what it is now.
func (c *Cast) Begin() error {
	for _, m := range c.members {
		if err := m.begin(); err != nil {
			return err
		}
	}
	return nil
}

// Follow moves the members that follow the policy a share of the way to it.
func (c *Cast) Follow(share float64) error {
	for _, m := range c.members {
		if f, ok := m.member.(follower); ok {
			if err := f.follow(share); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keepers are the members with state that a resumed run needs.
func (c *Cast) Keepers() []Keeper {
	var keepers []Keeper
	for _, m := range c.members {
		if k, ok := m.member.(Keeper); ok {
			keepers = append(keepers, k)
		}
	}
	return keepers
}

// Close frees the device memory.
func (c *Cast) Close() {
	if c.Own != nil {
		c.Own.Engine.Close()
	}
	for _, m := range slices.Backward(c.members) {
		m.close()
	}
}
