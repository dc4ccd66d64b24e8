package recipe

import (
	"cmp"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/recipe/internal/schedule"
)

// rule is how a step is made of the gradient: those of torch.optim, as package model has them.
type rule struct {
	// how the gradient becomes a step: adamw (arXiv 1711.05101); adam (arXiv 1412.6980), whose
	// weight_decay is part of the gradient; amsgrad (arXiv 1904.09237), which is AdamW with the largest
	// second moment so far and takes half as much memory again; sgd, which takes half the memory and needs
	// far larger learning rates than adamw
	Rule string `toml:"rule" choice:"adamw,adam,amsgrad,sgd" default:"adamw"`

	// decay of the first and of the second moment
	Betas [2]float64 `toml:"betas" range:"[0,1)" default:"[0.9, 0.99]" with:"rule=adamw,adam,amsgrad"`

	// number added to the root of the second moment
	Eps float64 `toml:"eps" range:"(0,1)" default:"1e-8" with:"rule=adamw,adam,amsgrad"`

	// share of the previous step that a step of sgd keeps
	Momentum float64 `toml:"momentum" range:"[0,1)" with:"rule=sgd"`

	// number by which the gradient's share in the momentum is below 1, after the first step
	Dampening float64 `toml:"dampening" range:"[0,1]" with:"rule=sgd"`

	// sgd uses the Nesterov momentum: the gradient plus the momentum that it leads to
	Nesterov bool `toml:"nesterov" with:"rule=sgd"`
}

// ruled checks which keys of the optimizer's rule go together.
func (d decoder) ruled(s *Stage, at settings.Path) {
	o, p := &s.Optimizer, at.With("optimizer")
	if o.Nesterov && (o.Momentum == 0 || o.Dampening != 0) {
		at := p.With("nesterov")
		d.Fail(at, "%s = true needs momentum above 0 and dampening 0; they are %v and %v", d.Name(at), o.Momentum, o.Dampening)
	}
	if o.Dampening != 0 && o.Momentum == 0 {
		at := p.With("dampening")
		d.Fail(at, "%s = %v would do nothing: momentum is 0", d.Name(at), o.Dampening)
	}
}

// curve is how the learning rate goes on after the warm-up: the schedules of transformers'
// get_scheduler, as package schedule has them.
type curve struct {
	// learning rate after the warm-up: constant; linear, cosine and polynomial fall, cosine_restarts
	// falls several times, inverse_sqrt falls without end, wsd is constant and then falls (warm-up,
	// stable, decay)
	Schedule string `toml:"schedule" choice:"constant,linear,cosine,cosine_restarts,polynomial,inverse_sqrt,wsd" default:"constant" default_preference:"linear"`

	// share of lr to which a schedule falls; for wsd also the share at which the warm-up begins
	Floor float64 `toml:"floor" range:"[0,1]" with:"schedule=linear,cosine,cosine_restarts,polynomial,wsd"`

	// number of waves of cosine (0: half a wave, one fall), or of falls of cosine_restarts (0: one)
	Cycles float64 `toml:"cycles" range:"[0,1e6]" with:"schedule=cosine,cosine_restarts"`

	// power of polynomial; 0 means 1, which is linear
	Power float64 `toml:"power" range:"[0,1e6]" with:"schedule=polynomial"`

	// steps of inverse_sqrt after which the square of the rate has halved; 0: warmup_steps, or 10000
	// without a warm-up
	Timescale float64 `toml:"timescale" range:"[0,1e12]" unit:"steps" with:"schedule=inverse_sqrt"`

	// number of last steps of wsd, over which the rate falls
	DecaySteps int `toml:"decay_steps" range:"[0,1000000000]" unit:"steps" with:"schedule=wsd"`

	// shape of the warm-up of wsd
	WarmupShape string `toml:"warmup_shape" choice:"linear,cosine,1-sqrt" default:"linear" with:"schedule=wsd"`

	// shape of the fall of wsd
	DecayShape string `toml:"decay_shape" choice:"linear,cosine,1-sqrt" default:"linear" with:"schedule=wsd"`
}

// LearningRate is the rate of a step of a stage that has steps, counted from 0. The curve is
// that of package schedule, begun one step early and ended one step late, so
// that no step has rate 0.
func (s *Stage) LearningRate(step int) float64 {
	return s.Optimizer.LR * s.schedule().At(step+1)
}

// ValueLearningRate is the rate of the value head in an rl stage's step, counted from 0.
func (s *Stage) ValueLearningRate(step int) float64 {
	return cmp.Or(s.Optimizer.ValueLR, s.Optimizer.LR) * s.schedule().At(step+1)
}

func (s *Stage) schedule() schedule.Schedule {
	o := &s.Optimizer
	return schedule.Schedule{
		Kind: o.Schedule, Steps: s.Steps + 1, WarmupSteps: o.WarmupSteps,
		Floor: o.Floor, Cycles: o.Cycles, Power: o.Power, Timescale: o.Timescale,
		DecaySteps: o.DecaySteps, WarmupShape: o.WarmupShape, DecayShape: o.DecayShape,
	}
}

// rate checks that the steps of wsd fit.
func (d decoder) rate(s *Stage, at settings.Path) {
	o := &s.Optimizer
	if most := s.Steps - o.WarmupSteps; o.Schedule == "wsd" && (o.DecaySteps < 1 || o.DecaySteps > most) {
		at := at.With("optimizer").With("decay_steps")
		d.Fail(at, "%s = %d is out of range; accepted: 1 to steps - warmup_steps = %d, as schedule is wsd", d.Name(at), o.DecaySteps, most)
	}
}
