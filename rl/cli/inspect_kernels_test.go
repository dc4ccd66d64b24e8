package cli

import (
	"bytes"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

func TestPrintKernels(t *testing.T) {
	var out bytes.Buffer
	err := printKernels(&out, gpu.Info{ID: "vulkan:0", Name: "Card", Driver: "driver 1"}, []gpu.Compiled{
		{Variant: "add.T0", Subgroup: 64, Figures: map[string]float64{"registers": 8, "spills": 0, "occupancy": 32, "code_bytes": 96, "scratch_bytes": 0}},
		{Variant: "matmul_nt.T0.r64", Figures: map[string]float64{"registers": 128, "code_bytes": 5376}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `vulkan:0 Card (driver 1)
  lanes  registers  spills  occupancy  code_bytes  scratch_bytes  kernel
     64          8       0         32          96              0  add.T0
      -        128       -          -        5376              -  matmul_nt.T0.r64
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
