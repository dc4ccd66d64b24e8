package gguf

import "math"

// Blocks of 32 elements with one or two scales. Products and sums are rounded to float32
// one by one, as the conversions say.

func decodeQ4_0(block []byte, out []float32) {
	d := Half(block)
	for i, q := range block[2:18] {
		out[i] = float32(int(q&15)-8) * d
		out[i+16] = float32(int(q>>4)-8) * d
	}
}

func decodeQ4_1(block []byte, out []float32) {
	d, m := Half(block), Half(block[2:])
	for i, q := range block[4:20] {
		out[i] = float32(float32(q&15)*d) + m
		out[i+16] = float32(float32(q>>4)*d) + m
	}
}

// fifthBits are the highest bits of elements i and i+16 of a block of 5-bit numbers.
func fifthBits(high uint32, i int) (low, up int) {
	return int(high>>i&1) << 4, int(high>>(i+16)&1) << 4
}

func decodeQ5_0(block []byte, out []float32) {
	d, high := Half(block), le.Uint32(block[2:])
	for i, q := range block[6:22] {
		a, b := fifthBits(high, i)
		out[i] = float32((int(q&15)|a)-16) * d
		out[i+16] = float32((int(q>>4)|b)-16) * d
	}
}

func decodeQ5_1(block []byte, out []float32) {
	d, m, high := Half(block), Half(block[2:]), le.Uint32(block[4:])
	for i, q := range block[8:24] {
		a, b := fifthBits(high, i)
		out[i] = float32(float32(int(q&15)|a)*d) + m
		out[i+16] = float32(float32(int(q>>4)|b)*d) + m
	}
}

func decodeQ8_0(block []byte, out []float32) {
	d := Half(block)
	for i, q := range block[2:34] {
		out[i] = float32(int8(q)) * d
	}
}

// largest is the element with the largest magnitude, the first of them, with its sign.
func largest(in []float32) float32 {
	var most float32
	for _, x := range in {
		if abs(x) > abs(most) {
			most = x
		}
	}
	return most
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// inverse is 1/d, and 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// level is x rounded down to a whole number from 0 to most.
func level(x float64, most int) uint8 { return uint8(min(max(int(x), 0), most)) }

// symmetric finds the levels of a block whose largest element gets level 0: the scale
// is that element divided by minus half of the levels. gguf-py multiplies and adds in
// float64 here, to be equal to compilers that fuse both.
func symmetric(in []float32, levels int) (d float32, q [32]uint8) {
	d = largest(in) / float32(-levels/2)
	id := float64(inverse(d))
	for i, x := range in {
		q[i] = level(float64(x)*id+float64(levels/2)+0.5, levels-1)
	}
	return d, q
}

// ranged finds the levels between least and greatest element.
func ranged(in []float32, levels int) (d, least float32, q [32]uint8) {
	least, most := in[0], in[0]
	for _, x := range in {
		least, most = min(least, x), max(most, x)
	}
	d = (most - least) / float32(levels-1)
	id := inverse(d)
	for i, x := range in {
		scaled := float32((x - least) * id)
		q[i] = level(float64(scaled+0.5), levels-1)
	}
	return d, least, q
}

// putNibbles packs the low four bits: element i with element i+16.
func putNibbles(q [32]uint8, out []byte) {
	for i := range 16 {
		out[i] = q[i]&15 | q[i+16]<<4
	}
}

// putFifth packs the fifth bits.
func putFifth(q [32]uint8, out []byte) {
	var high uint32
	for i, v := range q {
		high |= uint32(v>>4) << i
	}
	le.PutUint32(out, high)
}

func encodeQ4_0(in []float32, block []byte) {
	d, q := symmetric(in, 16)
	putHalf(block, d)
	putNibbles(q, block[2:])
}

func encodeQ4_1(in []float32, block []byte) {
	d, m, q := ranged(in, 16)
	putHalf(block, d)
	putHalf(block[2:], m)
	putNibbles(q, block[4:])
}

func encodeQ5_0(in []float32, block []byte) {
	d, q := symmetric(in, 32)
	putHalf(block, d)
	putFifth(q, block[2:])
	putNibbles(q, block[6:])
}

func encodeQ5_1(in []float32, block []byte) {
	d, m, q := ranged(in, 32)
	putHalf(block, d)
	putHalf(block[2:], m)
	putFifth(q, block[4:])
	putNibbles(q, block[8:])
}

// encodeQ8_0 rounds to nearest, ties away from zero.
func encodeQ8_0(in []float32, block []byte) {
	d := abs(largest(in)) / 127
	id := inverse(d)
	putHalf(block, d)
	for i, x := range in {
		block[2+i] = byte(int8(math.Round(float64(float32(x * id)))))
	}
}
