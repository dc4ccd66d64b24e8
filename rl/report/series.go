package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// line is one measured quantity over the steps.
type line struct {
	label  string
	points []point
	dots   bool   // measured now and then: dots, not smoothed
	plain  bool   // a number in a chart of shares
	ghost  bool   // drawn faintly, behind the others
	class  string // in the style sheet
}

// point is a value at a step. NaN is a gap.
type point struct {
	step   int
	stage  int // index of the stage
	y      float64
	lo, hi float64 // 95 % interval; NaN: unknown
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
		l.points = append(l.points, point{p.Step, at, y, math.NaN(), math.NaN()})
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

// dotted is a line that is measured now and then.
func dotted(l line) line {
	l.dots = true
	return l
}

// within reports whether the line has values, all between two bounds.
func (l *line) within(lo, hi float64) bool {
	for _, p := range l.points {
		if finite(p.y) && (p.y < lo || p.y > hi) {
			return false
		}
	}
	return l.drawn()
}

// addIntervals gives the points of pass@1 their intervals.
func (l *line) addIntervals(points []Point) {
	at := 0
	for i := range l.points {
		for points[at].Step != l.points[i].step {
			at++
		}
		l.points[i].lo, l.points[i].hi = points[at].interval()
	}
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
		if l.class == "" {
			l.class = fmt.Sprint("s", len(kept))
		}
		kept = append(kept, l)
	}
	c.lines = kept
}

// dropOld leaves out lines that end in an earlier stage than the others: beside the
// newest values, theirs would mislead.
func (c *chart) dropOld() {
	c.prune()
	newest := 0
	for _, l := range c.lines {
		newest = max(newest, l.points[len(l.points)-1].stage)
	}
	c.lines = slices.DeleteFunc(c.lines, func(l line) bool { return l.points[len(l.points)-1].stage < newest })
}

// steady is how little a figure may vary, as a share of it, to be told as a number:
// about the width of the line that it would be.
const steady = 0.02

// constant is the median of the chart's only line, if it hardly varies.
func (c *chart) constant() (float64, bool) {
	if len(c.lines) != 1 {
		return 0, false
	}
	var values []float64
	for _, p := range c.lines[0].points {
		values = appendFinite(values, p.y)
	}
	lo, hi := slices.Min(values), slices.Max(values)
	return median(values), hi-lo <= steady*math.Max(math.Abs(lo), math.Abs(hi))
}

// breakGaps leaves a gap in a line wherever more than two intervals lie between its
// points: what was not measured is not drawn. The interval of a stage is the median
// distance of the steps at which any line of the chart was measured.
func (c *chart) breakGaps(stages []stage) {
	measured := map[int]int{} // step -> stage
	for _, l := range c.lines {
		for _, p := range l.points {
			if !l.ghost && finite(p.y) {
				measured[p.step] = p.stage
			}
		}
	}
	distances := make([][]int, len(stages)) // [stage]
	last := 0
	for i, step := range slices.Sorted(maps.Keys(measured)) {
		if at := measured[step]; i > 0 && at < len(stages) {
			distances[at] = append(distances[at], step-last)
		}
		last = step
	}
	for i := range c.lines {
		l := &c.lines[i]
		var out []point // with gaps
		for j, p := range l.points {
			if j > 0 {
				if most := widestGap(distances, p.stage, l.ghost); p.step-l.points[j-1].step > most {
					out = append(out, point{l.points[j-1].step + 1, l.points[j-1].stage, math.NaN(), math.NaN(), math.NaN()})
				}
			}
			out = append(out, p)
		}
		l.points = out
	}
}

// widestGap is the largest distance of two points that a line may join in a stage.
// A ghost is measured at each step.
func widestGap(distances [][]int, stage int, ghost bool) int {
	if ghost {
		return 2
	}
	d := distances[stage]
	if len(d) < 2 { // one evaluation at the end of a stage: nothing between
		return 1
	}
	slices.Sort(d)
	return 2 * d[len(d)/2]
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

// pieces are the indices of the points between gaps, thinned evenly to about n: for
// what is smoothed already.
func pieces(points []point, n int) [][]int {
	every := (len(points) + n - 1) / n
	var out [][]int
	gap := true
	for i, p := range points {
		if !finite(p.y) {
			gap = true
			continue
		}
		if gap {
			out = append(out, nil)
		}
		gap = false
		end := i == len(points)-1 || !finite(points[i+1].y)
		if piece := &out[len(out)-1]; len(*piece) == 0 || end || i%every == 0 {
			*piece = append(*piece, i)
		}
	}
	return out
}
