package report

import (
	"fmt"
	"math"
)

// chart is one picture: what is measured, and its lines.
type chart struct {
	file  string // name without .svg
	title string
	unit  string
	hero  bool // drawn larger, at the head of the page
	share bool // 0..1, shown as percent
	log   bool // a log scale where the values span enough of it
	lines []line
}

// line is one measured quantity over the steps.
type line struct {
	label  string
	points []point
	dots   bool // measured now and then: dots, joined by straight lines
}

// point is a value at a step. NaN is a gap.
type point struct {
	step  int
	stage int // index of the stage
	y     float64
}

// charts are the run's charts in the order of the page, those without data left
// out.
func (r *Run) charts(stages []stage) []chart {
	metric := func(label, name string) line { return series(label, name, r.Metrics, stages) }
	accuracy := chart{file: "accuracy", title: "Held-out accuracy", unit: "share of problems solved", hero: true, share: true}
	if ks := r.passKs(); len(ks) > 0 {
		accuracy.lines = append(accuracy.lines, metric(fmt.Sprintf("pass@%d", ks[0]), fmt.Sprint(passAt, ks[0])))
		if k := ks[len(ks)-1]; len(ks) > 1 {
			accuracy.lines = append(accuracy.lines, metric(fmt.Sprintf("pass@%d", k), fmt.Sprint(passAt, k)))
		}
	}
	accuracy.lines = append(accuracy.lines, metric("greedy", "eval/greedy"))
	form := metric("", "eval/valid")
	form.dots = true
	for i := range accuracy.lines {
		accuracy.lines[i].dots = true
	}
	all := []chart{
		accuracy,
		{file: "reward", title: "Reward", unit: "mean over a step’s completions", hero: true, lines: []line{metric("", "reward/mean")}},
		{file: "loss", title: "Warm-up loss", unit: "nats per token", log: true, lines: []line{metric("", "sft/loss")}},
		{file: "form", title: "Right form", unit: "share of samples", share: true, lines: []line{form}},
		{file: "entropy", title: "Entropy", unit: "nats per token", log: true, lines: []line{metric("", "policy/entropy")}},
		{file: "kl", title: "KL to the reference", unit: "nats per token", lines: []line{metric("", "policy/kl_ref")}},
		{file: "length", title: "Completion length", unit: "tokens, mean", lines: []line{metric("", "rollout/length_mean")}},
		{file: "throughput", title: "Throughput", unit: "tokens per second", lines: r.throughput(stages)},
		{file: "grad_norm", title: "Gradient norm", unit: "before clipping", log: true, lines: []line{metric("", "policy/grad_norm")}},
	}
	kept := all[:0]
	for _, c := range all {
		if c.prune(); len(c.lines) > 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// throughput is the tokens per second as timing.jsonl has them. Where it has none
// for sampling, they are the step's sampled tokens over the seconds of its rollout.
func (r *Run) throughput(stages []stage) []line {
	sampling := series("sampling", "rollout/tokens_per_s", r.Timing, stages)
	if !sampling.drawn() {
		tokens := map[int]float64{}
		for _, p := range r.Metrics {
			tokens[p.Step] = value(p, "rollout/tokens")
		}
		var rate []Point
		for _, p := range r.Timing {
			if s, n := value(p, "time/rollout_s"), tokens[p.Step]; s > 0 && n > 0 {
				rate = append(rate, Point{p.Step, p.Stage, map[string]float64{"rate": n / s}})
			}
		}
		sampling = series("sampling", "rate", rate, stages)
	}
	return []line{sampling, series("training", "train/tokens_per_s", r.Timing, stages)}
}

// series is a named value over the steps. A step without it is passed over; NaN,
// and an infinite value, is a gap.
func series(label, name string, points []Point, stages []stage) line {
	l := line{label: label}
	at := 0
	for _, p := range points {
		y, ok := p.Values[name]
		if !ok {
			continue
		}
		if !finite(y) {
			y = math.NaN()
		}
		for at < len(stages)-1 && p.Step > stages[at].last {
			at++
		}
		l.points = append(l.points, point{p.Step, at, y})
	}
	return l
}

// drawn reports whether the line has anything to show.
func (l *line) drawn() bool {
	for _, p := range l.points {
		if finite(p.y) {
			return true
		}
	}
	return false
}

// prune drops the lines without data, and gaps at the ends of the others.
func (c *chart) prune() {
	kept := make([]line, 0, len(c.lines))
	for _, l := range c.lines {
		if !l.drawn() {
			continue
		}
		for !finite(l.points[0].y) {
			l.points = l.points[1:]
		}
		for !finite(l.points[len(l.points)-1].y) {
			l.points = l.points[:len(l.points)-1]
		}
		kept = append(kept, l)
	}
	c.lines = kept
}

// smoothMin is the least number of points in a stage that is smoothed, and
// smoothShare the kernel's standard deviation as a share of them: wide enough to
// show the trend, narrow enough to leave every bend.
const (
	smoothMin   = 20
	smoothShare = 1.0 / 50
)

// smooth is a Gaussian average of the line over its points, each stage on its own.
// The window is cut alike on both sides near an end, so that a stage's first and
// last values are the data's own. A gap stays a gap and weighs nothing.
func (l *line) smooth() []point {
	out := append([]point(nil), l.points...)
	if l.dots {
		return out
	}
	for lo := 0; lo < len(out); {
		hi := lo
		for hi < len(out) && out[hi].stage == out[lo].stage {
			hi++
		}
		if n := hi - lo; n >= smoothMin {
			gauss(out[lo:hi], l.points[lo:hi], math.Max(1, smoothShare*float64(n)))
		}
		lo = hi
	}
	return out
}

func gauss(out, in []point, sigma float64) {
	reach := int(3 * sigma) // beyond three deviations a point weighs under 1.2 %
	for i := range in {
		if !finite(in[i].y) {
			continue
		}
		sum, weights := 0.0, 0.0
		near := min(reach, i, len(in)-1-i)
		for j := i - near; j <= i+near; j++ {
			if d := float64(j-i) / sigma; finite(in[j].y) {
				w := math.Exp(-d * d / 2)
				sum, weights = sum+w*in[j].y, weights+w
			}
		}
		out[i].y = sum / weights
	}
}

// thin leaves about n points of a line: of each run of neighbours the smallest and
// the largest, so that no peak is lost, one gap if there is any, and the ends.
func thin(points []point, n int) []point {
	if len(points) <= n {
		return points
	}
	size := (2*len(points) + n - 1) / n
	out := points[:0:0]
	for lo := 0; lo < len(points); lo += size {
		cell := points[lo:min(lo+size, len(points))]
		low, high, gap := -1, -1, -1
		for i, p := range cell {
			switch {
			case !finite(p.y):
				gap = i
			case low < 0:
				low, high = i, i
			case p.y < cell[low].y:
				low = i
			case p.y > cell[high].y:
				high = i
			}
		}
		for i, p := range cell {
			first, last := lo == 0 && i == 0, lo+i == len(points)-1
			if i == low || i == high || i == gap || first || last {
				out = append(out, p)
			}
		}
	}
	return out
}
