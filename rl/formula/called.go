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
	Count   bool     // it is a whole number from 1 to 1000, or one of these names
	Number  bool     // it is a number
	Text    bool     // it is a text in quotes, or a fact that is text
	Pattern bool     // it is a regular expression in quotes, in the syntax of package regexp
	Value   bool     // it is the name of a formula or a fact whose values are known when a step begins; [Values.Given] has them
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
	call, values := Call{Fact: f.Name}, []int(nil)
	for i, a := range n.args {
		takes := f.Takes[min(i, last)]
		if takes.Value {
			x := c.valued(s, a, f)
			if x < 0 {
				return -1
			}
			call.Arguments, values = append(call.Arguments, a.name), append(values, x)
			continue
		}
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
	return c.add(s, op{kind: factOp, name: name, args: values, level: f.Level, cond: f.Condition, now: f.Now, carries: f.Slope, where: -1, k: -1, at: n.at})
}

// valued compiles what a fact is called with where that is a value; -1: it was refused.
func (c *compiler) valued(s *scope, a *node, f Fact) int {
	_, local := s.values[a.name]
	if a.kind != nameNode || local || constants[a.name] != nil {
		return c.fail(s, a.at, "%s takes the name of a formula of its own, or of a fact; write good = \"right(task)\" beside it, and %s(good)", f.Usage(), f.Name)
	}
	x := c.node(s, a)
	if x >= 0 && c.ops[x].update {
		return c.fail(s, a.at, "%s is computed when a step begins, and %s is a value of an update", f.Usage(), a.name)
	}
	return x
}

// Given are the values, at the level of tokens, of what a fact is called with, such as those of good where the
// call is influence(good); a missing one is NaN.
func (v *Values) Given(call string) (values []float64, err error) {
	defer rescue(&err)
	for i := range v.p.ops {
		if o := &v.p.ops[i]; o.kind == factOp && o.name == call && len(o.args) == 1 {
			x := v.operand(o.args[0], Token)
			if x.step == 0 {
				return slices.Repeat(x.v, v.t.size[Token]), nil
			}
			return x.v, nil
		}
	}
	return nil, fmt.Errorf("no formula of the method calls %s", call)
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
	case takes.Count && slices.Contains(takes.Names, name) && a.kind == nameNode:
		return name, ""
	case takes.Count:
		if value >= 1 && value <= maxCount && value == float64(int(value)) {
			return strconv.Itoa(int(value)), ""
		}
		return "", fmt.Sprintf("%s, written out,", strings.Join(append([]string{fmt.Sprintf("a whole number from 1 to %d", maxCount)}, takes.Names...), " or "))
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
	case takes.Text && takes.Names != nil:
		return "", strings.Join(takes.Names, ", ") + ", a text in quotes, or a fact that is text,"
	case takes.Text:
		return "", "a text in quotes, or a fact that is text,"
	}
	return "", "one of the names " + strings.Join(takes.Names, ", ")
}
