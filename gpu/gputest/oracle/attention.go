package oracle

import (
	"math"
	"slices"
)

// attentionShape is heads h over kv heads of hd elements.
type attentionShape struct{ h, kv, hd int }

var attentionShapes = []attentionShape{{10, 1, 8}, {2, 2, 24}, {4, 2, 32}, {9, 3, 64}, {2, 1, 200}}

func (s attentionShape) scale() float32 { return float32(1 / math.Sqrt(float64(s.hd))) }

func (s attentionShape) name() string { return label("H", s.h, "KV", s.kv, "hd", s.hd) }

func (s attentionShape) params(t int) []uint32 {
	return append(words(t, s.h, s.kv, s.hd), Word(s.scale()))
}

// head is head i of row t of an array with n heads to the row.
func (s attentionShape) head(x []Value, t, i, n int) []Value { return x[(t*n+i)*s.hd:][:s.hd] }

// softmaxWeight is exp(x-top) as an online softmax has it: the factor reaches
// its last value in at most steps rescalings, which all multiply, and whose
// exponents add up to x-top. Errors of top itself cancel in the quotient.
func softmaxWeight(x Value, top float64, steps int) Value {
	distance := math.Abs(x.X-top) + x.Err
	w := math.Exp(x.X - top)
	inherited := w * math.Expm1(x.Err+unit*distance)
	builtin := (expUlp*float64(steps+1) + 2*distance) * ulp
	return Value{w, inherited + builtin*(w+inherited) + Tolerance(steps+1, w+inherited)}
}

// largest is the greatest X.
func largest(x []Value) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v.X)
	}
	return top
}

// softmax gives the weights before normalisation, their sum and log-sum-exp.
func softmax(x []Value, steps int) (w []Value, sum, lse Value) {
	top := largest(x)
	for _, v := range x {
		w = append(w, softmaxWeight(v, top, steps))
	}
	sum = Sum(w)
	// The device's maximum is that of its own scores.
	worst := 0.0
	for _, v := range x {
		worst = max(worst, v.Err)
	}
	return w, sum, Add(Value{top, worst}, Log(sum))
}

// blocks is how often the maximum may change in a row of n keys.
func blocks(n int) int { return (n + 31) / 32 }

// keyCounts are around the block of 32.
var keyCounts = []int{1, 7, 31, 32, 33, 70}

// keyLists are slots of keys and, for each row, where its list starts and how many
// of it the row sees.
type keyLists struct {
	name        string
	kvidx, meta []uint32
}

// apart gives each row a list of its own, as when tokens of many sequences are
// sampled.
func (d *data) apart(store int) keyLists {
	l := keyLists{name: "rows apart"}
	for _, n := range keyCounts {
		l.meta = append(l.meta, uint32(len(l.kvidx)), uint32(n))
		l.kvidx = append(l.kvidx, d.distinct(n, store)...)
	}
	return l
}

// together gives the rows of a sequence one list, of which each sees one key more
// than the row before it.
func (d *data) together(store int) keyLists {
	l := keyLists{name: "sequences"}
	for _, n := range packed {
		for p := range n {
			l.meta = append(l.meta, uint32(len(l.kvidx)), uint32(p+1))
		}
		l.kvidx = append(l.kvidx, d.distinct(n, store)...)
	}
	return l
}

func attentionCases(d *data) []Case {
	const store = 90
	var cases []Case
	for _, s := range attentionShapes {
		for _, l := range []keyLists{d.apart(store), d.together(store)} {
			t := len(l.meta) / 2
			q, k, v := d.normal(t*s.h*s.hd, 1), d.stored(store*s.kv*s.hd), d.stored(store*s.kv*s.hd)
			stat := d.normal(t*s.h*2, 1)
			c := d.newCase(s.name()+" "+l.name, s.params(t), q, k, v, l.kvidx, l.meta, unwritten(t*s.h*s.hd), stat)
			want := values(stat)
			var o []Value
			for row := range t {
				keys := l.kvidx[l.meta[2*row]:][:l.meta[2*row+1]]
				for h := range s.h {
					var lse Value
					out := s.attend(values(q), values(k), values(v), row, h, keys, &lse)
					o = append(o, out...)
					want[2*(row*s.h+h)] = lse
				}
			}
			c.Want[5], c.Want[6] = o, want
			cases = append(cases, c)
		}
	}
	return cases
}

