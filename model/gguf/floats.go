package gguf

import (
	"encoding/binary"
	"math"
)

var le = binary.LittleEndian

func decodeF32(block []byte, out []float32) { out[0] = math.Float32frombits(le.Uint32(block)) }
func encodeF32(in []float32, block []byte)  { le.PutUint32(block, math.Float32bits(in[0])) }

func decodeF16(block []byte, out []float32) { out[0] = Half(block) }
func encodeF16(in []float32, block []byte)  { putHalf(block, in[0]) }

func decodeBF16(block []byte, out []float32) {
	out[0] = math.Float32frombits(uint32(le.Uint16(block)) << 16)
}

// encodeBF16 rounds to nearest, ties to even. A NaN becomes a quiet one.
func encodeBF16(in []float32, block []byte) {
	bits := math.Float32bits(in[0])
	if bits&0x7fffffff > 0x7f800000 {
		bits |= 64 << 16
	} else {
		bits += 0x7fff + bits>>16&1
	}
	le.PutUint16(block, uint16(bits>>16))
}

// Half reads an IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 of fraction.
func Half(b []byte) float32 {
	h := le.Uint16(b)
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero or subnormal: exact in float32
		return math.Float32frombits(math.Float32bits(float32(fraction)*0x1p-24) | sign)
	case 31: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent-15+127)<<23 | fraction<<13)
}

// putHalf rounds to nearest, ties to even; what is too large becomes infinite.
func putHalf(b []byte, x float32) {
	bits := math.Float32bits(x)
	sign := uint16(bits>>16) & 0x8000
	magnitude := bits & 0x7fffffff
	var h uint16
	switch {
	case magnitude > 0x7f800000: // NaN
		h = 0x7e00 | uint16(magnitude>>13)&0x3ff
	case magnitude >= 0x477ff000: // rounds to 65536 or more
		h = 0x7c00
	case magnitude < 0x38800000: // subnormal: a whole number of 2^-24
		h = uint16(math.RoundToEven(math.Abs(float64(x)) * 0x1p24))
	default:
		rounded := magnitude + 0xfff + magnitude>>13&1
		h = uint16(rounded>>13 - (127-15)<<10)
	}
	le.PutUint16(b, sign|h)
}
