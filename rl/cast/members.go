package cast

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Names of members, by which formulas know them.
const (
	policyName    = "policy"
	referenceName = "ref"
	averageName   = "ema"
	bestName      = "best"
)

// role is a way for a model to be one of a run.
type role struct {
	name string // of the member that every run can have
	// count adds its device memory to what a run uses.
	count func(use *memory.Use, b blueprint, w want)
	// open makes it. The policy is there, except where it is the policy that is opened.
	open func(o opening) (member, error)
}

// roles has a row for each model that every run can have, the policy first. Members are opened in
// this order, those that the recipe names after them, and closed in reverse.
var roles = []role{
	{policyName, func(u *memory.Use, _ blueprint, w want) { u.ValueHead, u.Influence = w.head, w.influence }, openPolicy},
	{referenceName, beside(memory.Reference), openReference},
	{averageName, beside(memory.Average), openAverage},
	{bestName, beside(memory.Best), openBest},
}

// Roles of models that the recipe names. A copy of an adapter is one more adapter, a copy of a model
// that stays as it is needs none of what training needs.
var (
	folderRole = role{"", beside(memory.Folder), openFolder}
	frozenRole = role{"", beside(memory.Reference), openReference}
	movingRole = role{"", beside(memory.Average), openAverage}
	noviceRole = role{"", beside(memory.Novice), openNovice}
	sumRole    = role{"", func(u *memory.Use, _ blueprint, w want) { u.Summed = u.Summed || w.draws }, openSum} // the models in it are counted
)

// beside counts a model of a kind.
func beside(kind memory.Kind) func(use *memory.Use, b blueprint, w want) {
	return func(use *memory.Use, b blueprint, w want) {
		m := memory.Member{Kind: kind, Engine: w.writes, Summed: w.summed, Keeps: w.keeps, Plays: w.plays}
		if w.spec != nil {
			m.Name = w.label()
		}
		if kind == memory.Best { // which draws as the policy does
			m.Engine = use.Engine
		}
		if w.beside != nil {
			m.Learns = &memory.Learning{Optimizes: w.beside.optimizes, ValueHead: w.beside.head}
		}
		if kind == memory.Novice {
			m.Config, m.Learns = b.shapes[w.name], &memory.Learning{Optimizes: w.optimized}
		}
		if kind == memory.Folder {
			f := b.folders[w.name]
			m.Config, m.Adapter, m.Rides, m.Leaves = f.config, f.adapter, f.rides, b.leaving[w.name]
		}
		use.Members = append(use.Members, m)
	}
}

// roleOf is that of a member.
func (b blueprint) roleOf(w want) role {
	switch {
	case w.spec == nil:
		return roles[slices.IndexFunc(roles, func(r role) bool { return r.name == w.name })]
	case w.spec.Path != "":
		return folderRole
	case w.terms != nil:
		return sumRole
	case w.spec.Fresh():
		return noviceRole
	case w.learns || w.spec.Follow > 0 || w.spec.CopyOf() != "" || b.adapter != nil:
		return movingRole
	}
	return frozenRole
}

// opening is what a member is made from.
type opening struct {
	want
	blueprint
	sizes
	dev    gpu.Device
	recipe *recipe.Recipe
	policy *Policy
	cast   *Cast // whose members are opened in their order
}

// label names a member in plans and phases.
func (w want) label() string { return "model " + w.name }

// own is the phase of a member alone, in which it has its parameters if it leaves.
func (c *Cast) own(w want) *model.Phase { return c.scratch.Phase(w.label()) }

// reading is the phase in which a member scores, where it does not write where the policy's trainer does.
func (c *Cast) reading(w want) *model.Phase { return c.own(w).Part(memory.Reading(w.label())) }

// writing is the phase in which a member samples: that of the policy if it writes between its turns.
func (c *Cast) writing(w want) *model.Phase {
	if w.plays {
		return c.scratch.Phase(memory.Sampling)
	}
	return c.own(w).Part(memory.Writing(w.label()))
}

// file is where a checkpoint has the state of the member: that of its role, or one of its name.
func (o opening) file(ofRole string) string {
	if o.spec == nil {
		return ofRole
	}
	return recipe.MemberWeights(o.name)
}

// member is a model of the run. One with state that a resumed run needs is a [Keeper]
// too, and one that moves with the policy a follower.
type member interface {
	// score computes the statistics of the tokens that the policy wrote.
	score(views []rollout.View) ([]seq.Stats, error)
	// states calls do with the states that the tokens of each view's spans leave in a layer.
	states(views []rollout.View, layer int, do func(i int, states [][]float32) error) error
	// begin prepares for a stage.
	begin() error
	close()
}

// follower is a member that moves a share of the way to the policy, or to a member that learns beside it, at each update
// of that. The share is that of the stage, which a member may have one of its own in place of.
type follower interface {
	follow(who string, share float64) error
}

// renewed is a member that is made again after some steps of a stage.
type renewed interface {
	renew(step int) error
}

// learning is a member that stages train. Whoever is trained sits where the policy was opened, with
// optimizer, sampler and workers; the policy lies in its place meanwhile.
type learning interface {
	// made makes it of the policy if the stage with an index is the first that uses it.
	made(stage int) error
	// trade exchanges its weights with those of the policy.
	trade() error
}

// namedMember is a member and its name.
type namedMember struct {
	name string
	member
}

// member is that of a name.
func (c *Cast) member(name string) (member, error) {
	for _, m := range c.members {
		if m.name == name {
			return m.member, nil
		}
	}
	return nil, fmt.Errorf("the run has no model %q", name)
}
