package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/record"
)

// Arm is a recipe and its runs, one for each seed.
type Arm struct {
	Name   string
	Trials []*Trial
}

// Figure is one quantity of an arm.
type Figure struct {
	Mean   float64
	Spread float64  // standard deviation over seeds; NaN for one seed
	Gain   Interval // against the first arm, on the same seeds and problems; NaN for the first
	Seeds  []float64
}

// Row is a quantity of all arms, in their order.
type Row struct {
	Name, Unit string
	Share      bool // 0..1, told in percent
	Arms       []Figure
	Start      *Figure // of the weights that all begin with, before the first step; nil: not measured
}

// Comparison has the results of the arms.
type Comparison struct {
	Arms      []Arm
	Rows      []Row
	Threshold float64 // pass@1 that "tokens to" is about; NaN: none
	Along     string  // what places on curves are: tokens sampled, or steps
	Charts    []Chart
}

// Chart is a metric of all arms over the tokens sampled, or over steps.
type Chart struct {
	Metric, Title, Unit string
	Share               bool
	Grid                []float64
	Bands               [][]Interval // [arm][place of the grid]
}

// last is the share of the steps, at the end, that figures of training are the mean of.
const last = 0.1

// trained are the figures of training, by metric: the mean over the last tenth of the
// steps.
var trained = []struct{ metric, name, unit string }{
	{"rollout/length_mean", "length", "tokens"}, {"policy/entropy", "entropy", "nats per token"}, {"policy/kl_ref", "KL to the reference", "nats per token"},
}

// charts are the metrics that are drawn.
var charts = []struct {
	metric, title, unit string
	share               bool
}{
	{accuracy, "Accuracy on held-out problems", "pass@1", true}, {"reward/mean", "Reward", "mean", false},
	{"rollout/length_mean", "Length", "tokens", false}, {"policy/entropy", "Entropy", "nats per token", false},
	{"policy/kl_ref", "KL to the reference", "nats per token", false}, {"groups/uniform_share", "Groups of equal rewards", "share", true},
}

// New compares arms, the first being what the others are held against. Their trials
// have the same seeds in the same order. threshold is the pass@1 whose tokens are
// counted; NaN: nine tenths of what the first arm reaches. Runs that learn from rewards are not
// compared with runs that do not.
func New(arms []Arm, threshold float64) (*Comparison, error) {
	for _, a := range arms {
		for i, t := range a.Trials {
			first := arms[0].Trials
			if len(a.Trials) != len(first) || t.Seed != first[i].Seed || len(t.Problems) != len(first[0].Problems) || !slices.Equal(t.Prompts, first[i].Prompts) {
				return nil, fmt.Errorf("%w: %s and %s differ in their seeds or held-out problems", lines.ErrInput, arms[0].Name, a.Name)
			}
			if t.Taught != first[0].Taught {
				return nil, fmt.Errorf("%w: of %s and %s one learns from rewards and the other does not", lines.ErrInput, arms[0].Name, a.Name)
			}
		}
	}
	c, unit := &Comparison{Arms: arms, Threshold: threshold, Along: sampledRow}, "tokens"
	if arms[0].Trials[0].Taught {
		c.Along, unit = "steps", "steps"
	}
	c.problemRow("accuracy", func(p []record.Outcome) []float64 { return shares(p, 1) })
	kinds := arms[0].Trials[0].Kinds
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		c.problemRow("accuracy, "+kind, func(p []record.Outcome) (of []float64) {
			for i, share := range shares(p, 1) {
				if kinds[i] == kind {
					of = append(of, share)
				}
			}
			return of
		})
	}
	if graded(arms) {
		c.problemRow("score", scores)
	}
	for k := 2; k <= most(arms); k *= 2 {
		c.problemRow(fmt.Sprintf("pass@%d", k), func(p []record.Outcome) []float64 { return shares(p, k) })
	}
	if k := voters(arms); k > 0 {
		c.problemRow(fmt.Sprintf("maj@%d", k), votes)
	}
	for _, m := range trained {
		c.seedRow(Row{Name: m.name, Unit: m.unit}, func(t *Trial) float64 { return t.closing(m.metric) })
	}
	for _, name := range own(arms) {
		c.seedRow(Row{Name: name}, func(t *Trial) float64 { return t.closing(name) })
	}
	if math.IsNaN(threshold) {
		c.Threshold = 0.9 * c.Rows[0].Arms[0].Mean
	}
	if c.Threshold > 0 && !arms[0].Trials[0].Taught { // whose accuracy is measured at the end
		c.seedRow(Row{Name: fmt.Sprintf("tokens to %.1f %%", 100*c.Threshold), Unit: unit}, func(t *Trial) float64 { return t.reach(c.Threshold) })
	}
	c.seedRow(Row{Name: c.Along, Unit: unit}, func(t *Trial) float64 { return t.Tokens[len(t.Tokens)-1] })
	for _, d := range charts {
		if chart := c.chart(Chart{Metric: d.metric, Title: d.title, Unit: d.unit, Share: d.share}); len(chart.Grid) > 0 {
			c.Charts = append(c.Charts, chart)
		}
	}
	return c, nil
}

