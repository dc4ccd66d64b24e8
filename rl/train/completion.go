package train

import (
	"math"

	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Completion is a completion of a step: what was sampled, and its reward. It is made once, by a
// drawer, and nothing edits it after its reward. The results of a step for it are beside it, in
// [Now] and in [Lesson].
type Completion struct {
	From   *rollout.Group `json:"-"` // what was sampled for its problem
	Place  int            // of From in [Drawn.Groups]
	Group  int            // place of the group in the step
	Sample int            // number in the group
	View   rollout.View   `json:"-"` // what is trained, by viewOf
	Score  reward.Score   // Reward is what is trained on
	Truth  *reward.Score  `json:",omitempty"` // what is measured and not paid; nil: nothing is
	Greedy reward.Score   // of its prompt's most likely completion, if the method reads that
	Origin Origin
	Labels []float64 // [token that is learnt] of the step that ends there; NaN: none does; nil: it is no row with steps
}

// Origin says how a completion came into its step, if the policy did not simply sample it from the
// prompt that it is trained after.
type Origin struct {
	Second   bool    // it replaces another one: a second chance
	Foreign  bool    // a file has it
	Hinted   bool    // it was sampled with a hint, or after the beginning of a solution
	Replayed bool    // an earlier step drew it
	Share    float64 // of the solution, or of the entries of a hint; 1 with another hint
	Seat     string  `json:",omitempty"` // of a stage whose problems the policy writes: proposer or solver; "": of another stage
	Prompt   []int   `json:",omitempty"` // it is trained after this one; nil: after the one that it was sampled after
	Start    *Start  `json:",omitempty"` // what the trainer made of it when it was drawn; nil: what the sampler recorded
}

// Start is what the trainer computes for a completion, if that differs from what the sampler
// recorded.
type Start struct{ Logprob, Entropy []float32 } // [token that is learnt] nats

// fresh says that the policy sampled the completion of its prompt for this step.
func (o *Origin) fresh() bool { return !o.Second && !o.Replayed }

// Now describes a completion at the time when it is learned from.
type Now struct {
	Age   int // updates of the weights since it was sampled
	Start     // by the weights of now
}

// atOnce is [Now] of completions that the current weights drew.
func atOnce(cs []Completion) []Now {
	out := make([]Now, len(cs))
	for i := range cs {
		c := &cs[i]
		if out[i].Start = (Start{c.View.Logprob, c.View.Entropy}); c.Origin.Start != nil {
			out[i].Start = *c.Origin.Start
		}
	}
	return out
}

// Lesson is what a step learned from a completion.
type Lesson struct {
	Advantage float64   // NaN: none; of tokens that differ their mean
	Slope     []float64 // [token the policy wrote] dLoss/dlogprob in its update, which makes a token more likely where it is negative; nil: it was in none

	Elsewhere []bool // [token the policy wrote] another completion that shares it learned it; nil: none did

	Parts map[string][]float64 // of a step whose tokens are recorded: by name the parts that the recipe writes, in the update that it was in, [token the policy wrote], or one value for the completion
}

// Path is the completion's path in its group.
func (c *Completion) Path() rollout.Path { return c.From.Paths[c.Sample] }

// Verdict is the task's.
func (c *Completion) Verdict() verify.Verdict { return c.Path().Verdict() }

// notYet is the score of a completion that has none so far.
var notYet = reward.Score{Reward: math.NaN()}

// viewOf is the part of a sample that is trained; group is the place of its group in the step. The
// log-probs of a completion that nobody sampled are those of its start.
func viewOf(from *rollout.Group, sample, group int, o *Origin) rollout.View {
	v := from.View(sample)
	if v.Group = group + 1; o.Prompt != nil {
		v = v.After(o.Prompt)
	}
	if o.Foreign && o.Start != nil {
		v.Logprob, v.Entropy = o.Start.Logprob, o.Start.Entropy
	}
	return v
}

// completionsOf lists the completions of groups by group and sample.
func completionsOf(groups []rollout.Group) []Completion {
	var cs []Completion
	for i := range groups {
		for j := range groups[i].Paths {
			cs = append(cs, Completion{From: &groups[i], Group: i, Sample: j, View: viewOf(&groups[i], j, i, &Origin{}), Score: notYet})
		}
	}
	return cs
}

// groupsOf is the number of groups.
func groupsOf(cs []Completion) int {
	n := 0
	for i := range cs {
		if cs[i].Sample == 0 {
			n++
		}
	}
	return n
}

// tokensOf is how many tokens the policy drew: those that completions share count once.
func tokensOf(cs []Completion) float64 {
	n := 0
	type node struct {
		of *rollout.Group
		at int
	}
	drawn := map[node]bool{}
	for i := range cs {
		if c := &cs[i]; !c.Origin.Foreign {
			for _, at := range c.From.Nodes(c.Sample) {
				if !drawn[node{c.From, at}] {
					n += len(c.From.Segments[at].IDs)
				}
				drawn[node{c.From, at}] = true
			}
		}
	}
	return float64(n)
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
