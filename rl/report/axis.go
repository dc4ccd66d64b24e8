package report

import (
	"math"
	"strconv"
	"strings"
)

// niceStep is the least of 1, 2, 5 times a power of ten that cuts span into at
// most n parts.
func niceStep(span float64, n int) float64 {
	least := span / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		// A hair of slack: 0.3/3 must not become the step after 0.1.
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// axis maps values to the unit interval, with ticks at round values.
type axis struct {
	lo, hi float64
	log    bool
	ticks  []float64
}

// logSpan is the ratio of the largest to the smallest value from which a log scale
// shows more than a linear one.
const logSpan = 20

// logRoom is what a log scale leaves free above and below, as a share of the span.
const logRoom = 0.06

// yAxis is the axis for values between lo and hi, with about n parts: from zero,
// unless a log scale was asked for and pays.
func yAxis(lo, hi float64, n int, log bool) axis {
	if log && lo > 0 && hi/lo >= logSpan {
		return logAxis(lo, hi)
	}
	lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	if lo == hi {
		hi = 1
	}
	step := niceStep(hi-lo, n)
	a := axis{lo: step * math.Floor(lo/step), hi: step * math.Ceil(hi/step)}
	for i := math.Round(a.lo / step); i*step <= a.hi*(1+1e-9); i++ {
		a.ticks = append(a.ticks, i*step)
	}
	return a
}

func logAxis(lo, hi float64) axis {
	a := axis{lo: math.Log(lo), hi: math.Log(hi), log: true}
	room := a.hi - a.lo
	a.lo, a.hi = a.lo-logRoom*room, a.hi+logRoom*room
	for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		a.ticks = a.ticks[:0]
		for e := math.Floor(math.Log10(lo)) - 1; e <= math.Ceil(math.Log10(hi)); e++ {
			for _, m := range steps {
				if v := m * math.Pow(10, e); math.Log(v) >= a.lo && math.Log(v) <= a.hi {
					a.ticks = append(a.ticks, v)
				}
			}
		}
		if len(a.ticks) <= 6 {
			break
		}
	}
	return a
}

// at is a value's place, 0 at the lower end and 1 at the upper.
func (a *axis) at(v float64) float64 {
	if a.log {
		v = math.Log(v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// span is the part of a stage that a chart shows: steps (from, to] at places x0..x1
// of the unit interval.
type span struct {
	stage
	from, to float64
	x0, x1   float64
}

// bandFloor is the least width of a stage's band, as a share of an equal division.
const bandFloor = 0.8

// spans divides the unit interval among the stages between two steps.
func spans(stages []stage, from, to int) []span {
	if from == to {
		from-- // one point: a band of one step, with the point at its end
	}
	var out []span
	for _, s := range stages {
		if from == s.after+1 {
			from-- // a whole stage begins at its step 0
		}
		if lo, hi := max(s.after, from), min(s.last, to); lo < hi {
			out = append(out, span{stage: s, from: float64(lo), to: float64(hi)})
		}
	}
	if len(out) == 0 {
		out = []span{{from: float64(from), to: float64(to)}}
	}
	sum, x := 0.0, 0.0
	weight := make([]float64, len(out))
	for i, s := range out {
		weight[i] = math.Max((s.to-s.from)/float64(to-from), bandFloor/float64(len(out)))
		sum += weight[i]
	}
	for i := range out {
		out[i].x0 = x
		x += weight[i] / sum
		out[i].x1 = x
	}
	return out
}

// place is a step's place on the unit interval.
func place(spans []span, step float64) float64 {
	for i, s := range spans {
		if step <= s.to || i == len(spans)-1 {
			return s.x0 + (s.x1-s.x0)*(step-s.from)/(s.to-s.from)
		}
	}
	return 0
}

// stepTick is a mark under a chart: a step through all stages, and the same step
// counted in its stage.
type stepTick struct{ at, inStage float64 }

// stepTicks are round steps of each stage, about so many for the whole width.
func stepTicks(spans []span, n int) []stepTick {
	var out []stepTick
	for _, s := range spans {
		share := max(1, int(math.Round(float64(n)*(s.x1-s.x0))))
		step := math.Max(1, niceStep(s.to-s.from, share))
		for v := step * math.Ceil((s.from-float64(s.after))/step); v <= s.to-float64(s.after); v += step {
			if len(out) == 0 || v > 0 { // the end of the stage before stands there already
				out = append(out, stepTick{v + float64(s.after), v})
			}
		}
	}
	return out
}

// number writes a value with three significant digits, thousands apart: 0.0123,
// 1.25, 62, 12,400.
func number(v float64) string {
	size := math.Abs(v)
	switch {
	case !finite(v):
		return "–"
	case size == 0:
		return "0"
	case size >= 999.5:
		return minus(group(strconv.FormatFloat(v, 'f', 0, 64)))
	case size < 0.0005:
		return minus(strconv.FormatFloat(v, 'e', 1, 64))
	}
	digits := max(0, 2-int(math.Floor(math.Log10(size))))
	return minus(strconv.FormatFloat(v, 'f', digits, 64))
}

// tick is number without the zeros that round values end in.
func tick(v float64) string {
	s := number(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// percent writes a share: 62.1 %.
func percent(v float64) string {
	if !finite(v) {
		return "–"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

// group sets a comma between each three digits of a whole number.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }
