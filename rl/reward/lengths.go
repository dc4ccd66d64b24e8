package reward

import "math"

// schedules are numbers that move with the steps of the stage.
var schedules = []Function{
	{
		Name: "linear", Usage: "linear(from, to, first, last)", Meaning: "from up to step first, to from step last on, linear in between", params: "rrrr", check: span,
		eval: between(func(done float64) float64 { return done }),
	},
	{
		Name: "cosine", Usage: "cosine(from, to, first, last)", Meaning: "like linear, but along half a cosine wave", Formula: "from + (to - from)*(1 - cos(pi*t))/2, t from 0 to 1", params: "rrrr", check: span,
		eval: between(func(done float64) float64 { return (1 - math.Cos(math.Pi*done)) / 2 }),
	},
	{
		Name: "piecewise", Usage: "piecewise(x, step, y, ...)", Meaning: "x up to that step, y from that step on, and so on: a value, then pairs of step and value", params: "rrr", repeat: 2,
		check: func(args []*node) string {
			if len(args)%2 == 0 {
				return "a value, then pairs of step and value"
			}
			for i := 3; i < len(args); i += 2 {
				if why := ordered(args[i-2], args[i], "its steps have to increase"); why != "" {
					return why
				}
			}
			return ""
		},
		eval: func(b *batch, n *node) column {
			return b.each(n, func(x []float64) float64 {
				now := x[0]
				for i := 1; i < len(x); i += 2 {
					if float64(b.Step) >= x[i] {
						now = x[i+1]
					}
				}
				return now
			})
		},
	},
}

// between moves from x[0] to x[1] over the steps x[2] to x[3].
func between(curve func(done float64) float64) func(*batch, *node) column {
	return func(b *batch, n *node) column {
		return b.each(n, func(x []float64) float64 {
			switch now := float64(b.Step); {
			case now <= x[2]:
				return x[0]
			case now >= x[3]:
				return x[1]
			default:
				return x[0] + (x[1]-x[0])*curve((now-x[2])/(x[3]-x[2]))
			}
		})
	}
}

func span(args []*node) string { return ordered(args[2], args[3], "last is before first") }

// lengths are the length rewards that go by a name of their own. Others are
// short expressions: see the tests.
var lengths = []Function{
	{
		Name: "overlong", Usage: "overlong(cache[, longest])", Meaning: "DAPO's penalty for overlong completions: 0, falling to -1 over the last cache tokens before longest (default: max_tokens)",
		Formula: "0 for tokens <= longest - cache; (longest - cache - tokens)/cache up to longest; -1 above", Source: "arXiv 2503.14476, equation 13",
		params: "rr", optional: 1,
		check: func(args []*node) string { return positive(args[0], "cache") },
		eval: func(b *batch, n *node) column {
			return b.eachCompletion(n, func(c *Completion, x []float64) float64 {
				longest := float64(b.MaxTokens)
				if len(x) > 1 {
					longest = x[1]
				}
				if x[0] <= 0 {
					return math.NaN()
				}
				return max(-1, min(0, (longest-x[0]-float64(len(c.IDs)))/x[0]))
			})
		},
	},
	{
		Name: "shortest_right", Usage: "shortest_right(condition)", Meaning: "whether the completion is among the shortest of its group for which the condition holds, such as right(task)",
		Formula: "condition and tokens == group_min(tokens, condition)", Source: "as the bonus of Observe-R1, arXiv 2505.12432", params: "c", gives: condition,
		eval: func(b *batch, n *node) column {
			return b.ranges(n, true, func(tokens, least, _ float64, right bool) float64 { return holds(right && tokens == least) })
		},
	},
	{
		Name: "kimi_length", Usage: "kimi_length(right)", Meaning: "from 1/2 for the shortest of the group to -1/2 for the longest; never above 0 where the condition does not hold; 0 if all are equally long",
		Formula: "t = 1/2 - (tokens - shortest)/(longest - shortest); right: t, else min(0, t)", Source: "Kimi k1.5, arXiv 2501.12599, section 2.3.3", params: "c",
		eval: func(b *batch, n *node) column {
			return b.ranges(n, false, func(tokens, least, most float64, right bool) float64 {
				if least == most {
					return 0
				}
				t := 0.5 - (tokens-least)/(most-least)
				if right {
					return t
				}
				return min(0, t)
			})
		},
	},
	{
		Name: "cosine_length", Usage: "cosine_length(right, right_0, right_max, wrong_0, wrong_max, exceeded)",
		Meaning: "right answers earn right_0 at length 0 to right_max at max_tokens, along half a cosine wave; wrong ones wrong_0 to wrong_max; at max_tokens itself the value is exceeded",
		Formula: "a + (b - a)*(1 - cos(pi*tokens/max_tokens))/2", Source: "arXiv 2502.03373", params: "crrrrr",
		eval: func(b *batch, n *node) column {
			return b.eachCompletion(n, func(c *Completion, x []float64) float64 {
				from, to := x[1], x[2]
				if x[0] == 0 {
					from, to = x[3], x[4]
				}
				if len(c.IDs) >= b.MaxTokens {
					return x[5]
				}
				return from + (to-from)*(1-math.Cos(math.Pi*float64(len(c.IDs))/float64(b.MaxTokens)))/2
			})
		},
	},
}

// ranges compares lengths within each group: f gets a completion's length, the
// least and greatest of its group, and whether the condition that is n's
// argument holds. Where it is not scored, the completion is left out; only says
// that those for which it does not hold are no part of least and most either.
func (b *batch) ranges(n *node, only bool, f func(tokens, least, most float64, holds bool) float64) column {
	where, out := n.args[0].eval(b), b.column()
	for _, group := range b.groups {
		least, most := math.Inf(1), math.Inf(-1)
		for _, i := range group {
			if where.v[i] == 1 || where.v[i] == 0 && !only {
				tokens := float64(len(b.Completions[i].IDs))
				least, most = min(least, tokens), max(most, tokens)
			}
		}
		for _, i := range group {
			if out.take(i, where); !math.IsNaN(where.v[i]) {
				out.v[i] = f(float64(len(b.Completions[i].IDs)), least, most, where.v[i] == 1)
			}
		}
	}
	return out
}
