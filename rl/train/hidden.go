package train

import (
	"errors"
	"math"
	"slices"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
)

// posedAngles are those of prompts that nothing is drawn of yet.
func posedAngles(x subject, fact string) (formula.Column, error) {
	return angles(x, fact, len(x.problems), func(i int) ([]int, error) { return x.prompts.Prompt(x.problems[i]) })
}

// drawnAngles are those of what was read before the first token was drawn.
func drawnAngles(x subject, fact string) (formula.Column, error) {
	var of []*rollout.Group
	for i := range x.cs {
		if i == 0 || x.cs[i].Group != x.cs[i-1].Group {
			of = append(of, x.cs[i].From)
		}
	}
	return angles(x, fact, len(of), func(i int) ([]int, error) { return of[i].Segments[0].IDs, nil })
}

// angles tell how far the states of each prompt's tokens point the same way.
func angles(x subject, fact string, prompts int, prompt func(i int) ([]int, error)) (formula.Column, error) {
	c := formula.Column{Level: formula.Group, Why: map[int]string{}, V: make([]float64, prompts)}
	var views []rollout.View
	var asked []int // their places
	for i := range prompts {
		ids, err := prompt(i)
		if err == nil && len(ids) == 0 {
			err = errors.New("a world asks it: there is no prompt yet")
		}
		if err != nil {
			c.V[i], c.Why[i] = math.NaN(), err.Error()
			continue
		}
		views = append(views, rollout.View{IDs: ids, Spans: []rollout.Span{{From: 0, To: len(ids)}}, Temperature: 1})
		asked = append(asked, i)
	}
	of, _ := algo.HiddenOf(fact)
	err := x.models.States(of.Model, of.Layer, views, func(i int, states [][]float32) error {
		c.V[asked[i]] = concentration(states)
		return nil
	})
	return c, err
}

// concentration is the mean cosine of all pairs of vectors, each with itself among them: the squared length of
// the mean of their directions.
func concentration(of [][]float32) float64 {
	mean := make([]float64, len(of[0]))
	for _, v := range of {
		wide := cast.Widen(v)
		if n := length(wide); n > 0 { // 0 has no direction
			for k, x := range wide {
				mean[k] += x / n / float64(len(of))
			}
		}
	}
	return dot(mean, mean)
}

// ofPath is a number of each segment of a completion, of where the segments lie.
func ofPath(value func(path [][]float64, k int) (float64, string)) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, fact string) (formula.Column, error) {
		of, _ := algo.HiddenOf(fact)
		if x.paths[of] == nil {
			err := x.models.States(of.Model, of.Layer, column(x.cs, func(c *Completion) rollout.View { return c.View }), func(i int, states [][]float32) error {
				x.paths[of] = append(x.paths[of], pathOf(states, x.cut[i]))
				return nil
			})
			if err != nil {
				return formula.Column{}, err
			}
		}
		c := formula.Column{Level: formula.Segment, V: []float64{}, Why: map[int]string{}}
		for _, path := range x.paths[of] {
			for k := range path {
				v, why := value(path, k)
				if c.V = append(c.V, v); math.IsNaN(v) {
					c.Why[len(c.V)-1] = why
				}
			}
		}
		return c, nil
	}
}

// influences are those of each token, over the tokens of what belongs together: the completions from one place to
// the next. The table has what the method's formulas read of the step, so far.
func influences(together func(cs []Completion, i int) int) func(x subject, fact string) (formula.Column, error) {
	return func(x subject, fact string) (formula.Column, error) {
		c := formula.Column{Level: formula.Token, V: []float64{}}
		given, err := x.method.Given(x.made, fact)
		if err != nil {
			return c, x.blamed(err)
		}
		var asked [][]rollout.View
		var by [][][]float64
		var sets [][][]float64 // of the result: zeros, or what is asked
		for i := 0; i < len(x.cs); {
			var views []rollout.View
			var weights [][]float64
			some := false
			for last := together(x.cs, i); i < last; i++ {
				n := x.cs[i].View.Tokens()
				w := make([]float64, n)
				for k := range w {
					if g := given[k]; !math.IsNaN(g) {
						w[k] = g
					}
					some = some || w[k] != 0
				}
				views, weights, given = append(views, x.cs[i].View), append(weights, w), given[n:]
			}
			if !some { // nothing has an influence
				sets = append(sets, weights)
				continue
			}
			sets, asked, by = append(sets, nil), append(asked, views), append(by, weights)
		}
		said, err := x.models.Influence(asked, by)
		if err != nil {
			return c, err
		}
		for _, rows := range sets {
			if rows == nil {
				rows, said = said[0], said[1:]
			}
			c.V = append(c.V, slices.Concat(rows...)...)
		}
		return c, nil
	}
}

// untilNextGroup and untilNext are the places after the last completion of a group, and after a completion.
func untilNextGroup(cs []Completion, i int) int {
	to := i + 1
	for to < len(cs) && cs[to].Group == cs[i].Group {
		to++
	}
	return to
}

func untilNext(_ []Completion, i int) int { return i + 1 }

// gradientNorms are those of each completion.
func gradientNorms(x subject, _ string) (formula.Column, error) {
	norms, err := x.models.GradientNorms(column(x.cs, func(c *Completion) rollout.View { return c.View }))
	return formula.Column{Level: formula.Completion, V: norms}, err
}

// pathOf are the means of the states of each segment; nil of one without tokens.
func pathOf(states [][]float32, lengths []int) [][]float64 {
	path := make([][]float64, len(lengths))
	for k, n := range lengths {
		if n > 0 {
			path[k] = centre(states[:n])
		}
		states = states[n:]
	}
	return path
}

const noTokens = "the segment, or one that it is compared with, has no tokens"

// net is how far a segment lies from the first one.
func net(path [][]float64, k int) (float64, string) { return apart(path[k], path[0]) }

// way is how far it lies from the one before it.
func way(path [][]float64, k int) (float64, string) { return apart(path[k], path[max(0, k-1)]) }

// toward is how far the step to it goes the way of the whole path.
func toward(path [][]float64, k int) (float64, string) {
	last := len(path) - 1
	switch {
	case k == 0:
		return math.NaN(), "there is no segment before the first one"
	case path[k] == nil || path[k-1] == nil || path[0] == nil || path[last] == nil:
		return math.NaN(), noTokens
	}
	step, whole := less(path[k], path[k-1]), less(path[last], path[0])
	if length(step) == 0 || length(whole) == 0 {
		return math.NaN(), "a way of length 0 has no direction"
	}
	return dot(step, whole) / length(step) / length(whole), ""
}

// apart is the distance of two places.
func apart(a, b []float64) (float64, string) {
	if a == nil || b == nil {
		return math.NaN(), noTokens
	}
	return length(less(a, b)), ""
}

// centre is the mean of vectors.
func centre(of [][]float32) []float64 {
	mean := make([]float64, len(of[0]))
	for _, v := range of {
		for k, x := range v {
			mean[k] += float64(x)
		}
	}
	for k := range mean {
		mean[k] /= float64(len(of))
	}
	return mean
}

func less(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for k := range a {
		out[k] = a[k] - b[k]
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

func length(v []float64) float64 { return math.Sqrt(dot(v, v)) }
