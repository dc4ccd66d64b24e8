package gpu

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/shaders"
)

// cores is a device with matrix cores in plain Go. mma adds the products of a block to a
// sum, for element (m, n) of a product of so many rows.
type cores struct {
	Device
	tier Tier
	mma  func(kernel string, rows, m, n int, sum float32, products []float32) float32
}

type coresBuffer struct{ data []byte }

func (b *coresBuffer) Size() int                       { return len(b.data) }
func (b *coresBuffer) Write(at int, data []byte) error { copy(b.data[at:], data); return nil }
func (b *coresBuffer) Read(at int, data []byte) error  { copy(data, b.data[at:]); return nil }
func (*coresBuffer) Free()                             {}
func (b *coresBuffer) at(i int) float32 {
	return math.Float32frombits(binary.NativeEndian.Uint32(b.data[4*i:]))
}
func (c cores) Caps() Caps                                 { return Caps{Name: "a card", Tier: c.tier} }
func (c cores) NewBuffer(_ string, n int) (Buffer, error)  { return &coresBuffer{make([]byte, n)}, nil }
func (c cores) Record(_ string, ops []Op) (Program, error) { return coresProgram(ops), nil }

type coresProgram []Op

func (coresProgram) Free() {}

func (c cores) Submit(p Program) error {
	op := p.(coresProgram)[0]
	a, b, out := op.Bind[0].Buffer.(*coresBuffer), op.Bind[1].Buffer.(*coresBuffer), op.Bind[2].Buffer.(*coresBuffer)
	rows, cols, depth, ldb := int(op.Params[0]), int(op.Params[1]), int(op.Params[2]), int(op.Params[4])
	step, row := 1, ldb
	if op.Kernel == "matmul_nn" {
		step, row = ldb, 1
	}
	columns := make([]float64, 0, cols*depth)
	for n := range cols {
		for k := range depth {
			columns = append(columns, nearestHalf(math.Ldexp(float64(b.at(n*row+k*step)), columnUp)))
		}
	}
	block := c.tier.block()
	products := make([]float32, block)
	for m := range rows {
		var numbers []float32
		for k := range depth {
			numbers = append(numbers, a.at(m*depth+k))
		}
		x, up := rowHalves(numbers)
		for n := range cols {
			var sum float32
			for k := 0; k < depth; k += block {
				clear(products) // zeros after the end
				for i := range min(block, depth-k) {
					products[i] = float32(x[k+i] * columns[n*depth+k+i])
				}
				sum = c.mma(op.Kernel, rows, m, n, sum, products)
			}
			result := float32(math.Ldexp(float64(sum), -up-columnUp))
			binary.NativeEndian.PutUint32(out.data[4*(m*cols+n):], math.Float32bits(result))
		}
	}
	return nil
}

// inOrder adds one product after the other, ascending.
func inOrder(_ string, _, _, _ int, sum float32, products []float32) float32 {
	for _, p := range products {
		sum += p
	}
	return sum
}

func backwards(sum float32, products []float32) float32 {
	slices.Reverse(products)
	return inOrder("", 0, 0, 0, sum, products)
}

// TestMatrixSelfTest: any order will do that is the same everywhere, and no other.
func TestMatrixSelfTest(t *testing.T) {
	for name, c := range map[string]struct {
		mma  func(kernel string, rows, m, n int, sum float32, products []float32) float32
		want string // part of the error; "" for none
	}{
		"ascending":  {inOrder, ""},
		"descending": {func(_ string, _, _, _ int, sum float32, p []float32) float32 { return backwards(sum, p) }, ""},
		"twice": {func(_ string, _, _, _ int, sum float32, p []float32) float32 {
			return inOrder("", 0, 0, 0, inOrder("", 0, 0, 0, sum, p), p)
		}, "should be"},
		"the last block left out": {func(_ string, _, _, _ int, sum float32, p []float32) float32 {
			if p[len(p)-1] == 0 {
				return sum
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "should be"},
		"another order alone": {func(_ string, rows, _, _ int, sum float32, p []float32) float32 {
			if rows == 1 {
				return backwards(sum, p)
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "different bits alone"},
		"another order in one row": {func(_ string, rows, m, _ int, sum float32, p []float32) float32 {
			if m == 3 { // which none of the rows that are tried alone is
				return backwards(sum, p)
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "different bits"},
		"another order in one column": {func(_ string, _, _, n int, sum float32, p []float32) float32 {
			if n == 7 {
				return backwards(sum, p)
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "different bits when it stands at row"},
		"another order across": {func(kernel string, _, _, _ int, sum float32, p []float32) float32 {
			if kernel == "matmul_nn" {
				return backwards(sum, p)
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "matmul_nn of 67 rows gives other bits than matmul_nt of 67"},
		"another order of many rows": {func(_ string, rows, _, _ int, sum float32, p []float32) float32 {
			if rows > 1000 { // as in the shader of the largest tile
				return backwards(sum, p)
			}
			return inOrder("", 0, 0, 0, sum, p)
		}, "matmul_nt of 1025 rows gives other bits than matmul_nt of 67"},
	} {
		err := checkMatrices(cores{tier: TierMatrix, mma: c.mma})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := checkMatrices(cores{tier: TierMatrix8, mma: inOrder}); err != nil {
		t.Errorf("blocks of 8: %v", err)
	}
	if err := checkMatrices(cores{tier: TierWide}); err != nil {
		t.Errorf("a tier without matrix cores is tested: %v", err)
	}
}

// TestMatrixExtents: the self-test runs every shader of the two products of every tier of matrix cores.
func TestMatrixExtents(t *testing.T) {
	for _, tier := range []Tier{TierMatrix, TierMatrix8} {
		for _, kernel := range []string{"matmul_nt", "matmul_nn"} {
			run := map[string]bool{}
			for _, rows := range append(matrixExtents(tier), 1) {
				v, err := shaders.Choose(kernel, string(tier), [3]int{matrixCols, rows, 1})
				if err != nil {
					t.Fatal(err)
				}
				run[v.ID] = true
			}
			for _, v := range shaders.Variants(kernel, string(tier)) {
				if !run[v.ID] {
					t.Errorf("%s is in no part of the self-test", v.ID)
				}
			}
		}
	}
}

// TestNumerics: a version that is a number stands in files as a number.
func TestNumerics(t *testing.T) {
	for text, want := range map[string]Numerics{"2": "2", `"2-mma16"`: "2-mma16", `"2"`: "2"} {
		var n Numerics
		if err := n.UnmarshalJSON([]byte(text)); err != nil || n != want {
			t.Errorf("%s: %q, %v", text, n, err)
		}
		if back, err := n.MarshalJSON(); err != nil || string(back) != strings.Trim(text, `"`) && string(back) != text {
			t.Errorf("%q is written as %s, %v", n, back, err)
		}
	}
	if err := new(Numerics).UnmarshalJSON([]byte("2.5")); err == nil {
		t.Error("2.5 is taken")
	}
}
