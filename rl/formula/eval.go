package formula

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Values evaluates a program over a table. Operations are computed when something
// asks for them, each once. It is not safe for concurrent use.
type Values struct {
	p     *Program
	t     *Table
	whole *Values // over the table that this one was selected from; nil: it was not
	parts bool    // the table is a part of an update, and not an update of a step
	done  [][]float64
	lifts map[lift][]float64
}

// lift is a value at a finer level than its own.
type lift struct {
	op int
	to Level
}

// On evaluates the program over a table.
func (p *Program) On(t *Table) *Values {
	return &Values{p: p, t: t, done: make([][]float64, len(p.ops)), lifts: map[lift][]float64{}}
}

// Within evaluates over some of the completions of an update, selected from its
// table: what does not read values of now, divisors for one, stays that of the
// whole. Of a local part [Values.Slopes] are then those of the whole, to the bit;
// its value is not defined.
func (v *Values) Within(part *Table) *Values {
	w := v.p.On(part)
	w.whole, w.parts = v, true
	return w
}

// Update evaluates over the completions that an update learns from, selected from the table of
// v, the step's: what is no value of an update stays that of the step.
func (v *Values) Update(t *Table) *Values {
	u := v.p.On(t)
	u.whole = v
	return u
}

// inherits tells whether an operation has the value that the whole has.
func (v *Values) inherits(o *op) bool {
	return v.whole != nil && (!o.update || v.parts && !o.now)
}

// Column is the value of a part. Missing values have their reasons. It is an
// error if arithmetic at the level of tokens or of the run gives what is not a
// number, if the table lacks a fact, or if there is no such part.
func (v *Values) Column(name string) (Column, error) {
	root, ok := v.p.root(name)
	if !ok {
		return Column{}, fmt.Errorf("there is no formula %s", name)
	}
	return v.At(name, v.p.ops[root].level)
}

// At is the value of a part, or of a value PART.NAME that it defines, at its own
// level or a finer one: a coarser value stands in each row. Otherwise it is as
// [Values.Column].
func (v *Values) At(name string, l Level) (out Column, err error) {
	root, ok := v.p.root(name)
	if !ok {
		return Column{}, fmt.Errorf("there is no formula %s", name)
	}
	own := v.p.ops[root].level
	if own > l {
		return Column{}, fmt.Errorf("%s has %s; accepted: %s", name, own.each(), l.each())
	}
	defer rescue(&err)
	x := v.operand(root, l)
	out = Column{Level: l, V: x.v}
	if x.step == 0 {
		out.V = slices.Repeat(x.v, v.t.size[l])
	}
	for row, x := range out.V {
		if math.IsNaN(x) {
			if out.Why == nil {
				out.Why = map[int]string{}
			}
			out.Why[row] = v.reason(root, v.t.above(l, row, own))
		}
	}
	return out, nil
}

// rescue turns a fault of an evaluation into an error.
func rescue(err *error) {
	switch fault := recover().(type) {
	case nil:
	case *Error:
		*err = fault
	default:
		panic(fault)
	}
}

// value computes an operation.
func (v *Values) value(i int) []float64 {
	if v.done[i] == nil {
		v.done[i] = v.compute(i)
	}
	return v.done[i]
}

func (v *Values) compute(i int) []float64 {
	o := &v.p.ops[i]
	if v.inherits(o) {
		if c, there := v.t.columns[o.name]; there && o.kind == factOp {
			return c.V
		}
		all := v.whole.value(i)
		if v.t.rows[o.level] == nil { // the part is the whole
			return all
		}
		out := make([]float64, v.t.size[o.level])
		for row, r := range v.t.rows[o.level] {
			out[row] = all[r]
		}
		return out
	}
	switch o.kind {
	case literalOp:
		return []float64{o.value}
	case missingOp:
		return []float64{missing}
	case factOp, sameOp, codeOp:
		return v.fact(o)
	case partOp:
		if c, ok := v.t.columns[o.name]; ok {
			return c.V
		}
		return v.value(o.args[0])
	case eachOp:
		return v.each(o)
	case foldOp:
		return v.reduce(o)
	case othersOp, rankOp:
		return v.amongOthers(o)
	case alongOp:
		return v.sequence(o)
	case pairsOp:
		return v.pairs(o)
	case alikeOp:
		return v.alike(o)
	}
	return v.places(o)
}