// own are the names of the metrics of recipes' own that some run has, sorted.
func own(arms []Arm) []string {
	names := map[string]bool{}
	for _, a := range arms {
		for _, t := range a.Trials {
			for name := range t.Curves {
				if strings.HasPrefix(name, "my/") {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// sampledRow is the row of what the budget is about.
const sampledRow = "tokens sampled"

// most is the number of samples that every problem has.
func most(arms []Arm) int {
	n := math.MaxInt
	for _, a := range arms {
		for _, t := range a.Trials {
			for _, p := range t.Problems {
				n = min(n, max(1, p.Scored))
			}
		}
	}
	return n
}

// graded says whether a completion earned something between 0 and 1.
func graded(arms []Arm) bool {
	return slices.ContainsFunc(arms, func(a Arm) bool {
		return slices.ContainsFunc(a.Trials, func(t *Trial) bool {
			return slices.ContainsFunc(t.Problems, func(p record.Outcome) bool { return p.Score != float64(p.Right) })
		})
	})
}

// voters is the number of answers to a held-out problem that majority votes count at most; 0: some run has counted none.
func voters(arms []Arm) int {
	all := 0
	for _, a := range arms {
		for _, t := range a.Trials {
			n := 0
			for _, p := range t.Problems {
				if p.Voted {
					n = max(n, p.Scored)
				}
			}
			if n == 0 {
				return 0
			}
			all = max(all, n)
		}
	}
	return all
}

// problemRow adds a figure that each held-out problem has.
func (c *Comparison) problemRow(name string, of func([]record.Outcome) []float64) {
	row := Row{Name: name, Share: true, Start: &Figure{}}
	for _, t := range c.Arms[0].Trials {
		row.Start.Seeds = append(row.Start.Seeds, Mean(finite(of(t.Before))).Mean)
	}
	if row.Start.summarise(); math.IsNaN(row.Start.Mean) {
		row.Start = nil
	}
	var first [][]float64
	for i, a := range c.Arms {
		var values [][]float64
		var f Figure
		for _, t := range a.Trials {
			v := of(t.Problems)
			values = append(values, v)
			f.Seeds = append(f.Seeds, Mean(finite(v)).Mean)
		}
		f.summarise()
		if i == 0 {
			first = values
			f.Gain = Mean(nil)
		} else {
			f.Gain = Paired(first, values)
		}
		row.Arms = append(row.Arms, f)
	}
	c.Rows = append(c.Rows, row)
}

// seedRow adds a figure that each run has. One that no run has is left out.
func (c *Comparison) seedRow(row Row, of func(*Trial) float64) {
	measured := false
	for i, a := range c.Arms {
		var f Figure
		var gains []float64
		for _, t := range a.Trials {
			v := of(t)
			f.Seeds = append(f.Seeds, v)
			measured = measured || !math.IsNaN(v)
		}
		for s := range f.Seeds {
			if i > 0 {
				gains = append(gains, f.Seeds[s]-row.Arms[0].Seeds[s])
			}
		}
		f.summarise()
		f.Gain = Mean(finite(gains))
		row.Arms = append(row.Arms, f)
	}
	if measured {
		c.Rows = append(c.Rows, row)
	}
}

// summarise fills mean and spread from the seeds that have a value.
func (f *Figure) summarise() {
	f.Mean, f.Spread = Mean(finite(f.Seeds)).Mean, spread(finite(f.Seeds))
}

// closing is the mean of a metric over the last steps.
func (t *Trial) closing(metric string) float64 {
	c := t.Curves[metric]
	from := t.Tokens[len(t.Tokens)-int(math.Ceil(last*float64(len(t.Tokens))))]
	at, _ := slices.BinarySearch(c.X, from)
	return Mean(c.Y[at:]).Mean
}

// reach is the number of tokens at which the accuracy first is a threshold, on lines
// between its measurements; NaN if it never is.
func (t *Trial) reach(threshold float64) float64 {
	c := t.Curves[accuracy]
	for i, y := range c.Y {
		switch {
		case y < threshold:
		case i == 0:
			return c.X[0]
		default:
			return c.X[i-1] + (c.X[i]-c.X[i-1])*(threshold-c.Y[i-1])/(y-c.Y[i-1])
		}
	}
	return math.NaN()
}
