package tensors

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
)

// TestHostRoundsAsKernel: a model that was loaded and one that a step has rounded
// are the same.
func TestHostRoundsAsKernel(t *testing.T) {
	var x []float32
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x = append(x, math.Float32frombits(upper<<16|lower))
		}
	}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		p := device.NewPool(dev, "test")
		defer p.Free()
		src, dst := p.Words("src", len(x)), p.Words("dst", len(x)/2)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		if err := device.Upload(device.Put(src, x)); err != nil {
			t.Fatal(err)
		}
		runOps(t, dev, []gpu.Op{{Kernel: "round_bf16", Bind: []gpu.View{src, dst}, Params: []uint32{uint32(len(x))}, Size: [3]int{len(x), 1, 1}}})
		got := make([]byte, 2*len(x))
		if err := dst.Buffer.Read(0, got); err != nil {
			t.Fatal(err)
		}
		if want := bf16Bytes(x); !bytes.Equal(got, want) {
			for i := range x {
				if !bytes.Equal(got[2*i:2*i+2], want[2*i:2*i+2]) {
					t.Fatalf("%08x: the kernel has %x, the host %x", math.Float32bits(x[i]), got[2*i:2*i+2], want[2*i:2*i+2])
				}
			}
		}
	})
}

func runOps(t *testing.T, dev gpu.Device, ops []gpu.Op) {
	t.Helper()
	prog, err := dev.Record("test", ops)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Free()
	if err := dev.Submit(prog); err != nil {
		t.Fatal(err)
	}
	if err := dev.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestBlocksPackedAgain: numbers that blocks stand for make the same blocks, so that a
// model that was saved as float32 and read again is the same.
func TestBlocksPackedAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, dtype := range []hf.Dtype{hf.Q8, hf.Q4} {
		data, again := make([]float32, 512*BlockSize), make([]float32, 512*BlockSize)
		for i := range data {
			data[i] = float32(rng.NormFloat64())
		}
		for _, to := range [][]float32{data, again} {
			numbers, scales, err := Storage(dtype).pack(data)
			if err != nil {
				t.Fatal(err)
			}
			Storage(dtype).unpack(numbers, scales, to)
		}
		if !slices.Equal(data, again) {
			t.Errorf("%s: other numbers the second time", dtype)
		}
	}
}
