package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/shaders"
)

// What matrix cores do inside a block is not specified: how they round, and in which order
// they add. A run needs no more than that it is always the same: that an element of a
// product depends on its own row and column alone, wherever they lie, whatever else is in
// the tile, and whichever shader does it. Drivers promise none of that, so a device is
// tried when it is opened, with
//
//   - a product of several tiles, each element of which is held against twin;
//   - rows alone, and as many rows as every other shader of the product is for: their tiles
//     have other sizes;
//   - the rows in reverse and the columns rotated;
//   - b transposed, which another shader again loads in another layout.
//
// All must give the same bits.

// The product of the test: more than a tile each way, and half a block at the end of k.
const (
	matrixRows  = 67
	matrixCols  = 72
	matrixDepth = 344
)

// checkMatrices fails with ErrUnsupported if the matrix cores of a device are wrong, or
// give an element other bits in other places.
func checkMatrices(dev Device) error {
	c := dev.Caps()
	if !c.Tier.Matrices() {
		return nil
	}
	err := tryMatrices(dev, c.Tier.block())
	if err != nil {
		err = hint.With(fmt.Errorf("%w: %s: the matrix cores of tier %s cannot be trusted: %w", ErrUnsupported, c.Name, c.Tier, err), "RLZERO_TIER=T1 does without them")
	}
	return err
}

// block is the side of a block of a tier of matrix cores.
func (t Tier) block() int {
	if t == TierMatrix8 {
		return 8
	}
	return 16
}

func tryMatrices(dev Device, block int) error {
	r := rand.New(rand.NewPCG(1, 2))
	a, b := matrixData(r, matrixRows*matrixDepth), matrixData(r, matrixCols*matrixDepth)
	want, err := product(dev, "matmul_nt", matrixRows, a, b)
	if err != nil {
		return err
	}
	columns := halves(b, columnUp)
	for i := range matrixRows {
		row, up := rowHalves(a[i*matrixDepth:][:matrixDepth])
		for j := range matrixCols {
			sum, bound := twin(row, columns[j*matrixDepth:][:matrixDepth], block)
			got := math.Ldexp(float64(want[i*matrixCols+j]), up+columnUp)
			if !(math.Abs(got-float64(sum)) <= bound) { // a NaN is wrong too
				return fmt.Errorf("element %d of row %d of a product, times 2^%d, is %g, should be %g within %.2g", j, i, up+columnUp, got, sum, bound)
			}
		}
	}
	for _, i := range []int{0, 1, 15, 31, 64, matrixRows - 1} {
		got, err := product(dev, "matmul_nt", 1, a[i*matrixDepth:][:matrixDepth], b)
		if err != nil {
			return err
		}
		if !sameBits(got, want[i*matrixCols:][:matrixCols]) {
			return fmt.Errorf("row %d of a product has different bits alone and among other rows", i)
		}
	}
	const turn = 5
	reversed := permuted(a, matrixDepth, func(i int) int { return matrixRows - 1 - i })
	rotated := permuted(b, matrixDepth, func(j int) int { return (j + turn) % matrixCols })
	got, err := product(dev, "matmul_nt", matrixRows, reversed, rotated)
	if err != nil {
		return err
	}
	for i := range matrixRows {
		row := permuted(want[(matrixRows-1-i)*matrixCols:][:matrixCols], 1, func(j int) int { return (j + turn) % matrixCols })
		if !sameBits(got[i*matrixCols:][:matrixCols], row) {
			return fmt.Errorf("row %d of a product has different bits when it stands at row %d", matrixRows-1-i, i)
		}
	}
	across := make([]float32, len(b))
	for i, x := range b {
		across[i%matrixDepth*matrixCols+i/matrixDepth] = x
	}
	for _, rows := range matrixExtents(dev.Caps().Tier) {
		for _, way := range []struct {
			kernel string
			b      []float32
		}{{"matmul_nt", b}, {"matmul_nn", across}} {
			got, err := product(dev, way.kernel, rows, repeated(a, matrixDepth, rows), way.b)
			if err != nil {
				return err
			}
			if !sameBits(got, repeated(want, matrixCols, rows)) {
				return fmt.Errorf("%s of %d rows gives other bits than matmul_nt of %d", way.kernel, rows, matrixRows)
			}
		}
	}
	return nil
}

