package compare

import (
	"math"
	"slices"
)

// places is how many places a chart has along its tokens.
const places = 60

// chart fills a chart. It ends where the shortest run does, and has no grid if a run
// lacks the metric.
func (c *Comparison) chart(chart Chart) Chart {
	from, to := math.Inf(-1), math.Inf(1)
	for _, a := range c.Arms {
		for _, t := range a.Trials {
			x := t.Curves[chart.Metric].X
			if len(x) < 2 {
				return chart
			}
			from, to = max(from, x[0]), min(to, x[len(x)-1])
		}
	}
	if from >= to {
		return chart
	}
	for i := range places {
		chart.Grid = append(chart.Grid, from+(to-from)*float64(i)/(places-1))
	}
	for _, a := range c.Arms {
		var curves []Curve
		for _, t := range a.Trials {
			curves = append(curves, t.Curves[chart.Metric])
		}
		chart.Bands = append(chart.Bands, bandsOf(curves, chart.Grid))
	}
	return chart
}

// bandsOf are the mean of curves, such as those of seeds, at each place of a grid that
// rises evenly, of two places or more, with the interval of that mean. A curve's value at a place is the mean
// of its points nearest to that place, or lies on the line between its neighbours. NaN
// where a curve has neither.
func bandsOf(curves []Curve, grid []float64) []Interval {
	out := make([]Interval, len(grid))
	for i := range grid {
		var values []float64
		for _, c := range curves {
			values = append(values, c.near(grid, i))
		}
		out[i] = Mean(values)
	}
	return out
}

// near is the value of a curve at a place of a grid.
func (c Curve) near(grid []float64, i int) float64 {
	half := (grid[1] - grid[0]) / 2
	from, _ := slices.BinarySearch(c.X, grid[i]-half)
	to, _ := slices.BinarySearch(c.X, grid[i]+half)
	if from < to {
		return Mean(c.Y[from:to]).Mean
	}
	if to == 0 || to == len(c.X) {
		return math.NaN()
	}
	share := (grid[i] - c.X[to-1]) / (c.X[to] - c.X[to-1])
	return c.Y[to-1] + share*(c.Y[to]-c.Y[to-1])
}
