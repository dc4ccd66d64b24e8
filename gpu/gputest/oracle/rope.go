package oracle

import (
	"math"
	"slices"
)

// headShape is the layout of a row of queries, keys and values; n of hd
// elements are real.
type headShape struct{ t, h, kv, hd, n, norm int }

var headShapes = []headShape{
	{1, 4, 1, 8, 8, 0}, {3, 9, 3, 64, 64, 0}, {17, 4, 1, 24, 24, 1}, {5, 2, 2, 32, 26, 1}, {33, 4, 2, 16, 12, 0},
}

const positions = 40 // rows of the rope table
const slots = 50     // rows of the key and value stores

// plus is what is added to the factors of the norm.
func (s headShape) plus() float32 { return plus(s.h / 2) }

func (s headShape) name() string {
	return label("T", s.t, "H", s.h, "KV", s.kv, "hd", s.hd, "n", s.n, "norm", s.norm)
}

func (s headShape) params() []uint32 {
	return append(words(s.t, s.h, s.kv, s.hd, s.n), Word(eps), uint32(s.norm), Word(s.plus()))
}

// clear zeroes what is padding in heads of hd elements: the end of each half,
// because the pairs that rotate together are (i, i+hd/2).
func (s headShape) clear(x []float32) []float32 {
	for i := range x {
		if i%(s.hd/2) >= s.n/2 {
			x[i] = 0
		}
	}
	return x
}

// inputs are the bindings that both directions read: qkv, norm, rope, meta.
func (s headShape) inputs(d *data) (qkv, norm, rope []float32, meta []uint32) {
	qkv = s.clear(d.normal(s.t*(s.h+2*s.kv)*s.hd, 1))
	norm = s.clear(d.normal(2*s.hd, 1))
	rope = make([]float32, positions*s.hd)
	for p := range positions {
		for i := range s.hd / 2 {
			sin, cos := math.Sincos(2 * math.Pi * d.Float64())
			rope[p*s.hd+i], rope[p*s.hd+s.hd/2+i] = float32(cos), float32(sin)
		}
	}
	for _, slot := range d.distinct(s.t, slots) {
		meta = append(meta, uint32(d.IntN(positions)), slot)
	}
	return qkv, norm, rope, meta
}

// rotate turns pairs by one row of the rope table, or back.
func rotate(x []Value, rope []float32, back bool) []Value {
	half := len(x) / 2
	y := make([]Value, len(x))
	for i := range half {
		cos, sin := Exact(rope[i]), Exact(rope[half+i])
		if back {
			sin = neg(sin)
		}
		a, b := x[i], x[half+i]
		y[i] = Dot([]Value{a, b}, []Value{cos, neg(sin)})
		y[half+i] = Dot([]Value{b, a}, []Value{cos, sin})
	}
	return y
}

func qkRopeCases(d *data) []Case {
	var cases []Case
	for _, s := range headShapes {
		qkv, norm, rope, meta := s.inputs(d)
		k, v := d.stored(slots*s.kv*s.hd), d.stored(slots*s.kv*s.hd)
		c := d.newCase(s.name(), s.params(), qkv, norm, rope, meta, unwritten(s.t*s.h*s.hd), k, v, unwritten(s.t*(s.h+s.kv)))
		var q, r []Value
		wantK, wantV := values(k), slices.Clone(v)
		for t := range s.t {
			angles := rope[int(meta[2*t])*s.hd:][:s.hd]
			slot := int(meta[2*t+1])
			for i := range s.h + 2*s.kv {
				raw := qkv[(t*(s.h+2*s.kv)+i)*s.hd:][:s.hd]
				if g := i - s.h - s.kv; g >= 0 {
					copy(wantV[(slot*s.kv+g)*s.hd:], raw)
					continue
				}
				x, scale := values(raw), Any()
				if s.norm == 1 {
					scale = rstd(x, s.n, Exact(eps))
					x = scaled(x, scale)
					for j := range x {
						x[j] = Mul(x[j], factors(norm[s.weight(i)+j:][:1], s.plus())[0])
					}
				}
				r = append(r, scale)
				y := rotate(x, angles, false)
				if i < s.h {
					q = append(q, y...)
				} else {
					copy(wantK[(slot*s.kv+i-s.h)*s.hd:], d.kept(y))
				}
			}
		}
		c.Want[4], c.Want[5], c.Want[6], c.Want[7] = q, wantK, d.keptExactly(wantV), r
		cases = append(cases, c)
	}
	return cases
}