// matrixExtents are numbers of rows with which the products of a tier run each of their shaders,
// beside the one for few rows: that of the test, and one more than each shader is for.
func matrixExtents(tier Tier) []int {
	extents := []int{matrixRows}
	for _, kernel := range []string{"matmul_nt", "matmul_nn"} {
		for _, v := range shaders.Variants(kernel, string(tier)) {
			for _, most := range v.MaxSize {
				extents = append(extents, max(matrixRows, most[1]+1))
			}
		}
	}
	slices.Sort(extents)
	return slices.Compact(extents)
}

// repeated is x, in rows of so many numbers, again and again until there are so many rows.
func repeated(x []float32, size, rows int) []float32 {
	return slices.Repeat(x, (rows*size+len(x)-1)/len(x))[:rows*size]
}

// rowHalves is a row of a as matrix cores get it: times 2^up, rounded.
func rowHalves(a []float32) (x []float64, up int) {
	var greatest float64
	for _, v := range a {
		greatest = max(greatest, math.Abs(float64(v)))
	}
	_, exp := math.Frexp(greatest) // greatest is in [2^(exp-1), 2^exp)
	return halves(a, 15-exp), 15 - exp
}

// columnUp is the power of two that b is multiplied by.
const columnUp = 8

func halves(x []float32, up int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = nearestHalf(math.Ldexp(float64(v), up))
	}
	return out
}

// twin is the definition of an element of a product of matrix cores, of a row and a
// column as they get them, with a bound on what the device leaves open: products in a
// block are exact and added as if at once; the device may round each addend twice, the
// sum so far among them. What matmul_t2.wgsl does before and after it is exact, but for
// the rounding to halves.
func twin(x, y []float64, block int) (sum float32, bound float64) {
	var abs float64
	for k := 0; k < len(x); k += block {
		part := float64(sum)
		for i := k; i < min(k+block, len(x)); i++ {
			p := x[i] * y[i]
			part += p
			abs += math.Abs(p)
		}
		sum = float32(part)
	}
	blocks := (len(x) + block - 1) / block
	roundings := 2*(len(x)+blocks) + blocks // those of the device, and of this sum
	return sum, float64(roundings) * 0x1p-24 * abs * (1 + 0x1p-10)
}

// nearestHalf is x rounded to the 11 bits of an f16, ties to even; below 2^-14 it is 0.
func nearestHalf(x float64) float64 {
	_, exp := math.Frexp(x)
	x = math.Ldexp(math.RoundToEven(math.Ldexp(x, 11-exp)), exp-11)
	if math.Abs(x) < 0x1p-14 {
		return 0
	}
	return x
}

// matrixData is n numbers of sizes from 2^-6 to 2^6.
func matrixData(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Ldexp(2*r.Float64()-1, r.IntN(13)-6))
	}
	return x
}

// permuted is x, in pieces of so many numbers, with piece from(i) at place i.
func permuted(x []float32, size int, from func(int) int) []float32 {
	var out []float32
	for i := range len(x) / size {
		out = append(out, x[from(i)*size:][:size]...)
	}
	return out
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// product runs matmul_nt or matmul_nn of rows of a with the test's other extents.
func product(dev Device, kernel string, rows int, a, b []float32) ([]float32, error) {
	out := make([]float32, rows*matrixCols)
	op := Op{Kernel: kernel, Size: [3]int{matrixCols, rows, 1}}
	ldb := matrixDepth
	if kernel == "matmul_nn" {
		ldb = matrixCols
	}
	for _, n := range []int{rows, matrixCols, matrixDepth, matrixDepth, ldb, matrixCols} {
		op.Params = append(op.Params, uint32(n))
	}
	for _, data := range [][]float32{a, b, out} {
		buffer, err := dev.NewBuffer("self-test of matrix cores", 4*len(data))
		if err != nil {
			return nil, err
		}
		defer buffer.Free()
		raw, err := binary.Append(nil, binary.NativeEndian, data)
		if err == nil {
			err = buffer.Write(0, raw)
		}
		if err != nil {
			return nil, err
		}
		op.Bind = append(op.Bind, View{Buffer: buffer})
	}
	program, err := dev.Record("self-test of matrix cores", []Op{op})
	if err != nil {
		return nil, err
	}
	defer program.Free()
	if err := dev.Submit(program); err != nil {
		return nil, err
	}
	raw := make([]byte, 4*len(out))
	if err := op.Bind[2].Buffer.Read(0, raw); err != nil {
		return nil, err
	}
	_, err = binary.Decode(raw, binary.NativeEndian, out)
	return out, err
}
