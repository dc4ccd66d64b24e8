package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Run is what a report tells of a run.
type Run struct {
	Name    string
	About   string // one or two sentences for a reader who has not seen the recipe
	Device  string
	Formula string // what the algorithm computes, a few lines of plain text
	Recipe  string // TOML, as resolved
	Version string // of the program
	Elapsed time.Duration

	Metrics     []Point      // one per step, in order
	Timing      []Point      // the same steps' wall times
	Evaluations []Evaluation // one after each stage, in order
	Notes       []string     // what could not be read, for the foot of the page
}

// Point is what was measured at a step.
type Point struct {
	Step   int    // counted through all stages, from 1
	Stage  string // name
	Values map[string]float64
}

// Evaluation is the accuracy on held-out problems after a stage. NaN: not
// measured.
type Evaluation struct {
	Step    int
	Stage   string
	PassAt  map[int]float64 // k -> unbiased pass@k, 0..1
	Greedy  float64         // share of problems whose most likely completion is right
	Valid   float64         // share of samples of the right form
	Samples []Sample        // one per problem
}

// Sample is a completion of a held-out problem and what the verifier said.
type Sample struct {
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	Verdict    string `json:"verdict"` // right, wrong, graded or not_scored
	Reason     string `json:"reason"`
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

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
