package cast

import (
	"io"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Cast is the models of a run.
type Cast struct {
	Policy    *Policy                    // the member that is trained
	Sampler   rollout.Sampler            // of the policy: Own, or workers that draw the same
	Own       *Sampler                   // on the policy's device
	Panel     rollout.Panel              // judges completions elsewhere; nil: nobody does
	Folder    string                     // that the policy was read from; "": random weights
	Sources   map[string][]string        // folders and files that models of [models] were read from, by their names; of the policy the adapter that it begins with
	members   []namedMember              // in the order of the roles, the policy first
	headed    map[string]bool            // members with a head, by name
	judges    map[string]*Judge          // members that judge, by name
	far       map[string]*panel.Endpoint // models behind addresses that judge, by name
	summands  summands
	filters   map[string]int // models on whose distribution filters of sampling act, by name: their places beside the policy in its sampler
	scratch   *model.Scratch // in which sampling, training and the passes of others take turns
	positions int            // of the longest sequence, tokens
}

// Keeper has state that a resumed run needs.
type Keeper interface {
	// Save returns what writes each file of a checkpoint, by its name there.
	Save() (map[string]func(io.Writer) error, error)
	// Load continues from a checkpoint's folder.
	Load(dir string) error
}

// Open makes the models that a recipe needs. folder is the Hugging Face folder that its
// model.path means; "": random weights. It plans their memory first, as [Plan] does, and refuses what
// does not fit.
func Open(r *recipe.Recipe, folder string, dev gpu.Device) (*Cast, error) {
	b, plan, err := planned(r, folder, dev.Caps())
	if err != nil {
		return nil, err
	}
	c := &Cast{Folder: b.folder, Sources: map[string][]string{}, headed: map[string]bool{}, filters: map[string]int{}}
	if b.begun != "" {
		c.Sources[recipe.PolicyModel] = []string{b.begun}
	}
	for name, f := range b.folders {
		c.Sources[name] = f.read
	}
	if !dev.Caps().ReadsApart {
		c.scratch, err = model.NewScratch(dev, plan.Blocks)
	}
	if err == nil {
		err = c.build(r, b, dev)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cast) build(r *recipe.Recipe, b blueprint, dev gpu.Device) error {
	o := opening{blueprint: b, sizes: sizesOf(r), dev: dev, recipe: r, cast: c}
	for _, w := range b.wants {
		if o.want = w; w.terms != nil && c.summands.models == nil {
			if err := c.openSummands(b); err != nil {
				return err
			}
		}
		m, err := b.roleOf(w).open(o)
		if err != nil {
			return err
		}
		c.members = append(c.members, namedMember{w.name, m})
		c.headed[w.name] = w.spec != nil && w.spec.Head
		if p, ok := m.(*Policy); ok {
			c.Policy, o.policy = p, p
		}
	}
	if o.engine.Phase = c.scratch.Phase(memory.Sampling); slices.ContainsFunc(b.wants, func(w want) bool { return w.terms != nil && w.draws }) {
		o.engine.Others = slices.Clone(c.summands.models)
	}
	if err := c.openFilters(b, &o.engine); err != nil {
		return err
	}
	engine, err := sample.NewEngine(c.Policy.Model, o.engine)
	if err != nil {
		return err
	}
	c.Own = &Sampler{Engine: engine, Role: policyName, Seed: func(k random.Key) uint64 { return k.Seed(r.Seed) }, Version: c.Policy.Version}
	c.Sampler, c.positions = c.Own, o.positions
	return c.openJudges(r, b)
}

// openFilters gives the policy's sampler the models on whose distribution its filters act, after those whose logits it
// adds, and finds their places.
func (c *Cast) openFilters(b blueprint, o *sample.Options) error {
	for _, w := range b.wants {
		if !w.keeps {
			continue
		}
		m, err := c.member(w.name)
		if err != nil {
			return err
		}
		held, _ := m.(judged).judging()
		at := slices.Index(o.Others, held)
		if at < 0 {
			at, o.Others = len(o.Others), append(o.Others, held)
		}
		c.filters[w.name] = at
	}
	return nil
}

// FilterBy has the filters of sampling act on the distribution of a model of the run from now on, with no request in
// flight; "": on that of the model that draws.
func (c *Cast) FilterBy(name string) {
	at, there := c.filters[name]
	if !there {
		at = -1
	}
	c.Own.Engine.FilterBy(at)
}

// Tokenizer is the policy's.
func (c *Cast) Tokenizer() *text.Tokenizer { return c.Policy.Model.Tokenizer }

// Begin prepares the members for a stage of the recipe, given by its index: whom it trains takes the
// place of the policy, the optimizer forgets, and copies become what is trained now.
func (c *Cast) Begin(r *recipe.Recipe, stage int) error {
	before := policyName
	for i := range r.Stages[:stage] {
		if st := &r.Stages[i]; !st.Skip {
			before = st.Learner()
		}
	}
	if err := c.seat(before); err != nil { // the policy comes back
		return err
	}
	for _, m := range c.members {
		if l, ok := m.member.(learning); ok {
			if err := l.made(stage); err != nil {
				return err
			}
		}
	}
	if err := c.seat(r.Stages[stage].Learner()); err != nil {
		return err
	}
	for _, m := range c.members {
		if err := m.begin(); err != nil {
			return err
		}
	}
	return nil
}

// seat exchanges the policy with a copy that stages train; twice, and all is as it was.
func (c *Cast) seat(name string) error {
	if name == policyName {
		return nil
	}
	m, err := c.member(name)
	if err != nil {
		return err
	}
	if l, trades := m.(learning); trades {
		return l.trade()
	}
	return nil // it learns where it is
}

// Renew makes the members again that are copies of the policy as it was a while ago. step is the
// number of steps that the stage has done.
func (c *Cast) Renew(step int) error {
	for _, m := range c.members {
		if r, ok := m.member.(renewed); ok {
			if err := r.renew(step); err != nil {
				return err
			}
		}
	}
	return nil
}

// Follow moves the members that follow who has made an update a share of the way to it: that of the stage, or
// their own.
func (c *Cast) Follow(who string, share float64) error {
	for _, m := range c.members {
		if f, ok := m.member.(follower); ok {
			if err := f.follow(who, share); err != nil {
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
	for _, j := range c.judges {
		j.close()
	}
	if c.Own != nil {
		c.Own.Engine.Close()
	}
	for _, m := range slices.Backward(c.members) {
		m.close()
	}
	c.scratch.Close()
}
