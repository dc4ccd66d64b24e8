package formula

import (
	"math"
	"slices"
)

var operators = []Function{
	operator("+", false, func(a, b float64) float64 { return a + b }, func(_ []float64, _ float64, d []float64) { d[0], d[1] = 1, 1 }),
	operator("-", false, func(a, b float64) float64 { return a - b }, func(_ []float64, _ float64, d []float64) { d[0], d[1] = 1, -1 }),
	operator("*", false, func(a, b float64) float64 { return a * b }, func(x []float64, _ float64, d []float64) { d[0], d[1] = x[1], x[0] }),
	{
		Name: "/", Usage: "a / b", params: "rr", operator: true,
		check: func(args []op) string {
			if args[1].kind == literalOp && args[1].value == 0 {
				return "division by 0"
			}
			return ""
		},
		each:  func(x []float64) float64 { return x[0] / x[1] },
		slope: func(x []float64, y float64, d []float64) { d[0], d[1] = 1/x[1], -y/x[1] },
	},
	{
		Name: "negative", Usage: "-a", params: "r", operator: true,
		one:  func(x float64) float64 { return -x },
		each: func(x []float64) float64 { return -x[0] }, slope: func(_ []float64, _ float64, d []float64) { d[0] = -1 },
	},
	operator("<", true, func(a, b float64) float64 { return holds(a < b) }, nil),
	operator("<=", true, func(a, b float64) float64 { return holds(a <= b) }, nil),
	operator(">", true, func(a, b float64) float64 { return holds(a > b) }, nil),
	operator(">=", true, func(a, b float64) float64 { return holds(a >= b) }, nil),
	operator("==", true, func(a, b float64) float64 { return holds(a == b) }, nil),
	operator("!=", true, func(a, b float64) float64 { return holds(a != b) }, nil),
	{Name: "not", Usage: "not a", params: "c", condition: true, operator: true, each: func(x []float64) float64 { return 1 - x[0] }},
	{Name: "and", Usage: "a and b", params: "cc", condition: true, operator: true, pick: connect(0)},
	{Name: "or", Usage: "a or b", params: "cc", condition: true, operator: true, pick: connect(1)},
}

func operator(name string, condition bool, f func(a, b float64) float64, slope func([]float64, float64, []float64)) Function {
	return Function{Name: name, Usage: "a " + name + " b", params: "rr", condition: condition, operator: true,
		two: f, each: func(x []float64) float64 { return f(x[0], x[1]) }, slope: slope}
}

// connect is "and" (decided by a 0) or "or" (by a 1): where one side decides,
// the other may be missing (Kleene 1952, strong three-valued logic).
func connect(decides float64) func([]float64) int {
	return func(x []float64) int {
		if x[0] != decides && (x[1] == decides || !math.IsNaN(x[0])) {
			return 1
		}
		return 0
	}
}

// unary is a function of one number; slope gets the number and the value there.
func unary(name, meaning, formula string, f func(x float64) float64, slope func(x, y float64) float64) Function {
	row := Function{Name: name, Usage: name + "(x)", Meaning: meaning, Formula: formula, params: "r",
		one: f, each: func(x []float64) float64 { return f(x[0]) }}
	if slope == nil {
		row.Slope = "none"
		return row
	}
	row.slope = func(x []float64, y float64, d []float64) { d[0] = slope(x[0], y) }
	return row
}

func (f Function) kink(text string) Function {
	f.Slope = text
	return f
}

