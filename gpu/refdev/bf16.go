package refdev

import "math"

// A bf16 is the upper half of a float32. Two lie in a word, the one of even
// column in its low half.

// roundBF16 is x rounded to the nearest bf16, ties to the even one.
func roundBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return uint16(bits>>16) | 0x40 // quiet, so that a NaN of lower bits alone stays one
	}
	return uint16((uint64(bits) + 0x7fff + uint64(bits>>16&1)) >> 16)
}

// pack rounds an even number of elements into words.
func pack(dst []uint32, src []float32) {
	for i := range len(src) / 2 {
		dst[i] = uint32(roundBF16(src[2*i])) | uint32(roundBF16(src[2*i+1]))<<16
	}
}

// unpack is the inverse of pack.
func unpack(dst []float32, src []uint32) {
	for i := range len(dst) / 2 {
		dst[2*i] = math.Float32frombits(src[i] << 16)
		dst[2*i+1] = math.Float32frombits(src[i] &^ 0xffff)
	}
}

func round(c *call[float32])  { pack(c.u[1], c.f[0][:c.n(0)]) }
func expand(c *call[float32]) { unpack(c.f[1][:c.n(0)], c.u[0]) }

// expanded runs a kernel with an operand, which it only reads, as bf16.
func expanded(kernel func(*call[float32]), operand int) func(*call[float32]) {
	return func(c *call[float32]) {
		c.f[operand] = make([]float32, 2*len(c.u[operand]))
		unpack(c.f[operand], c.u[operand])
		kernel(c)
	}
}

// qkRopeBF16 is qkRope into rows of its own, which are rounded into their slots.
func qkRopeBF16(c *call[float32]) {
	p := headsOf(c)
	meta, k, v := c.u[3], c.u[5], c.u[6]
	width := p.kv * p.hd
	own := make([]uint32, 2*p.t)
	for t := range p.t {
		own[2*t], own[2*t+1] = meta[2*t], uint32(t)
	}
	c.u[3], c.f[5], c.f[6] = own, make([]float32, p.t*width), make([]float32, p.t*width)
	qkRope(c)
	for t := range p.t {
		at := int(meta[2*t+1]) * width / 2
		pack(k[at:][:width/2], c.f[5][t*width:][:width])
		pack(v[at:][:width/2], c.f[6][t*width:][:width])
	}
}

// attentionBF16 is attention over the keys and values that the rows read, each
// expanded once.
func attentionBF16(c *call[float32]) {
	p := shapeOf(c)
	k, v, kvidx, meta := c.u[1], c.u[2], c.u[3], c.u[4]
	width := p.kv * p.hd
	row := map[uint32]uint32{} // of the expanded ones, by slot
	index := make([]uint32, len(kvidx))
	for t := range p.t {
		first, n := meta[2*t], meta[2*t+1]
		for i, slot := range kvidx[first:][:n] {
			r, ok := row[slot]
			if !ok {
				r = uint32(len(row))
				row[slot] = r
				at := int(slot) * width / 2
				c.f[1] = append(c.f[1], make([]float32, width)...)
				c.f[2] = append(c.f[2], make([]float32, width)...)
				unpack(c.f[1][int(r)*width:], k[at:])
				unpack(c.f[2][int(r)*width:], v[at:])
			}
			index[int(first)+i] = r
		}
	}
	c.u[3] = index
	attention(c)
}
