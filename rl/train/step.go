package train

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// Plan is everything that is decided about a step before it samples.
type Plan struct {
	At       Position
	Version  int                // of the weights that draw: updates since the run began
	Numbers  map[string]float64 // of the stage, by key; nil: those of the recipe
	Stored   int                // groups of the replay that are part of the step
	Metrics  metrics.Row        // of the time before sampling
	Problems []verify.Problem   `json:"-"` // of the first draw
	Sizes    []int              `json:"-"` // completions of each; nil: the same number of all
	Probed   int                `json:"-"` // tokens of a fresh pass before the step

	stage *recipe.Stage                              // with the numbers
	more  func(try, n int) ([]verify.Problem, error) // problems of the draws after the first
}

// under gives a plan that was read from a checkpoint the stage that it is a plan of.
func (p *Plan) under(whole *recipe.Stage) (err error) {
	p.stage, err = whole.With(p.Numbers)
	return err
}

// Drawn is a step that was sampled, judged and paid. Its JSON is what a checkpoint keeps of it.
type Drawn struct {
	Plan
	Groups      []*rollout.Group // that the completions are from
	Completions []Completion     // of the step, in the order of groups and samples
	Refused     []Completion     // of groups whose keep is false; they are no part of the step
	Replaced    []Completion     // by second chances
	Chances     int              // groups that got a second chance
	Extra       int              // tokens sampled for what is no completion of the step
	Arrived     []record.Arrived `json:",omitempty"` // groups of the step, where the order is that of their arrival
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Drawn) UnmarshalJSON(data []byte) error {
	type plain Drawn
	if err := json.Unmarshal(data, (*plain)(d)); err != nil {
		return err
	}
	for _, g := range d.Groups {
		unscore(g)
	}
	for _, cs := range [][]Completion{d.Completions, d.Refused, d.Replaced} {
		for i := range cs {
			c := &cs[i]
			if c.Place < 0 || c.Place >= len(d.Groups) || c.Sample < 0 || c.Sample >= len(d.Groups[c.Place].Paths) {
				return fmt.Errorf("step %d has a completion of no group: sample %d of group %d", d.At.Total+1, c.Sample, c.Place)
			}
			c.From = d.Groups[c.Place]
			c.View = viewOf(c.From, c.Sample, c.Group, &c.Origin)
		}
	}
	return nil
}

// versionOf is that of the weights that drew a completion of the step.
func (d *Drawn) versionOf(c *Completion) int {
	if leaf := &c.From.Segments[c.Path().Leaf]; leaf.Author == rollout.Policy {
		return leaf.Drawn.Version
	}
	return d.Version
}

// meanVersion is that of the completions of the step.
func (d *Drawn) meanVersion() float64 {
	sum := 0
	for i := range d.Completions {
		sum += d.versionOf(&d.Completions[i])
	}
	return float64(sum) / float64(len(d.Completions))
}

// Asked is a drawn step with what the models say of it when it is learned from.
type Asked struct {
	Drawn
	Replayed []Completion                 // of the groups that take part again
	Now      []Now                        // of Completions, then of Replayed
	Held     map[int]map[string][]float64 // what the method computed of replayed completions in their own step, by their number
	Table    *formula.Table               // the facts of Completions and of Replayed
	Sampled  *formula.Table               // of Completions and of Refused; nil: nothing reads it, or it is Table

	refused []Now // of Refused, if states depend on them
}

// all are the completions that take part.
func (a *Asked) all() []Completion {
	return append(a.Completions[:len(a.Completions):len(a.Completions)], a.Replayed...)
}

// Valued is an asked step with what the method computes once.
type Valued struct {
	Asked
	Step      *algo.StepValues
	Metrics   map[string]float64 // of the method
	Advantage []float64          // of Completions, then of Replayed; NaN: none
}

// lessons are what the step comes to for its own completions. slopes and parts are those of the
// updates, by the number of a completion.
func (v *Valued) lessons(slopes [][]float64, parts []map[string][]float64) []Lesson {
	out := make([]Lesson, len(v.Completions))
	for i := range out {
		out[i] = Lesson{Advantage: v.Advantage[i], Slope: slopes[i], Parts: parts[i]}
		if v.Step.Elsewhere != nil {
			from, to := v.Table.Tokens(i)
			out[i].Elsewhere = v.Step.Elsewhere[from:to]
		}
	}
	return out
}

// unscore gives the verdicts of a group that was read from a checkpoint the score that JSON
// has as null.
func unscore(g *rollout.Group) {
	for _, p := range g.Paths {
		for i := range p.Verdicts {
			if p.Verdicts[i].Verdict == verify.NotScored {
				p.Verdicts[i].Score = math.NaN()
			}
		}
	}
}
