package formula

import "math"

// along goes over the tokens or segments of one completion, in order: args[j][i]
// is the j-th argument at the i-th of them. Tokens that the policy did not write
// are not among them.
type along struct {
	value func(args [][]float64, out []float64)
	// slope adds the derivatives of the arguments; seed is that of the result.
	slope func(args [][]float64, seed []float64, d [][]float64)
}

// sequences are functions along a completion.
var sequences = []Function{
	sequence("after", "after(x)", "r", "sum of x from here to the end of the completion, this one included", "", "", along{
		value: func(args [][]float64, out []float64) { backwards(args[0], nil, out) },
		slope: func(_ [][]float64, seed []float64, d [][]float64) { forwards(seed, nil, d[0]) },
	}),
	sequence("before", "before(x)", "r", "sum of x from the beginning of the completion to here, this one included", "", "", along{
		value: func(args [][]float64, out []float64) { forwards(args[0], nil, out) },
		slope: func(_ [][]float64, seed []float64, d [][]float64) { backwards(seed, nil, d[0]) },
	}),
	sequence("discounted", "discounted(x, gamma)", "rn", "like after, with each further value multiplied by gamma once more", "x + gamma*next(discounted)", "", along{
		value: func(args [][]float64, out []float64) { backwards(args[0], args[1], out) },
		slope: func(args [][]float64, seed []float64, d [][]float64) { forwards(seed, args[1], d[0]) },
	}),
	sequence("next", "next(x)", "r", "x of the next token or segment; 0 at the end", "", "", along{
		value: func(args [][]float64, out []float64) {
			for i := range out {
				if out[i] = 0; i+1 < len(out) {
					out[i] = args[0][i+1]
				}
			}
		},
		slope: func(_ [][]float64, seed []float64, d [][]float64) {
			for i := 1; i < len(seed); i++ {
				d[0][i] += seed[i-1]
			}
		},
	}),
	sequence("previous", "previous(x)", "r", "x of the token or segment before; 0 at the beginning", "", "", along{
		value: func(args [][]float64, out []float64) {
			for i := range out {
				if out[i] = 0; i > 0 {
					out[i] = args[0][i-1]
				}
			}
		},
		slope: func(_ [][]float64, seed []float64, d [][]float64) {
			for i := 1; i < len(seed); i++ {
				d[0][i-1] += seed[i]
			}
		},
	}),
	sequence("shift", "shift(x, n)", "rn", "x of n tokens or segments before, after where n is below 0; 0 beyond the ends. shift(x, 1) is previous(x)", "", "", along{
		value: func(args [][]float64, out []float64) {
			for i := range out {
				if at, there := shifted(i, args[1][i], len(out)); there {
					out[i] = args[0][at]
				}
			}
		},
		slope: func(args [][]float64, seed []float64, d [][]float64) {
			for i := range seed {
				if at, there := shifted(i, args[1][i], len(seed)); there {
					d[0][at] += seed[i]
				}
			}
		},
	}),
	running("min", "least", func(x, y float64) bool { return x < y }),
	running("max", "greatest", func(x, y float64) bool { return x > y }),
	// next of what has the level of both, so that a coarser value is that of the next token
	{Name: "gae", Usage: "gae(pay, value, gamma, lambda)", Meaning: "generalised advantage estimation: how much more is earned from here than value predicted",
		Formula: "discounted(pay + gamma*next(value) - value, gamma*lambda)", Source: "arXiv 1506.02438", params: "rrnn",
		names: []string{"pay", "value", "gamma", "lambda"}, text: "discounted(pay + gamma*next(value + 0*pay) - value, gamma*lambda)"},
}

// shifted is the place n before the i-th of a sequence.
func shifted(i int, n float64, length int) (at int, there bool) {
	from := float64(i) - math.Trunc(n)
	if !(from >= 0 && from < float64(length)) {
		return 0, false
	}
	return int(from), true
}

// running is the least or greatest value so far. Of equal ones the first has the derivative.
func running(name, which string, beats func(x, y float64) bool) Function {
	full := "running_" + name
	return sequence(full, full+"(x)", "r", which+" x from the beginning of the completion to here; of equal ones the first has the derivative", "", "", along{
		value: func(args [][]float64, out []float64) {
			best := 0
			for i, x := range args[0] {
				if beats(x, args[0][best]) {
					best = i
				}
				out[i] = args[0][best]
			}
		},
		slope: func(args [][]float64, seed []float64, d [][]float64) {
			best := 0
			for i, x := range args[0] {
				if beats(x, args[0][best]) {
					best = i
				}
				d[0][best] += seed[i]
			}
		},
	})
}

// backwards adds up from the end: out[i] = x[i] + factor[i]*out[i+1].
func backwards(x, factor, out []float64) {
	last := 0.0
	for i := len(x) - 1; i >= 0; i-- {
		f := 1.0
		if factor != nil {
			f = factor[i]
		}
		last = x[i] + f*last
		out[i] += last
	}
}

// forwards is its transpose: out[i] = x[i] + factor[i-1]*out[i-1].
func forwards(x, factor, out []float64) {
	last := 0.0
	for i := range x {
		f := 1.0
		if factor != nil && i > 0 {
			f = factor[i-1]
		}
		last = x[i] + f*last
		out[i] += last
	}
}

func sequence(name, usage, params, meaning, formula, source string, a along) Function {
	return Function{Name: name, Usage: usage, Meaning: meaning, Formula: formula, Source: source, params: params,
		build: func(c *compiler, s *scope, n *node) int {
			args := c.arguments(s, n, functionNamed(name))
			if args == nil {
				return -1
			}
			o := op{kind: alongOp, fn: functionNamed(name), along: &a, args: args, where: -1, k: -1, at: n.at}
			for _, x := range args {
				o.level = max(o.level, c.ops[x].level)
				o.carries = o.carries || c.ops[x].carries
			}
			if o.level < Segment {
				return c.fail(s, n.at, "%s takes a value for each token or segment, found %s", n.name, o.level.each())
			}
			o.masked = o.level == Token
			return c.add(s, o)
		}}
}
