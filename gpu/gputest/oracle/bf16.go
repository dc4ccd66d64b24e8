package oracle

import (
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/shaders"
)

// unitBF16 is the unit roundoff of bf16: 8 significant bits.
const unitBF16 = 1.0 / (1 << 8)

// ofBF16 tells whether a kernel keeps operands as bf16.
func ofBF16(kernel string) bool { return strings.HasSuffix(kernel, "_bf16") }

// nearestBF16 is x rounded to 8 significant bits, ties to even, by arithmetic:
// the devices and the plain-Go twin do it on the bits.
func nearestBF16(x float32) float32 {
	const smallest, largest = -133, 0x1.fep127 // exponent of the last bit of subnormals; finite
	v := float64(x)
	if x != x || math.IsInf(v, 0) || v == 0 {
		return x
	}
	_, exp := math.Frexp(v)
	last := max(exp-8, smallest)
	v = math.Ldexp(math.RoundToEven(math.Ldexp(v, -last)), last)
	if math.Abs(v) > largest {
		v = math.Copysign(math.Inf(1), v)
	}
	return float32(math.Copysign(v, float64(x)))
}

// stored is n normally distributed numbers for an operand of which the kernels of
// bf16 hold the nearest ones.
func (d *data) stored(n int) []float32 {
	x := d.normal(n, 1)
	if ofBF16(d.kernel) {
		for i := range x {
			x[i] = nearestBF16(x[i])
		}
	}
	return x
}

// kept is what becomes of results that a kernel of bf16 stores.
func (d *data) kept(x []Value) []Value {
	if !ofBF16(d.kernel) {
		return x
	}
	out := slices.Clone(x)
	for i, v := range x {
		out[i].Err += unitBF16 * v.abs()
	}
	return out
}

// keptExactly is kept for copies.
func (d *data) keptExactly(x []float32) any {
	if !ofBF16(d.kernel) {
		return x
	}
	return PackBF16(x)
}

// PackBF16 rounds numbers to pairs of bf16, as they lie in a device's memory.
func PackBF16(x []float32) []uint32 {
	out := make([]uint32, len(x)/2)
	for i := range out {
		out[i] = half(x[2*i]) | half(x[2*i+1])<<16
	}
	return out
}

// half is the word of one bf16; that of a NaN is made quiet.
func half(x float32) uint32 {
	bits := math.Float32bits(nearestBF16(x)) >> 16
	if x != x {
		bits |= 0x40
	}
	return bits
}

// UnpackBF16 is the inverse of PackBF16.
func UnpackBF16(x []uint32) []float32 {
	out := make([]float32, 2*len(x))
	for i, pair := range x {
		out[2*i] = math.Float32frombits(pair << 16)
		out[2*i+1] = math.Float32frombits(pair >> 16 << 16)
	}
	return out
}

// floats are results as numbers, those of bf16 unpacked.
func floats(x any) []float32 {
	if pairs, ok := x.([]uint32); ok {
		return UnpackBF16(pairs)
	}
	return x.([]float32)
}

// inMemory is a binding's data as the kernel's contract has it.
func inMemory(b shaders.Binding, data any) any {
	if x, ok := data.([]float32); ok && b.BF16() {
		return PackBF16(x)
	}
	return data
}

// around are all bf16, and the float32 that lie at and beside the borders between
// each and the next: zeros, subnormals, infinities and NaN among them.
func around() []float32 {
	var x []float32
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x = append(x, math.Float32frombits(upper<<16|lower))
		}
	}
	return x
}

func roundCases(d *data) []Case {
	inputs := [][]float32{around()}
	for _, n := range lengths {
		inputs = append(inputs, d.normal(n, 1))
	}
	var cases []Case
	for _, x := range inputs {
		c := d.newCase(label("n", len(x)), words(len(x)), x, unwritten(len(x)))
		c.Want[1] = PackBF16(x)
		cases = append(cases, c)
	}
	return cases
}

func expandCases(d *data) []Case {
	inputs := [][]uint32{make([]uint32, 1<<15)}
	for i := range inputs[0] {
		inputs[0][i] = uint32(2*i) | uint32(2*i+1)<<16
	}
	for _, n := range lengths {
		inputs = append(inputs, PackBF16(d.normal(n, 1)))
	}
	var cases []Case
	for _, x := range inputs {
		n := 2 * len(x)
		c := d.newCase(label("n", n), words(n), x, unwritten(n))
		c.Want[1] = UnpackBF16(x)
		cases = append(cases, c)
	}
	return cases
}
