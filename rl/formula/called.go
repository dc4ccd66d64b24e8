package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Argument is what a fact is called with. It is written out and never computed:
// whoever supplies the fact reads it before the formula is evaluated.
type Argument struct {
	Name    string   // in the usage
	Names   []string // it is one of these names
	Count   bool     // it is a whole number from 1 to 1000
	Number  bool     // it is a number
	Text    bool     // it is a text in quotes, or a fact that is text
	Pattern bool     // it is a regular expression in quotes, in the syntax of package regexp
	Many    bool     // of the last argument: there may be more of the same
}

// maxCount is the greatest whole number that an argument may be.
const maxCount = 1000

// Call is a fact with the arguments that a formula has written out: a name or a whole
// number as it stands, a text in the quotes of Go.
type Call struct {
	Fact      string
	Arguments []string
}

// Column is the name of the column that a table has for a call: the call itself,
// as in repetition(3).
func (c Call) Column() string { return c.Fact + "(" + strings.Join(c.Arguments, ", ") + ")" }

// Usage is how a fact is written.
func (f Fact) Usage() string {
	if f.Takes == nil {
		return f.Name
	}
	var names []string
	for _, a := range f.Takes {
		names = append(names, a.Name)
		if a.Many {
			names = append(names, "...")
		}
	}
	return f.Name + "(" + strings.Join(names, ", ") + ")"
}

// Calls are the facts that formulas call, each different call once, in the order
// in which they were read. [Program.Needs] has their columns.
func (p *Program) Calls() []Call { return slices.Clone(p.calls) }

// called compiles the call of a fact: a column of the table.
func (c *compiler) called(s *scope, n *node, f Fact) int {
	last := len(f.Takes) - 1
	if more := len(n.args) - len(f.Takes); more < 0 || more > 0 && !f.Takes[last].Many {
		return c.fail(s, n.at, "%s has %s; accepted: %s", n.name, counted(len(n.args), "argument"), f.Usage())
	}
	call := Call{Fact: f.Name}
	for i, a := range n.args {
		takes := f.Takes[min(i, last)]
		w, wants := c.writtenOut(s, a, takes)
		if wants != "" {
			return c.fail(s, a.at, "%s takes %s as %s", f.Usage(), wants, takes.Name)
		}
		call.Arguments = append(call.Arguments, w)
	}
	name := call.Column()
	if !slices.ContainsFunc(c.calls, func(other Call) bool { return other.Column() == name }) {
		c.calls = append(c.calls, call)
	}
	return c.add(s, op{kind: factOp, name: name, level: f.Level, cond: f.Condition, now: f.Now, carries: f.Slope, where: -1, k: -1, at: n.at})
}

// writtenOut reads an argument; wants says what is accepted if it is something
// else. The argument of a definition stands for what the definition is called with.
func (c *compiler) writtenOut(s *scope, a *node, takes Argument) (written, wants string) {
	name, value, number := a.name, a.value, a.kind == literalNode
	if i, ok := s.values[a.name]; ok && a.kind == nameNode && i >= 0 {
		name, value, number = c.ops[i].name, c.ops[i].value, c.ops[i].kind == literalOp
	}
	fact, known := c.fact(name)
	switch {
	case takes.Count:
		if value >= 1 && value <= maxCount && value == float64(int(value)) {
			return strconv.Itoa(int(value)), ""
		}
		return "", fmt.Sprintf("a whole number from 1 to %d, written out,", maxCount)
	case takes.Number:
		if number {
			return strconv.FormatFloat(value, 'g', -1, 64), ""
		}
		return "", "a number, written out,"
	case takes.Pattern:
		if a.kind != textNode {
			return "", "a regular expression in quotes"
		}
		if _, err := regexp.Compile(a.text); err != nil {
			return "", fmt.Sprintf("a regular expression in quotes; %q is none: %s;", a.text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		return strconv.Quote(a.text), ""
	case takes.Text && a.kind == textNode:
		return strconv.Quote(a.text), ""
	case takes.Text && known && (fact.Text || fact.Both), slices.Contains(takes.Names, name) && a.kind == nameNode:
		return name, ""
	case takes.Text:
		return "", "a text in quotes, or a fact that is text,"
	}
	return "", "one of the names " + strings.Join(takes.Names, ", ")
}
