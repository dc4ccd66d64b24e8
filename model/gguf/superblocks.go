package gguf

import "math"

// Blocks of 256 elements whose groups have scales of their own, and blocks of levels
// that are not evenly spaced (ggml/src/ggml-quants.c).

// decodeQ2K: scales[16], q[64], d, dmin. A group of 16 has a scale and a minimum of four
// bits each.
func decodeQ2K(block []byte, out []float32) {
	scales, q := block[:16], block[16:80]
	d, dmin := Half(block[80:]), Half(block[82:])
	for i := range out {
		group := scales[i/16]
		v := q[i/128*32+i%32] >> (2 * (i / 32 % 4)) & 3
		out[i] = float32(float32(d*float32(group&15))*float32(v)) - float32(dmin*float32(group>>4))
	}
}

// decodeQ3K: high[32], q[64], scales[12], d. A group of 16 has a scale of six bits, of
// which the upper two lie in the last four bytes.
func decodeQ3K(block []byte, out []float32) {
	high, q, packed, d := block[:32], block[32:96], block[96:108], Half(block[108:])
	var scales [16]int
	for i := range scales {
		low := packed[i%8] >> (4 * (i / 8)) & 15
		up := packed[8+i%4] >> (2 * (i / 4)) & 3
		scales[i] = int(low|up<<4) - 32
	}
	for i := range out {
		v := int(q[i/128*32+i%32] >> (2 * (i / 32 % 4)) & 3)
		if high[i%32]>>(i/32)&1 == 0 {
			v -= 4
		}
		out[i] = float32(d*float32(scales[i/16])) * float32(v)
	}
}

// scaleMin unpacks scale and minimum i of eight, six bits each, from 12 bytes.
func scaleMin(packed []byte, i int) (scale, least byte) {
	if i < 4 {
		return packed[i] & 63, packed[i+4] & 63
	}
	return packed[i+4]&15 | packed[i-4]>>6<<4, packed[i+4]>>4 | packed[i]>>6<<4
}

// decodeQ4K: d, dmin, scales[12], q[128].
func decodeQ4K(block []byte, out []float32) {
	d, dmin, packed, q := Half(block), Half(block[2:]), block[4:16], block[16:]
	for i := range out {
		scale, least := scaleMin(packed, i/32)
		v := q[i/64*32+i%32] >> (4 * (i / 32 % 2)) & 15
		out[i] = float32(float32(d*float32(scale))*float32(v)) - float32(dmin*float32(least))
	}
}

// decodeQ5K: d, dmin, scales[12], high[32], q[128].
func decodeQ5K(block []byte, out []float32) {
	d, dmin, packed, high, q := Half(block), Half(block[2:]), block[4:16], block[16:48], block[48:]
	for i := range out {
		scale, least := scaleMin(packed, i/32)
		v := q[i/64*32+i%32]>>(4*(i/32%2))&15 | high[i%32]>>(i/32)&1<<4
		out[i] = float32(float32(d*float32(scale))*float32(v)) - float32(dmin*float32(least))
	}
}

// decodeQ6K: low[128], high[64], scales[16] with sign, d.
func decodeQ6K(block []byte, out []float32) {
	low, high, scales, d := block[:128], block[128:192], block[192:208], Half(block[208:])
	for i := range out {
		part := i % 128 / 32 // quarters of a half share bytes
		v := low[i/128*64+i%32+part%2*32]>>(4*(part/2))&15 | high[i/128*32+i%32]>>(2*part)&3<<4
		out[i] = float32(d*float32(int8(scales[i/16]))) * float32(int(v)-32)
	}
}

// unevenLevels are the levels of IQ4_NL and IQ4_XS (kvalues_iq4nl).
var unevenLevels = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func decodeIQ4NL(block []byte, out []float32) {
	d := Half(block)
	for i, q := range block[2:18] {
		out[i] = d * unevenLevels[q&15]
		out[i+16] = d * unevenLevels[q>>4]
	}
}

// decodeIQ4XS: d, high bits of the scales, low[4], q[128].
func decodeIQ4XS(block []byte, out []float32) {
	d, high, low, q := Half(block), le.Uint16(block[2:]), block[4:8], block[8:]
	for g := range 8 {
		scale := int(low[g/2]>>(4*(g%2))&15) | int(high>>(2*g)&3)<<4
		dl := d * float32(scale-32)
		for i := range 16 {
			v := q[16*g+i]
			out[32*g+i] = dl * unevenLevels[v&15]
			out[32*g+i+16] = dl * unevenLevels[v>>4]
		}
	}
}

// fp4Levels are twice the numbers of E2M1 (kvalues_mxfp4).
var fp4Levels = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// decodeMXFP4: exponent, q[16]. The scale is half of two to the exponent minus 127.
func decodeMXFP4(block []byte, out []float32) {
	d := float32(math.Ldexp(1, int(block[0])-128))
	for i, q := range block[1:17] {
		out[i] = d * fp4Levels[q&15]
		out[i+16] = d * fp4Levels[q>>4]
	}
}
