package check

import (
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// TestEveryKernelHasAnExtent: the expressions of the table are ones that
// Extent understands.
func TestEveryKernelHasAnExtent(t *testing.T) {
	for _, k := range shaders.Kernels() {
		params := make([]uint32, len(k.Params))
		for i := range params {
			params[i] = uint32(i + 2)
		}
		if _, err := Extent(&k, params); err != nil {
			t.Error(err)
		}
	}
}

func TestExtent(t *testing.T) {
	params := []uint32{4097, 3, 0}
	for text, want := range map[string][3]int{
		"n":                   {4097, 1, 1},
		"h, n":                {3, 4097, 1},
		"n+2*h, 5, h":         {4103, 5, 3},
		"ceil(n/4096)":        {2, 1, 1},
		"ceil(n/4097), empty": {1, 1, 1},
		"1":                   {1, 1, 1},
	} {
		k := shaders.Kernel{Name: "test", Params: []string{"n", "h", "empty"}, Size: text}
		got, err := Extent(&k, params)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	k := shaders.Kernel{Name: "test", Params: []string{"n"}, Size: "rows"}
	if _, err := Extent(&k, params); err == nil || !strings.Contains(err.Error(), `"rows"`) {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestBlocks: of products with a matrix in blocks, what runs along a row is whole blocks.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		kernel string
		k, ldb uint32
		want   string // "" if accepted
	}{
		{"matmul_nt_q8_0", 64, 96, ""}, {"matmul_nt_q8_0", 40, 64, "K is 40"}, {"matmul_nt_residual_q4_0", 64, 72, "ldb is 72"},
		{"matmul_nn_q4_0", 40, 64, ""}, {"matmul_nn_acc_q8_0", 40, 72, "ldb is 72"}, {"matmul_nt_bf16", 40, 40, ""}, {"matmul_nt", 40, 40, ""},
	} {
		kernel, _ := shaders.Lookup(c.kernel)
		err := checkBlocks(gpu.Op{Params: []uint32{8, 8, c.k, c.k, c.ldb, 8}}, kernel)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, K %d, ldb %d: %v, want %q", c.kernel, c.k, c.ldb, err, c.want)
		}
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		offset, length int
		want           string // "" if accepted
	}{
		{0, 0, ""}, {0, 16, ""}, {16, 0, ""}, {12, 4, ""},
		{-4, 4, "outside its 16"}, {20, 0, "outside"}, {12, 8, "outside"}, {4, math.MaxInt - 3, "outside"},
		{2, 4, "multiples of 4"}, {4, 3, "multiples of 4"},
	} {
		err := Range(c.offset, c.length, 16)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes at %d: %v, want %q", c.length, c.offset, err, c.want)
		}
	}
}
