package gpu_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// TestKernels holds every kernel of every device against the float64 oracle.
// A kernel without a case fails: the table and the oracle grow together.
func TestKernels(t *testing.T) {
	for _, k := range shaders.Kernels() {
		t.Run(k.Name, func(t *testing.T) {
			cases := oracle.Cases(k.Name)
			if len(cases) == 0 {
				t.Error("the kernel has no case in package oracle")
			}
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				for _, c := range cases {
					if err := c.Check(dev); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