// weight is where the norm weights of head i begin.
func (s headShape) weight(i int) int {
	if i < s.h {
		return 0
	}
	return s.hd
}

func qkRopeBackwardCases(d *data) []Case {
	var cases []Case
	for _, s := range headShapes {
		qkv, norm, rope, meta := s.inputs(d)
		dq, dk := s.clear(d.normal(s.t*s.h*s.hd, 1)), s.clear(d.normal(s.t*s.kv*s.hd, 1))
		dv := s.clear(d.normal(s.t*s.kv*s.hd, 1))
		c := d.newCase(s.name(), s.params(), qkv, norm, rope, meta, dq, dk, dv, unwritten(len(qkv)))
		var backQ, backK, dqkv []Value
		for t := range s.t {
			angles := rope[int(meta[2*t])*s.hd:][:s.hd]
			for i := range s.h + 2*s.kv {
				if g := i - s.h - s.kv; g >= 0 {
					dqkv = append(dqkv, values(dv[(t*s.kv+g)*s.hd:][:s.hd])...)
					continue
				}
				var dy []Value
				if i < s.h {
					dy = rotate(values(dq[(t*s.h+i)*s.hd:][:s.hd]), angles, true)
					backQ = append(backQ, dy...)
				} else {
					dy = rotate(values(dk[(t*s.kv+i-s.h)*s.hd:][:s.hd]), angles, true)
					backK = append(backK, dy...)
				}
				if s.norm == 1 {
					x := values(qkv[(t*(s.h+2*s.kv)+i)*s.hd:][:s.hd])
					w := factors(norm[s.weight(i):][:s.hd], s.plus())
					dy = normGrad(dy, x, w, rstd(x, s.n, Exact(eps)), s.n)
				}
				dqkv = append(dqkv, dy...)
			}
		}
		c.Want[4], c.Want[5], c.Want[7] = backQ, backK, dqkv
		cases = append(cases, c)
	}
	return cases
}

func qkNormBackwardDwCases(d *data) []Case {
	var cases []Case
	for _, s := range headShapes {
		// Alternately the query and the key heads of a row.
		all := (s.h + 2*s.kv) * s.hd
		heads, off, roff, dw0 := s.h, 0, 0, 0
		if s.t%2 == 0 || s.norm == 1 {
			heads, off, roff, dw0 = s.kv, s.h*s.hd, s.h, s.hd
		}
		dy, qkv, r, dw := d.normal(s.t*heads*s.hd, 1), d.normal(s.t*all, 1), d.rstds(s.t*(s.h+s.kv)), d.normal(2*s.hd, 1)
		c := d.newCase(s.name()+label(" off", off), words(s.t, heads, s.hd, all, off, s.h+s.kv, roff, dw0), dy, qkv, r, dw)
		want := values(dw)
		for j := range s.hd {
			a, b := []Value{want[dw0+j]}, []Value{Exact(1)}
			for t := range s.t {
				for h := range heads {
					a = append(a, Exact(dy[(t*heads+h)*s.hd+j]))
					b = append(b, Mul(Exact(qkv[t*all+off+h*s.hd+j]), Exact(r[t*(s.h+s.kv)+roff+h])))
				}
			}
			want[dw0+j] = Dot(a, b)
		}
		c.Want[3] = want
		cases = append(cases, c)
	}
	return cases
}