// fact is a column of the table, or whether one of text holds a text, or the numbers of its texts.
func (v *Values) fact(o *op) []float64 {
	from, what := v.t.columns, "column"
	if o.kind != factOp {
		from, what = v.t.texts, "column of text"
	}
	c, ok := from[o.name]
	if !ok || c.Level != o.level {
		panic(&Error{Part: o.in.name, Text: fmt.Sprintf("the table has no %s %s with %s", what, o.name, o.level.each())})
	}
	switch o.kind {
	case factOp:
		return c.V
	case codeOp:
		return codes(c)
	}
	same := make([]float64, len(c.Text))
	for row, text := range c.Text {
		if same[row] = holds(text == o.text); c.Why[row] != "" {
			same[row] = missing
		}
	}
	return same
}

// operand is an argument at the level of what reads it: its i-th value is
// v[i*step], step 0 for a number of the run.
type operand struct {
	v    []float64
	step int
}

func (v *Values) operand(i int, to Level) operand {
	o := &v.p.ops[i]
	x := v.value(i)
	switch {
	case o.level == to:
		return operand{x, 1}
	case o.level == Run:
		return operand{x, 0}
	}
	key := lift{i, to}
	if v.lifts[key] == nil {
		out := make([]float64, v.t.size[to])
		for row, r := range v.t.up[to][o.level] {
			out[row] = x[r]
		}
		v.lifts[key] = out
	}
	return operand{v.lifts[key], 1}
}

func (v *Values) operands(o *op) []operand {
	var all []operand
	for _, a := range o.args {
		all = append(all, v.operand(a, o.level))
	}
	return all
}

// grain is the least number of rows that a goroutine is worth.
const grain = 1 << 13

// parallel cuts rows into ranges. What do does to a row may not depend on others.
func parallel(rows int, do func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), rows/grain)
	if workers < 2 {
		do(0, rows)
		return
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { do(rows*w/workers, rows*(w+1)/workers) })
	}
	all.Wait()
}

// each computes row by row. A missing argument makes the result missing.
func (v *Values) each(o *op) []float64 {
	args := v.operands(o)
	out := make([]float64, v.t.size[o.level])
	switch {
	case o.fn.one != nil:
		parallel(len(out), func(from, to int) { oneByOne(out, args[0], o.fn.one, from, to) })
		return out
	case o.fn.two != nil && o.fn.Name == "*":
		maskA, maskB := !v.p.ops[o.args[0]].carries, !v.p.ops[o.args[1]].carries
		parallel(len(out), func(from, to int) { multiply(out, args[0], args[1], maskA, maskB, from, to) })
		return out
	case o.fn.two != nil && len(args) == 2:
		parallel(len(out), func(from, to int) { twoByTwo(out, args[0], args[1], o.fn.two, from, to) })
		return out
	}
	parallel(len(out), func(from, to int) {
		x := make([]float64, len(args))
		for i := from; i < to; i++ {
			lacks := false
			for j, a := range args {
				x[j] = a.v[i*a.step]
				lacks = lacks || x[j] != x[j]
			}
			switch {
			case o.fn.pick != nil:
				out[i] = x[o.fn.pick(x)]
			case lacks:
				out[i] = missing
			default:
				out[i] = o.fn.each(x)
			}
		}
	})
	return out
}

// multiply is a product in which a constant factor 0 removes what is infinite.
func multiply(out []float64, a, b operand, maskA, maskB bool, from, to int) {
	for i := from; i < to; i++ {
		x, y := a.v[i*a.step], b.v[i*b.step]
		if x == 0 && maskA && y == y || y == 0 && maskB && x == x {
			out[i] = 0
			continue
		}
		out[i] = x * y
	}
}

