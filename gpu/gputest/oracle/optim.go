package oracle

func adamwCases(d *data) []Case {
	var cases []Case
	for _, s := range []struct{ n, decay int }{{8, 1}, {24, 0}, {9000, 1}} {
		const b1, b2, eps = float32(0.9), float32(0.999), float32(1e-8)
		p, g, m, v := d.normal(s.n, 1), d.normal(s.n, 1), d.normal(s.n, 0.1), d.normal(s.n, 0.1)
		for i := range v {
			v[i] *= v[i]
		}
		// The third step, with a gradient scaled by 0.5; [1] is not read.
		ctl := []float32{0.5, 99, 1e-2, 0.1, 1 / (1 - 0.9*0.9*0.9), 18.274, 0.1, 0.001}
		params := append(words(s.n), Word(b1), Word(b2), Word(eps), uint32(s.decay))
		c := d.newCase(label("n", s.n, "decay", s.decay), params, p, g, m, v, ctl)
		k := values(ctl)
		var wantP, wantM, wantV []Value
		for i := range s.n {
			grad := Mul(Exact(g[i]), k[0])
			mean := Dot([]Value{Exact(b1), k[6]}, []Value{Exact(m[i]), grad})
			square := Dot([]Value{Exact(b2), k[7]}, []Value{Exact(v[i]), Mul(grad, grad)})
			step := Div(Mul(Mul(k[2], k[4]), mean), Add(Mul(Sqrt(square), k[5]), Exact(eps)))
			keep := Exact(1)
			if s.decay == 1 {
				keep = Sub(keep, Mul(k[2], k[3]))
			}
			wantP = append(wantP, Sub(Mul(Exact(p[i]), keep), step))
			wantM, wantV = append(wantM, mean), append(wantV, square)
		}
		c.Want[0], c.Want[2], c.Want[3] = wantP, wantM, wantV
		cases = append(cases, c)
	}
	return cases
}

// stepped are what a step reads besides p and g: moments, of which those after the first are
// squares, and the controls of the third step with a gradient scaled by 0.5; [1] is not read.
func (d *data) stepped(n, moments int) (arrays [][]float32, ctl []float32) {
	for i := range 2 + moments {
		arrays = append(arrays, d.normal(n, []float64{1, 1, 0.1, 0.1, 0.1}[i]))
	}
	for _, v := range arrays[3:] {
		for i := range v {
			v[i] *= v[i]
		}
	}
	return arrays, []float32{0.5, 99, 1e-2, 0.1, 1 / (1 - 0.9*0.9*0.9), 18.274, 0.1, 0.001}
}

// moved are both moments of element i after a step with a gradient.
func moved(a [][]float32, k []Value, i int, grad Value) (mean, square Value) {
	return Dot([]Value{Exact(0.9), k[6]}, []Value{Exact(a[2][i]), grad}), Dot([]Value{Exact(0.999), k[7]}, []Value{Exact(a[3][i]), Mul(grad, grad)})
}

// adamStep is what Adam takes from a parameter.
func adamStep(k []Value, mean, square Value, eps float32) Value {
	return Div(Mul(Mul(k[2], k[4]), mean), Add(Mul(Sqrt(square), k[5]), Exact(eps)))
}

func adamCases(d *data) []Case {
	const eps = float32(1e-8)
	var cases []Case
	for _, s := range []struct{ n, decay int }{{8, 1}, {24, 0}, {9000, 1}} {
		a, ctl := d.stepped(s.n, 2)
		c := d.newCase(label("n", s.n, "decay", s.decay), append(words(s.n), Word(0.9), Word(0.999), Word(eps), uint32(s.decay)), a[0], a[1], a[2], a[3], ctl)
		k := values(ctl)
		var wantP, wantM, wantV []Value
		for i := range s.n {
			p, grad := Exact(a[0][i]), Mul(Exact(a[1][i]), k[0])
			if s.decay == 1 {
				grad = Add(grad, Mul(k[3], p))
			}
			mean, square := moved(a, k, i, grad)
			wantP = append(wantP, Sub(p, adamStep(k, mean, square, eps)))
			wantM, wantV = append(wantM, mean), append(wantV, square)
		}
		c.Want[0], c.Want[2], c.Want[3] = wantP, wantM, wantV
		cases = append(cases, c)
	}
	return cases
}

func amsgradCases(d *data) []Case {
	const eps = float32(1e-5)
	var cases []Case
	for _, s := range []struct{ n, decay int }{{8, 1}, {24, 0}, {9000, 1}} {
		a, ctl := d.stepped(s.n, 3)
		c := d.newCase(label("n", s.n, "decay", s.decay), append(words(s.n), Word(0.9), Word(0.999), Word(eps), uint32(s.decay)), a[0], a[1], a[2], a[3], a[4], ctl)
		k := values(ctl)
		var wantP, wantM, wantV, wantX []Value
		for i := range s.n {
			mean, square := moved(a, k, i, Mul(Exact(a[1][i]), k[0]))
			most := Value{max(square.X, float64(a[4][i])), square.Err}
			keep := Exact(1)
			if s.decay == 1 {
				keep = Sub(keep, Mul(k[2], k[3]))
			}
			wantP = append(wantP, Sub(Mul(Exact(a[0][i]), keep), adamStep(k, mean, most, eps)))
			wantM, wantV, wantX = append(wantM, mean), append(wantV, square), append(wantX, most)
		}
		c.Want[0], c.Want[2], c.Want[3], c.Want[4] = wantP, wantM, wantV, wantX
		cases = append(cases, c)
	}
	return cases
}