var arithmetic = []Function{
	unary("abs", "absolute value of x", "", math.Abs, func(x, _ float64) float64 { return sign(x) }).kink("0 at 0"),
	unary("sqrt", "square root; no value below 0", "", math.Sqrt, func(_, y float64) float64 {
		if y == 0 {
			return 0
		}
		return 0.5 / y
	}).kink("0 at 0"),
	unary("square", "x times x", "x*x", func(x float64) float64 { return x * x }, func(x, _ float64) float64 { return 2 * x }),
	unary("exp", "e to the power of x", "", math.Exp, func(_, y float64) float64 { return y }),
	unary("expm1", "exp(x) - 1 without the loss of digits near 0", "", math.Expm1, func(_, y float64) float64 { return y + 1 }),
	unary("log", "natural logarithm; -inf at 0, no value below", "", math.Log, func(x, _ float64) float64 { return 1 / x }),
	unary("log1p", "log(1 + x) without the loss of digits near 0", "", math.Log1p, func(x, _ float64) float64 { return 1 / (1 + x) }),
	unary("cos", "cosine, x in radians", "", math.Cos, func(x, _ float64) float64 { return -math.Sin(x) }),
	unary("tanh", "hyperbolic tangent", "", math.Tanh, func(_, y float64) float64 { return 1 - y*y }),
	unary("sigmoid", "from 0 to 1, 1/2 at 0", "1/(1 + exp(-x))", sigmoid, func(x, _ float64) float64 { return sigmoid(x) * sigmoid(-x) }),
	unary("log_sigmoid", "logarithm of the sigmoid, finite wherever x is", "-log(1 + exp(-x))", func(x float64) float64 { return -softplus(-x) }, func(x, _ float64) float64 { return sigmoid(-x) }),
	unary("softplus", "log(1 + exp(x)), finite wherever x is", "", softplus, func(x, _ float64) float64 { return sigmoid(x) }),
	unary("log_gamma", "logarithm of the gamma function; of x = n + 1 that of n factorial", "", func(x float64) float64 { y, _ := math.Lgamma(x); return y }, func(x, _ float64) float64 { return digamma(x) }),
	unary("floor", "x, rounded down to a whole number", "", math.Floor, nil),
	{
		Name: "mod", Usage: "mod(x, y)", Meaning: "remainder of x divided by y, with the sign of y", Formula: "x - y*floor(x/y)", params: "rr", Slope: "none",
		each: func(x []float64) float64 { return x[0] - x[1]*math.Floor(x[0]/x[1]) },
	},
	{
		Name: "pow", Usage: "pow(x, y)", Meaning: "x to the power of y", params: "rr",
		each: func(x []float64) float64 { return power(x[0], x[1]) },
		slope: func(x []float64, y float64, d []float64) {
			d[0] = x[1] * power(x[0], x[1]-1)
			if d[1] = 0; y != 0 {
				d[1] = y * math.Log(x[0])
			}
		},
	},
	extremum("min", "the least of its arguments", slices.Min[[]float64]),
	extremum("max", "the greatest of its arguments", slices.Max[[]float64]),
	{
		Name: "clip", Usage: "clip(x, low, high)", Meaning: "x, but at least low and at most high", params: "rrr",
		Slope: "that of x from low to high, both included; outside that of the bound",
		check: func(args []op) string { return ordered(args[1], args[2], "low is above high") },
		each:  func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) },
		slope: func(x []float64, _ float64, d []float64) {
			d[0], d[1], d[2] = 0, 0, 0
			switch {
			case x[0] > x[2] || x[1] > x[2]:
				d[2] = 1
			case x[0] < x[1]:
				d[1] = 1
			default:
				d[0] = 1
			}
		},
	},
	{
		Name: "stop", Usage: "stop(x)", Meaning: "x as a constant: no derivative goes through it", params: "r", Slope: "none",
		each: func(x []float64) float64 { return x[0] },
	},
	{
		Name: "update", Usage: "update(x)", Meaning: "x of the completions that an update learns from: group_mean(update(reward)) is over those that keep left, group_mean(reward) over all of the prompt", params: "r",
		each: func(x []float64) float64 { return x[0] }, slope: func(_ []float64, _ float64, d []float64) { d[0] = 1 },
		build: func(c *compiler, s *scope, n *node) int {
			f := functionNamed("update")
			args := c.arguments(s, n, f)
			if args == nil {
				return -1
			}
			o := &c.ops[args[0]]
			return c.add(s, op{kind: eachOp, fn: f, args: args, where: -1, k: -1, level: o.level, carries: o.carries, cond: o.cond, update: true, at: n.at})
		},
	},
	{
		Name: "straight", Usage: "straight(value, slope)", Meaning: "the value of the first argument with the derivative of the second", params: "rr",
		Slope: "that of the second argument", Source: "straight-through estimator, arXiv 1308.3432",
		each: func(x []float64) float64 { return x[0] }, slope: func(_ []float64, _ float64, d []float64) { d[0], d[1] = 0, 1 },
	},
	{
		Name: "pass_at", Usage: "pass_at(n, c, k)", Meaning: "chance that one of k tries is right, if c of n were; no value unless 0 <= c <= n and 0 <= k <= n, and n is at most a million", params: "nnn",
		Formula: "1 - choose(n - c, k)/choose(n, k)", Source: "arXiv 2107.03374", Slope: "none",
		each: func(x []float64) float64 { return passAt(x[0], x[1], x[2]) },
	},
}

