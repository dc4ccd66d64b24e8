package oracle

import "strings"

// Blocks of 32 numbers with a factor. A product of a number of at most 8 bits and a factor
// of 11, as files have it, is exact.

// blockBits is the size of b's numbers in a kernel that keeps it in blocks, else 0.
func blockBits(kernel string) int {
	switch {
	case strings.HasSuffix(kernel, "_q8_0"):
		return 8
	case strings.HasSuffix(kernel, "_q4_0"):
		return 4
	}
	return 0
}

// wholeBlocks is a number of columns that b of the kernel can have: at least n.
func (d *data) wholeBlocks(n int) int {
	if blockBits(d.kernel) == 0 {
		return n
	}
	return (n + 31) / 32 * 32
}

// factors are of blocks: numbers that half precision can hold.
func (d *data) factors(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(d.IntN(4096)-2048) / 4096
	}
	return out
}

// matrix is n numbers for operand b, and what is bound for them: in blocks any numbers and
// factors, else as stored has them.
func (d *data) matrix(n int) (x []float32, bind []any) {
	bits := blockBits(d.kernel)
	if bits == 0 {
		x = d.stored(n)
		return x, []any{x}
	}
	packed, scale := make([]uint32, n*bits/32), d.factors(n/32)
	for i := range packed {
		packed[i] = d.Uint32()
	}
	return UnpackBlocks(bits, packed, scale), []any{packed, scale}
}

// UnpackBlocks are the numbers of blocks: signed ones of so many bits, those of lower
// columns in the lower bits of a word, times the factor of their 32.
func UnpackBlocks(bits int, packed []uint32, scale []float32) []float32 {
	var x []float32
	for _, word := range packed {
		for range 32 / bits {
			number := int(word % (1 << bits))
			if number >= 1<<(bits-1) {
				number -= 1 << bits
			}
			x = append(x, float32(number)*scale[len(x)/32])
			word /= 1 << bits
		}
	}
	return x
}