func sgdCases(d *data) []Case {
	var cases []Case
	for _, s := range []struct {
		n               int
		momentum        float32
		nesterov, decay int
	}{{8, 0.9, 0, 1}, {24, 0, 0, 0}, {9000, 0.9, 1, 1}} {
		a, ctl := d.stepped(s.n, 1)
		c := d.newCase(label("n", s.n, "nesterov", s.nesterov, "decay", s.decay), append(words(s.n), Word(s.momentum), uint32(s.nesterov), uint32(s.decay)), a[0], a[1], a[2], ctl)
		k, momentum := values(ctl), Exact(s.momentum)
		var wantP, wantM []Value
		for i := range s.n {
			p, grad := Exact(a[0][i]), Mul(Exact(a[1][i]), k[0])
			if s.decay == 1 {
				grad = Add(grad, Mul(k[3], p))
			}
			mean := Dot([]Value{momentum, k[6]}, []Value{Exact(a[2][i]), grad})
			step := mean
			if s.nesterov == 1 {
				step = Add(grad, Mul(momentum, mean))
			}
			wantP, wantM = append(wantP, Sub(p, Mul(k[2], step))), append(wantM, mean)
		}
		c.Want[0], c.Want[2] = wantP, wantM
		cases = append(cases, c)
	}
	return cases
}

func gradSumsqCases(d *data) []Case {
	const segment = 4096
	var cases []Case
	for _, n := range []int{8, 4096, 9000} {
		const part0 = 3
		count := (n + segment - 1) / segment
		g, part := d.normal(n, 1), d.normal(part0+count+2, 1)
		c := d.newCase(label("n", n), words(n, part0), g, part)
		want := values(part)
		for s := range count {
			x := values(g[s*segment : min((s+1)*segment, n)])
			want[part0+s] = Dot(x, x)
		}
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

func gradClipCases(d *data) []Case {
	var cases []Case
	for _, s := range []struct {
		count   int
		maxNorm float32
	}{{1, 0}, {7, 0.5}, {7, 100}, {5000, 1}} {
		part, ctl := d.normal(s.count, 1), d.normal(8, 1)
		for i := range part {
			part[i] *= part[i]
		}
		c := d.newCase(label("count", s.count, "max", s.maxNorm), append(words(s.count), Word(s.maxNorm)), part, ctl)
		want := values(ctl)
		want[1] = Sqrt(Sum(values(part)))
		want[0] = clipFactor(s.maxNorm, want[1])
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

// unsigned is the sum of numbers without their signs, or the largest of it.
func unsigned(x []float32, largest int) Value {
	list := make([]Value, len(x))
	most := Exact(0)
	for i, v := range x {
		list[i] = Exact(max(v, -v))
		most.X = max(most.X, list[i].X)
	}
	if largest == 1 {
		return most
	}
	return Sum(list)
}

func gradAbsCases(d *data) []Case {
	const segment = 4096
	var cases []Case
	for _, s := range []struct{ n, largest int }{{8, 0}, {4096, 1}, {9000, 0}, {9000, 1}} {
		const part0 = 3
		count := (s.n + segment - 1) / segment
		g, part := d.normal(s.n, 1), d.normal(part0+count+2, 1)
		c := d.newCase(label("n", s.n, "largest", s.largest), words(s.n, part0, s.largest), g, part)
		want := values(part)
		for i := range count {
			want[part0+i] = unsigned(g[i*segment:min((i+1)*segment, s.n)], s.largest)
		}
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

func gradAbsClipCases(d *data) []Case {
	var cases []Case
	for _, s := range []struct {
		count, largest int
		maxNorm        float32
	}{{1, 0, 0}, {7, 0, 0.5}, {7, 1, 100}, {5000, 0, 1}, {5000, 1, 1}} {
		part, ctl := d.normal(s.count, 1), d.normal(8, 1)
		for i := range part {
			part[i] = max(part[i], -part[i])
		}
		c := d.newCase(label("count", s.count, "max", s.maxNorm, "largest", s.largest), append(words(s.count), Word(s.maxNorm), uint32(s.largest)), part, ctl)
		want := values(ctl)
		want[1] = unsigned(part, s.largest)
		want[0] = clipFactor(s.maxNorm, want[1])
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}

// clipFactor is what brings a norm under maxNorm; 0 is no bound.
func clipFactor(maxNorm float32, norm Value) Value {
	if factor := Div(Exact(maxNorm), Add(norm, Exact(1e-6))); maxNorm > 0 && factor.X < 1 {
		return factor
	}
	return Exact(1)
}
