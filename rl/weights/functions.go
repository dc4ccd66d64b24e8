package weights

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
)

// Functions are what a formula can call, over models of some names.
func Functions(models []string) []formula.Fact {
	model := func(name string) formula.Argument { return formula.Argument{Name: name, Names: models} }
	number := func(name string) formula.Argument { return formula.Argument{Name: name, Number: true} }
	many := model("a")
	many.Many = true
	return []formula.Fact{
		{Name: "slerp", Level: formula.Token, Takes: []formula.Argument{model("a"), model("b"), number("t")},
			Meaning: "from a (t = 0) to b (t = 1) along the arc between the two tensors; the straight line where they have one direction or one of them is 0",
			Formula: "sin((1 - t) theta)/sin(theta) a + sin(t theta)/sin(theta) b, theta: the angle of a and b",
			Source:  "https://doi.org/10.1145/325165.325242"},
		{Name: "ties", Level: formula.Token, Takes: []formula.Argument{model("base"), number("share"), many},
			Meaning: "base and the merged changes of the models: of each change the share of largest numbers is kept, each element takes the sign of their sum, and the mean of those with that sign is added",
			Formula: "base + mean of the kept a - base whose sign is that of their sum; a sum of 0 counts as positive",
			Source:  "https://arxiv.org/abs/2306.01708"},
		{Name: "dare", Level: formula.Token, Takes: []formula.Argument{model("base"), number("p"), number("seed"), model("a")},
			Meaning: "base and the change of a, of which each number is dropped with chance p and the others are divided by 1 - p; what is dropped depends on the seed, the name of the tensor and the place in it",
			Formula: "base + kept (a - base)/(1 - p)",
			Source:  "https://arxiv.org/abs/2311.03099"},
	}
}

func functionNamed(name string) formula.Fact {
	all := Functions(nil)
	return all[slices.IndexFunc(all, func(f formula.Fact) bool { return f.Name == name })]
}

// usages are the functions as they are written.
func usages() string {
	var all []string
	for _, f := range Functions(nil) {
		all = append(all, f.Usage())
	}
	return strings.Join(all, ", ")
}

// column computes the values of a call on a block.
type column func(b block) []float64

// call is a function with what it is called with.
type call struct {
	column  string   // its name in tables
	models  []string // that it reads
	prepare func(s source) (column, error)
}

// readCalls reads the arguments of the calls in a formula.
func readCalls(written []formula.Call) ([]call, error) {
	var all []call
	for _, w := range written {
		c := call{column: w.Column()}
		var numbers []float64
		takes := functionNamed(w.Fact).Takes
		for i, a := range w.Arguments {
			if !takes[min(i, len(takes)-1)].Number {
				c.models = append(c.models, a)
				continue
			}
			x, err := strconv.ParseFloat(a, 64)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, x)
		}
		refuse := func(name string, found float64, accepted string) error {
			return fmt.Errorf("%s: %s: found %v for %s, accepted: %s", result, c.column, found, name, accepted)
		}
		switch x := numbers[0]; w.Fact {
		case "slerp":
			if !(x >= 0 && x <= 1) {
				return nil, refuse("t", x, "0 to 1")
			}
			c.prepare = func(s source) (column, error) { return slerp(s, c.models[0], c.models[1], x) }
		case "ties":
			if !(x > 0 && x <= 1) {
				return nil, refuse("share", x, "above 0, to 1")
			}
			c.prepare = func(s source) (column, error) { return ties(s, c.models[0], x, c.models[1:]) }
		case "dare":
			if !(x >= 0 && x < 1) {
				return nil, refuse("p", x, "0 to below 1")
			}
			seed := numbers[1]
			if seed < 0 || seed > 1<<53 || seed != math.Trunc(seed) {
				return nil, refuse("seed", seed, "a whole number from 0 to 2^53")
			}
			c.prepare = func(s source) (column, error) {
				return dare(s.name, c.models[0], x, uint64(seed), c.models[1]), nil
			}
		}
		all = append(all, c)
	}
	return all, nil
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

// dare draws for each row of the tensor anew, so that a block needs nothing of those before it.
func dare(tensor, base string, p float64, seed uint64, model string) column {
	h := fnv.New64a()
	h.Write([]byte(tensor)) // never fails
	stream := h.Sum64()
	return func(part block) []float64 {
		out := make([]float64, part.size())
		var dice *random.Rand
		for i, x := range part.values[base] {
			if i%part.cols == 0 {
				dice = random.At(seed, stream, uint64(part.row+i/part.cols))
			}
			out[i] = float64(x)
			if !dice.Chance(p) {
				out[i] += (float64(part.values[model][i]) - float64(x)) / (1 - p)
			}
		}
		return out
	}
}
