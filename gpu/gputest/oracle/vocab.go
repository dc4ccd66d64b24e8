package oracle

import "math"

// vocabShape is rows of v logits in strides of ld.
type vocabShape struct{ r, v, ld int }

var vocabShapes = []vocabShape{{1, 11, 16}, {3, 53, 56}, {5, 1000, 1008}, {33, 96, 96}, {2, 8, 8}, {2, 20003, 20008}}

func (s vocabShape) name() string { return label("R", s.r, "V", s.v, "ld", s.ld) }

// logits are spread as those of a language model; columns v.. hold a number
// that would show, because kernels must not read them.
func (s vocabShape) logits(d *data) []float32 {
	x := d.normal(s.r*s.ld, 4)
	for i := range x {
		if i%s.ld >= s.v {
			x[i] = 1e6
		}
	}
	return x
}

// invTemps are 1/temperature by row.
func (d *data) invTemps(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = []float32{1, 1 / 0.7, 0.5}[i%3]
	}
	return out
}

// lanes is how many partial sums a row's statistics have at least; the running
// maximum of each changes at most once for every element it sees, and once more
// at each level where partial sums meet.
const lanes = 8

func rescalings(v int) int { return (v+lanes-1)/lanes + 3 }

// stats are the four statistics of one row of scaled logits.
func stats(x []Value, target int) [4]Value {
	w, sum, lse := softmax(x, rescalings(len(x)))
	p := make([]Value, len(x))
	for j := range p {
		p[j] = Div(w[j], sum)
		// The formula with exp(x-lse) has other errors than the quotient.
		p[j].Err = max(p[j].Err, Exp(Sub(x[j], lse)).Err)
	}
	mean := Div(Sum(x), Exact(float32(len(x))))
	return [4]Value{Sub(x[target], lse), Sub(lse, Dot(p, x)), Sub(mean, lse), lse}
}

func vocabStatsCases(d *data) []Case {
	var cases []Case
	for _, s := range vocabShapes {
		logits, target, it := s.logits(d), d.below(s.r, s.v), d.invTemps(s.r)
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, target, it, unwritten(4*s.r))
		var out []Value
		for r := range s.r {
			row := stats(scaled(values(logits[r*s.ld:][:s.v]), Exact(it[r])), int(target[r]))
			out = append(out, row[:]...)
		}
		c.Want[3] = out
		cases = append(cases, c)
	}
	return append(cases, d.wideLogits())
}

// wideLogits has logits whose exponentials overflow or vanish in float32.
func (d *data) wideLogits() Case {
	logits := []float32{300, -300, 299, 0, -1000, 298, 300, 5}
	c := d.newCase("overflow", words(1, 8, 8), logits, []uint32{2}, []float32{1}, unwritten(4))
	row := stats(values(logits), 2)
	c.Want[3] = row[:]
	return c
}

func vocabBackwardCases(d *data) []Case {
	var cases []Case
	for _, s := range vocabShapes {
		logits, target, it := s.logits(d), d.below(s.r, s.v), d.invTemps(s.r)
		weights := d.normal(4*s.r, 1)
		var saved []float32
		var want []Value
		for r := range s.r {
			x := scaled(values(logits[r*s.ld:][:s.v]), Exact(it[r]))
			row := stats(x, int(target[r]))
			for _, v := range row {
				saved = append(saved, float32(v.X))
			}
			g := vocabGrad(x, int(target[r]), values(saved[4*r:]), values(weights[4*r:][:3]))
			want = append(want, scaled(g, Exact(it[r]))...)
			want = append(want, make([]Value, s.ld-s.v)...)
		}
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, target, it, saved, weights)
		c.Want[0] = want
		cases = append(cases, c)
	}
	return cases
}

// vocabGrad is the gradient of one row of scaled logits.
func vocabGrad(x []Value, target int, stat, weight []Value) []Value {
	out := make([]Value, len(x))
	even := Div(Exact(1), Exact(float32(len(x))))
	for j := range out {
		logp := Sub(x[j], stat[3])
		p := Exp(logp)
		hit := Value{}
		if j == target {
			hit = Exact(1)
		}
		out[j] = Sum([]Value{
			Mul(weight[0], Sub(hit, p)),
			neg(Mul(Mul(weight[1], p), Add(logp, stat[1]))),
			Mul(weight[2], Sub(even, p)),
		})
	}
	return out
}

// infinity is what removed logits become.
var infinity = float32(math.Inf(1))

// Vocab are the cases of vocab_stats and vocab_backward for logits [row][column] divided by a
// temperature, with the derivatives by log-prob and entropy that the second one takes. All is
// given in float64; the bounds contain its rounding to float32.
func Vocab(logits [][]float64, target []int, temperature float64, dlogp, dentropy []float64) (forward, backward Case) {
	given := func(x ...float64) []Value {
		var out []Value
		for _, v := range x {
			out = append(out, rounded(v, 0, 1))
		}
		return out
	}
	narrow := func(x []Value) (out []float32) {
		for _, v := range x {
			out = append(out, float32(v.X))
		}
		return out
	}
	r, v := len(logits), len(logits[0])
	ld := (v + 7) / 8 * 8
	var flat, weights, saved []float32
	var targets []uint32
	var its []float32
	var said, grads []Value
	for i, row := range logits {
		it := given(1 / temperature)[0]
		flat = append(append(flat, narrow(given(row...))...), make([]float32, ld-v)...)
		targets, its = append(targets, uint32(target[i])), append(its, float32(it.X))
		x := scaled(given(row...), it)
		s := stats(x, target[i])
		said, saved = append(said, s[:]...), append(saved, narrow(s[:])...)
		w := given(dlogp[i], dentropy[i], 0, 0)
		weights = append(weights, narrow(w)...)
		grads = append(append(grads, scaled(vocabGrad(x, target[i], given(s[0].X, s[1].X, s[2].X, s[3].X), w), it)...), make([]Value, ld-v)...)
	}
	name := label("R", r, "V", v, "ld", ld)
	forward = Case{Kernel: "vocab_stats", Name: name, Params: words(r, v, ld), Bind: []any{flat, targets, its, unwritten(4 * r)}, Want: []any{nil, nil, nil, said}}
	backward = Case{Kernel: "vocab_backward", Name: name, Params: words(r, v, ld), Bind: []any{flat, targets, its, saved, weights}, Want: []any{grads, nil, nil, nil, nil}}
	return forward, backward
}
