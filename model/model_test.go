package model

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
)

// TestLongestSequence: the attention kernels reach the end of the longest sequence
// that a model says it can take, where the driver ends shaders after so many loop
// iterations. All scores are 0: the log-sum-exp of a row is the logarithm of the number
// of its keys, and the first key's value gets a gradient of 1 from each row and head.
// A loop that is cut short is off by 8 keys or more; the sums are whole numbers and
// exact, their logarithm has an error of a few ulp.
func TestLongestSequence(t *testing.T) {
	for _, dev := range gputest.Devices(t) {
		if dev.Caps().MaxLoop == 0 {
			continue // nothing ends its loops
		}
		t.Run(dev.Caps().ID+" "+string(dev.Caps().Tier), func(t *testing.T) {
			for _, c := range []hf.Config{{Heads: 1, KVHeads: 1, HeadDim: 64}, {Heads: 1, KVHeads: 1, HeadDim: 8}, {Heads: 4, KVHeads: 1, HeadDim: 64}} {
				n := longestSequence(c, dev.Caps())
				if got := math.Exp(float64(lastRow(t, dev, c, n))); math.Abs(got-float64(n)) > 4 {
					t.Errorf("%d heads of %d: the log-sum-exp of a row of %d keys is that of %v", c.Heads, c.HeadDim, n, got)
				}
				if got := firstKey(t, dev, c, n); got != float32(n*c.Heads) {
					t.Errorf("%d heads of %d: a key that %d rows read has the gradient %v, want %d", c.Heads, c.HeadDim, n, got, n*c.Heads)
				}
			}
		})
	}
}

// lastRow is the log-sum-exp of one row of n keys, which lie in one slot.
func lastRow(t *testing.T, dev gpu.Device, c hf.Config, n int) float32 {
	t.Helper()
	p := &pool{dev: dev, label: "test"}
	defer p.free()
	width := c.Heads * c.HeadDim
	stat, meta := p.words("stat", 2*c.Heads), p.words("meta", 2)
	bind := []gpu.View{p.words("q", width), p.words("k", c.HeadDim), p.words("v", c.HeadDim), p.words("kvidx", n), meta, p.words("o", width), stat}
	attentionOp(t, p, "attention", c.Heads, 1, bind, c, write{meta, u32Bytes([]uint32{0, u(n)})})
	return firstWord(t, stat)
}

// firstKey is an element of the gradient of the first key's value, which n rows read.
// The other keys are read by their own row alone.
func firstKey(t *testing.T, dev gpu.Device, c hf.Config, n int) float32 {
	t.Helper()
	p := &pool{dev: dev, label: "test"}
	defer p.free()
	rows, keys := n*c.Heads*c.HeadDim, n*c.KVHeads*c.HeadDim
	dout, ends, dv := p.words("do", rows), p.words("ends", n), p.words("dv", keys)
	last := make([]uint32, n)
	for i := range last {
		last[i] = u(i + 1)
	}
	last[0] = u(n)
	bind := []gpu.View{p.words("q", rows), p.words("k", keys), p.words("v", keys), dout, p.words("stat", 2*n*c.Heads), ends, p.words("dk", keys), dv}
	attentionOp(t, p, "attention_backward_dkv", c.KVHeads, n, bind, c,
		write{dout, f32Bytes(slices.Repeat([]float32{1}, rows))}, write{ends, u32Bytes(last)})
	return firstWord(t, dv)
}

// attentionOp runs an attention kernel over rows of x heads after some writes.
func attentionOp(t *testing.T, p *pool, kernel string, x, rows int, bind []gpu.View, c hf.Config, ws ...write) {
	t.Helper()
	if p.err != nil {
		t.Fatal(p.err)
	}
	if err := writeAll(ws...); err != nil {
		t.Fatal(err)
	}
	progs := newPrograms(p.dev, 1)
	defer progs.free()
	err := progs.run(kernel, func(r *recorder) {
		r.op(kernel, x, rows, bind, u(rows), u(c.Heads), u(c.KVHeads), u(c.HeadDim), f(1))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.dev.Wait(); err != nil {
		t.Fatal(err)
	}
}

func firstWord(t *testing.T, v gpu.View) float32 {
	t.Helper()
	var x [1]float32
	if err := readF32(v.Buffer, v.Offset, x[:]); err != nil {
		t.Fatal(err)
	}
	return x[0]
}
