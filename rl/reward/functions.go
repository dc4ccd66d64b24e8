package reward

import (
	"cmp"
	"math"
	"slices"
)

// What a parameter takes.
const (
	takesNumber    = 'r' // a real one
	takesCondition = 'c'
	takesCount     = 'n' // a whole number that is written out
	takesVerifier  = 'v' // the name of one
)

// Function is one entry of the table of functions and operators.
type Function struct {
	Name    string
	Usage   string // how it is written
	Meaning string
	Formula string // "" where the meaning says it
	Source  string // paper or project; "" for plain arithmetic

	params   string // what each parameter takes, one letter each
	optional int    // so many of them may be left out at the end
	repeat   int    // the last so many of them may stand again and again
	gives    kind
	operator bool
	passes   bool // gives one of its last two arguments: a condition if both are

	check func(args []*node) string      // what is wrong with arguments that are written out; "" if nothing
	each  func(x []float64) float64      // completion by completion: see batch.each
	eval  func(b *batch, n *node) column // for what each cannot do
}

const maxArguments = 64

func (f *Function) arity() (least, most int) {
	least, most = len(f.params)-f.optional, len(f.params)
	if f.repeat > 0 {
		most = maxArguments
	}
	return least, most
}

// param is what the i-th argument is.
func (f *Function) param(i int) byte {
	for i >= len(f.params) {
		i -= f.repeat
	}
	return f.params[i]
}

// Functions lists what can be called, in the order of its listing.
func Functions() []Function {
	return slices.DeleteFunc(slices.Clone(functions), func(f Function) bool { return f.operator })
}

// Gives is "number" or "condition".
func (f Function) Gives() string { return f.gives.word() }

// Facts lists what is known of every completion.
func Facts() []Fact { return slices.Clone(facts) }

func functionNamed(name string) *Function {
	for i := range functions {
		if functions[i].Name == name {
			return &functions[i]
		}
	}
	return nil
}

// functions is filled in init: its entries refer to each other.
var functions []Function

func init() {
	functions = slices.Concat(operators, arithmetic, choices, schedules, statisticsOf("group"), statisticsOf("batch"), lengths, texts)
}

var operators = []Function{
	operator("+", number, func(a, b float64) float64 { return a + b }),
	operator("-", number, func(a, b float64) float64 { return a - b }),
	operator("*", number, func(a, b float64) float64 { return a * b }),
	{
		Name: "/", Usage: "a / b", params: "rr", operator: true,
		check: func(args []*node) string {
			if args[1].literal() && args[1].value == 0 {
				return "division by 0"
			}
			return ""
		},
		each: func(x []float64) float64 { return x[0] / x[1] },
	},
	{Name: "negative", Usage: "-a", params: "r", operator: true, each: func(x []float64) float64 { return -x[0] }},
	operator("<", condition, func(a, b float64) float64 { return holds(a < b) }),
	operator("<=", condition, func(a, b float64) float64 { return holds(a <= b) }),
	operator(">", condition, func(a, b float64) float64 { return holds(a > b) }),
	operator(">=", condition, func(a, b float64) float64 { return holds(a >= b) }),
	operator("==", condition, func(a, b float64) float64 { return holds(a == b) }),
	operator("!=", condition, func(a, b float64) float64 { return holds(a != b) }),
	{Name: "not", Usage: "not a", params: "c", gives: condition, operator: true, each: func(x []float64) float64 { return 1 - x[0] }},
	{Name: "and", Usage: "a and b", params: "cc", gives: condition, operator: true, eval: connect(0)},
	{Name: "or", Usage: "a or b", params: "cc", gives: condition, operator: true, eval: connect(1)},
}

func operator(name string, gives kind, f func(a, b float64) float64) Function {
	return Function{Name: name, Usage: "a " + name + " b", params: "rr", gives: gives, operator: true, each: func(x []float64) float64 { return f(x[0], x[1]) }}
}

// connect is "and" (decided by a 0) or "or" (by a 1): where one side decides,
// the other need not be scored (Kleene 1952, strong three-valued logic).
func connect(decides float64) func(*batch, *node) column {
	return func(b *batch, n *node) column {
		left, right, out := n.args[0].eval(b), n.args[1].eval(b), b.column()
		for i := range out.v {
			switch {
			case left.v[i] == decides:
				out.take(i, left)
			case right.v[i] == decides || !math.IsNaN(left.v[i]):
				out.take(i, right)
			default:
				out.take(i, left)
			}
		}
		return out
	}
}