// oneByOne computes a function of one number.
func oneByOne(out []float64, a operand, f func(float64) float64, from, to int) {
	for i := from; i < to; i++ {
		if out[i] = a.v[i*a.step]; out[i] == out[i] {
			out[i] = f(out[i])
		}
	}
}

// twoByTwo computes a function of two numbers.
func twoByTwo(out []float64, a, b operand, f func(a, b float64) float64, from, to int) {
	for i := from; i < to; i++ {
		x, y := a.v[i*a.step], b.v[i*b.step]
		if x != x || y != y {
			out[i] = missing
			continue
		}
		out[i] = f(x, y)
	}
}

// selector finds the rows that a fold reads.
type selector struct {
	v     *Values
	o     *op
	x     operand
	where operand
	any   bool   // there is no condition
	mask  []bool // nil: all
	vals  []float64
	rows  []int32
}

func (v *Values) selector(o *op) *selector {
	s := &selector{v: v, o: o, x: v.operand(o.args[0], o.from), any: o.where < 0}
	if !s.any {
		s.where = v.operand(o.where, o.from)
	}
	if o.from == Token {
		if s.mask = v.t.kept; o.masked {
			s.mask = v.t.train
		}
	}
	return s
}

// of collects the values of one row, and where they stand if rows is asked for.
// They are valid until the next call.
func (s *selector) of(level Level, row int, rows bool) []float64 {
	s.vals, s.rows = s.vals[:0], s.rows[:0]
	s.v.t.ranges(level, row, s.o.from, func(from, to int) {
		for i := from; i < to; i++ {
			if s.mask != nil && !s.mask[i] || !s.any && s.where.v[i*s.where.step] != 1 {
				continue
			}
			x := s.x.v[i*s.x.step]
			if x != x {
				s.lacks(i)
				continue
			}
			s.vals = append(s.vals, x)
			if rows {
				s.rows = append(s.rows, int32(i))
			}
		}
	})
	return s.vals
}

// lacks ends the evaluation if a missing value is a fault.
func (s *selector) lacks(row int) {
	s.v.reason(s.o.args[0], s.v.t.above(s.o.from, row, s.v.p.ops[s.o.args[0]].level))
}

// crosses tells whether an operation reads several completions.
func (o *op) crosses() bool { return o.level < Completion || o.kind != foldOp }

// reduce computes a fold.
func (v *Values) reduce(o *op) []float64 {
	s := v.selector(o)
	k := operand{v: []float64{0}}
	if o.k >= 0 {
		k = v.operand(o.k, o.level)
	}
	out := make([]float64, v.t.size[o.level])
	for row := range out {
		if o.fold.adds != nil {
			if t := s.total(o.level, row); t.n > 0 {
				out[row] = o.fold.adds(t, k.v[row*k.step])
			} else {
				out[row] = o.fold.none
			}
			continue
		}
		x := s.of(o.level, row, false)
		if len(x) == 0 {
			out[row] = o.fold.none
			continue
		}
		if o.crosses() && !o.fold.ordered {
			sortFloats(x)
		}
		out[row] = o.fold.value(x, k.v[row*k.step])
	}
	return out
}

// amongOthers computes what a row is among the members of its group or of the
// run.
func (v *Values) amongOthers(o *op) []float64 {
	s := v.selector(o)
	out := make([]float64, v.t.size[o.from])
	for set := range v.t.size[o.to] {
		x := slices.Clone(s.of(o.to, set, true))
		members := slices.Clone(s.rows)
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		v.t.ranges(o.to, set, o.from, func(from, to int) {
			for row := from; row < to; row++ {
				own := s.x.v[row*s.x.step]
				switch {
				case own != own:
					out[row] = missing
				case o.kind == rankOp:
					if out[row] = missing; len(sorted) > 0 {
						out[row] = rank(own, sorted)
					}
				default:
					rest := without(x, members, row)
					if out[row] = o.fold.none; len(rest) > 0 {
						slices.Sort(rest)
						out[row] = o.fold.value(rest, 0)
					}
				}
			}
		})
	}
	return out
}

