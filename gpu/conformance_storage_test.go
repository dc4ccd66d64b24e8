package gpu_test

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// TestStorageAlone: on operands that bf16, or blocks, can hold, a kernel that keeps them so
// gives the bits of the one that keeps float32, and stores what that one stores rounded.
func TestStorageAlone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, ending := range []string{"_bf16", "_q8_0", "_q4_0"} {
			compared := 0
			for _, k := range shaders.Kernels() {
				plain, ok := strings.CutSuffix(k.Name, ending)
				if _, there := shaders.Lookup(plain); !ok || !there {
					continue
				}
				for _, c := range oracle.Cases(k.Name) {
					comparePlain(t, dev, k, plain, c)
					compared++
				}
			}
			if compared == 0 {
				t.Errorf("no kernel with %s was compared", ending)
			}
		}
	})
}

// comparePlain runs a case of a kernel, and with its operands as float32 the kernel plain.
func comparePlain(t *testing.T, dev gpu.Device, k shaders.Kernel, plain string, c oracle.Case) {
	t.Helper()
	got := gputest.Run(t, dev, c)
	same := oracle.Case{Kernel: plain, Name: c.Name, Params: c.Params}
	var kept []int // bindings that plain has too
	for i, b := range k.Bindings {
		data := c.Bind[i]
		switch {
		case b.Name == "scale":
			continue
		case b.BF16():
			data = oracle.UnpackBF16(data.([]uint32))
		case b.Bits() < 16:
			data = oracle.UnpackBlocks(b.Bits(), data.([]uint32), c.Bind[i+1].([]float32))
		}
		kept = append(kept, i)
		same.Bind = append(same.Bind, data)
	}
	for i, want := range gputest.Run(t, dev, same) {
		b := k.Bindings[kept[i]]
		if b.Access == shaders.Read {
			continue
		}
		if b.BF16() {
			want = oracle.PackBF16(want.([]float32))
		}
		if oracle.Hash(got[kept[i]]) != oracle.Hash(want) {
			t.Errorf("%s %s: %s differs from that of %s", k.Name, c.Name, b.Name, plain)
		}
	}
}
