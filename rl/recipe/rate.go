package recipe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo/schedule"
)

// rule is how a step is made of the gradient: those of torch.optim, as package model has them.
type rule struct {
	Rule      string     `toml:"rule" choice:"adamw,adam,amsgrad,sgd" about:"how a step is made of the gradient: adamw (arXiv 1711.05101); adam (arXiv 1412.6980), whose weight_decay is a part of the gradient; amsgrad (arXiv 1904.09237), AdamW by the largest second moment so far, in half as much memory again; sgd, in half the memory, at learning rates far above those of adamw"`
	Betas     [2]float64 `toml:"betas" range:"[0,1)" about:"decay of the first and of the second moment"`
	Eps       float64    `toml:"eps" range:"(0,1)" about:"added to the root of the second moment"`
	Momentum  float64    `toml:"momentum" range:"[0,1)" about:"what a step of sgd keeps of the one before"`
	Dampening float64    `toml:"dampening" range:"[0,1]" about:"what the gradient's share in the momentum is below 1, after the first step"`
	Nesterov  bool       `toml:"nesterov" about:"sgd takes the gradient and the momentum that it leads to"`
}

// ruledBy are the rules that a key changes.
var ruledBy = map[string][]string{
	"betas":     {"adamw", "adam", "amsgrad"},
	"eps":       {"adamw", "adam", "amsgrad"},
	"momentum":  {"sgd"},
	"dampening": {"sgd"},
	"nesterov":  {"sgd"},
}

// ruled checks that every key of the optimizer's rule does something.
func (d decoder) ruled(s *Stage, given map[string]any, at settings.Path) {
	o, p := &s.Optimizer, at.With("optimizer")
	table, _ := given["optimizer"].(map[string]any)
	plain := stageDefaults(s.Kind).Optimizer.rule
	for i, f := range settings.Fields(&o.rule) {
		by, at := ruledBy[f.Key], p.With(f.Key)
		if _, there := table[f.Key]; there && by != nil && !slices.Contains(by, o.Rule) && f.Value() != settings.Fields(&plain)[i].Value() {
			d.Fail(at, "%s = %s would do nothing: it goes with rule = %s, and rule is %q", d.Name(at), f.Text(), strings.Join(by, ", "), o.Rule)
		}
	}
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
	Schedule    string  `toml:"schedule" choice:"constant,linear,cosine,cosine_restarts,polynomial,inverse_sqrt,wsd" about:"learning rate after the warm-up: constant; linear, cosine and polynomial fall, cosine_restarts falls several times, inverse_sqrt falls without end, wsd is constant and then falls (warm-up, stable, decay)"`
	Floor       float64 `toml:"floor" range:"[0,1]" about:"what a schedule falls to, as a share of lr; of wsd also what the warm-up begins at"`
	Cycles      float64 `toml:"cycles" range:"[0,1e6]" about:"waves of cosine, 0: half a one, one fall; falls of cosine_restarts, 0: one"`
	Power       float64 `toml:"power" range:"[0,1e6]" about:"power of polynomial; 0: 1, which is linear"`
	Timescale   float64 `toml:"timescale" range:"[0,1e12]" unit:"steps" about:"steps of inverse_sqrt after which the square of the rate has halved; 0: warmup_steps, or 10000 without a warm-up"`
	DecaySteps  int     `toml:"decay_steps" range:"[0,inf)" unit:"steps" about:"last steps of wsd, over which the rate falls"`
	WarmupShape string  `toml:"warmup_shape" choice:"linear,cosine,1-sqrt" about:"shape of the warm-up of wsd"`
	DecayShape  string  `toml:"decay_shape" choice:"linear,cosine,1-sqrt" about:"shape of the fall of wsd"`
}

func curveOf(kind string) curve {
	return curve{Schedule: kind, WarmupShape: "linear", DecayShape: "linear"}
}

// shapedBy are the schedules that a key changes.
var shapedBy = map[string][]string{
	"floor":        {"linear", "cosine", "cosine_restarts", "polynomial", "wsd"},
	"cycles":       {"cosine", "cosine_restarts"},
	"power":        {"polynomial"},
	"timescale":    {"inverse_sqrt"},
	"decay_steps":  {"wsd"},
	"warmup_shape": {"wsd"},
	"decay_shape":  {"wsd"},
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

// rate checks that every key of the schedule does something, and that the steps of wsd fit.
func (d decoder) rate(s *Stage, given map[string]any, at settings.Path) {
	o, p := &s.Optimizer, at.With("optimizer")
	table, _ := given["optimizer"].(map[string]any)
	plain := settings.Fields(curveOf(o.Schedule))
	for i, f := range settings.Fields(o.curve) {
		by, at := shapedBy[f.Key], p.With(f.Key)
		if _, there := table[f.Key]; there && by != nil && !slices.Contains(by, o.Schedule) && f.Value() != plain[i].Value() {
			d.Fail(at, "%s = %s would do nothing: it goes with schedule = %s, and schedule is %q", d.Name(at), f.Text(), strings.Join(by, ", "), o.Schedule)
		}
	}
	if most := s.Steps - o.WarmupSteps; o.Schedule == "wsd" && (o.DecaySteps < 1 || o.DecaySteps > most) {
		at := p.With("decay_steps")
		d.Fail(at, "%s = %d is out of range; accepted: 1 to steps - warmup_steps = %d, as schedule is wsd", d.Name(at), o.DecaySteps, most)
	}
}
