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
		want[0] = Exact(1)
		if s.maxNorm > 0 {
			factor := Div(Exact(s.maxNorm), Add(want[1], Exact(1e-6)))
			if factor.X < 1 {
				want[0] = factor
			}
		}
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}
