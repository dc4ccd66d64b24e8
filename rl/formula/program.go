package formula

import (
	"maps"
	"slices"
	"strings"
)

// Fact is a name that a table has a column for.
type Fact struct {
	Name      string // "row.*" stands for every name that begins with row.
	Level     Level
	Condition bool // it is 1 or 0 and may stand where a condition is asked for
	Text      bool // it is text, which may only be compared with == and !=
	Both      bool // it is a number, and text where it is compared with a text, as the metadata of a problem may be
	Now       bool // it changes with every update of the weights
	Slope     bool // it is one of the quantities that a derivative is taken by
	Model     bool // it is the log-prob by a model that goes by this name
	Unit      string
	Meaning   string

	Takes   []Argument // what it is called with, as in repetition(3); nil: it is a plain name
	Formula string     // how it is computed, where the meaning does not say it
	Source  string     // paper or project
}

// Text is what is compiled together: formulas that may name each other, whatever
// their order.
type Text struct {
	Parts      map[string]string  // name, or name(arguments), to formula
	Parameters map[string]float64 // named numbers
	Library    map[string]string  // parts that are compiled only if something names them; an argument may have a default: name(x, length = max_tokens)
	Numbers    map[string]float64 // those that the library names, where Parameters has no other; a local name may be the same
	Constant   []string           // parts whose value passes no derivative on
	Earlier    bool               // there is no update when the parts are computed, and what is a value of one is refused
	Held       []string           // parts for which a column of the table stands wherever they are named, if it has one
}

// Names are the names that a formula reads, directly or through the parts that it
// names, parts themselves and functions included, sorted. What cannot be read is left
// out.
func (t Text) Names(key string) []string { return t.Reader()(key) }

// Reader is Names for many keys of a text that does not change between them: each part is
// parsed once.
func (t Text) Reader() func(key string) []string {
	texts := map[string]string{}
	for _, parts := range []map[string]string{t.Library, t.Parts} {
		for key, text := range parts {
			name, _, _ := strings.Cut(key, "(")
			texts[name] = text
		}
	}
	direct := map[string][]string{}
	return func(key string) []string {
		found := map[string]bool{}
		var part func(name string)
		part = func(name string) {
			if found[name] {
				return
			}
			found[name] = true
			text, is := texts[name]
			if !is {
				return
			}
			if _, read := direct[name]; !read {
				direct[name] = namesIn(name, text)
			}
			for _, n := range direct[name] {
				part(n)
			}
		}
		part(key)
		return slices.Sorted(maps.Keys(found))
	}
}

// namesIn are the names in the text of one part, none of them if it cannot be read.
func namesIn(name, text string) (names []string) {
	locals, result, err := parse(name, text)
	if err != nil {
		return nil
	}
	var visit func(n *node)
	visit = func(n *node) {
		if n.kind == nameNode || n.kind == callNode {
			names = append(names, n.name)
		}
		for _, a := range n.args {
			visit(a)
		}
	}
	for _, l := range locals {
		visit(l.value)
	}
	visit(result)
	return names
}

// opKind is what an operation does.
type opKind uint8

const (
	literalOp opKind = iota // value
	factOp                  // the column called name
	partOp                  // args[0], or the column of the table that stands for the part
	sameOp                  // whether the text column called name is text
	codeOp                  // numbers of the texts of the text column called name
	eachOp                  // fn row by row, at the finest level of its arguments
	foldOp                  // fold of args[0] from level from to level
	othersOp                // fold of the other members of the row's group at level to
	rankOp                  // place among the members at level to
	alongOp                 // along of args, within each completion
	placeOp                 // fold of the group's tokens at the same position
	pairsOp                 // over the pairs of the group's completions: args[0] by the order of args[1]
	alikeOp                 // fold of args[0] over the group's segments with an equal args[1]
	missingOp               // no value, for the reason text
)

// op is one checked operation of a program. Its arguments stand before it.
type op struct {
	kind    opKind
	fn      *Function
	fold    *fold
	along   *along
	args    []int
	where   int // operation of a condition; -1: none
	k       int // operation of the number that a fold takes; -1: none
	level   Level
	from    Level // of what a fold reads
	to      Level // of the sets that othersOp and rankOp look at
	masked  bool  // tokens that the policy did not write are left out
	cond    bool
	now     bool // it depends on facts of now
	carries bool // it has a derivative
	update  bool // it is a value of an update: it depends on facts of now, or on which completions the update learns from
	value   float64
	name    string
	text    string
	in      *part
	at      int
}

