package bench

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/memory"
)

// Bench is what measurements of models have in common.
type Bench struct {
	Device  gpu.Device
	Limits  Limits
	Dtype   hf.Dtype      // how matrices are kept; "": as float32
	Only    string        // cases that do not contain it are left out without a word; "": none is. A number at its end is whole: "batch 1" is not in "batch 16"
	Alone   bool          // what a measurement is compared with is left out
	Longest time.Duration // a measurement that is estimated to take longer is skipped; 0: none is
	Emit    func(Result)
	Left    func(what string) // told of each case that Only leaves out; nil: nobody is

	Told func(command string) // of each program of others that a recipe starts, see [resolve.Open]
}

// numberBytes is what a number of a matrix takes in each storage: blocks of 32 have a
// float32 beside them.
var numberBytes = map[hf.Dtype]float64{hf.F32: 4, hf.BF16: 2, hf.Q8: 1 + 4.0/32, hf.Q4: 0.5 + 4.0/32}

// kept is a shape in the storage of the benchmark, which its name tells unless it is float32; without one a model that
// there is stays in its own.
func (b Bench) kept(s Shape) Shape {
	s.Config.Dtype, s.Name = cmp.Or(b.Dtype, s.Config.Dtype, hf.F32), b.named(s.Name)
	return s
}

// named is the name of a model with the storage of the benchmark.
func (b Bench) named(name string) string {
	if cmp.Or(b.Dtype, hf.F32) != hf.F32 {
		name += ", " + string(b.Dtype)
	}
	return name
}

// skip emits why a case is left out.
func (b Bench) skip(name, what, why string) {
	r := result(b.Device, name, what, 0, "")
	r.Skipped = why
	b.Emit(r)
}

// untrained is why matrices in blocks are left out of what trains them.
func untrained(d hf.Dtype) string { return fmt.Sprintf("matrices in %s cannot be updated", d) }

// leaves tells whether a case is none of those that are asked for.
func (b Bench) leaves(what string) bool {
	asked := regexp.QuoteMeta(b.Only)
	if n := len(b.Only); n > 0 && '0' <= b.Only[n-1] && b.Only[n-1] <= '9' {
		asked += `(\D|$)`
	}
	out := !regexp.MustCompile(asked).MatchString(what)
	if out && b.Left != nil {
		b.Left(what)
	}
	return out
}

// weights are the numbers of weights that a token is multiplied with, of the blocks and of
// the vocabulary: without norms, biases, and the lookup of the embedding.
func (s Shape) weights() (blocks, vocabulary float64) {
	c := s.Config
	layer := c.Width*(c.Heads+2*c.KVHeads)*c.HeadDim + c.Heads*c.HeadDim*c.Width + 3*c.Width*c.MLP
	return float64(c.Layers * layer), float64(c.Vocab * c.Width)
}

// matrices is the number of both.
func (s Shape) matrices() float64 {
	blocks, vocabulary := s.weights()
	return blocks + vocabulary
}

// weightBytes is what reading each of them once moves. The vocabulary's tables beside
// matrices in blocks are bf16.
func (s Shape) weightBytes() float64 {
	blocks, vocabulary := s.weights()
	d, table := cmp.Or(s.Config.Dtype, hf.F32), hf.F32
	if d != hf.F32 {
		table = hf.BF16
	}
	return blocks*numberBytes[d] + vocabulary*numberBytes[table]
}

// update is the work of an update: three products of each weight and token; each weight is
// read by two of them, as it is kept, and in float32 its gradient, moments and itself are read
// and written by the third and by AdamW, which reads the gradient once more for the norm.
func (s Shape) update() work {
	tokens := float64(s.TrainSeqs * s.TrainTokens)
	return work{flops: 6 * s.matrices() * tokens, bytes: s.updateBytes()}
}

func (s Shape) updateBytes() float64 { return 2*s.weightBytes() + 4*(2+2+6)*s.matrices() }

// prefill is the work of reading a prompt, each pair of tokens with two products of a head's
// width, and of the logits of its last token.
func (s Shape) prefill() work {
	g := grouped{config: s.Config, prompt: s.Prompt}
	blocks, vocabulary := s.weights()
	return work{flops: 2*blocks*float64(s.Prompt) + 2*vocabulary + 2*g.pairFlops(), bytes: s.weightBytes()}
}

// round is the work of one token of each sequence of a batch, and bytes of keys and values
// left out: each weight is read once.
func (s Shape) round(batch int) work {
	return work{flops: 2 * s.matrices() * float64(batch), bytes: s.weightBytes()}
}

// What an estimate takes for granted: the share of its limits that a device reaches in a
// whole model, and the seconds that fresh weights and copying them take for each.
const (
	reached = 0.5
	fresh   = 60e-9
)

// needs is what a measurement takes.
type needs struct {
	times float64 // that the work is done
	work  work
	use   memory.Use
	more  int // bytes of memory beside those of use
}

// skips tells whether a measurement is left out, and emits why: it takes too long, the device
// has too little memory, or what it trains cannot be changed. Nothing is emitted of a case that
// nobody asked for.
func (b Bench) skips(name, what string, s Shape, n needs) (bool, error) {
	if b.leaves(what) {
		return true, nil
	}
	skip := func(why string) (bool, error) {
		b.skip(name, what, why)
		return true, nil
	}
	if s.Config.Dtype.Blocked() && n.use.TrainRows > 0 {
		return skip(untrained(s.Config.Dtype))
	}
	plan, err := memory.Plan(s.Config, b.Device.Caps(), n.use)
	if err == nil {
		plan.Add("beside it", n.more, "")
		err = plan.Fits(b.Device.Caps())
	}
	if errors.Is(err, gpu.ErrOutOfMemory) {
		return skip(fmt.Sprintf("it needs %s of memory, the device has %s", gpu.FormatBytes(plan.Total()), gpu.FormatBytes(b.Device.Caps().Memory)))
	}
	if err != nil {
		return false, err
	}
	_, sec := b.Limits.bound(total{work: n.work})
	estimate := n.times*sec/reached + fresh*s.matrices()
	if b.Longest > 0 && estimate > b.Longest.Seconds() {
		return skip(fmt.Sprintf("about %s by an estimate, more than %s", inSeconds(estimate), inSeconds(b.Longest.Seconds())))
	}
	return false, nil
}

// inSeconds is a time for people.
func inSeconds(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g s", x)
	}
	return fmt.Sprintf("%.0f s", x)
}

// rate is what a measurement of so many seconds reaches of the limits.
func (b Bench) rate(w work, seconds float64) *Rate {
	bound, least := b.Limits.bound(total{work: w})
	return &Rate{GFLOPS: w.flops / seconds / 1e9, GBs: w.bytes / seconds / 1e9, Bound: bound, OfBound: least / seconds}
}
