package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
)

// Risen is how much higher a metric is at the end of an arm's runs than before their first step, with
// its 95 % interval on the same seeds. Of eval/pass@K it is also on the same held-out problems; of
// another metric it is the mean over the last tenth of the steps above the first step, which the
// start sampled. The error names what was not measured.
func Risen(arm Arm, metric string) (Interval, error) {
	before := Arm{Name: arm.Name + " before the first step"}
	for _, t := range arm.Trials {
		c := t.Curves[metric]
		if strings.HasPrefix(metric, "eval/pass@") && len(t.Before) != len(t.Problems) {
			return Interval{}, fmt.Errorf("%w: %s with seed %d has no evaluation from before its first step", lines.ErrInput, arm.Name, t.Seed)
		}
		first := &Trial{Seed: t.Seed, Problems: t.Before, Tokens: t.Tokens[:1], Curves: map[string]Curve{}}
		if len(c.Y) > 0 {
			first.Curves[metric] = Curve{c.X[:1], c.Y[:1]}
			first.Tokens = []float64{c.X[0]}
		}
		before.Trials = append(before.Trials, first)
	}
	return Difference(before, arm, metric)
}

// Difference is how much higher a metric is in an arm than in its control, with its 95 % interval
// on the same seeds. Of eval/pass@K it is also on the same held-out problems; of another metric it
// is that of the means over the last tenth of the steps. The error names what was not measured.
func Difference(control, arm Arm, metric string) (Interval, error) {
	if digits, pass := strings.CutPrefix(metric, "eval/pass@"); pass {
		k, _ := strconv.Atoi(digits)
		of := func(a Arm) (out [][]float64) {
			for _, t := range a.Trials {
				out = append(out, shares(t.Problems, k))
			}
			return out
		}
		d := Paired(of(control), of(arm))
		if math.IsNaN(d.Mean) {
			return d, fmt.Errorf("%w: no held-out problem has %d samples in every run of %s and %s", lines.ErrInput, k, control.Name, arm.Name)
		}
		return d, nil
	}
	var gains []float64
	for i, t := range arm.Trials {
		for _, of := range []struct {
			name  string
			trial *Trial
		}{{arm.Name, t}, {control.Name, control.Trials[i]}} {
			if len(of.trial.Curves[metric].Y) == 0 {
				return Interval{}, fmt.Errorf("%w: no step of %s with seed %d has the metric %s", lines.ErrInput, of.name, of.trial.Seed, metric)
			}
		}
		gains = append(gains, t.closing(metric)-control.Trials[i].closing(metric))
	}
	return Mean(gains), nil
}

// The verdicts on an expectation.
const (
	Agrees    = "agrees"
	Disagrees = "disagrees"
	NotTold   = "not told apart" // the interval has 0 in it, or there is one seed
)

// Verdict says what a difference says of an expectation: that the metric is higher, or lower.
func (i Interval) Verdict(direction string) string {
	switch {
	case math.IsNaN(i.Low) || math.IsInf(i.Low, 0) || !i.excludes(0):
		return NotTold
	case (i.Mean > 0) == (direction == "higher"):
		return Agrees
	}
	return Disagrees
}

// Measured is a line of docs/papers.tsv: what came of an expectation.
type Measured struct {
	Recipe, Metric, Than, Direction string
	Difference                      Interval
	Seeds, Budget                   int // tokens that each run sampled; 0: it learned from rows alone
	Device, Release                 string
	Own, Control, Start             string // hashes of the two resolved recipes, and of that of the common start; "": they start as they are
}

// measuredColumns is the first line of the file.
const measuredColumns = "recipe\tmetric\tthan\tdirection\tdifference\tlow\thigh\tseeds\tbudget\tdevice\trelease\town\tcontrol\tstart\tverdict"

// Verdict is what the line says.
func (m Measured) Verdict() string { return m.Difference.Verdict(m.Direction) }

// Of says whether two lines are about the same expectation.
func (m Measured) Of(o Measured) bool {
	return m.Recipe == o.Recipe && m.Metric == o.Metric && m.Than == o.Than && m.Direction == o.Direction
}

// Counts says whether a line was measured with recipes that are still those of the tree.
func (m Measured) Counts(own, control string) bool { return m.Own == own && m.Control == control }

// WriteMeasured is the text of docs/papers.tsv.
func WriteMeasured(all []Measured) []byte {
	out := measuredColumns + "\n"
	for _, m := range all {
		d := m.Difference
		figure := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
		out += strings.Join([]string{m.Recipe, m.Metric, m.Than, m.Direction, figure(d.Mean), figure(d.Low), figure(d.High), strconv.Itoa(m.Seeds), strconv.Itoa(m.Budget),
			m.Device, m.Release, m.Own, m.Control, m.Start, m.Verdict()}, "\t") + "\n"
	}
	return []byte(out)
}

// ReadMeasured reads what [WriteMeasured] writes; name is that of the file. A file without a line
// has nothing measured.
func ReadMeasured(name, text string) ([]Measured, error) {
	var all []Measured
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if n++; n == 1 {
			if line != measuredColumns {
				return nil, fmt.Errorf("%w: %s: line 1: the columns are %q; accepted: %q", lines.ErrInput, name, line, measuredColumns)
			}
			continue
		}
		f := strings.Split(line, "\t")
		if want := strings.Count(measuredColumns, "\t") + 1; len(f) != want {
			return nil, fmt.Errorf("%w: %s: line %d has %d columns; accepted: %d", lines.ErrInput, name, n, len(f), want)
		}
		m := Measured{Recipe: f[0], Metric: f[1], Than: f[2], Direction: f[3], Device: f[9], Release: f[10], Own: f[11], Control: f[12], Start: f[13]}
		for i, into := range map[int]*float64{4: &m.Difference.Mean, 5: &m.Difference.Low, 6: &m.Difference.High} {
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: line %d: column %d is %q; accepted: a number", lines.ErrInput, name, n, i+1, f[i])
			}
			*into = x
		}
		for i, into := range map[int]*int{7: &m.Seeds, 8: &m.Budget} {
			x, err := strconv.Atoi(f[i])
			if err != nil {
				return nil, fmt.Errorf("%w: %s: line %d: column %d is %q; accepted: a whole number", lines.ErrInput, name, n, i+1, f[i])
			}
			*into = x
		}
		if f[14] != m.Verdict() {
			return nil, fmt.Errorf("%w: %s: line %d says %q, but its interval says %q", lines.ErrInput, name, n, f[14], m.Verdict())
		}
		all = append(all, m)
	}
	return all, nil
}
