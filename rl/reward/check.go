package reward

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kind is the type of a value. A condition counts as 1 or 0 where a number is
// asked for; a number is never a condition.
type kind int

const (
	number kind = iota
	condition
)

func (k kind) word() string { return [...]string{"number", "condition"}[k] }

// checker gives every node its kind and what evaluates it, and collects what is
// wrong on the way.
type checker struct {
	text   string
	terms  []string         // task and the declared verifiers, in the order of their columns
	parts  map[string]*node // checked so far
	faults Errors
}

func (c *checker) fail(n *node, format string, args ...any) {
	c.faults = append(c.faults, errorAt(c.text, n.at, format, args...))
}

// nameShape is that of names of verifiers and parts.
var nameShape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// taken says what already goes by a name; "" if nothing does.
func taken(name string) string {
	switch {
	case reserved[name]:
		return "an operator"
	case name == taskTerm:
		return "the task's verdict"
	case slices.ContainsFunc(facts, func(f Fact) bool { return f.Name == name }):
		return "a fact"
	case functionNamed(name) != nil:
		return "a function"
	}
	return ""
}

// part checks a named part and makes its name known to what follows.
func (c *checker) part(p part) {
	c.node(p.value)
	at := &node{at: p.at}
	switch what := taken(p.name); {
	case what != "":
		c.fail(at, "%q is %s; choose another name", p.name, what)
	case slices.Contains(c.terms, p.name):
		c.fail(at, "%q is a verifier; choose another name", p.name)
	case c.parts[p.name] != nil:
		c.fail(at, "%q is given a value twice", p.name)
	case !nameShape.MatchString(p.name):
		c.fail(at, "%q is not accepted as a name: small letters, digits and _, at most 32", p.name)
	}
	c.parts[p.name] = p.value
}

// node checks a tree from its leaves up. What is wrong below is told once.
func (c *checker) node(n *node) {
	switch {
	case n.literal():
		n.eval = func(b *batch) column { return b.constant(n.value) }
	case n.call:
		c.function(n)
	default:
		c.name(n)
	}
	if n.eval == nil {
		n.eval = func(b *batch) column { return b.constant(0) } // never run: there is a fault
	}
}

func (c *checker) name(n *node) {
	if i := slices.Index(c.terms, n.name); i >= 0 {
		n.eval = func(b *batch) column { return b.terms[i] }
		return
	}
	if p := c.parts[n.name]; p != nil {
		n.kind = p.kind
		n.eval = func(b *batch) column { return b.part(p) }
		return
	}
	if i := slices.IndexFunc(facts, func(f Fact) bool { return f.Name == n.name }); i >= 0 {
		n.kind = facts[i].kind
		n.eval = facts[i].eval
		return
	}
	if key, ok := strings.CutPrefix(n.name, "row."); ok && key != "" && !strings.Contains(key, ".") {
		n.eval = func(b *batch) column { return b.field(key) }
		return
	}
	if f := functionNamed(n.name); f != nil && !f.operator {
		c.fail(n, "%s is a function; write %s", n.name, f.Usage)
		return
	}
	known := slices.Clone(c.terms)
	for _, f := range facts {
		known = append(known, f.Name)
	}
	for name := range c.parts {
		known = append(known, name)
	}
	slices.Sort(known)
	c.unknown(n, "name", known)
}

func (c *checker) unknown(n *node, what string, known []string) {
	e := errorAt(c.text, n.at, "unknown %s %s", what, n.name)
	e.Unknown, e.Known = n.name, known
	c.faults = append(c.faults, e)
}

func (c *checker) function(n *node) {
	f := functionNamed(n.name)
	if f == nil {
		if taken(n.name) != "" || slices.Contains(c.terms, n.name) {
			c.fail(n, "%s is not a function; write it without ( )", n.name)
			return
		}
		var known []string
		for i := range functions {
			if !functions[i].operator {
				known = append(known, functions[i].Name)
			}
		}
		c.unknown(n, "function", known)
		return
	}
	if least, most := f.arity(); len(n.args) < least || len(n.args) > most {
		c.fail(n, "%s has %d arguments; accepted: %s", n.name, len(n.args), f.Usage)
		return
	}
	before := len(c.faults)
	for i, a := range n.args {
		c.argument(n, f, a, f.param(i))
	}
	n.kind = f.gives
	if f.passes && n.args[len(n.args)-1].kind == condition && n.args[len(n.args)-2].kind == condition {
		n.kind = condition
	}
	if len(c.faults) > before {
		return
	}
	if f.check != nil {
		if why := f.check(n.args); why != "" {
			c.fail(n, "%s: %s", f.Usage, why)
			return
		}
	}
	if f.each != nil {
		n.eval = func(b *batch) column { return b.each(n, f.each) }
	} else {
		n.eval = func(b *batch) column { return f.eval(b, n) }
	}
}

// argument checks one argument against what its parameter takes.
func (c *checker) argument(call *node, f *Function, a *node, takes byte) {
	if takes == takesVerifier {
		if a.call || !slices.Contains(c.terms, a.name) {
			c.fail(a, "%s takes the name of a verifier: %s", call.name, strings.Join(c.terms, ", "))
			return
		}
		c.node(a)
		a.value = float64(slices.Index(c.terms, a.name))
		return
	}
	before := len(c.faults)
	c.node(a)
	switch {
	case len(c.faults) > before:
	case takes == takesCondition && a.kind != condition:
		hint := ""
		if slices.Contains(c.terms, a.name) {
			hint = fmt.Sprintf("; write right(%s)", a.name)
		}
		c.fail(a, "%s takes a condition here, found a %s%s", called(call), a.kind.word(), hint)
	case takes == takesCount && (!a.literal() || a.value < 1 || a.value > 1000 || a.value != float64(int(a.value))):
		c.fail(a, "%s takes a whole number from 1 to 1000, written out", call.name)
	}
}

// called is how errors speak of a function or operator.
func called(n *node) string {
	if n.name == "negative" {
		return "-"
	}
	return n.name
}
