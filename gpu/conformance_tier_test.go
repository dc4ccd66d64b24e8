package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// TestWideTierKeepsBits: the shaders of T1 give the bits of those of T0, which the other
// tests hold against the oracle.
func TestWideTierKeepsBits(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles every shader for another tier")
	}
	gputest.EachWide(t, func(t *testing.T, base, wide gpu.Device) {
		compared := 0
		for _, k := range shaders.Kernels() {
			if shaders.Variants(k.Name, string(gpu.TierWide))[0].Tier != string(gpu.TierWide) {
				continue
			}
			for _, c := range append(oracle.Cases(k.Name), wideCases(k)...) {
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

// wideCases are products that fill the largest tiles of T1, in more than one step of k;
// the oracle would need seconds for each.
func wideCases(k shaders.Kernel) []oracle.Case {
	strides := map[string][2]bool{ // whether a and b are read along k
		"matmul_nt": {true, true}, "matmul_nt_q8_0": {true, true}, "matmul_nt_q4_0": {true, true},
		"matmul_nn": {true, false}, "matmul_nn_q8_0": {true, false}, "matmul_nn_q4_0": {true, false},
		"matmul_tn_acc": {false, false},
	}
	along, ok := strides[k.Name]
	if !ok {
		return nil
	}
	m, n, sum := 264, 1056, 96
	c := oracle.Case{Kernel: k.Name, Name: fmt.Sprintf("M=%d N=%d K=%d", m, n, sum), Params: []uint32{uint32(m), uint32(n), uint32(sum), uint32(m), uint32(n), uint32(n)}}
	for i, a := range along {
		if a {
			c.Params[3+i] = uint32(sum)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	sizes := map[string]int{"a": m * sum, "b": n * sum, "scale": n * sum / 32, "c": m * n}
	for _, b := range k.Bindings {
		if b.Bits() < 32 {
			x := make([]uint32, sizes[b.Name]*b.Bits()/32)
			for i := range x {
				x[i] = r.Uint32()
			}
			c.Bind = append(c.Bind, x)
			continue
		}
		x := make([]float32, sizes[b.Name])
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		c.Bind = append(c.Bind, x)
	}
	return []oracle.Case{c}
}