func pick(first bool, a, b column) column {
	if first {
		return a
	}
	return b
}

func one(f func(float64) float64) func([]float64) float64 {
	return func(x []float64) float64 { return f(x[0]) }
}

var arithmetic = []Function{
	{Name: "abs", Usage: "abs(x)", Meaning: "x without its sign", params: "r", each: one(math.Abs)},
	{Name: "sqrt", Usage: "sqrt(x)", Meaning: "square root; not scored if x is below 0", params: "r", each: one(math.Sqrt)},
	{Name: "exp", Usage: "exp(x)", Meaning: "e to the power of x", params: "r", each: one(math.Exp)},
	{Name: "log", Usage: "log(x)", Meaning: "natural logarithm; not scored if x is 0 or below", params: "r", each: one(math.Log)},
	{Name: "cos", Usage: "cos(x)", Meaning: "cosine, x in radians", params: "r", each: one(math.Cos)},
	{Name: "sigmoid", Usage: "sigmoid(x)", Meaning: "from 0 to 1, 1/2 at 0", Formula: "1/(1 + exp(-x))", params: "r", each: one(sigmoid)},
	{Name: "floor", Usage: "floor(x)", Meaning: "the largest whole number not above x", params: "r", each: one(math.Floor)},
	{Name: "pow", Usage: "pow(x, y)", Meaning: "x to the power of y", params: "rr", each: func(x []float64) float64 { return math.Pow(x[0], x[1]) }},
	{Name: "min", Usage: "min(x, y, ...)", Meaning: "the smallest of its arguments", params: "rr", repeat: 1, each: slices.Min[[]float64]},
	{Name: "max", Usage: "max(x, y, ...)", Meaning: "the largest of its arguments", params: "rr", repeat: 1, each: slices.Max[[]float64]},
	{
		Name: "clip", Usage: "clip(x, low, high)", Meaning: "x, but at least low and at most high", params: "rrr",
		check: func(args []*node) string { return ordered(args[1], args[2], "low is above high") },
		each:  func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) },
	},
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// ordered finds fault with two literals of which the first is greater.
func ordered(a, b *node, why string) string {
	if a.literal() && b.literal() && cmp.Compare(a.value, b.value) > 0 {
		return why
	}
	return ""
}

// positive finds fault with a literal that is not above 0.
func positive(n *node, name string) string {
	if n.literal() && n.value <= 0 {
		return name + " has to be above 0"
	}
	return ""
}

var choices = []Function{
	{
		Name: "if", Usage: "if(condition, x, y)", Meaning: "x if the condition holds, else y; the branch that is not taken may be not scored", params: "crr", passes: true,
		eval: func(b *batch, n *node) column {
			gate, yes, no, out := n.args[0].eval(b), n.args[1].eval(b), n.args[2].eval(b), b.column()
			for i := range out.v {
				switch {
				case math.IsNaN(gate.v[i]):
					out.take(i, gate)
				default:
					out.take(i, pick(gate.v[i] == 1, yes, no))
				}
			}
			return out
		},
	},
	{
		Name: "default", Usage: "default(x, y)", Meaning: "x if it is scored, else y: the only way to give a value to what is not scored", params: "rr", passes: true,
		eval: func(b *batch, n *node) column {
			x, y, out := n.args[0].eval(b), n.args[1].eval(b), b.column()
			for i := range out.v {
				out.take(i, pick(!math.IsNaN(x.v[i]), x, y))
			}
			return out
		},
	},
	{
		Name: "scored", Usage: "scored(x)", Meaning: "whether x has a value", params: "r", gives: condition,
		eval: func(b *batch, n *node) column {
			x, out := n.args[0].eval(b), b.column()
			for i := range out.v {
				out.v[i] = holds(!math.IsNaN(x.v[i]))
			}
			return out
		},
	},
	{Name: "right", Usage: "right(x)", Meaning: "whether x is the full score", Formula: "x >= 1", params: "r", gives: condition, each: func(x []float64) float64 { return holds(x[0] >= 1) }},
	{Name: "wrong", Usage: "wrong(x)", Meaning: "whether x is 0 or less; scores between 0 and 1 are neither right nor wrong", Formula: "x <= 0", params: "r", gives: condition, each: func(x []float64) float64 { return holds(x[0] <= 0) }},
}
