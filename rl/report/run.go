package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Run is what a report tells of a run.
type Run struct {
	Name     string
	About    string // one or two sentences for a reader who has not seen the recipe
	Formula  string // what the algorithm computes, a few lines of plain text
	Recipe   string // TOML, as resolved
	Machine  Machine
	Finished bool // it has a receipt

	Plan        map[string]Plan // what the recipe says of a stage, by its name
	Metrics     []Point         // one per step, in order
	Timing      []Point         // the same steps' wall-clock times
	Evaluations []Evaluation    // one after each stage, in order; before them, one of the start
	Groups      []Group         // of the last stage that learns from rewards, one for each quarter of it
	Notes       []string        // what could not be read, for the foot of the page
}

// Machine is what computed a run, as its receipt has it.
type Machine struct {
	Device   string `json:"device"`
	Driver   string `json:"driver"`
	Tier     string `json:"tier"`
	Numerics int    `json:"numerics"` // version of the arithmetic; 0: unknown
	Program  string `json:"program"`  // version of rlzero
}

// Plan is what a recipe says of a stage; 0: nothing.
type Plan struct {
	Steps         int
	MaxCompletion int // tokens
}

// Point is what was measured at a step.
type Point struct {
	Step   int    // counted through all stages, from 1
	Stage  string // name
	Values map[string]float64
}

// Evaluation is the accuracy on held-out problems after a stage, or before the
// first step. NaN: not measured.
type Evaluation struct {
	Step      int // 0: before the first step
	Stage     string
	Problems  int             // 0: the run did not say
	PerOne    int             // samples of each problem; 0: the run did not say
	PassAt    map[int]float64 // k -> unbiased pass@k, 0..1
	Low, High float64         // 95 % interval of pass@1
	Greedy    float64         // share of problems whose most likely completion is right
	Valid     float64         // share of samples of a valid form
	Samples   []Sample        // one each of the first problems
}

// Sample is a completion of a held-out problem and what the verifier said.
type Sample struct {
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	Verdict    string `json:"verdict"` // right, wrong, graded or not_scored
	Reason     string `json:"reason"`
}

// Group is the completions of one prompt in a training step.
type Group struct {
	Step        int // counted through all stages
	Stage       string
	Prompt      string
	Completions []Completion // in the order of sampling
}

// Completion is one that was trained on, or left out: then it has no advantage.
type Completion struct {
	Sample
	Reward    float64 // NaN: not scored
	Advantage float64 // NaN: has none
}

// stage is a span of steps (after, last].
type stage struct {
	name        string
	after, last int
	rl          bool // learns from rewards
}

// stages are the run's stages in order, as its metrics show them.
func (r *Run) stages() []stage {
	var out []stage
	for _, p := range r.Metrics {
		if p.Step < 1 { // measured before the first step
			continue
		}
		if n := len(out); n == 0 || out[n-1].name != p.Stage {
			after := p.Step - 1
			if n > 0 {
				after = out[n-1].last
			}
			out = append(out, stage{name: p.Stage, after: after, last: p.Step})
		}
		s := &out[len(out)-1]
		s.last = max(s.last, p.Step)
		if _, ok := p.Values["reward/mean"]; ok {
			s.rl = true
		}
	}
	return out
}

// beforeAfter are the evaluations between which the rewards did their work: the
// last one before the first RL stage, and the last of all. Either may be nil.
func (r *Run) beforeAfter() (before, after *Evaluation) {
	if n := len(r.Evaluations); n > 0 {
		after = &r.Evaluations[n-1]
	}
	for _, s := range r.stages() {
		if !s.rl {
			continue
		}
		for i := range r.Evaluations {
			if e := &r.Evaluations[i]; e.Step <= s.after {
				before = e
			}
		}
		break
	}
	return before, after
}

const passAt = "eval/pass@"

// passKs are the k of every pass@k that was measured, ascending.
func (r *Run) passKs() []int {
	var ks []int
	add := func(k int) {
		if i, found := slices.BinarySearch(ks, k); !found {
			ks = slices.Insert(ks, i, k)
		}
	}
	for _, p := range r.Metrics {
		for name := range p.Values {
			if k, ok := passK(name); ok {
				add(k)
			}
		}
	}
	for _, e := range r.Evaluations {
		for k := range e.PassAt {
			add(k)
		}
	}
	return ks
}

func passK(name string) (k int, ok bool) {
	digits, ok := strings.CutPrefix(name, passAt)
	if !ok {
		return 0, false
	}
	k, err := strconv.Atoi(digits)
	return k, err == nil && k > 0
}

const termPrefix = "reward/term/"

// termNames are the terms of a composed reward, by name; none where the task's
// verdict is all there is.
func (r *Run) termNames() []string {
	var names []string
	for _, p := range r.Metrics {
		for name := range p.Values {
			if term, ok := strings.CutPrefix(name, termPrefix); ok {
				if i, found := slices.BinarySearch(names, term); !found {
					names = slices.Insert(names, i, term)
				}
			}
		}
	}
	if len(names) == 1 {
		return nil
	}
	return names
}

// at is pass@k, or NaN.
func (e *Evaluation) at(k int) float64 {
	if e == nil {
		return math.NaN()
	}
	if v, ok := e.PassAt[k]; ok {
		return v
	}
	return math.NaN()
}

// when says when an evaluation was.
func (e *Evaluation) when() string {
	if e.Step < 1 {
		return "before training"
	}
	return "after " + e.Stage
}

// moment is the same as a point in time.
func (e *Evaluation) moment() string {
	if e.Step < 1 {
		return "the start"
	}
	return "the end of " + e.Stage
}

// interval is the 95 % interval of a point's pass@1. What a run records is that of
// the mean score, which is pass@1 where verdicts are only right or wrong: two sums
// of the same terms, which differ by rounding alone.
func (p Point) interval() (low, high float64) {
	const rounding = 1e-9
	if d := value(p, "eval/mean") - value(p, passAt+"1"); !(math.Abs(d) <= rounding) {
		return math.NaN(), math.NaN()
	}
	return value(p, "eval/mean_low"), value(p, "eval/mean_high")
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
