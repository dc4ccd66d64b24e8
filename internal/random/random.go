package random

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// Rand is a stream of random numbers that is a function of what it was made
// from. It is not safe for concurrent use.
type Rand struct{ source *rand.ChaCha8 }

// At is the generator for element index of a stream. The three numbers are the
// key of a ChaCha8 generator, so that no two elements are related, whatever the
// numbers are.
func At(seed, stream, index uint64) *Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], stream)
	binary.LittleEndian.PutUint64(key[16:], index)
	return &Rand{rand.NewChaCha8(key)}
}

// Uint64 is uniform over all 64-bit numbers.
func (r *Rand) Uint64() uint64 { return r.source.Uint64() }

// Between is uniform over the whole numbers low to high, both included.
//
// It is Lemire's method, "Fast Random Integer Generation in an Interval" (2019,
// https://arxiv.org/abs/1805.10941), written out because math/rand/v2 does not
// promise that its own reduction keeps its results.
func (r *Rand) Between(low, high int) int {
	n := uint64(high-low) + 1
	for {
		over, under := bits.Mul64(r.Uint64(), n)
		if under >= n || under >= -n%n {
			return low + int(over)
		}
	}
}

// Unit is uniform between 0 and 1, neither included: the middles of 2^52 equal parts.
func (r *Rand) Unit() float64 { return (float64(r.Uint64()>>12) + 0.5) / (1 << 52) }

// Chance is true with probability p.
func (r *Rand) Chance(p float64) bool {
	return float64(r.Uint64()>>11) < p*(1<<53)
}

// Shuffled is a random order of the numbers 0 to n-1 (Fisher and Yates).
func (r *Rand) Shuffled(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := r.Between(0, i)
		order[i], order[j] = order[j], order[i]
	}
	return order
}
