package oracle

import (
	"math"
	"slices"

	"github.com/rlzero/rlzero/gpu/refdev"
)

// Sampling is the parameters of one row of sample_filter and sample_draw. The
// zero value of each field is not always "off": see shaders/kernels.go.
type Sampling struct {
	InvTemp          float32
	TopK             uint32
	TopP, MinP       float32
	Seed             uint64
	Stream, Position uint32
}

// Words is the row of rowp.
func (s Sampling) Words() []uint32 {
	return []uint32{Word(s.InvTemp), s.TopK, Word(s.TopP), Word(s.MinP), uint32(s.Seed), uint32(s.Seed >> 32), s.Stream, s.Position}
}

// samplings are the filters of the cases, all with some temperature.
var samplings = []Sampling{
	{InvTemp: 1, TopP: 1},
	{InvTemp: 1, TopK: 5, TopP: 1},
	{InvTemp: 1 / 0.7, TopP: 0.9},
	{InvTemp: 0.5, TopP: 1, MinP: 0.1},
	{InvTemp: 1, TopK: 20, TopP: 0.8, MinP: 0.05},
	{InvTemp: 2, TopK: 1000000, TopP: 0.5},
	{InvTemp: 1, TopK: 1, TopP: 1},
	{InvTemp: 1, TopP: 0},
	{InvTemp: 0, TopK: 3, TopP: 0.5, MinP: 0.5}, // greedy: nothing is dropped
}

func sampleFilterCases(d *data) []Case {
	var cases []Case
	for _, s := range []vocabShape{{9, 11, 16}, {9, 53, 56}, {18, 1000, 1008}, {9, 20003, 20008}} {
		deviation := 4.0
		if s.v > 1000 { // a long tail of small shares would leave every border in doubt
			deviation = 16
		}
		logits := d.normal(s.r*s.ld, deviation)
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, []uint32(nil), unwritten(s.r*s.ld))
		rowp, want := []uint32{}, []float32{}
		for r := range s.r {
			p := samplings[r%len(samplings)]
			rowp = append(rowp, p.Words()...)
			row := logits[r*s.ld:][:s.v]
			for !clearBorder(row, p) {
				copy(row, d.normal(s.v, deviation))
			}
			want = append(want, filtered(row, p)...)
			for range s.ld - s.v {
				want = append(want, -infinity)
			}
		}
		c.Bind[1], c.Want[2] = rowp, want
		cases = append(cases, c)
	}
	return append(cases, d.tiedLogits())
}

// tiedLogits has equal logits at the border: of top-k all stay, of top-p those of lower index.
func (d *data) tiedLogits() Case {
	logits := []float32{1, 3, 1, 3, 1, 3, 1, 1, 1, 1, 3, 0, 0, 0, 0, 0}
	c := d.newCase("ties", words(3, 16, 16), slices.Concat(logits, logits, logits), []uint32(nil), unwritten(48))
	// Of the four 3s, each has a share of 0.22: three of them reach 0.6.
	list := []Sampling{{InvTemp: 1, TopK: 6, TopP: 1}, {InvTemp: 1, TopP: 0.6}, {InvTemp: 1, TopK: 2, TopP: 0.6}}
	var rowp []uint32
	var want []float32
	for _, p := range list {
		rowp = append(rowp, p.Words()...)
		want = append(want, filtered(logits, p)...)
	}
	c.Bind[1], c.Want[2] = rowp, want
	return c
}

// ranked are the indices of a row, likeliest first, then by index, and their
// weights against the first.
func ranked(logits []float32, p Sampling) (order []int, weight []float64) {
	for j := range logits {
		order = append(order, j)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if logits[a] == logits[b] {
			return 0
		} else if logits[a] > logits[b] {
			return -1
		}
		return 1
	})
	if p.TopK > 0 {
		last := logits[order[min(int(p.TopK), len(order))-1]]
		order = slices.DeleteFunc(order, func(j int) bool { return logits[j] < last })
	}
	for _, j := range order {
		weight = append(weight, math.Exp(float64(p.InvTemp)*(float64(logits[j])-float64(logits[order[0]]))))
	}
	return order, weight
}

