package refdev

import "math"

// expandQ8: the bytes of each block, times its scale.
func expandQ8(c *call[float32]) {
	src, dst := c.u[0], c.f[1][:c.n(0)]
	for i := range dst {
		block, j := src[i/32*9:][:9], i%32
		dst[i] = float32(int8(block[1+j/4]>>(8*(j%4)))) * math.Float32frombits(block[0])
	}
}

// expandQ4: the halves of the bytes of each block, less 8, times its scale.
func expandQ4(c *call[float32]) {
	src, dst := c.u[0], c.f[1][:c.n(0)]
	for i := range dst {
		block, j := src[i/32*5:][:5], i%32
		number := int(block[1+j%16/4]>>(8*(j%4)+j/16*4)&15) - 8
		dst[i] = float32(number) * math.Float32frombits(block[0])
	}
}
