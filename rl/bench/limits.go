package bench

import (
	"errors"

	"github.com/rlzero/rlzero/gpu"
)

// Limits are what a device reaches at best.
type Limits struct {
	FLOPS  float64 // operations a second in float32, a multiply-add as two
	Bytes  float64 // a second, to and from its memory
	Launch float64 // seconds that a dispatch takes which does nothing
}

// Measured are the limits of a device as its own kernels reach them: the fastest of some
// square products, a sum of two long arrays, and dispatches of one element. The sheet of
// its maker has the limits of the hardware: what is above 0 in sheet is taken from there.
func Measured(dev gpu.Device, sheet Limits) (Limits, error) {
	m := sheet
	var err error
	if m.FLOPS == 0 {
		// Larger ones while they are short, as a GPU is idle with small ones.
		for n := 512; n <= 4096 && err == nil; n *= 2 {
			var sec float64
			sec, err = timed(dev, func(b []gpu.View) []gpu.Op {
				w := uint32(n)
				return []gpu.Op{{Kernel: "matmul_nt", Bind: []gpu.View{b[0], b[1], b[2]}, Params: []uint32{w, w, w, w, w, w}, Size: [3]int{n, n, 1}}}
			}, n*n, n*n, n*n)
			m.FLOPS = max(m.FLOPS, 2*float64(n)*float64(n)*float64(n)/sec)
			if sec > 0.02 {
				break
			}
		}
	}
	if m.Bytes == 0 && err == nil {
		const n = 16 << 20 // words; more than any cache
		var sec float64
		sec, err = timed(dev, func(b []gpu.View) []gpu.Op {
			return []gpu.Op{{Kernel: "add", Bind: []gpu.View{b[0], b[1]}, Params: []uint32{n}, Size: [3]int{n, 1, 1}}}
		}, n, n)
		m.Bytes = 3 * 4 * n / sec
	}
	if m.Launch == 0 && err == nil {
		const ops = 100
		var sec float64
		sec, err = timed(dev, func(b []gpu.View) []gpu.Op {
			list := make([]gpu.Op, ops)
			for i := range list {
				list[i] = gpu.Op{Kernel: "fill", Bind: []gpu.View{b[0]}, Params: []uint32{8, 0}, Size: [3]int{8, 1, 1}}
			}
			return list
		}, 8)
		m.Launch = sec / ops
	}
	return m, err
}

// limitRepeats is how often what a limit is taken from runs, after once to compile.
const limitRepeats = 5

// timed is the shortest time of a program over buffers of so many words.
func timed(dev gpu.Device, ops func([]gpu.View) []gpu.Op, words ...int) (float64, error) {
	var bind []gpu.View
	for _, n := range words {
		b, err := dev.NewBuffer("limits", 4*n)
		if err != nil {
			return 0, err
		}
		defer b.Free()
		bind = append(bind, gpu.View{Buffer: b})
	}
	p, err := dev.Record("limits", ops(bind))
	if err != nil {
		return 0, err
	}
	defer p.Free()
	run := func() error { return errors.Join(dev.Submit(p), dev.Wait()) }
	if err := run(); err != nil {
		return 0, err
	}
	return best(limitRepeats, run)
}
