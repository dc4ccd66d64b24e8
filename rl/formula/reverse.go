package formula

import (
	"fmt"
	"math"
	"slices"
)

// Slopes are the derivatives of a part, a number of the run, by every fact that
// has one and that the part reads: one column for each, by the fact's name. It is
// an error if one is not finite.
func (v *Values) Slopes(name string) (slopes map[string]Column, err error) {
	d := v.p.parts[name]
	if d == nil || d.state != done || d.params != nil || v.p.ops[d.root].level != Run {
		return nil, fmt.Errorf("there is no formula %s with one value for the run", name)
	}
	defer rescue(&err)
	slopes = map[string]Column{}
	for i, seeds := range v.backward(d.root) {
		o := &v.p.ops[i]
		if seeds == nil || o.kind != factOp {
			continue
		}
		c := Column{Level: o.level, V: seeds}
		slopes[o.name] = c
		for row, x := range c.V {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, &Error{Part: d.name, Text: fmt.Sprintf("the derivative by %s is %v%s", o.name, x, v.where(c.Level, row))}
			}
			c.V[row] = x + 0 // no negative zero
		}
	}
	return slopes, nil
}

// backward gives the derivatives of an operation of the run by every operation
// that it is made of; nil where there is none.
func (v *Values) backward(root int) [][]float64 {
	r := &reverse{v, make([][]float64, len(v.p.ops))}
	r.seeds[root] = []float64{1}
	for i := root; i >= 0; i-- {
		o := &v.p.ops[i]
		if r.seeds[i] == nil || !o.carries {
			continue
		}
		switch o.kind {
		case eachOp:
			r.each(i, o)
		case foldOp:
			r.fold(i, o)
		case othersOp:
			r.others(i, o)
		case alongOp:
			r.along(i, o)
		case placeOp:
			r.places(i, o)
		case pairsOp:
			r.pairs(i, o)
		}
	}
	return r.seeds
}

// reverse walks a program backwards: seeds[i] is the derivative of the result by
// operation i, nil where nothing has reached it. What has seed 0 passes nothing
// on, so that an infinite slope after it does no harm.
type reverse struct {
	*Values
	seeds [][]float64
}

// into is where the derivatives of an argument are added up at a level: the
// argument's own seeds, or, if it is coarser, a column to be taken to its level
// by [reverse.settle]. nil: it has no derivative.
func (r *reverse) into(arg int, level Level) []float64 {
	o := &r.p.ops[arg]
	if !o.carries {
		return nil
	}
	if o.level != level {
		return make([]float64, r.t.size[level])
	}
	if r.seeds[arg] == nil {
		r.seeds[arg] = make([]float64, r.t.size[level])
	}
	return r.seeds[arg]
}

// settle adds what into gave for a coarser argument to that argument's seeds.
// Within a completion in order, over completions in order of size.
func (r *reverse) settle(arg int, level Level, d []float64) {
	o := &r.p.ops[arg]
	if d == nil || o.level == level {
		return
	}
	if level > Completion && o.level < Completion {
		d, level = r.collect(d, level, Completion), Completion
	}
	d = r.collect(d, level, o.level)
	if r.seeds[arg] == nil {
		r.seeds[arg] = d
		return
	}
	for i, x := range d {
		r.seeds[arg][i] += x
	}
}

func (r *reverse) collect(d []float64, from, to Level) []float64 {
	if from == to {
		return d
	}
	out := make([]float64, r.t.size[to])
	var x []float64
	for row := range out {
		x = x[:0]
		r.t.ranges(to, row, from, func(a, b int) { x = append(x, d[a:b]...) })
		if to < Completion {
			sortFloats(x)
		}
		out[row] = sum(x)
	}
	return out
}

