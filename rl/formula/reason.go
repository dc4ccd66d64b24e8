package formula

import (
	"fmt"
	"math"
	"strings"
)

// reason says why a value is missing. If arithmetic at the level of tokens or of
// the run made it, that is an error, which ends the evaluation.
func (v *Values) reason(i, row int) string {
	o := &v.p.ops[i]
	if v.inherits(o) {
		if rows := v.t.rows[o.level]; rows != nil {
			row = int(rows[row])
		}
		return v.whole.reason(i, row)
	}
	switch o.kind {
	case missingOp:
		return o.text
	case sameOp, codeOp:
		return v.t.texts[o.name].Why[row]
	case factOp:
		if why := v.t.columns[o.name].Why[row]; why != "" {
			return why
		}
		return o.name + " has no value"
	case partOp:
		if c, ok := v.t.columns[o.name]; ok {
			if why := c.Why[row]; why != "" {
				return why
			}
			return o.name + " has no value"
		}
		return v.reason(o.args[0], row)
	case alikeOp:
		if key := o.args[1]; math.IsNaN(v.read(o, row)[1]) {
			return v.reason(key, v.t.above(o.level, row, v.p.ops[key].level))
		}
		return o.called() + ": no value of the group's segments with the same key counts"
	case eachOp, othersOp, rankOp:
		x, first := v.read(o, row), -1
		for j := len(x) - 1; j >= 0; j-- {
			if math.IsNaN(x[j]) {
				first = j
			}
		}
		if o.kind == eachOp && o.fn.pick != nil {
			first = o.fn.pick(x)
		}
		if first >= 0 {
			a := o.args[first]
			return v.reason(a, v.t.above(o.level, row, v.p.ops[a].level))
		}
		if o.kind == eachOp {
			return v.arithmetic(o, row, x)
		}
		return o.fn.Name + ": no other completion of the group counts"
	case alongOp:
		from, _ := v.t.span(v.t.above(o.level, row, Completion), o.level)
		for at := from; at < v.t.size[o.level] && v.t.above(o.level, at, Completion) == v.t.above(o.level, row, Completion); at++ {
			for j, a := range o.args {
				if math.IsNaN(v.read(o, at)[j]) && (!o.masked || v.t.train[at]) {
					return v.reason(a, v.t.above(o.level, at, v.p.ops[a].level))
				}
			}
		}
		return v.arithmetic(o, row, v.read(o, row))
	}
	return v.emptyFold(o, row)
}

// emptyFold is the reason of a fold without a value.
func (v *Values) emptyFold(o *op, row int) string {
	s := v.selector(o)
	if o.kind == foldOp && len(s.of(o.level, row, false)) > 0 {
		if o.k < 0 || o.fold.linear {
			return v.arithmetic(o, row, nil)
		}
		k := v.operand(o.k, o.level)
		return fmt.Sprintf("%s: there are %d values, so there is none at %v", o.called(), len(s.vals), k.v[row*k.step])
	}
	all := "the step"
	if o.update {
		all = "the update"
	}
	what := map[Level]string{Run: all, Group: "the group", Completion: "the completion", Segment: "the segment", Token: "the group at this position"}[o.level]
	return fmt.Sprintf("%s: no value in %s counts", o.called(), what)
}

// read is the arguments of one row.
func (v *Values) read(o *op, row int) []float64 {
	x := make([]float64, len(o.args))
	for j, a := range o.args {
		arg := v.operand(a, o.level)
		x[j] = arg.v[row*arg.step]
	}
	return x
}

// arithmetic is the reason of a value that is not a number though nothing was
// missing.
func (v *Values) arithmetic(o *op, row int, x []float64) string {
	text := o.called()
	var args []string
	for _, a := range x {
		args = append(args, fmt.Sprint(a))
	}
	if len(args) > 0 {
		text += " of " + strings.Join(args, " and ")
	}
	text += " is not a number"
	if o.level != Token && o.level != Run {
		return text
	}
	fault := errorAt(o.in.name, o.in.text, o.at, "%s%s", text, v.where(o.level, row))
	panic(fault)
}

// where names a row, counted from 1 in the table that this one was selected from.
func (v *Values) where(l Level, row int) string {
	if l == Run {
		return ""
	}
	origin := func(l Level, row int) int {
		if v.t.rows[l] != nil {
			row = int(v.t.rows[l][row])
		}
		return row + 1
	}
	if l == Group {
		return fmt.Sprintf(" in group %d", origin(l, row))
	}
	c := v.t.above(l, row, Completion)
	text := fmt.Sprintf(" in group %d, completion %d", origin(Group, v.t.above(Completion, c, Group)), origin(Completion, c))
	if l == Completion {
		return text
	}
	from, _ := v.t.span(c, l)
	return fmt.Sprintf("%s, %s %d", text, l, row-from+1)
}
