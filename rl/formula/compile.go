package formula

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxOps bounds the operations of a program and maxVisits the work of reading it:
// definitions with arguments are written out where they are used.
const (
	maxOps    = 4096
	maxVisits = 1 << 16
)

// compiler turns formulas into operations and collects what is wrong on the way.
type compiler struct {
	Program
	facts   map[string]Fact
	given   map[string]float64 // parameters
	numbers map[string]float64 // of the library
	library map[string]bool
	seen    map[string]int // operations by what they do
	faults  []*Error
	visits  int
}

// Compile reads and checks formulas over facts. The error joins one [Error] for
// each thing that is wrong.
func Compile(text Text, facts []Fact) (*Program, error) {
	c := &compiler{facts: map[string]Fact{}, given: text.Parameters, numbers: text.Numbers, library: map[string]bool{}, seen: map[string]int{}}
	c.parts, c.parameters = map[string]*part{}, map[string]bool{}
	for _, f := range slices.Concat(Structure(), facts) {
		c.facts[f.Name] = f
	}
	for _, name := range slices.Sorted(maps.Keys(text.Parameters)) {
		if what := c.taken(name); what != "" {
			c.faults = append(c.faults, &Error{Part: name, Text: "a parameter cannot have this name, which is that of " + what})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(text.Library)) {
		if c.facts[key].Name != "" {
			continue // the table has it
		}
		if _, replaced := text.Parts[key]; !replaced {
			c.library[c.declare(key, text.Library[key])] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(text.Parts)) {
		c.declare(key, text.Parts[key])
	}
	for _, name := range text.Constant {
		if d := c.parts[name]; d != nil {
			d.constant = true
		}
	}
	for _, name := range text.Held {
		if d := c.parts[name]; d != nil {
			d.held = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.parts)) {
		if !c.library[name] {
			c.part(c.parts[name])
		}
	}
	if text.Earlier {
		c.early()
	}
	if len(c.faults) > 0 {
		return nil, joined(c.faults)
	}
	return &c.Program, nil
}

// declare reads one formula and makes its name known.
func (c *compiler) declare(key, text string) string {
	name, rest, call := strings.Cut(strings.TrimSpace(key), "(")
	d := &part{name: name, text: text, usage: strings.TrimSpace(key), root: -1, uses: map[string]bool{}}
	fail := func(format string, args ...any) {
		c.faults = append(c.faults, &Error{Part: key, Text: fmt.Sprintf(format, args...)})
	}
	if call {
		d.params = []string{}
		for arg := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			arg, otherwise, has := strings.Cut(arg, "=")
			if arg = strings.TrimSpace(arg); !nameShape(arg) {
				fail("%q is not accepted as the name of an argument; write name(x, y)", arg)
			}
			d.params = append(d.params, arg)
			if has {
				_, value, err := parse(name, otherwise)
				if err != nil {
					fail("the default of %s: %s", arg, err.Text)
				}
				d.defaults = append(d.defaults, value)
			} else if d.defaults != nil {
				fail("%s has no default, but an argument before it has one", arg)
			}
		}
	}
	plain, _, metric := strings.Cut(name, "/")
	switch what := c.taken(name); {
	case !nameShape(plain) || metric && call:
		fail("%q is not accepted as a name: letters, digits and _, a letter first, at most 32", name)
	case what != "":
		fail("the name is that of %s; choose another", what)
	case c.parts[name] != nil:
		fail("the name is given to two formulas")
	}
	if _, isParameter := c.given[name]; isParameter {
		fail("the name is that of a parameter; choose another")
	}
	c.parts[name] = d
	return name
}

// read parses a formula, once.
func (c *compiler) read(d *part) {
	if d.result != nil || d.broken {
		return
	}
	var err *Error
	if d.locals, d.result, err = parse(d.name, d.text); err != nil {
		c.faults = append(c.faults, err)
		d.broken = true
		return
	}
}

// taken says what already goes by a name; "" if nothing does.
func (c *compiler) taken(name string) string {
	if _, fact := c.facts[name]; fact {
		return "a fact"
	}
	return Taken(name)
}

// Taken says what the language itself has by a name: "an operator", "a constant" or
// "a function"; "" if nothing. A fact may have the name of a function.
func Taken(name string) string {
	switch {
	case reserved[name]:
		return "an operator"
	case constants[name] != nil:
		return "a constant"
	case functionNamed(name) != nil:
		return "a function"
	}
	return ""
}

// constants are the names of numbers that the language has.
var constants = map[string]*struct {
	value float64
	cond  bool
}{
	"inf": {math.Inf(1), false}, "pi": {math.Pi, false}, "true": {1, true}, "false": {0, true},
}

// fact finds a fact or the family that a name belongs to.
func (c *compiler) fact(name string) (Fact, bool) {
	if f, ok := c.facts[name]; ok {
		return f, true
	}
	if first, rest, ok := strings.Cut(name, "."); ok && rest != "" && !strings.Contains(rest, ".") {
		if f, ok := c.facts[first+".*"]; ok {
			f.Name = name
			return f, true
		}
	}
	return Fact{}, false
}

// scope is what names mean at one place of a formula.
type scope struct {
	part   *part
	values map[string]int
	calls  map[string]*macro
}

// macro is a definition with arguments and the scope that it was made in.
type macro struct {
	definition
	scope *scope
}

func (s *scope) child() *scope {
	return &scope{part: s.part, values: maps.Clone(s.values), calls: maps.Clone(s.calls)}
}

func (c *compiler) fail(s *scope, at int, format string, args ...any) int {
	c.faults = append(c.faults, errorAt(s.part.name, s.part.text, at, format, args...))
	return -1
}

// part compiles a formula once. Its root is -1 if something is wrong with it.
func (c *compiler) part(d *part) {
	c.read(d)
	if d.state != unread || d.broken {
		return
	}
	if d.params != nil {
		return // it is compiled where it is called
	}
	d.state = entered
	s := &scope{part: d, values: map[string]int{}, calls: map[string]*macro{}}
	if d.root = c.body(d, s); d.root >= 0 && d.constant && c.ops[d.root].carries {
		d.root = c.written(s, d.result, "stop", d.root)
	}
	for _, l := range d.locals {
		if l.params == nil {
			d.named = append(d.named, named{l.name, s.values[l.name]})
		}
	}
	d.state = done
	c.order = append(c.order, d.name)
}

// body compiles the definitions and the result of a formula.
func (c *compiler) body(d *part, s *scope) int {
	for _, l := range d.locals {
		switch what := c.taken(l.name); {
		case c.library[d.name]: // its names hide those of the user
		case what != "":
			c.fail(s, l.at, "%s is %s; choose another name", l.name, what)
		case c.parts[l.name] != nil:
			c.fail(s, l.at, "%s is a formula of its own; choose another name, or replace that formula", l.name)
		case s.calls[l.name] != nil || has(s.values, l.name):
			c.fail(s, l.at, "%s is defined twice", l.name)
		case has(c.given, l.name):
			c.fail(s, l.at, "%s is a parameter; choose another name", l.name)
		}
		if l.params != nil {
			s.calls[l.name] = &macro{l, s.child()}
			continue
		}
		s.values[l.name] = c.node(s, l.value)
	}
	return c.node(s, d.result)
}

func has[V any](m map[string]V, name string) bool {
	_, ok := m[name]
	return ok
}

// node compiles a tree from its leaves up; -1 means that a fault was told.
func (c *compiler) node(s *scope, n *node) int {
	if c.visits++; c.visits > maxVisits || len(c.ops) > maxOps {
		if c.visits != math.MaxInt32 {
			c.visits = math.MaxInt32 - 1
			return c.fail(s, n.at, "the formulas have more than %d operations together", maxOps)
		}
		c.visits--
		return -1
	}
	switch n.kind {
	case literalNode:
		return c.literal(s, n.at, n.value, false)
	case textNode:
		return c.fail(s, n.at, "text can only be compared, as in row.domain == \"math\"")
	case nameNode:
		return c.name(s, n)
	}
	return c.call(s, n)
}

func (c *compiler) literal(s *scope, at int, value float64, cond bool) int {
	return c.add(s, op{kind: literalOp, value: value, cond: cond, where: -1, k: -1, at: at})
}

// add puts an operation into the program, or finds the equal one that is there.
func (c *compiler) add(s *scope, o op) int {
	for _, i := range o.inputs() {
		o.now = o.now || c.ops[i].now
		o.update = o.update || c.ops[i].update
	}
	o.update, o.in = o.update || o.now, s.part
	var key strings.Builder
	fmt.Fprintf(&key, "%d %v %v %d %d %d %d %d %v %v %v %q %q ", o.kind, o.update, o.args, o.where, o.k, o.level, o.from, o.to, o.masked, o.cond, math.Float64bits(o.value), o.name, o.text)
	if o.fn != nil {
		key.WriteString(o.fn.Name)
	}
	if o.fold != nil {
		key.WriteString("/" + o.fold.name)
	}
	if i, ok := c.seen[key.String()]; ok {
		return i
	}
	c.seen[key.String()] = len(c.ops)
	c.ops = append(c.ops, o)
	return len(c.ops) - 1
}

func (c *compiler) name(s *scope, n *node) int {
	if v := constants[n.name]; v != nil {
		return c.literal(s, n.at, v.value, v.cond)
	}
	// What is defined here hides facts and parts: arguments may have any name.
	if i, ok := s.values[n.name]; ok {
		return i
	}
	if s.calls[n.name] != nil {
		return c.fail(s, n.at, "%s takes arguments: write %s(...)", n.name, n.name)
	}
	if d := c.parts[n.name]; d != nil {
		return c.reference(s, n, d)
	}
	if f, ok := c.fact(n.name); ok {
		if f.Takes != nil {
			return c.fail(s, n.at, "%s takes arguments: write %s", n.name, f.Usage())
		}
		if f.Text {
			return c.fail(s, n.at, "%s is text; compare it, as in %s == \"...\"", n.name, n.name)
		}
		return c.add(s, op{kind: factOp, name: n.name, level: f.Level, cond: f.Condition, now: f.Now, carries: f.Slope, where: -1, k: -1, at: n.at})
	}
	v, ok := c.given[n.name]
	if !ok {
		v, ok = c.numbers[n.name]
	}
	if ok {
		c.parameters[n.name] = true
		return c.literal(s, n.at, v, false)
	}
	if f := functionNamed(n.name); f != nil && !f.operator {
		return c.fail(s, n.at, "%s is a function; write %s", n.name, f.Usage)
	}
	known := slices.Concat(slices.Collect(maps.Keys(s.values)), slices.Collect(maps.Keys(c.parts)), slices.Collect(maps.Keys(c.facts)), slices.Collect(maps.Keys(c.given)), slices.Collect(maps.Keys(c.numbers)))
	return c.unknown(s, n, "name", known)
}

func (c *compiler) unknown(s *scope, n *node, what string, known []string) int {
	if name, former := strings.CutPrefix(n.name, "batch_"); former && functionNamed("step_"+name) != nil {
		return c.fail(s, n.at, "%s does not say over what: write step_%s, over all completions of the step, or update_%s, over those that the update learns from", n.name, name, name)
	}
	if instead := absent[n.name]; instead != "" {
		return c.fail(s, n.at, "there is no %s: %s", n.name, instead)
	}
	if slices.ContainsFunc(s.part.locals, func(l definition) bool { return l.name == n.name && l.at > n.at }) {
		return c.fail(s, n.at, "%s has no value here, since a formula is read from its beginning; move %s = ... before this place", n.name, n.name)
	}
	if slices.ContainsFunc(s.part.locals, func(l definition) bool { return l.name == n.name && l.params != nil }) {
		return c.fail(s, n.at, "%s is defined in terms of itself, and no formula repeats itself; after(x), before(x) and discounted(x, gamma) go along a completion", n.name)
	}
	slices.Sort(known)
	c.fail(s, n.at, "unknown %s %s", what, n.name)
	c.faults[len(c.faults)-1].Near = nearest(n.name, known)
	return -1
}

// reference is the value of another part.
func (c *compiler) reference(s *scope, n *node, d *part) int {
	switch {
	case d.params != nil:
		return c.fail(s, n.at, "%s takes arguments: write %s", n.name, d.usage)
	case d.state == entered:
		return c.fail(s, n.at, "%s is defined in terms of itself", n.name)
	}
	s.part.uses[d.name] = true
	c.part(d)
	if d.root < 0 {
		return -1
	}
	if !d.held {
		return d.root
	}
	o := c.ops[d.root]
	return c.add(s, op{kind: partOp, name: d.name, args: []int{d.root}, level: o.level, cond: o.cond, where: -1, k: -1, at: n.at})
}

func (c *compiler) call(s *scope, n *node) int {
	if m := s.calls[n.name]; m != nil {
		return c.expand(s, n, m)
	}
	if d := c.parts[n.name]; d != nil {
		if d.params == nil {
			return c.fail(s, n.at, "%s takes no arguments; write it without ( )", n.name)
		}
		if c.read(d); d.broken {
			return -1
		}
		if d.state == entered {
			return c.fail(s, n.at, "%s is defined in terms of itself", n.name)
		}
		s.part.uses[d.name] = true
		if !slices.Contains(c.order, d.name) {
			c.order = append(c.order, d.name)
		}
		return c.expandPart(s, n, d)
	}
	if f, ok := c.fact(n.name); ok && f.Takes != nil {
		return c.called(s, n, f)
	}
	f := functionNamed(n.name)
	if f == nil {
		if _, fact := c.fact(n.name); fact || has(c.given, n.name) || has(s.values, n.name) {
			return c.fail(s, n.at, "%s is not a function; write it without ( )", n.name)
		}
		known := slices.Concat(slices.Collect(maps.Keys(s.calls)), slices.Collect(maps.Keys(c.parts)))
		for _, name := range slices.Sorted(maps.Keys(c.facts)) {
			if c.facts[name].Takes != nil {
				known = append(known, name)
			}
		}
		for i := range functions {
			if !functions[i].operator {
				known = append(known, functions[i].Name)
			}
		}
		return c.unknown(s, n, "function", known)
	}
	return c.function(s, n, f)
}

// expand compiles the value of a definition with arguments in the scope that it
// was made in.
func (c *compiler) expand(s *scope, n *node, m *macro) int {
	inner := m.scope.child()
	if len(n.args) != len(m.params) {
		return c.fail(s, n.at, "%s has %s; accepted: %s(%s)", n.name, counted(len(n.args), "argument"), n.name, strings.Join(m.params, ", "))
	}
	if !c.bind(s, n, m.params, inner) {
		return -1
	}
	return c.node(inner, m.value)
}

// expandPart compiles a part with arguments. What is wrong with one of the library
// is told at the call: its text is not the user's.
func (c *compiler) expandPart(s *scope, n *node, d *part) int {
	inner := &scope{part: d, values: map[string]int{}, calls: map[string]*macro{}}
	missing := len(d.params) - len(n.args)
	if missing < 0 || missing > len(d.defaults) {
		return c.fail(s, n.at, "%s has %s; accepted: %s", n.name, counted(len(n.args), "argument"), d.usage)
	}
	full := *n
	full.args = slices.Concat(n.args, d.defaults[len(d.defaults)-missing:])
	before := len(c.faults)
	if !c.bind(s, &full, d.params, inner) {
		return -1
	}
	d.state = entered // what it is called with was compiled before: standard(standard(x)) is no recursion
	result := c.body(d, inner)
	d.state = done
	if c.library[d.name] && len(c.faults) > before {
		first := c.faults[before]
		c.faults = append(c.faults[:before], errorAt(s.part.name, s.part.text, n.at, "%s: %s", d.usage, first.Text))
	}
	return result
}

// bind gives the arguments of a call the names that the definition has for them.
func (c *compiler) bind(s *scope, n *node, params []string, inner *scope) bool {
	ok := true
	for i, name := range params {
		if constants[name] != nil || functionNamed(name) != nil {
			c.fail(s, n.at, "%s has an argument %s, which is %s; choose another name", n.name, name, c.taken(name))
			ok = false
		}
		inner.values[name] = c.node(s, n.args[i])
		ok = ok && inner.values[name] >= 0
	}
	return ok
}

// counted is "1 argument", "2 arguments".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
