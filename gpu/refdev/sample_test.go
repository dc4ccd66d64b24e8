package refdev

import (
	"math"
	"testing"
)

// The vectors are those of Random123's kat_vectors, philox4x32 10.
// https://github.com/DEShawResearch/random123
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.counter, c.key); got != c.want {
			t.Errorf("Philox(%08x, %08x) = %08x, want %08x", c.counter, c.key, got, c.want)
		}
	}
}

// TestGumbel takes the formula from the other side: 1-u instead of u.
func TestGumbel(t *testing.T) {
	for j, word := range []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
		v := (float64(0xffffff-word>>8) + 0.5) / (1 << 24)
		want := -math.Log(-math.Log1p(-v))
		// u = 1-v keeps a rounding of 1, a fraction 1/v of -log(u).
		tolerance := 4 * unit64 * (1/v + math.Abs(want))
		if got := Gumbel(make([]uint32, 8), j); math.Abs(got-want) > tolerance {
			t.Errorf("token %d: %v, want %v", j, got, want)
		}
	}
}
