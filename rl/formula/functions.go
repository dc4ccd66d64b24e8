package formula

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Function is one entry of the table of functions and operators.
type Function struct {
	Name    string
	Usage   string // how it is written
	Meaning string
	Formula string // "" where the meaning says it
	Source  string // paper or project; "" for plain arithmetic
	Slope   string // its derivative and the conventions at ties and kinks; "": the usual one, "none" where the result is a constant

	params    string // what each parameter takes, one letter each
	optional  int    // so many of them may be left out at the end
	repeat    int    // the last so many of them may stand again and again
	condition bool   // it gives a condition
	operator  bool
	passes    bool // it gives one of its last two arguments: a condition if both are

	check func(args []op) string                    // what is wrong with arguments that are numbers; "" if nothing
	one   func(x float64) float64                   // row by row, of one argument
	two   func(x, y float64) float64                // of two
	each  func(x []float64) float64                 // of any number; a missing argument makes the result missing
	slope func(x []float64, y float64, d []float64) // d[i] = dy/dx[i]; nil: the result is a constant
	pick  func(x []float64) int                     // the argument that the result is, in place of each
	text  string                                    // its definition in the language, in place of each
	names []string                                  // of the arguments in text
	build func(c *compiler, s *scope, n *node) int  // what is none of these
}

// What a parameter takes; what takes a text in quotes reads it itself.
const (
	takesNumber    = 'r' // a real one
	takesCondition = 'c'
	takesConstant  = 'n' // a number without a derivative
)

// Condition tells whether the function gives a condition.
func (f Function) Condition() bool { return f.condition }

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

// functions is filled in init: its entries refer to each other.
var (
	functions []Function
	byName    map[string]*Function
)

func init() {
	functions = slices.Concat(operators, arithmetic, choices, schedules, reductions, segmentReductions,
		statisticsOf(groupScope), statisticsOf(groupTokenScope), groupOnly, alike, statisticsOf(promptsScope),
		statisticsOf(stepScope), statisticsOf(stepTokenScope), statisticsOf(updateScope), statisticsOf(updateTokenScope), normalisers, sequences)
	byName = map[string]*Function{}
	for i := range functions {
		byName[functions[i].Name] = &functions[i]
	}
}

func functionNamed(name string) *Function { return byName[name] }

// Functions lists what can be called, in the order of the manual.
func Functions() []Function {
	return slices.DeleteFunc(slices.Clone(functions), func(f Function) bool { return f.operator })
}

// function checks a call and adds its operation.
func (c *compiler) function(s *scope, n *node, f *Function) int {
	if least, most := f.arity(); len(n.args) < least || len(n.args) > most {
		return c.fail(s, n.at, "%s has %s; accepted: %s", n.name, counted(len(n.args), "argument"), f.Usage)
	}
	if (f.Name == "==" || f.Name == "!=") && (n.args[0].kind == textNode || n.args[1].kind == textNode) {
		return c.compareText(s, n, f)
	}
	switch {
	case f.build != nil:
		return f.build(c, s, n)
	case f.text != "":
		return c.defined(s, n, f)
	}
	args := c.arguments(s, n, f)
	if args == nil {
		return -1
	}
	return c.rowwise(s, n, f, args)
}

// arguments compiles those of a call; nil if something is wrong with one.
func (c *compiler) arguments(s *scope, n *node, f *Function) []int {
	args, ok := []int{}, true
	for i, a := range n.args {
		x := c.node(s, a)
		args = append(args, x)
		ok = ok && x >= 0 && c.accepts(s, a, x, f, f.param(i))
	}
	if !ok {
		return nil
	}
	if f.check != nil {
		var all []op
		for _, x := range args {
			all = append(all, c.ops[x])
		}
		if why := f.check(all); why != "" {
			c.fail(s, n.at, "%s: %s", f.Usage, why)
			return nil
		}
	}
	return args
}