// without is x without the value of a row.
func without(x []float64, rows []int32, row int) []float64 {
	if at := slices.Index(rows, int32(row)); at >= 0 {
		return slices.Concat(x[:at], x[at+1:])
	}
	return slices.Clone(x)
}

// sequence computes along the completions.
func (v *Values) sequence(o *op) []float64 {
	out := make([]float64, v.t.size[o.level])
	v.eachSequence(o, func(rows []int, args [][]float64) {
		y := make([]float64, len(rows))
		o.along.value(args, y)
		for i, row := range rows {
			out[row] = y[i]
		}
	})
	return out
}

// eachSequence calls do for every completion with the rows that count and the
// arguments there.
func (v *Values) eachSequence(o *op, do func(rows []int, args [][]float64)) {
	operands := v.operands(o)
	for c := range v.t.size[Completion] {
		var rows []int
		from, to := v.t.span(c, o.level)
		for i := from; i < to; i++ {
			if !o.masked || v.t.train[i] {
				rows = append(rows, i)
			}
		}
		args := make([][]float64, len(operands))
		for j, a := range operands {
			args[j] = make([]float64, len(rows))
			for i, row := range rows {
				args[j][i] = a.v[row*a.step]
			}
		}
		do(rows, args)
	}
}

// places computes over the tokens of a group at the same position.
func (v *Values) places(o *op) []float64 {
	x := v.operand(o.args[0], Token)
	out := make([]float64, v.t.size[Token])
	v.eachPlace(func(rows []int) {
		var vals []float64
		for _, row := range rows {
			if y := x.v[row*x.step]; y == y {
				vals = append(vals, y)
			} else {
				v.reason(o.args[0], v.t.above(Token, row, v.p.ops[o.args[0]].level))
			}
		}
		y := o.fold.none
		if len(vals) > 0 {
			slices.Sort(vals)
			y = o.fold.value(vals, 0)
		}
		for _, row := range rows {
			out[row] = y
		}
	})
	return out
}

// eachPlace calls do with the trained tokens of a group at one position.
func (v *Values) eachPlace(do func(rows []int)) {
	for g := range v.t.size[Group] {
		longest := 0
		for _, c := range v.t.in[g] {
			from, to := v.t.span(int(c), Token)
			longest = max(longest, to-from)
		}
		for place := range longest {
			var rows []int
			for _, c := range v.t.in[g] {
				if from, to := v.t.span(int(c), Token); from+place < to && v.t.train[from+place] {
					rows = append(rows, from+place)
				}
			}
			if len(rows) > 0 {
				do(rows)
			}
		}
	}
}

// sortFloats puts numbers in order of size: many of them by their bits, eleven at
// a time from the lowest on (radix sort; Knuth, volume 3, 5.2.5), which takes a
// fifth of the time of comparing.
func sortFloats(x []float64) {
	const digit, few = 11, 1 << 11
	if len(x) < few {
		slices.Sort(x)
		return
	}
	keys, other := make([]uint64, len(x)), make([]uint64, len(x))
	for i, v := range x {
		b := math.Float64bits(v)
		keys[i] = b ^ (uint64(int64(b)>>63) | 1<<63) // ordered as the numbers are
	}
	for shift := 0; shift < 64; shift += digit {
		var first [1 << digit]int
		for _, k := range keys {
			first[k>>shift&(1<<digit-1)]++
		}
		at := 0
		for d, n := range first {
			first[d], at = at, at+n
		}
		for _, k := range keys {
			d := k >> shift & (1<<digit - 1)
			other[first[d]] = k
			first[d]++
		}
		keys, other = other, keys
	}
	for i, k := range keys {
		x[i] = math.Float64frombits(k ^ (^uint64(int64(k)>>63) | 1<<63))
	}
}