// attend is one head of one row.
func (s attentionShape) attend(q, k, v []Value, row, h int, keys []uint32, lse *Value) []Value {
	g := h / (s.h / s.kv)
	var scores []Value
	for _, slot := range keys {
		scores = append(scores, Mul(Exact(s.scale()), Dot(s.head(q, row, h, s.h), s.head(k, int(slot), g, s.kv))))
	}
	w, sum, l := softmax(scores, blocks(len(keys)))
	*lse = l
	out := make([]Value, s.hd)
	for i := range out {
		var x []Value
		for _, slot := range keys {
			x = append(x, s.head(v, int(slot), g, s.kv)[i])
		}
		out[i] = Div(Dot(w, x), sum)
	}
	return out
}

func attentionDeltaCases(d *data) []Case {
	var cases []Case
	for i, s := range attentionShapes {
		t := []int{1, 3, 17, 33, 5}[i]
		o, do, stat := d.normal(t*s.h*s.hd, 1), d.normal(t*s.h*s.hd, 1), d.normal(t*s.h*2, 1)
		c := d.newCase(label("T", t)+" "+s.name(), words(t, s.h, s.hd), o, do, stat)
		want := values(stat)
		for j := range t * s.h {
			want[2*j+1] = Dot(values(o[j*s.hd:][:s.hd]), values(do[j*s.hd:][:s.hd]))
		}
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

// packed are the lengths of sequences that lie in one batch, one after the
// other; each token sees the ones before it. Of every 8 rows some belong to one
// sequence and some do not.
var packed = []int{1, 34, 8}

// branches are runs of rows of a tree that follows them: how long each is, and which
// of them it continues. The last rows are fewer than 8.
var branches = []struct{ n, parent int }{{5, -1}, {4, 0}, {3, 1}, {9, 1}, {1, 0}}

// packedBatch is what both backward kernels read.
type packedBatch struct {
	attentionShape
	t              int
	q, k, v, do    []float32
	stat           []float32
	paths          [][]uint32 // rows that each row sees
	kvidx, meta    []uint32   // the same as the kernels read it
	ends           []uint32
	vq, vk, vv, vd []Value
}

// run appends n rows, each of which sees the one before it, and the first of which sees
// what row parent does; -1: nothing.
func (b *packedBatch) run(n, parent int) {
	for range n {
		var path []uint32
		if parent >= 0 {
			path = slices.Clone(b.paths[parent])
		}
		b.paths = append(b.paths, append(path, uint32(b.t)))
		b.meta = append(b.meta, 0, uint32(len(path)+1))
		parent = b.t
		b.t++
	}
}

// lists fills kvidx with the path to each row after which the next one does not
// follow, and points the rows to theirs.
func (b *packedBatch) lists() {
	listed := 0
	for row, path := range b.paths {
		if row+1 < b.t && slices.Contains(b.paths[row+1], uint32(row)) {
			continue
		}
		for ; listed <= row; listed++ {
			b.meta[2*listed] = uint32(len(b.kvidx))
		}
		b.kvidx = append(b.kvidx, path...)
	}
	for row := range b.paths {
		end := row
		for end < b.t && slices.Contains(b.paths[end], uint32(row)) {
			end++
		}
		b.ends = append(b.ends, uint32(end))
	}
}

func (d *data) packedBatch(s attentionShape) packedBatch {
	b := packedBatch{attentionShape: s}
	for _, n := range packed {
		b.run(n, -1)
	}
	var last []int // row of each branch
	for _, branch := range branches {
		parent := -1
		if branch.parent >= 0 {
			parent = last[branch.parent]
		}
		b.run(branch.n, parent)
		last = append(last, b.t-1)
	}
	b.lists()
	b.q, b.do = d.normal(b.t*s.h*s.hd, 1), d.normal(b.t*s.h*s.hd, 1)
	b.k, b.v = d.normal(b.t*s.kv*s.hd, 1), d.normal(b.t*s.kv*s.hd, 1)
	b.vq, b.vk, b.vv, b.vd = values(b.q), values(b.k), values(b.v), values(b.do)
	for row := range b.t {
		for h := range s.h {
			var lse Value
			o := s.attend(b.vq, b.vk, b.vv, row, h, b.paths[row], &lse)
			delta := Dot(o, s.head(b.vd, row, h, s.h))
			b.stat = append(b.stat, float32(lse.X), float32(delta.X))
		}
	}
	return b
}

// pair is the softmax weight and the score gradient of one query and key.
func (b *packedBatch) pair(row, h, key int) (p, ds Value) {
	g := h / (b.h / b.kv)
	scale := Exact(b.scale())
	score := Mul(scale, Dot(b.head(b.vq, row, h, b.h), b.head(b.vk, key, g, b.kv)))
	stat := values(b.stat[2*(row*b.h+h):][:2])
	p = Exp(Sub(score, stat[0]))
	dot := Dot(b.head(b.vd, row, h, b.h), b.head(b.vv, key, g, b.kv))
	return p, Mul(Mul(p, Sub(dot, stat[1])), scale)
}

func attentionBackwardDqCases(d *data) []Case {
	var cases []Case
	for _, s := range attentionShapes {
		b := d.packedBatch(s)
		var dq []Value
		for row := range b.t {
			for h := range s.h {
				var ds []Value
				var keys [][]Value
				for _, key := range b.paths[row] {
					_, g := b.pair(row, h, int(key))
					ds, keys = append(ds, g), append(keys, s.head(b.vk, int(key), h/(s.h/s.kv), s.kv))
				}
				for i := range s.hd {
					dq = append(dq, Dot(ds, across(keys, i)))
				}
			}
		}
		c := d.newCase(s.name(), s.params(b.t), b.q, b.k, b.v, b.do, b.stat, b.kvidx, b.meta, unwritten(b.t*s.h*s.hd))
		c.Want[7] = dq
		cases = append(cases, c)
	}
	return cases
}

func attentionBackwardDkvCases(d *data) []Case {
	var cases []Case
	for _, s := range attentionShapes {
		b := d.packedBatch(s)
		var dk, dv []Value
		for key := range b.t {
			for g := range s.kv {
				var p, ds []Value
				var queries, grads [][]Value
				for h := g * (s.h / s.kv); h < (g+1)*(s.h/s.kv); h++ {
					for row := key; row < int(b.ends[key]); row++ {
						weight, grad := b.pair(row, h, key)
						p, ds = append(p, weight), append(ds, grad)
						queries = append(queries, s.head(b.vq, row, h, s.h))
						grads = append(grads, s.head(b.vd, row, h, s.h))
					}
				}
				for i := range s.hd {
					dk = append(dk, Dot(ds, across(queries, i)))
					dv = append(dv, Dot(p, across(grads, i)))
				}
			}
		}
		c := d.newCase(s.name(), s.params(b.t), b.q, b.k, b.v, b.do, b.stat, slices.Clone(b.ends), unwritten(b.t*s.kv*s.hd), unwritten(b.t*s.kv*s.hd))
		c.Want[6], c.Want[7] = dk, dv
		cases = append(cases, c)
	}
	return cases
}

// across is element i of each row.
func across(rows [][]Value, i int) []Value {
	out := make([]Value, len(rows))
	for r, row := range rows {
		out[r] = row[i]
	}
	return out
}