func extremum(name, meaning string, f func([]float64) float64) Function {
	return Function{Name: name, Usage: name + "(x, y, ...)", Meaning: meaning, params: "rr", repeat: 1, Slope: "of the argument taken; of n equal ones 1/n each",
		each: f, slope: func(x []float64, y float64, d []float64) { share(x, y, 1, d) }}
}

// share gives each of the values that are y its part of a derivative.
func share(x []float64, y, seed float64, d []float64) {
	n := 0.0
	for _, v := range x {
		n += holds(v == y)
	}
	for i, v := range x {
		if v == y {
			d[i] += seed / n
		}
	}
}

func sign(x float64) float64 { return holds(x > 0) - holds(x < 0) }

// power is x to the power of y; squares as a product.
func power(x, y float64) float64 {
	if y == 2 {
		return x * x
	}
	return math.Pow(x, y)
}

// sigmoid is exact to a few roundings down to the least number above 0: where
// exp(-x) overflows it is 0.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// digamma is the derivative of log_gamma: its asymptotic series from 10 on, where
// the term left out is below 1e-13, and the recurrence below
// (Abramowitz and Stegun, 6.3.5 and 6.3.18).
func digamma(x float64) float64 {
	d := 0.0
	for ; x < 10; x++ {
		d -= 1 / x
	}
	r := 1 / (x * x)
	return d + math.Log(x) - 0.5/x - r*(1.0/12-r*(1.0/120-r*(1.0/252-r*(1.0/240-r*(1.0/132-r*(691.0/32760-r/12))))))
}

// maxTries bounds the work of pass_at.
const maxTries = 1e6

// passAt is 1 - choose(n-c, k)/choose(n, k), as a product over the fewer of c and k.
func passAt(n, c, k float64) float64 {
	if !(c >= 0 && c <= n && k >= 0 && k <= n && n <= maxTries) {
		return math.NaN()
	}
	if c+k > n { // there are not k wrong ones
		return 1
	}
	few, many, sum := min(c, k), max(c, k), 0.0
	for j := 0.0; j < few; j++ {
		sum += math.Log1p(-many / (n - j))
	}
	return -math.Expm1(sum)
}

var choices = []Function{
	{
		Name: "if", Usage: "if(condition, x, y)", Meaning: "x where the condition holds, y elsewhere; the side not taken may be missing", params: "crr", passes: true,
		Slope: "that of the side taken",
		pick: func(x []float64) int {
			switch {
			case math.IsNaN(x[0]):
				return 0
			case x[0] == 1:
				return 1
			}
			return 2
		},
	},
	{
		Name: "default", Usage: "default(x, y)", Meaning: "x where it has a value, y elsewhere: the only way to replace a missing value", params: "rr", passes: true,
		Slope: "that of the side taken",
		pick:  func(x []float64) int { return int(holds(math.IsNaN(x[0]))) },
	},
	{Name: "missing", Usage: "missing(\"why\")", Meaning: "no value, for the reason in quotes", params: "t", Slope: "none", build: func(c *compiler, s *scope, n *node) int {
		if n.args[0].kind != textNode || n.args[0].text == "" {
			return c.fail(s, n.args[0].at, "missing takes a reason in quotes, as in missing(\"too long\")")
		}
		return c.add(s, op{kind: missingOp, text: n.args[0].text, where: -1, k: -1, at: n.at})
	}},
	{Name: "scored", Usage: "scored(x)", Meaning: "whether x has a value", params: "r", condition: true, build: func(c *compiler, s *scope, n *node) int {
		args := c.arguments(s, n, functionNamed("scored"))
		if args == nil {
			return -1
		}
		yes := c.written(s, n, "==", args[0], args[0])
		return c.written(s, n, "default", yes, c.literal(s, n.at, 0, true))
	}},
	{Name: "right", Usage: "right(x)", Meaning: "whether x is the full score", Formula: "x >= 1", params: "r", condition: true, each: func(x []float64) float64 { return holds(x[0] >= 1) }},
	{Name: "wrong", Usage: "wrong(x)", Meaning: "whether x is 0 or less; scores between 0 and 1 are neither right nor wrong", Formula: "x <= 0", params: "r", condition: true, each: func(x []float64) float64 { return holds(x[0] <= 0) }},
	{Name: "each", Usage: "each(x)", Meaning: "a group's value once for each of its completions, for statistics over completions", params: "r", build: func(c *compiler, s *scope, n *node) int {
		f := functionNamed("each")
		args := c.arguments(s, n, f)
		if args == nil {
			return -1
		}
		if l := c.ops[args[0]].level; l > Completion {
			return c.fail(s, n.at, "each takes a value of a group, found %s", l.each())
		}
		return c.fold(s, n, foldNamed("mean"), args[0], -1, -1, Completion, Completion, ofArguments)
	}},
}

