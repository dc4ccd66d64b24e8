package cast

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/rollout"
)

// Names of members, by which formulas know them.
const (
	policyName    = "policy"
	referenceName = "ref"
	averageName   = "ema"
	bestName      = "best"
)

// role is a model that a run can have.
type role struct {
	name string
	// count adds its device memory to what a run uses.
	count func(use *memory.Use, w want)
	// open makes it. The policy is there, except where it is the policy that is opened.
	open func(o opening) (member, error)
}

// roles has a row for each model, the policy first. Members are opened in this order and
// closed in reverse.
var roles = []role{
	{policyName, func(u *memory.Use, w want) { u.ValueHead = w.head }, openPolicy},
	{referenceName, func(u *memory.Use, _ want) { u.Reference = true }, openReference},
	{averageName, func(u *memory.Use, _ want) { u.Average = true }, openAverage},
	{bestName, func(u *memory.Use, _ want) { u.Best = true }, openBest},
}

// roleOf is the row of a member.
func roleOf(name string) role {
	return roles[slices.IndexFunc(roles, func(r role) bool { return r.name == name })]
}

// opening is what a member is made from.
type opening struct {
	want
	blueprint
	sizes
	dev       gpu.Device
	seed      uint64 // of the recipe
	recompute bool   // activations
	policy    *Policy
}

// member is a model of the run. One with state that a resumed run needs is a [Keeper]
// too, and one that moves with the policy a follower.
type member interface {
	// score computes the statistics of the tokens that the policy wrote.
	score(views []rollout.View) ([]seq.Stats, error)
	// begin prepares for a stage.
	begin() error
	close()
}

// follower is a member that moves a share of the way to the policy at each update.
type follower interface {
	follow(share float64) error
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
