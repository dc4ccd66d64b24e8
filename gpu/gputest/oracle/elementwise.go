package oracle

import "slices"

// grid is rows of one width.
type grid struct{ t, d int }

var grids = []grid{{1, 8}, {3, 24}, {17, 96}, {33, 104}, {2, 1160}}

func (g grid) name() string { return label("T", g.t, "D", g.d) }

func embedCases(d *data) []Case {
	const vocab, row0, rows = 53, 8, 40
	var cases []Case
	for _, g := range grids {
		ids, table, out := d.below(g.t, vocab), d.stored(rows*g.d), d.normal(g.t*g.d, 1)
		ids[0] = row0 + rows - 1
		c := d.newCase(g.name(), words(g.t, g.d, row0, rows), ids, table, out)
		want := slices.Clone(out)
		for t, id := range ids {
			if r := int(id) - row0; r >= 0 && r < rows {
				copy(want[t*g.d:], table[r*g.d:][:g.d])
			}
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

func embedBackwardCases(d *data) []Case {
	const vocab, row0, count = 20, 3, 14
	var cases []Case
	for _, g := range grids {
		ids := d.below(g.t, vocab)
		ids[0] = row0
		var rows, order []uint32
		start := []uint32{0}
		for id := range uint32(vocab) {
			for t, other := range ids {
				if other == id {
					order = append(order, uint32(t))
				}
			}
			if n := uint32(len(order)); n > start[len(start)-1] {
				rows, start = append(rows, id), append(start, n)
			}
		}
		dx, dtable := d.normal(g.t*g.d, 1), d.normal(count*g.d, 1)
		c := d.newCase(g.name(), words(len(rows), g.d, row0, count), rows, start, order, dx, dtable)
		want := values(dtable)
		for i, row := range rows {
			r := int(row) - row0
			if r < 0 || r >= count {
				continue
			}
			for j := range g.d {
				terms := []Value{want[r*g.d+j]}
				for _, t := range order[start[i]:start[i+1]] {
					terms = append(terms, Exact(dx[int(t)*g.d+j]))
				}
				want[r*g.d+j] = Sum(terms)
			}
		}
		c.Want[4] = want
		cases = append(cases, c)
	}
	return cases
}

// sigmoid is 1/(1+exp(-g)).
func sigmoid(g Value) Value { return Div(Exact(1), Add(Exact(1), Exp(neg(g)))) }

// gateUp is rows of gates, then ups.
func (g grid) gateUp(d *data) ([]float32, func(t, j int) (gate, up Value)) {
	gu := d.normal(2*g.t*g.d, 3)
	gu[0], gu[1] = 90, -90 // the exponential overflows in float32
	return gu, func(t, j int) (Value, Value) {
		return Exact(gu[2*t*g.d+j]), Exact(gu[(2*t+1)*g.d+j])
	}
}

func swigluCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		gu, at := g.gateUp(d)
		c := d.newCase(g.name(), words(g.t, g.d), gu, unwritten(g.t*g.d))
		var want []Value
		for t := range g.t {
			for j := range g.d {
				gate, up := at(t, j)
				want = append(want, Mul(Mul(gate, sigmoid(gate)), up))
			}
		}
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

func swigluBackwardCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		gu, at := g.gateUp(d)
		dy := d.normal(g.t*g.d, 1)
		c := d.newCase(g.name(), words(g.t, g.d), gu, dy, unwritten(2*g.t*g.d))
		want := make([]Value, 2*g.t*g.d)
		for t := range g.t {
			for j := range g.d {
				gate, up := at(t, j)
				s, grad := sigmoid(gate), Exact(dy[t*g.d+j])
				slope := Add(Exact(1), Mul(gate, Sub(Exact(1), s)))
				want[2*t*g.d+j] = Mul(Mul(Mul(grad, up), s), slope)
				want[(2*t+1)*g.d+j] = Mul(Mul(grad, gate), s)
			}
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

func gatherRowsCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		const source = 20
		src, idx := d.normal(source*g.d, 1), d.below(g.t, source)
		c := d.newCase(g.name(), words(g.t, g.d), src, idx, unwritten(g.t*g.d))
		var want []float32
		for _, r := range idx {
			want = append(want, src[int(r)*g.d:][:g.d]...)
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

func scatterRowsCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		start := make([]uint32, g.t+1) // rows of none, one and several
		for t, n := range d.below(g.t, 4) {
			start[t+1] = start[t] + n
		}
		src := d.normal(int(start[g.t])*g.d, 1)
		if len(src) == 0 {
			src = d.normal(g.d, 1)
		}
		c := d.newCase(g.name(), words(g.t, g.d), src, start, unwritten(g.t*g.d))
		var want []Value
		for t := range g.t {
			for i := range g.d {
				n := int(start[t+1] - start[t])
				at := min(int(start[t])*g.d+i, len(src)-1)
				want = append(want, Sum(column(values(src)[at:], g.d, n)))
			}
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

// lengths are of flat arrays.
var lengths = []int{8, 24, 1000, 4104}

func fillCases(d *data) []Case {
	var cases []Case
	for _, n := range lengths {
		c := d.newCase(label("n", n), append(words(n), Word(-1.5)), unwritten(n))
		c.Want[0] = slices.Repeat([]float32{-1.5}, n)
		cases = append(cases, c)
	}
	return cases
}

func addCases(d *data) []Case {
	var cases []Case
	for _, n := range lengths {
		dst, src := d.normal(n, 1), d.normal(n, 1)
		c := d.newCase(label("n", n), words(n), dst, src)
		// One addition is rounded correctly on every device: SPIR-V's OpFAdd.
		want := make([]float32, n)
		for i := range want {
			want[i] = dst[i] + src[i]
		}
		c.Want[0] = want
		cases = append(cases, c)
	}
	return cases
}