// accepts holds an argument against what its parameter takes.
func (c *compiler) accepts(s *scope, a *node, x int, f *Function, takes byte) bool {
	switch o := &c.ops[x]; {
	case takes == takesCondition && !o.cond:
		such := "a comparison"
		if o.kind == factOp || o.kind == partOp {
			such += fmt.Sprintf(", such as right(%s)", o.name)
		}
		c.fail(s, a.at, "%s takes a condition here, found a number; write %s", f.Usage, such)
		return false
	case takes == takesConstant && o.carries:
		c.fail(s, a.at, "%s takes a constant here, found a value with a derivative; write stop(...) around it", f.Usage)
		return false
	}
	return true
}

// rowwise adds an operation that works row by row, at the finest level of its
// arguments.
func (c *compiler) rowwise(s *scope, n *node, f *Function, args []int) int {
	o := op{kind: eachOp, fn: f, args: args, where: -1, k: -1, at: n.at, cond: f.condition}
	for i, a := range args {
		o.level = max(o.level, c.ops[a].level)
		differentiable := f.slope != nil || f.pick != nil && f.param(i) != takesCondition
		o.carries = o.carries || differentiable && !f.condition && c.ops[a].carries
	}
	if f.passes {
		last := args[len(args)-2:]
		o.cond = c.ops[last[0]].cond && c.ops[last[1]].cond
	}
	if x, is := c.constant(&o); is {
		return c.literal(s, n.at, x, o.cond)
	}
	return c.add(s, o)
}

// constant is the value of an operation on numbers that are known. What is no finite number there
// is told where it is computed.
func (c *compiler) constant(o *op) (float64, bool) {
	var x []float64
	for _, a := range o.args {
		if c.ops[a].kind != literalOp || math.IsInf(c.ops[a].value, 0) {
			return 0, false
		}
		x = append(x, c.ops[a].value)
	}
	var y float64
	switch {
	case o.fn.pick != nil:
		y = x[o.fn.pick(x)]
	case o.fn.each != nil:
		y = o.fn.each(x)
	default:
		return 0, false
	}
	return y, !math.IsNaN(y) && !math.IsInf(y, 0)
}

// written adds a call of a function that works row by row.
func (c *compiler) written(s *scope, n *node, name string, args ...int) int {
	return c.rowwise(s, n, functionNamed(name), args)
}

// defined compiles a function that is defined in the language.
func (c *compiler) defined(s *scope, n *node, f *Function) int {
	args := c.arguments(s, n, f)
	if args == nil {
		return -1
	}
	inner := &scope{part: s.part, values: map[string]int{}, calls: map[string]*macro{}}
	for i, name := range f.names {
		inner.values[name] = c.literal(s, n.at, 1, true) // a condition that was left out
		if i < len(args) {
			inner.values[name] = args[i]
		}
	}
	_, body, err := parse(f.Name, f.text)
	if err != nil {
		panic(err) // a fault of the table
	}
	moved := func(m *node) {}
	moved = func(m *node) {
		m.at = n.at
		for _, a := range m.args {
			moved(a)
		}
	}
	moved(body)
	return c.node(inner, body)
}

// compareText compiles row.domain == "math".
func (c *compiler) compareText(s *scope, n *node, f *Function) int {
	name, text := n.args[0], n.args[1]
	if name.kind == textNode {
		name, text = text, name
	}
	fact, ok := c.fact(name.name)
	if name.kind != nameNode || text.kind != textNode || !ok || !fact.Text && !fact.Both {
		return c.fail(s, n.at, "text can only be compared with a fact that is text, such as row.domain")
	}
	same := c.add(s, op{kind: sameOp, name: name.name, text: text.text, level: fact.Level, cond: true, where: -1, k: -1, at: n.at})
	if f.Name == "!=" {
		return c.written(s, n, "not", same)
	}
	return same
}

// ordered finds fault with two numbers of which the first is greater.
func ordered(a, b op, why string) string {
	if a.kind == literalOp && b.kind == literalOp && cmp.Compare(a.value, b.value) > 0 {
		return why
	}
	return ""
}