// filtered is the row that sample_filter must leave.
func filtered(logits []float32, p Sampling) []float32 {
	if p.InvTemp == 0 {
		return slices.Clone(logits)
	}
	order, weight := ranked(logits, p)
	total := 0.0
	for _, w := range weight {
		total += w
	}
	out := make([]float32, len(logits))
	for j := range out {
		out[j] = -infinity
	}
	before := 0.0
	for i, j := range order {
		nucleus := p.TopP >= 1 || before < float64(p.TopP)*total
		if i == 0 || nucleus && weight[i] >= float64(p.MinP) {
			out[j] = logits[j]
		}
		before += weight[i]
	}
	return out
}

// clearBorder tells whether no token is closer to a border than a device's
// rounding: top-p compares sums of weights, min-p weights.
func clearBorder(logits []float32, p Sampling) bool {
	_, weight := ranked(logits, p)
	total := 0.0
	for _, w := range weight {
		total += w
	}
	// Each weight is one exponential of a scaled difference.
	slack := Tolerance(len(weight), total) + Exp(Value{0, Tolerance(2, 2*largestOf(logits)*float64(p.InvTemp))}).Err*total
	before := 0.0
	for _, w := range weight {
		if p.TopP < 1 && math.Abs(before-float64(p.TopP)*total) <= slack && p.TopP > 0 {
			return false
		}
		if p.MinP > 0 && math.Abs(w-float64(p.MinP)) <= slack {
			return false
		}
		before += w
	}
	return true
}

// largestOf is the largest magnitude.
func largestOf(x []float32) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	return top
}

// gumbelErr is how far a device's -log(-log(u)) may be off. Near u = 1 the
// inner logarithm must come from 1-u. Three terms of its series up to
// 1-u = 1/8 are off by a fraction (1/8)^3/4 = 2^-11; so is a logarithm off by
// logAbs from 1-u = 2^-9 on. No test of 20000 draws could see 2^-11.
const gumbelErr = 0x1p-11

// drawn is the token that sample_draw must take, and whether the first two
// candidates are too close for devices to agree.
func drawn(logits []float32, p Sampling) (best int, inDoubt bool) {
	rowp := p.Words()
	first, second := math.Inf(-1), math.Inf(-1)
	slack := 0.0
	for j, l := range logits {
		x := float64(l)
		if p.InvTemp != 0 {
			scaled := Mul(Exact(l), Exact(p.InvTemp))
			x = scaled.X + refdev.Gumbel(rowp, j)
			slack = max(slack, scaled.Err+Tolerance(1, math.Abs(x))+gumbelErr)
		}
		if x > first {
			first, second, best = x, first, j
		} else {
			second = max(second, x)
		}
	}
	return best, p.InvTemp != 0 && first-second <= 2*slack
}

func sampleDrawCases(d *data) []Case {
	var cases []Case
	for _, s := range []vocabShape{{5, 11, 16}, {33, 53, 56}, {8, 1000, 1008}, {4, 20003, 20008}} {
		logits := s.logits(d)
		var rowp, want []uint32
		for r := range s.r {
			row := logits[r*s.ld:][:s.v]
			if r%4 == 3 { // as sample_filter leaves it
				copy(row, filtered(row, samplings[1]))
			}
			p := Sampling{InvTemp: []float32{1, 0, 0.7, 2}[r%4], Stream: uint32(r), Position: d.Uint32(), Seed: d.Uint64()}
			best, inDoubt := drawn(row, p)
			for inDoubt {
				p.Position++
				best, inDoubt = drawn(row, p)
			}
			rowp = append(rowp, p.Words()...)
			want = append(want, uint32(best))
		}
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, rowp, make([]uint32, s.r))
		c.Want[2] = want
		cases = append(cases, c)
	}
	return append(cases, d.greedyTies(), d.gumbelTail())
}

