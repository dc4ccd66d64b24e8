package refdev

import "slices"

// inBlocks runs a product whose b has signed numbers of so many bits, several in a word,
// and after it their factors, one for 32 numbers.
func inBlocks(bits int, product func(*call[float32])) func(*call[float32]) {
	return func(c *call[float32]) {
		words, scale := c.u[1], c.f[2]
		b := make([]float32, len(words)*32/bits)
		for i := range b {
			up := words[i*bits/32] << (32 - bits - i*bits%32) // the number's bits are the highest
			b[i] = float32(int32(up)>>(32-bits)) * scale[i/32]
		}
		c.f[1] = b
		c.f, c.u = slices.Delete(c.f, 2, 3), slices.Delete(c.u, 2, 3)
		product(c)
	}
}
