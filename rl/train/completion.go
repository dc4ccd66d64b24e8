package train

import (
	"math"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Completion is a completion with everything that its step made of it.
type Completion struct {
	From      *rollout.Group
	Group     int // place of the group in the step
	Sample    int // number in the group
	View      rollout.View
	Reward    float64   // what is trained on; NaN: not scored
	NotScored string    // why there is no reward
	Terms     []Term    // named parts of the reward
	Advantage float64   // NaN: none; of tokens that differ their mean
	Kept      bool      // a part of the updates
	Slope     []float64 // [token the policy wrote] dLoss/dlogprob in its update, which makes a token more likely where it is negative; nil: it was in none
}

// Term is a named part of a reward.
type Term struct {
	Name  string
	Value float64 // NaN: not scored
}

// Path is the completion's path in its group.
func (c *Completion) Path() rollout.Path { return c.From.Paths[c.Sample] }

// Verdict is the task's.
func (c *Completion) Verdict() verify.Verdict { return c.Path().Verdict() }

// completionsOf lists the completions of a step by group and sample.
func completionsOf(groups []rollout.Group) []Completion {
	var cs []Completion
	for i := range groups {
		for j := range groups[i].Paths {
			v := groups[i].View(j)
			v.Group = i + 1
			cs = append(cs, Completion{From: &groups[i], Group: i, Sample: j, View: v, Reward: math.NaN(), Advantage: math.NaN()})
		}
	}
	return cs
}

// column is a number of each completion, as the functions of package algo take them.
func column[T any](cs []Completion, of func(*Completion) T) []T {
	out := make([]T, len(cs))
	for i := range cs {
		out[i] = of(&cs[i])
	}
	return out
}

func viewsOf(cs []*Completion) []rollout.View {
	out := make([]rollout.View, len(cs))
	for i, c := range cs {
		out[i] = c.View
	}
	return out
}
