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

// TestMatrixCores holds the products of matrix cores against the oracle, with the bounds
// that follow from how they round, and wants a row to have the same bits in every batch,
// and a matrix in every storage.
func TestMatrixCores(t *testing.T) {
	gputest.EachMatrix(t, func(t *testing.T, dev gpu.Device) {
		tier, compared := string(dev.Caps().Tier), 0
		for _, k := range shaders.Kernels() {
			if shaders.Variants(k.Name, tier)[0].Tier != tier {
				continue
			}
			plain := k.Name
			for _, ending := range []string{"_bf16", "_q8_0", "_q4_0"} {
				plain = strings.TrimSuffix(plain, ending)
			}
			cut := slices.IndexFunc(rowwiseKernels, func(r rowwise) bool { return r.kernel == plain })
			for _, c := range oracle.For(dev, k.Name) {
				gputest.Same(t, dev, c)
				want := gputest.Run(t, dev, c)
				for _, part := range []int{1, 17} {
					if part < int(c.Params[0]) {
						rowwiseKernels[cut].compareParts(t, dev, c, part, want)
					}
				}
				if plain != k.Name {
					comparePlain(t, dev, k, plain, c)
				}
				compared++
			}
		}
		if compared == 0 {
			t.Errorf("no kernel has a shader for %s", tier)
		}
	})
}
