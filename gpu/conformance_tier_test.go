package gpu_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// TestWideTierKeepsBits: the shaders of T1 give the bits of those of T0, which the other
// tests hold against the oracle.
func TestWideTierKeepsBits(t *testing.T) {
	gputest.EachWide(t, func(t *testing.T, base, wide gpu.Device) {
		compared := 0
		for _, k := range shaders.Kernels() {
			if shaders.Variants(k.Name, string(gpu.TierWide))[0].Tier != string(gpu.TierWide) {
				continue
			}
			for _, c := range oracle.Cases(k.Name) {
				want, got := gputest.Run(t, base, c), gputest.Run(t, wide, c)
				for i, b := range k.Bindings {
					if oracle.Hash(got[i]) != oracle.Hash(want[i]) {
						t.Errorf("%s %s: %s differs", k.Name, c.Name, b.Name)
					}
				}
				compared++
			}
		}
		if compared == 0 {
			t.Error("no kernel has a shader for T1")
		}
	})
}
