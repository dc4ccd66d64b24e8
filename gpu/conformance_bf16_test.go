package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// TestBF16ChangesStorageAlone: on operands that bf16 can hold, a kernel that keeps
// them so gives the bits of the one that keeps float32, and stores what that one
// stores rounded.
func TestBF16ChangesStorageAlone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, k := range shaders.Kernels() {
			plain, ok := strings.CutSuffix(k.Name, "_bf16")
			if _, there := shaders.Lookup(plain); !ok || !there {
				continue
			}
			for _, c := range oracle.Cases(k.Name) {
				got := gputest.Run(t, dev, c)
				c.Kernel = plain
				c.Bind = slices.Clone(c.Bind)
				for i, b := range k.Bindings {
					if b.BF16() {
						c.Bind[i] = oracle.UnpackBF16(c.Bind[i].([]uint32))
					}
				}
				for i, want := range gputest.Run(t, dev, c) {
					if k.Bindings[i].BF16() {
						want = oracle.PackBF16(want.([]float32))
					}
					if oracle.Hash(got[i]) != oracle.Hash(want) {
						t.Errorf("%s %s: %s differs from that of %s", k.Name, c.Name, k.Bindings[i].Name, plain)
					}
				}
			}
		}
	})
}