func (r *reverse) each(i int, o *op) {
	seeds, y := r.seeds[i], r.value(i)
	args := r.operands(o)
	into := make([][]float64, len(args))
	for j, a := range o.args {
		into[j] = r.into(a, o.level)
	}
	parallel(len(seeds), func(from, to int) {
		x, d := make([]float64, len(args)), make([]float64, len(args))
		for row := from; row < to; row++ {
			seed := seeds[row]
			if seed == 0 {
				continue
			}
			for j, a := range args {
				x[j] = a.v[row*a.step]
			}
			if o.fn.pick != nil {
				if j := o.fn.pick(x); into[j] != nil {
					into[j][row] += seed
				}
				continue
			}
			clear(d)
			o.fn.slope(x, y[row], d)
			for j := range args {
				if into[j] != nil && d[j] != 0 {
					into[j][row] += seed * d[j]
				}
			}
		}
	})
	for j, a := range o.args {
		r.settle(a, o.level, into[j])
	}
}

func (r *reverse) fold(i int, o *op) {
	into := r.into(o.args[0], o.from)
	s := r.selector(o)
	k := operand{v: []float64{0}}
	if o.k >= 0 {
		k = r.operand(o.k, o.level)
	}
	y := r.value(i)
	for row, seed := range r.seeds[i] {
		if seed == 0 {
			continue
		}
		if x := s.of(o.level, row, true); len(x) > 0 {
			r.scatter(o.fold, x, s.rows, k.v[row*k.step], y[row], seed, into)
		}
	}
	r.settle(o.args[0], o.from, into)
}

// scatter adds the derivatives of a fold's values to their rows.
func (r *reverse) scatter(f *fold, x []float64, rows []int32, k, y, seed float64, into []float64) {
	d := make([]float64, len(x))
	f.slope(x, k, y, seed, d)
	for j, row := range rows {
		into[row] += d[j]
	}
}

func (r *reverse) others(i int, o *op) {
	into := r.into(o.args[0], o.from)
	s := r.selector(o)
	y, seeds := r.value(i), r.seeds[i]
	// A row gets a share from each other one: collected for each, added in order of size.
	shares := make([][]float64, len(into))
	for set := range r.t.size[o.to] {
		x := slices.Clone(s.of(o.to, set, true))
		members := slices.Clone(s.rows)
		r.t.ranges(o.to, set, o.from, func(from, to int) {
			for row := from; row < to; row++ {
				rest := without(x, members, row)
				if seeds[row] == 0 || len(rest) == 0 {
					continue
				}
				d := make([]float64, len(rest))
				o.fold.slope(rest, 0, y[row], seeds[row], d)
				at := 0
				for _, m := range members {
					if int(m) != row {
						shares[m] = append(shares[m], d[at])
						at++
					}
				}
			}
		})
	}
	for row, x := range shares {
		sortFloats(x)
		into[row] += sum(x)
	}
	r.settle(o.args[0], o.from, into)
}

func (r *reverse) along(i int, o *op) {
	into := make([][]float64, len(o.args))
	for j, a := range o.args {
		into[j] = r.into(a, o.level)
	}
	r.eachSequence(o, func(rows []int, args [][]float64) {
		seed := make([]float64, len(rows))
		for at, row := range rows {
			seed[at] = r.seeds[i][row]
		}
		d := make([][]float64, len(args))
		for j := range d {
			d[j] = make([]float64, len(rows))
		}
		o.along.slope(args, seed, d)
		for j := range d {
			if into[j] != nil {
				for at, row := range rows {
					into[j][row] += d[j][at]
				}
			}
		}
	})
	for j, a := range o.args {
		r.settle(a, o.level, into[j])
	}
}

func (r *reverse) places(i int, o *op) {
	into := r.into(o.args[0], Token)
	x := r.operand(o.args[0], Token)
	r.eachPlace(func(rows []int) {
		var seeds, vals []float64
		var at []int32
		for _, row := range rows {
			seeds = append(seeds, r.seeds[i][row])
			if y := x.v[row*x.step]; y == y {
				vals, at = append(vals, y), append(at, int32(row))
			}
		}
		sortFloats(seeds)
		if seed := sum(seeds); seed != 0 && len(vals) > 0 {
			r.scatter(o.fold, vals, at, 0, 0, seed, into)
		}
	})
	r.settle(o.args[0], Token, into)
}
