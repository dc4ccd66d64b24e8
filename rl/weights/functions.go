package weights

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/algebra"
)

// column computes the values of a call on a block.
type column func(b block) []float64

// prepare reads what a call needs of a whole tensor.
func (s source) prepare(c algebra.Call) (column, error) {
	switch c.Function {
	case "slerp":
		return slerp(s, c.Models[0], c.Models[1], c.Numbers[0])
	case "ties":
		return ties(s, c.Models[0], c.Numbers[0], c.Models[1:])
	case "dare":
		return dare(s.name, c.Models[0], c.Numbers[0], uint64(c.Numbers[1]), c.Models[1]), nil
	case "random_like":
		return randomLike(s, c.Models[0], uint64(c.Numbers[0]), c.Models[1])
	}
	return nil, fmt.Errorf("nobody computes %s", c.Column)
}

// slerp takes the whole tensor as one vector.
func slerp(s source, a, b string, t float64) (column, error) {
	var aa, bb, ab float64
	err := s.each([]string{a, b}, func(part block) error {
		y := part.values[b]
		for i, x := range part.values[a] {
			x, y := float64(x), float64(y[i])
			aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ofA, ofB := 1-t, t // the straight line, to which the arc tends as its angle goes to 0
	if aa > 0 && bb > 0 {
		cos := max(-1, min(1, ab/(math.Sqrt(aa)*math.Sqrt(bb))))
		if 1+cos <= float64(s.rows*s.cols)*0x1p-52 { // what the sums round
			return nil, fmt.Errorf("tensor %s: %s and %s have opposite directions, between which no arc is the shortest; accepted: other models, or (1 - t)*a + t*b", s.name, a, b)
		}
		if theta := math.Acos(cos); theta > 0 {
			ofA, ofB = math.Sin((1-t)*theta)/math.Sin(theta), math.Sin(t*theta)/math.Sin(theta)
		}
	}
	return func(part block) []float64 {
		out := make([]float64, part.size())
		y := part.values[b]
		for i, x := range part.values[a] {
			out[i] = ofA*float64(x) + ofB*float64(y[i])
		}
		return out
	}, nil
}

// ties keeps of each change its largest numbers, as many as floor(share n) of n and at least one, and
// those that equal the smallest of them.
func ties(s source, base string, share float64, models []string) (column, error) {
	least := make([]float64, len(models))
	for i, name := range models {
		var err error
		if least[i], err = s.largest(base, name, max(1, int(share*float64(s.rows*s.cols)))); err != nil {
			return nil, err
		}
	}
	return func(part block) []float64 {
		out := make([]float64, part.size())
		changes := make([]float64, len(models))
		for e, x := range part.values[base] {
			sum := 0.0
			for i, name := range models {
				if changes[i] = float64(part.values[name][e]) - float64(x); math.Abs(changes[i]) < least[i] {
					changes[i] = 0
				}
				sum += changes[i]
			}
			total, n := 0.0, 0
			for _, d := range changes {
				if d > 0 && sum >= 0 || d < 0 && sum < 0 {
					total += d
					n++
				}
			}
			out[e] = float64(x) + total/float64(max(1, n))
		}
		return out
	}, nil
}

// digit is how many bits of a number one pass of largest finds.
const digit = 16

// largest is the k-th largest absolute number, k from 1, of what a model changes in the tensor. It counts
// digits from the highest down: floats that are not negative have the order of their bits.
func (s source) largest(base, name string, k int) (float64, error) {
	var known uint64
	for shift := 64 - digit; shift >= 0; shift -= digit {
		counts := make([]int, 1<<digit)
		err := s.each([]string{base, name}, func(part block) error {
			for i, x := range part.values[base] {
				bits := math.Float64bits(math.Abs(float64(part.values[name][i]) - float64(x)))
				if bits>>shift>>digit == known {
					counts[bits>>shift&(1<<digit-1)]++
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		d := len(counts) - 1
		for ; d > 0 && k > counts[d]; d-- {
			k -= counts[d]
		}
		known = known<<digit | uint64(d)
	}
	return math.Float64frombits(known), nil
}

// rowDice are the generators of the rows of a tensor: each is drawn anew, so that a block needs nothing of those
// before it.
func rowDice(tensor string, seed uint64) func(row int) *random.Rand {
	h := fnv.New64a()
	h.Write([]byte(tensor)) // never fails
	stream := h.Sum64()
	return func(row int) *random.Rand { return random.At(seed, stream, uint64(row)) }
}

func dare(tensor, base string, p float64, seed uint64, model string) column {
	at := rowDice(tensor, seed)
	return func(part block) []float64 {
		out := make([]float64, part.size())
		var dice *random.Rand
		for i, x := range part.values[base] {
			if i%part.cols == 0 {
				dice = at(part.row + i/part.cols)
			}
			out[i] = float64(x)
			if !dice.Chance(p) {
				out[i] += (float64(part.values[model][i]) - float64(x)) / (1 - p)
			}
		}
		return out
	}
}

// randomLike draws its numbers twice: to measure them all, and block by block.
func randomLike(s source, base string, seed uint64, model string) (column, error) {
	at := rowDice(s.name, seed)
	normals := func(part block) []float64 {
		out := make([]float64, part.size())
		var dice *random.Rand
		for i := range out {
			if i%part.cols == 0 {
				dice = at(part.row + i/part.cols)
			}
			// Box and Muller 1958, doi 10.1214/aoms/1177706645
			out[i] = math.Sqrt(-2*math.Log(dice.Unit())) * math.Cos(2*math.Pi*dice.Unit())
		}
		return out
	}
	var changed, drawn float64 // squares
	err := s.each([]string{base, model}, func(part block) error {
		for i, g := range normals(part) {
			d := float64(part.values[model][i]) - float64(part.values[base][i])
			changed, drawn = changed+d*d, drawn+g*g
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	scale := math.Sqrt(changed / drawn)
	return func(part block) []float64 {
		out := normals(part)
		for i, x := range part.values[base] {
			out[i] = float64(x) + scale*out[i]
		}
		return out
	}, nil
}
