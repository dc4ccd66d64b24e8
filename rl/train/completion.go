package train

import (
	"math"

	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Completion is a completion with everything that its step made of it.
type Completion struct {
	From         *rollout.Group
	Group        int // place of the group in the step
	Sample       int // number in the group
	View         rollout.View
	reward.Score         // Reward is what is trained on
	Advantage    float64 // NaN: none; of tokens that differ their mean
	Origin       Origin
	Slope        []float64 // [token the policy wrote] dLoss/dlogprob in its update, which makes a token more likely where it is negative; nil: it was in none
}

// Origin says how a completion came into its step, where the policy did not simply sample it
// of the prompt that it is trained behind.
type Origin struct {
	Second  bool        // it replaces another one: a second chance
	Foreign bool        // a file has it
	Hinted  bool        // it was sampled with a hint, or behind the beginning of a solution
	Share   float64     // of the solution, or 1 with a hint
	Age     int         `json:"-"`          // updates of the weights since it was sampled
	Stored  *storedPath `json:"-"`          // what is stored of it; nil: nothing is
	Start   *Start      `json:",omitempty"` // nil: as it was sampled
}

// Start is what the trainer computes of a completion at the beginning of a step, where that is
// not what the sampler recorded.
type Start struct{ Logprob, Entropy []float32 } // [token that is learnt] nats

// fresh says that the policy sampled the completion of its prompt for this step.
func (o *Origin) fresh() bool { return !o.Second && o.Stored == nil }

// start is the log-prob of each token at the beginning of the step.
func (c *Completion) start() Start {
	if c.Origin.Start != nil {
		return *c.Origin.Start
	}
	return Start{c.View.Logprob, c.View.Entropy}
}

// Path is the completion's path in its group.
func (c *Completion) Path() rollout.Path { return c.From.Paths[c.Sample] }

// Verdict is the task's.
func (c *Completion) Verdict() verify.Verdict { return c.Path().Verdict() }

// notYet is the score of a completion that has none so far.
var notYet = reward.Score{Reward: math.NaN()}

// completionsOf lists the completions of a step by group and sample.
func completionsOf(groups []rollout.Group) []Completion {
	var cs []Completion
	for i := range groups {
		for j := range groups[i].Paths {
			v := groups[i].View(j)
			v.Group = i + 1
			cs = append(cs, Completion{From: &groups[i], Group: i, Sample: j, View: v, Score: notYet, Advantage: math.NaN()})
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
	var out []rollout.View
	for _, c := range cs {
		out = append(out, c.View)
	}
	return out
}
