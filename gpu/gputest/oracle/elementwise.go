package oracle

import (
	"math"
	"slices"
	"strings"
)

// grid is rows of one width.
type grid struct{ t, d int }

var grids = []grid{{1, 8}, {3, 24}, {17, 96}, {33, 104}, {2, 1160}}

func (g grid) name() string { return label("T", g.t, "D", g.d) }

// scaleOf is the scale of case i.
func scaleOf(i int) float32 { return []float32{1, 7.875, -0.3}[i%3] }

// timesScale is numbers times a scale; times 1 is exact.
func timesScale(x []float32, scale float32) []Value {
	if scale == 1 {
		return values(x)
	}
	return scaled(values(x), Exact(scale))
}

func embedCases(d *data) []Case {
	const vocab, row0, rows = 53, 8, 40
	var cases []Case
	for i, g := range grids {
		ids, table, out := d.below(g.t, vocab), d.stored(rows*g.d), d.normal(g.t*g.d, 1)
		ids[0] = row0 + rows - 1
		scale := scaleOf(i)
		c := d.newCase(g.name()+label(" scale", scale), append(words(g.t, g.d, row0, rows), Word(scale)), ids, table, out)
		want := values(out)
		for t, id := range ids {
			if r := int(id) - row0; r >= 0 && r < rows {
				copy(want[t*g.d:], timesScale(table[r*g.d:][:g.d], scale))
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
	for i, g := range grids {
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
		scale := scaleOf(i)
		c := d.newCase(g.name()+label(" scale", scale), append(words(len(rows), g.d, row0, count), Word(scale)), rows, start, order, dx, dtable)
		want := values(dtable)
		for i, row := range rows {
			r := int(row) - row0
			if r < 0 || r >= count {
				continue
			}
			for j := range g.d {
				terms := []Value{want[r*g.d+j]}
				for _, t := range order[start[i]:start[i+1]] {
					terms = append(terms, timesScale(dx[int(t)*g.d+j:][:1], scale)[0])
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

// constant is a number that a kernel has rounded to float32.
func constant(x float64) Value { return rounded(x, 0, 1) }

// share is how much of a gate its activation lets through: silu's, or that of gelu's
// tanh form, (1+tanh(a/2))/2. b is da/dg.
func (d *data) share(g Value) (s, b Value) {
	if !strings.HasPrefix(d.kernel, "geglu") {
		return sigmoid(g), Exact(1)
	}
	linear, cubic := 2*math.Sqrt(2/math.Pi), 2*math.Sqrt(2/math.Pi)*0.044715
	square := Mul(g, g)
	return sigmoid(Mul(g, Add(constant(linear), Mul(constant(cubic), square)))), Add(constant(linear), Mul(constant(3*cubic), square))
}

// gateUp is rows of gates, then ups.
func (g grid) gateUp(d *data) ([]float32, func(t, j int) (gate, up Value)) {
	gu := d.normal(2*g.t*g.d, 3)
	gu[0], gu[1] = 90, -90 // the exponential overflows in float32
	if strings.HasPrefix(d.kernel, "geglu") {
		gu[0], gu[1] = 11, -11
	}
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
				s, _ := d.share(gate)
				want = append(want, Mul(Mul(gate, s), up))
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
				s, b := d.share(gate)
				grad, slope := Exact(dy[t*g.d+j]), Mul(gate, Sub(Exact(1), s))
				slope = Add(Exact(1), Mul(slope, b))
				want[2*t*g.d+j] = Mul(Mul(Mul(grad, up), s), slope)
				want[(2*t+1)*g.d+j] = Mul(Mul(grad, gate), s)
			}
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

func addBiasCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		y, b := d.normal(g.t*g.d, 1), d.normal(g.d, 1)
		c := d.newCase(g.name(), words(g.t, g.d), y, b)
		want := make([]float32, len(y)) // one addition is rounded correctly
		for i := range want {
			want[i] = y[i] + b[i%g.d]
		}
		c.Want[0] = want
		cases = append(cases, c)
	}
	return cases
}

func biasBackwardCases(d *data) []Case {
	var cases []Case
	for _, g := range grids {
		dy, db := d.normal(g.t*g.d, 1), d.normal(g.d, 1)
		c := d.newCase(g.name(), words(g.t, g.d), dy, db)
		want := make([]Value, g.d)
		for j := range want {
			want[j] = Sum(append([]Value{Exact(db[j])}, column(values(dy[j:]), g.d, g.t)...))
		}
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

// wideRows are rows of a grid, wider by what stands before and after its columns.
func (g grid) wideRows() (ld, off int) { return g.d + 24, 16 }

func addColumnsCases(d *data) []Case {
	var cases []Case
	for i, g := range grids {
		ld, off := g.wideRows()
		dst, src := d.normal(g.t*ld, 1), d.normal(g.t*g.d, 1)
		c := d.newCase(g.name()+label(" scale", scaleOf(i)), append(words(g.t, g.d, ld, off), Word(scaleOf(i))), dst, src)
		want := values(dst)
		for t := range g.t {
			for j, x := range timesScale(src[t*g.d:][:g.d], scaleOf(i)) {
				want[t*ld+off+j] = Add(want[t*ld+off+j], x)
			}
		}
		c.Want[0] = want
		cases = append(cases, c)
	}
	return cases
}

func takeColumnsCases(d *data) []Case {
	var cases []Case
	for i, g := range grids {
		ld, off := g.wideRows()
		src := d.normal(g.t*ld, 1)
		c := d.newCase(g.name()+label(" scale", scaleOf(i)), append(words(g.t, g.d, ld, off), Word(scaleOf(i))), src, unwritten(g.t*g.d))
		var want []Value
		for t := range g.t {
			want = append(want, timesScale(src[t*ld+off:][:g.d], scaleOf(i))...)
		}
		c.Want[1] = want
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

func blendCases(d *data) []Case {
	var cases []Case
	for _, n := range lengths {
		dst, src, share := d.normal(n, 1), d.normal(n, 1), float32(0.125*float32(n%7)+0.01)
		c := d.newCase(label("n", n), append(words(n), Word(share)), dst, src)
		want := make([]Value, n)
		for i := range want {
			x := Exact(dst[i])
			want[i] = Add(x, Mul(Exact(share), Sub(Exact(src[i]), x)))
		}
		c.Want[0] = want
		cases = append(cases, c)
	}
	return cases
}
