package refdev

import (
	"math"
	"testing"
)

// TestRoundBF16 holds the rounding against its definition on all bf16 and what
// lies around them: of the two bf16 on either side of a number the nearer one, of
// two equally near ones the even one.
func TestRoundBF16(t *testing.T) {
	value := func(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }
	for upper := range uint32(1 << 16) {
		for _, lower := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			x := math.Float32frombits(upper<<16 | lower)
			got := roundBF16(x)
			below, above := uint16(upper), uint16(upper)+1 // in magnitude
			low, high := value(below), value(above)
			if math.IsInf(high, 0) { // infinity takes the place of 2^128
				high = math.Copysign(0x1p128, high)
			}
			want := below
			switch d, e := math.Abs(float64(x)-low), math.Abs(high-float64(x)); {
			case x != x:
				want = below | 0x40
			case math.IsInf(low, 0):
			case d > e, d == e && below%2 == 1:
				want = above
			}
			if got != want {
				t.Fatalf("%v (%08x) becomes %04x, want %04x", x, upper<<16|lower, got, want)
			}
		}
	}
}