// greedyTies: of equal logits the first is taken.
func (d *data) greedyTies() Case {
	logits := []float32{-2, 5, 5, 1, 5, 0, 0, 0}
	c := d.newCase("ties", words(1, 8, 8), logits, Sampling{}.Words(), []uint32{9})
	c.Want[2] = []uint32{1}
	return c
}

// gumbelTail: an unlikely token wins or loses by a quarter of a nat although
// its u is next to 1, where float32 has no numbers left and log(u) is mostly
// error. A device that takes the logarithm there picks such tokens too often, or
// never.
func (d *data) gumbelTail() Case {
	const v, rows, margin = 8, 6, 0.25
	c := d.newCase("u near 1", words(rows, v, v), nil, nil, make([]uint32, rows))
	var logits []float32
	var rowp, want []uint32
	p := Sampling{InvTemp: 1, Seed: 20}
	for r := range rows {
		tail := p.nextTail(v)
		row := d.normal(v, 0.1)
		rest := math.Inf(-1)
		for j, l := range row {
			if j != tail {
				rest = max(rest, float64(l)+refdev.Gumbel(p.Words(), j))
			}
		}
		sign := float64(1 - 2*(r%2)) // wins, loses, wins ...
		row[tail] = float32(rest + sign*margin - refdev.Gumbel(p.Words(), tail))
		best, _ := drawn(row, p)
		logits, rowp, want = append(logits, row...), append(rowp, p.Words()...), append(want, uint32(best))
	}
	c.Bind[0], c.Bind[1], c.Want[2] = logits, rowp, want
	return c
}

// nextTail moves on to a position where some token under v has 1-u < 2^-20,
// about one position in a hundred thousand, and returns the token.
func (s *Sampling) nextTail(v int) int {
	for {
		s.Position++
		for block := range v / 4 {
			key := [2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)}
			for i, word := range refdev.Philox([4]uint32{s.Position, s.Stream, uint32(block), 0}, key) {
				if word >= math.MaxUint32-1<<12 {
					return 4*block + i
				}
			}
		}
	}
}

// sampleMaskCases: all bits, none, and some, whose last word is not full.
func sampleMaskCases(d *data) []Case {
	var cases []Case
	for _, s := range []vocabShape{{5, 11, 16}, {33, 53, 56}, {8, 1000, 1008}, {3, 1024, 1024}} {
		logits, width := s.logits(d), (s.v+31)/32
		allow := make([]uint32, s.r*width)
		want := make([]float32, s.r*s.ld)
		for i := range want {
			want[i] = -1e30
		}
		for r := range s.r {
			for j := range s.v {
				if r%3 == 0 || r%3 == 1 && d.IntN(3) == 0 {
					allow[r*width+j/32] |= 1 << (j % 32)
					want[r*s.ld+j] = logits[r*s.ld+j]
				}
			}
		}
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, allow, unwritten(s.r*s.ld))
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}

// sampleWithinCases: all tokens kept, none, and some, of rows that sample_filter and sample_mask leave.
func sampleWithinCases(d *data) []Case {
	var cases []Case
	for _, s := range []vocabShape{{5, 11, 16}, {33, 53, 56}, {8, 1000, 1008}, {3, 1024, 1024}} {
		logits, kept := s.logits(d), s.logits(d)
		want := make([]float32, s.r*s.ld)
		for i := range want {
			want[i] = -1e30
			r, j := i/s.ld, i%s.ld
			switch {
			case r%3 == 2 || r%3 == 1 && d.IntN(3) > 0: // dropped, the one way or the other
				kept[i] = []float32{-infinity, -1e30}[d.IntN(2)]
			case j < s.v:
				want[i] = logits[i]
			}
		}
		c := d.newCase(s.name(), words(s.r, s.v, s.ld), logits, kept, unwritten(s.r*s.ld))
		c.Want[2] = want
		cases = append(cases, c)
	}
	return cases
}
