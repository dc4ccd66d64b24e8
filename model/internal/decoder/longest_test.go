package decoder_test

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
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
				n := decoder.LongestSequence(c, dev.Caps())
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
	p := device.NewPool(dev, "test")
	defer p.Free()
	width := c.Heads * c.HeadDim
	stat, meta := p.Words("stat", 2*c.Heads), p.Words("meta", 2)
	bind := []gpu.View{p.Words("q", width), p.Words("k", c.HeadDim), p.Words("v", c.HeadDim), p.Words("kvidx", n), meta, p.Words("o", width), stat}
	attentionOp(t, dev, p, "attention", c.Heads, 1, bind, c, device.Put(meta, []uint32{0, uint32(n)}))
	return firstWord(t, stat)
}

// firstKey is an element of the gradient of the first key's value, which n rows read.
// The other keys are read by their own row alone.
func firstKey(t *testing.T, dev gpu.Device, c hf.Config, n int) float32 {
	t.Helper()
	p := device.NewPool(dev, "test")
	defer p.Free()
	rows, keys := n*c.Heads*c.HeadDim, n*c.KVHeads*c.HeadDim
	dout, ends, dv := p.Words("do", rows), p.Words("ends", n), p.Words("dv", keys)
	last := make([]uint32, n)
	for i := range last {
		last[i] = uint32(i + 1)
	}
	last[0] = uint32(n)
	bind := []gpu.View{p.Words("q", rows), p.Words("k", keys), p.Words("v", keys), dout, p.Words("stat", 2*n*c.Heads), ends, p.Words("dk", keys), dv}
	attentionOp(t, dev, p, "attention_backward_dkv", c.KVHeads, n, bind, c,
		device.Put(dout, slices.Repeat([]float32{1}, rows)), device.Put(ends, last))
	return firstWord(t, dv)
}

// attentionOp runs an attention kernel over rows of x heads after some writes.
func attentionOp(t *testing.T, dev gpu.Device, p *device.Pool, kernel string, x, rows int, bind []gpu.View, c hf.Config, ws ...device.Write) {
	t.Helper()
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	if err := device.Upload(ws...); err != nil {
		t.Fatal(err)
	}
	progs := device.NewPrograms(dev, 1)
	defer progs.Free()
	err := progs.Run(kernel, func(r *device.Recorder) {
		r.Op(kernel, x, rows, bind, uint32(rows), uint32(c.Heads), uint32(c.KVHeads), uint32(c.HeadDim), device.Float(1))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Wait(); err != nil {
		t.Fatal(err)
	}
}

func firstWord(t *testing.T, v gpu.View) float32 {
	t.Helper()
	var x [1]float32
	if err := device.Read(v, x[:]); err != nil {
		t.Fatal(err)
	}
	return x[0]
}