// schedules move a number along a variable such as step.
var schedules = []Function{
	between("linear", "from up to x = first, to after x = last, and a straight line between; without x, x is the step", "", func(t float64) (float64, float64) { return t, 1 }),
	between("cosine", "like linear, along half a cosine wave", "from + (to - from)*(1 - cos(pi*t))/2, t from 0 to 1", func(t float64) (float64, float64) {
		return (1 - math.Cos(math.Pi*t)) / 2, math.Pi * math.Sin(math.Pi*t) / 2
	}),
	{
		Name: "piecewise", Usage: "piecewise(y, from, y, ...[, x])", Meaning: "the first value until x reaches the first bound, then the next value, and so on: a value, then pairs of bound and value; without x, x is the step", params: "rrr", repeat: 1, Slope: "that of the value taken",
		check: func(args []op) string {
			for i := 3; i+1 < len(args); i += 2 {
				if why := ordered(args[i-2], args[i], "its bounds have to rise"); why != "" {
					return why
				}
			}
			return ""
		},
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed("piecewise"))
			if args == nil {
				return -1
			}
			if len(args)%2 == 1 {
				step := c.name(s, &node{at: n.at, name: "step", kind: nameNode})
				if step < 0 {
					return -1
				}
				args = append(args, step)
			}
			x, now := args[len(args)-1], args[0]
			for i := 1; i+1 < len(args); i += 2 {
				now = c.written(s, n, "if", c.written(s, n, ">=", x, args[i]), args[i+1], now)
			}
			return now
		},
	},
}

// between is a function that moves between two values along a curve from 0 to 1,
// which gives the height at a place and the slope there.
func between(name, meaning, formula string, curve func(t float64) (y, slope float64)) Function {
	inner := &Function{Name: name, params: "rrrrr",
		each: func(x []float64) float64 {
			switch now := x[4]; {
			case now <= x[2]:
				return x[0]
			case now >= x[3]:
				return x[1]
			default:
				y, _ := curve((now - x[2]) / (x[3] - x[2]))
				return x[0] + (x[1]-x[0])*y
			}
		},
		slope: func(x []float64, _ float64, d []float64) {
			clear(d)
			switch now := x[4]; {
			case now <= x[2]:
				d[0] = 1
			case now >= x[3]:
				d[1] = 1
			default:
				width := x[3] - x[2]
				t := (now - x[2]) / width
				y, rise := curve(t)
				rise *= (x[1] - x[0]) / width
				d[0], d[1], d[2], d[3], d[4] = 1-y, y, rise*(t-1), -rise*t, rise
			}
		}}
	return Function{Name: name, Usage: name + "(from, to, first, last[, x])", Meaning: meaning, Formula: formula, params: "rrrrr", optional: 1, Slope: "that of the bound outside first and last",
		check: func(args []op) string { return ordered(args[2], args[3], "last is before first") },
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(name))
			if args == nil {
				return -1
			}
			if len(args) < 5 {
				step := c.name(s, &node{at: n.at, name: "step", kind: nameNode})
				if step < 0 {
					return -1
				}
				args = append(args, step)
			}
			return c.rowwise(s, n, inner, args)
		}}
}
