package train

import (
	"context"
	"io"
	"math"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// Position says where a run stands.
type Position struct {
	Stage int `json:"stage"` // index of the stage in progress
	Step  int `json:"step"`  // steps of it that are done
	Total int `json:"total"` // steps of all stages that are done
}

// Stage is a part of a run. What it keeps for a resumed run is in its Keeper.
type Stage interface {
	cast.Keeper
	// Steps is how many steps the stage has, as far as is known now.
	Steps() int
	// Step does the step after a position. The error is io.EOF where the stage is over,
	// and ErrNotScored, with an event that holds the completions, where nothing can be
	// learnt from them. An error that the context caused has changed nothing.
	Step(ctx context.Context, at Position) (*Event, error)
}

// Event is the report of a finished step.
type Event struct {
	Metrics     metrics.Row
	HeldOut     *eval.Result     // on some held-out problems; nil: the step has no evaluation
	Timing      metrics.Row      // wall-clock times, seconds
	Completions []Completion     // of the policy, in the order of groups and samples
	Lessons     []Lesson         // [completion] what was learned from it; nil: nothing was
	Ahead       int              // steps from this one to theirs, where nothing can be learnt from them: with lag they are drawn before
	Tokens      int              // trained
	Notes       []string         // lines for people
	Arrived     []record.Arrived // groups of the step, where the order is that of their arrival
	Made        []record.Made    // rows that it made; their step, stage and sum are not set
	Updates     []record.Update  // of the step, where a recipe makes several; their step and stage are not set
}

// Lesson is what the step learned from a completion.
func (e *Event) Lesson(completion int) Lesson {
	if e.Lessons == nil {
		return Lesson{Advantage: math.NaN()}
	}
	return e.Lessons[completion]
}

// Parts are what stages are made of.
type Parts struct {
	Recipe    *recipe.Recipe
	Source    prompts.Source
	Prompts   *prompts.Renderer
	Cast      *cast.Cast
	Collector *rollout.Collector // draws what is trained on
	HeldOut   *HeldOut           // has one of its own
	Record    *Record
	Rows      *Rows     // that the run has made; nil: no stage makes or draws any
	Notes     []string  // for people, about the data and the recipe
	Schedule  *Schedule // that steps with order = "arrival" follow as far as it goes; nil: none
}

// NewCollector draws the completions of a run's policy and judges them by its task. journal remembers calls of
// tools; nil: nobody does.
func NewCollector(o *resolve.Opened, c *cast.Cast, renderer *prompts.Renderer, journal func(key random.Key, greedy bool) world.Journal) (*rollout.Collector, error) {
	o, err := o.Asking(func(a tools.Whom) (tools.Answerer, error) {
		m, err := c.Writer(a.Model)
		if err != nil {
			return nil, err
		}
		return panel.Answerer(m, a, o.Recipe.Seed), nil
	})
	if err != nil {
		return nil, err
	}
	out := &rollout.Collector{Sampler: c.Sampler, Renderer: renderer, Task: o.Source.Verify, Panel: c.Panel, Episodes: o.Episodes(renderer, o.Recipe.Seed, journal)}
	if len(o.Recipe.Judges()) > 0 {
		out.Judges = &panel.Panel{Models: c.Judge, Seed: o.Recipe.Seed}
	}
	if task := &o.Recipe.Task; task.Verifier != "" {
		out.Asks, err = verify.New(task.Verifier, task.Options)
	}
	return out, err
}

// kinds has a row for every kind of stage. index is the stage's place in the recipe.
var kinds = map[string]func(p Parts, index int) (Stage, error){
	recipe.KindSFT:        newImitation,
	recipe.KindPreference: newPreference,
	recipe.KindRL:         newReinforcement,
	recipe.KindMake:       newMaking,
	recipe.KindEval:       func(Parts, int) (Stage, error) { return measure{}, nil },
}

// New makes the stage of a recipe with an index.
func New(p Parts, index int) (Stage, error) {
	st := &p.Recipe.Stages[index]
	p.Cast.Policy.Scores(st.Scores())
	return kinds[st.Kind](p, index)
}

// stateless is the Keeper of what is a function of the run's position.
type stateless struct{}

func (stateless) Save() (map[string]func(io.Writer) error, error) { return nil, nil }
func (stateless) Load(string) error                               { return nil }

// measure is a stage without steps.
type measure struct{ stateless }

func (measure) Steps() int                                     { return 0 }
func (measure) Step(context.Context, Position) (*Event, error) { return nil, io.EOF }