// inputs are all operations that it reads.
func (o *op) inputs() []int {
	in := slices.Clone(o.args)
	if o.where >= 0 {
		in = append(in, o.where)
	}
	if o.k >= 0 {
		in = append(in, o.k)
	}
	return in
}

// part is a formula with a name.
type part struct {
	name, text string
	usage      string   // as it is declared, with its arguments
	params     []string // nil: it takes no arguments
	defaults   []*node  // of its last arguments
	locals     []definition
	result     *node
	broken     bool // it could not be read: that has been told
	held       bool // a column of the table stands for it wherever it is named
	constant   bool // no derivative goes through it
	root       int
	named      []named // the values that it defines for itself, in order
	state      partState
	uses       map[string]bool // the parts that it names
}

// named is a value that a formula defines for itself.
type named struct {
	name string
	root int
}

type partState uint8

const (
	unread partState = iota
	entered
	done
)

// Program is a set of formulas, read and checked: a list of operations, those of
// equal arguments only once. It is safe for concurrent use.
type Program struct {
	ops        []op
	parts      map[string]*part
	parameters map[string]bool // those that are read
	order      []string        // parts, in the order in which they are computed
	calls      []Call          // of facts
}

// Parts are the names of all formulas that were compiled and take no arguments,
// sorted; those of the library are among them if something names them.
func (p *Program) Parts() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.parts)) {
		if d := p.parts[name]; d.params == nil && d.state == done {
			names = append(names, name)
		}
	}
	return names
}

// Uses are the names of some parts and of all that they name, directly or through
// others, sorted. A name that no part has is left out.
func (p *Program) Uses(names ...string) []string {
	found := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if d := p.parts[name]; d != nil && d.state == done && !found[name] {
			found[name] = true
			for used := range d.uses {
				visit(used)
			}
		}
	}
	for _, name := range names {
		visit(name)
	}
	return slices.Sorted(maps.Keys(found))
}

// Parameters are the names of the parameters and numbers that formulas read, sorted.
func (p *Program) Parameters() []string { return slices.Sorted(maps.Keys(p.parameters)) }

// Reading gives name and formula of all parts that were compiled, those that
// others read first; one with arguments has them in its name.
func (p *Program) Reading() [][2]string {
	var out [][2]string
	for _, name := range p.order {
		d := p.parts[name]
		out = append(out, [2]string{d.usage, strings.TrimSpace(d.text)})
	}
	return out
}

// Named are the names of the values that a part defines for itself, in order;
// [Values.At] has them as PART.NAME.
func (p *Program) Named(part string) []string {
	var names []string
	if d := p.parts[part]; d != nil {
		for _, n := range d.named {
			names = append(names, n.name)
		}
	}
	return names
}

// root finds the operation of a part, or of a value that a part defines, as in
// reward.brief.
func (p *Program) root(name string) (int, bool) {
	name, inner, isNamed := strings.Cut(name, ".")
	d := p.parts[name]
	if d == nil || d.state != done || d.params != nil {
		return 0, false
	}
	if !isNamed {
		return d.root, true
	}
	for _, n := range d.named {
		if n.name == inner {
			return n.root, true
		}
	}
	return 0, false
}

// Level is the level of the values of a part, or of a value PART.NAME that it
// defines, and whether they are conditions; ok is false if there is none.
func (p *Program) Level(name string) (level Level, condition, ok bool) {
	root, ok := p.root(name)
	if !ok {
		return 0, false, false
	}
	o := &p.ops[root]
	return o.level, o.cond, true
}

// Now tells whether a part reads values of now.
func (p *Program) Now(name string) bool {
	root, ok := p.root(name)
	return ok && p.ops[root].now
}

// OfUpdate tells whether a part is a value of an update, so that it has to be evaluated in each:
// it reads values of now, or which completions the update learns from.
func (p *Program) OfUpdate(name string) bool {
	root, ok := p.root(name)
	return ok && p.ops[root].update
}

