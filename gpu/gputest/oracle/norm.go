package oracle

// normShape is rows of n real elements in strides of ld.
type normShape struct{ t, n, ld int }

var normShapes = []normShape{{1, 8, 8}, {3, 20, 24}, {17, 96, 96}, {33, 99, 104}, {2, 576, 576}}

func (s normShape) name() string { return label("T", s.t, "n", s.n, "ld", s.ld) }

// eps is large enough for its effect to be outside the bounds.
const eps = 1e-2

// rstd is 1/sqrt(mean of squares + eps) over n real elements.
func rstd(x []Value, n int, eps Value) Value {
	return RSqrt(Add(Div(Dot(x, x), Exact(float32(n))), eps))
}

// plus is what kernels add to the factors of a norm in case i: 1 in Gemma.
func plus(i int) float32 { return []float32{0, 1, -2.5}[i%3] }

// factors are those of a norm, plus something.
func factors(w []float32, plus float32) []Value {
	f := values(w)
	for i := range f {
		if plus != 0 { // adding 0 is exact
			f[i] = Add(f[i], Exact(plus))
		}
	}
	return f
}

// normGrad is the input gradient of y = x*rstd*w.
func normGrad(dy, x, w []Value, r Value, n int) []Value {
	g, xhat := make([]Value, len(x)), scaled(x, r)
	for j := range x {
		g[j] = Mul(w[j], dy[j])
	}
	mean := Div(Dot(g, xhat), Exact(float32(n)))
	for j := range g {
		g[j] = Mul(r, Sub(g[j], Mul(xhat[j], mean)))
	}
	return g
}

func rmsnormCases(d *data) []Case {
	added := d.kernel == "rmsnorm_residual"
	var cases []Case
	for i, s := range normShapes {
		x, w := d.padded(s.t, s.n, s.ld), d.padded(1, s.n, s.ld)
		bind := []any{x, w}
		var before []float32
		if added {
			before = d.padded(s.t, s.n, s.ld)
			bind = append(bind, before)
		}
		c := d.newCase(s.name()+label(" plus", plus(i)), append(words(s.t, s.n, s.ld), Word(eps), Word(plus(i))), append(bind, unwritten(s.t*s.ld), unwritten(s.t))...)
		f := factors(w, plus(i))
		var y, r []Value
		for t := range s.t {
			row := values(x[t*s.ld:][:s.ld])
			r = append(r, rstd(row, s.n, Exact(eps)))
			for j, v := range scaled(row, r[t]) {
				v = Mul(v, f[j])
				if added {
					v = Add(Exact(before[t*s.ld+j]), v)
				}
				y = append(y, v)
			}
		}
		last := len(c.Want) - 1
		c.Want[last-1], c.Want[last] = y, r
		cases = append(cases, c)
	}
	return cases
}

func rmsnormBackwardDxCases(d *data) []Case {
	var cases []Case
	for i, s := range append(normShapes, normShape{3, 20, 24}) {
		accumulate := i % 2
		dy, x, w := d.padded(s.t, s.n, s.ld), d.padded(s.t, s.n, s.ld), d.padded(1, s.n, s.ld)
		r := d.rstds(s.t)
		before := unwritten(s.t * s.ld)
		if accumulate == 1 {
			before = d.padded(s.t, s.n, s.ld)
		}
		c := d.newCase(s.name()+label(" accumulate", accumulate, "plus", plus(i)), append(words(s.t, s.n, s.ld, accumulate), Word(plus(i))), dy, x, w, r, before)
		var dx []Value
		for t := range s.t {
			row := func(x []float32) []Value { return values(x[t*s.ld:][:s.ld]) }
			for j, g := range normGrad(row(dy), row(x), factors(w, plus(i)), Exact(r[t]), s.n) {
				if accumulate == 1 {
					g = Add(Exact(before[t*s.ld+j]), g)
				}
				dx = append(dx, g)
			}
		}
		c.Want[4] = dx
		cases = append(cases, c)
	}
	return cases
}

// rstds are positive numbers of the size that rstd has.
func (d *data) rstds(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(0.5 + d.Float64())
	}
	return out
}

func rmsnormBackwardDwCases(d *data) []Case {
	var cases []Case
	for _, s := range normShapes {
		dy, x, r, dw := d.padded(s.t, s.n, s.ld), d.padded(s.t, s.n, s.ld), d.rstds(s.t), d.padded(1, s.n, s.ld)
		c := d.newCase(s.name(), words(s.t, s.ld), dy, x, r, dw)
		want := make([]Value, s.ld)
		for j := range want {
			a, b := []Value{Exact(dw[j])}, []Value{Exact(1)}
			for t := range s.t {
				a = append(a, Exact(dy[t*s.ld+j]))
				b = append(b, Mul(Exact(x[t*s.ld+j]), Exact(r[t])))
			}
			want[j] = Dot(a, b)
		}
		c.Want[3] = want
		cases = append(cases, c)
	}
	return cases
}
