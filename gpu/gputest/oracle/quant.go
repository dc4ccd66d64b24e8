package oracle

// Blocks of 32 numbers with a scale. A product of a number of at most 8 bits and a scale
// of 11, as files have it, is exact, so the results are wanted to the bit.

// scales are of blocks: numbers that half precision can hold.
func (d *data) scales(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(d.IntN(4096)-2048) / 4096
	}
	return out
}

// blockCounts are numbers of blocks.
var blockCounts = []int{1, 3, 129, 300}

func expandQ8Cases(d *data) []Case {
	return d.blockCases(9, func(block []uint32, j int) float32 {
		number := int(block[1+j/4]>>(8*(j%4))) & 255
		if number > 127 {
			number -= 256
		}
		return float32(number)
	})
}

func expandQ4Cases(d *data) []Case {
	return d.blockCases(5, func(block []uint32, j int) float32 {
		byteOf := block[1+j%16/4] >> (8 * (j % 4)) & 255
		if j < 16 {
			return float32(byteOf%16) - 8
		}
		return float32(byteOf/16) - 8
	})
}

// blockCases are random blocks of so many words; number takes one apart.
func (d *data) blockCases(size int, number func(block []uint32, j int) float32) []Case {
	var cases []Case
	for _, blocks := range blockCounts {
		src, want := make([]uint32, blocks*size), make([]float32, 32*blocks)
		for b, scale := range d.scales(blocks) {
			block := src[b*size:][:size]
			block[0] = Word(scale)
			for i := range block[1:] {
				block[1+i] = d.Uint32()
			}
			for j := range 32 {
				want[32*b+j] = number(block, j) * scale
			}
		}
		c := d.newCase(label("blocks", blocks), words(32*blocks), src, unwritten(32*blocks))
		c.Want[1] = want
		cases = append(cases, c)
	}
	return cases
}
