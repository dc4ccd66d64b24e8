package train

import (
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
)

// asker adds to a drawn step the replayed groups that take part, and what the models say of all
// completions when the step begins to be learned from.
type asker struct {
	*facts
	replay *replay
}

// ask asks the models. The updates of the step change what they say.
func (a *asker) ask(d Drawn) (Asked, error) {
	out, err := a.again(d)
	if err == nil {
		err = a.complete(&out)
	}
	return out, err
}

// again adds to a drawn step the groups that take part again, and what the policy says of all now.
func (a *asker) again(d Drawn) (Asked, error) {
	d.Stored = min(d.Stored, len(a.replay.groups)) // some may have become too old since
	out := Asked{Drawn: d}
	now := a.models.Version()
	if err := a.replayed(&out, now); err != nil {
		return out, err
	}
	own, refused, err := a.overtaken(&d, now)
	if err != nil {
		return out, err
	}
	out.Now, out.refused = slices.Concat(own, out.Now), refused
	return out, err
}

// complete adds the tables of what formulas read.
func (a *asker) complete(out *Asked) (err error) {
	d := &out.Drawn
	if out.Table, err = a.of(&d.Plan, out.all(), out.Now).table(asked, a.reads); err != nil {
		return err
	}
	if len(d.Refused)+d.Stored > 0 && len(a.method.Method.State) > 0 {
		// What moves the states after the step is all that was sampled in it, and nothing that is replayed.
		out.Sampled, err = a.of(&d.Plan, slices.Concat(d.Completions, d.Refused), slices.Concat(out.Now[:len(d.Completions)], out.refused)).table(asked, a.reads)
	}
	return err
}

// replayed adds stored groups, chosen at random, with what the trainer makes of them now.
func (a *asker) replayed(out *Asked, version int) error {
	if out.Stored == 0 {
		return nil
	}
	order := random.At(a.recipe.Seed, random.Stream(random.Replay, a.index), uint64(out.At.Step)).Shuffled(len(a.replay.groups))
	cs, ages, held := a.replay.again(order, out.Stored, groupsOf(out.Completions), version)
	stats, err := a.models.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
	if err != nil {
		return err
	}
	out.Replayed, out.Held = cs, map[int]map[string][]float64{}
	for i := range cs {
		out.Now = append(out.Now, Now{ages[i], Start{stats[i].Logprob, stats[i].Entropy}})
		out.Held[len(out.Completions)+i] = held[i]
	}
	return nil
}

// overtaken is the number of updates since the policy drew the completions of a step, and their
// log-probs and entropies by the policy now. It covers refused completions only if states depend on
// them.
func (a *asker) overtaken(d *Drawn, version int) (own, refused []Now, err error) {
	own, refused = atOnce(d.Completions), atOnce(d.Refused)
	var which []*Completion
	var into []*Now
	add := func(cs []Completion, now []Now) {
		for i := range cs {
			if drew := d.versionOf(&cs[i]); drew < version {
				now[i].Age = version - drew
				which, into = append(which, &cs[i]), append(into, &now[i])
			}
		}
	}
	add(d.Completions, own)
	if len(a.method.Method.State) > 0 {
		add(d.Refused, refused)
	}
	if which == nil {
		return own, refused, nil
	}
	stats, err := a.models.Forward(viewsOf(which))
	for i := range stats {
		into[i].Start = Start{stats[i].Logprob, stats[i].Entropy}
	}
	return own, refused, err
}
