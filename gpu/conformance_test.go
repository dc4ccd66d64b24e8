package gpu_test

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/gpu/internal/check"
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
			gputest.EachTier(t, func(t *testing.T, dev gpu.Device) {
				for _, c := range cases {
					gputest.Same(t, dev, c)
				}
			})
		})
	}
}

// TestEveryVariantRuns: a variant that no case selects would be a shader that
// nobody tests.
func TestEveryVariantRuns(t *testing.T) {
	variants, err := shaders.All()
	must(t, err)
	chosen := map[string]bool{}
	for _, v := range variants {
		kernel, _ := shaders.Lookup(v.Kernel)
		for _, c := range oracle.Cases(v.Kernel) {
			size, err := check.Extent(kernel, c.Params)
			must(t, err)
			choice, err := shaders.Choose(v.Kernel, v.Tier, size)
			must(t, err)
			chosen[choice.ID] = true
		}
	}
	for _, v := range variants {
		if !chosen[v.ID] {
			t.Errorf("no case of kernel %s is run by variant %s: add a shape to package oracle", v.Kernel, v.ID)
		}
	}
}

// TestLongArrays needs more workgroups than a device takes in one dimension.
func TestLongArrays(t *testing.T) {
	const n = 8<<20 + 8 // 32 MiB
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b := floats(t, dev, make([]float32, n)...), floats(t, dev, make([]float32, n)...)
		must(t, dev.Submit(record(t, dev, fill(whole(b), 1, n), add(whole(a), whole(b), n), add(whole(a), whole(b), n))))
		wantAll(t, contents(t, a), 2)
	})
}