// UpdateWord is the first operation that makes a part a value of an update, with its place; "":
// it is none.
func (p *Program) UpdateWord(name string) string {
	return p.first(name, "is of an update", func(o *op) bool { return o.update })
}

// early refuses values of an update where there is none.
func (c *compiler) early() {
	for i := range c.ops {
		if o := &c.ops[i]; o.update && !slices.ContainsFunc(o.inputs(), func(a int) bool { return c.ops[a].update }) {
			c.faults = append(c.faults, errorAt(o.in.name, o.in.text, o.at, "%s is over what an update learns from, and this is computed before there is one; write step_mean(...) or another statistic over the step", o.called()))
		}
	}
}

// Needs are the facts that parts, or values PART.NAME that they define, read,
// sorted, with those that their own parts read. Without a name: of all parts.
func (p *Program) Needs(names ...string) []string {
	if len(names) == 0 {
		names = p.Parts()
	}
	used := p.reach(names)
	found := map[string]bool{}
	for i, o := range p.ops {
		if used[i] && (o.kind == factOp || o.kind == sameOp || o.kind == codeOp) {
			found[o.name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// reach marks the operations that parts are made of.
func (p *Program) reach(names []string) []bool {
	used := make([]bool, len(p.ops))
	for _, name := range names {
		if root, ok := p.root(name); ok {
			used[root] = true
		}
	}
	for i := len(p.ops) - 1; i >= 0; i-- {
		if used[i] {
			for _, a := range p.ops[i].inputs() {
				used[a] = true
			}
		}
	}
	return used
}

// OverGroups is the first statistic over several groups that a part reads, with its
// place; "": it reads none.
func (p *Program) OverGroups(name string) string {
	return p.first(name, "is taken over several groups", func(o *op) bool {
		return o.kind == foldOp && o.level == Run && o.from > Run || o.to == Run && (o.kind == othersOp || o.kind == rankOp)
	})
}

// OverRows is the first operation of a part whose value at a row is read from other rows, with its
// place; "": each row is computed from itself alone.
func (p *Program) OverRows(name string) string {
	return p.first(name, "is taken over several rows", func(o *op) bool {
		switch o.kind {
		case foldOp, othersOp, rankOp, alongOp, placeOp, pairsOp, alikeOp:
			return true
		}
		return false
	})
}

// OfSegments is the first value of a segment that a part reads, with its place; "": it
// reads none.
func (p *Program) OfSegments(name string) string {
	return p.first(name, "has one value for each segment", func(o *op) bool { return o.level == Segment })
}

// first is the first operation of a kind that a part is made of, with its place.
func (p *Program) first(part, says string, is func(o *op) bool) string {
	for i, used := range p.reach([]string{part}) {
		if o := &p.ops[i]; used && is(o) {
			return errorAt(o.in.name, o.in.text, o.at, "%s %s", o.called(), says).Error()
		}
	}
	return ""
}

// Bare is the first place where a part has no value since a fact has none; "": there is no such place. The fact has none
// where the guard, a condition, holds: of if(c, x, y) the side does not count that c never takes there. Statistics leave
// out what is missing, and default(x, y) replaces it.
func (p *Program) Bare(part, fact, guard string) string {
	root, there := p.root(part)
	if !there {
		return ""
	}
	seen := map[int]bool{}
	var visit func(at, by int) string // by is what reads it: equal reads of a fact are one operation
	visit = func(at, by int) string {
		o := &p.ops[at]
		in := o.inputs()
		switch {
		case seen[at]:
			return ""
		case o.kind == factOp && o.name == fact:
			o = &p.ops[by]
			return errorAt(o.in.name, o.in.text, o.at, "%s needs a value of %s", o.called(), fact).Error()
		case o.kind == foldOp, o.kind == othersOp: // statistics leave out what is missing
			return ""
		case o.kind == eachOp && o.fn.Name == "if" && p.decided(o.args[0], guard, true):
			in = o.args[:2]
		case o.kind == eachOp && o.fn.Name == "if" && p.decided(o.args[0], guard, false):
			in = []int{o.args[0], o.args[2]}
		case o.kind == eachOp && o.fn.Name == "default":
			in = o.args[1:]
		}
		seen[at] = true
		for _, a := range in {
			if found := visit(a, at); found != "" {
				return found
			}
		}
		return ""
	}
	return visit(root, root)
}

// decided tells whether a condition is always as, true or false, where a fact that is a condition holds.
func (p *Program) decided(at int, fact string, as bool) bool {
	o := &p.ops[at]
	if o.kind == factOp {
		return as && o.name == fact
	}
	if o.kind != eachOp {
		return false
	}
	side := func(a int) bool { return p.decided(a, fact, as) }
	switch o.fn.Name {
	case "not":
		return p.decided(o.args[0], fact, !as)
	case "and", "or":
		if as == (o.fn.Name == "or") { // one side decides
			return slices.ContainsFunc(o.args, side)
		}
		return !slices.ContainsFunc(o.args, func(a int) bool { return !side(a) })
	}
	return false
}

// Local tells whether the derivative of a part, a number of the run, is found
// completion by completion: it is a sum over completions, and statistics over
// several of them are of constants. If not, why names the statistic.
func (p *Program) Local(name string) (local bool, why string) {
	d := p.parts[name]
	if d == nil || d.state != done || d.params != nil {
		return false, "there is no formula " + name
	}
	at := p.crossing(d.root, true)
	if at < 0 {
		return true, ""
	}
	o := &p.ops[at]
	place := errorAt(o.in.name, o.in.text, o.at, "%s is taken over values of now of several completions", o.called())
	return false, place.Error()
}

// called is the name of an operation as it is written.
func (o *op) called() string {
	switch {
	case o.fn != nil:
		return o.fn.Name
	case o.name != "":
		return o.name
	}
	return "a number"
}

// crossing finds an operation that mixes values of now of several completions in
// another way than as a sum; -1 if there is none. sum tells that what is above
// the operation is linear, so that the operation may be a sum itself.
func (p *Program) crossing(i int, sum bool) int {
	type place struct {
		op  int
		sum bool
	}
	seen := map[place]bool{}
	var visit func(at place) int
	visit = func(at place) int {
		o := &p.ops[at.op]
		if !o.now || seen[at] {
			return -1
		}
		seen[at] = true
		crosses := o.kind == othersOp || o.kind == rankOp && o.to < Completion || o.kind == placeOp || o.kind == pairsOp || o.kind == alikeOp || o.kind == foldOp && o.level < Completion && o.from >= Completion || o.kind == foldOp && o.from == Group
		if crosses && !(at.sum && o.level == Run && o.fold.linear && (o.where < 0 || !p.ops[o.where].now) && (o.k < 0 || !p.ops[o.k].now)) {
			return at.op
		}
		below := at.sum && !crosses && p.linear(o)
		for _, a := range o.inputs() {
			if found := visit(place{a, below}); found >= 0 {
				return found
			}
		}
		return -1
	}
	return visit(place{i, sum})
}

// linear tells whether an operation of the run's level is linear in what it reads
// of now.
func (p *Program) linear(o *op) bool {
	if o.level != Run || o.kind != eachOp {
		return false
	}
	now := func(i int) bool { return p.ops[o.args[i]].now }
	switch o.fn.Name {
	case "+", "-", "negative":
		return true
	case "*":
		return !now(0) || !now(1)
	case "/":
		return !now(1)
	case "if":
		return !now(0)
	}
	return false
}

// Multiplies is the place in the formulas that make a part where a fact is multiplied by an
// exponential that has a derivative of its own; "": there is none.
func (p *Program) Multiplies(part, fact string) string {
	return p.first(part, "has "+fact+" and a ratio with a derivative of its own", func(o *op) bool {
		if o.kind != eachOp || o.fn.Name != "*" || !o.carries {
			return false
		}
		for i, arg := range o.args {
			if of := &p.ops[arg]; of.kind == factOp && of.name == fact && p.exponential(o.args[1-i], map[int]bool{}) {
				return true
			}
		}
		return false
	})
}

// exponential tells whether a value with a derivative is made of an exponential.
func (p *Program) exponential(i int, seen map[int]bool) bool {
	o := &p.ops[i]
	if seen[i] || !o.carries {
		return false
	}
	seen[i] = true
	if o.kind == eachOp && o.fn.Name == "exp" {
		return true
	}
	return slices.ContainsFunc(o.args, func(arg int) bool { return p.exponential(arg, seen) })
}
