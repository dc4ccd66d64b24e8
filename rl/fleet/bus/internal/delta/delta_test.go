package delta

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// numbers are n floats near some value, and the same after a small change of each share-th.
func numbers(n, share int) (before, after []byte) {
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range n {
		x := float32(rng.NormFloat64())
		before = binary.LittleEndian.AppendUint32(before, math.Float32bits(x))
		if i%share == 0 {
			x += 1e-4 * float32(rng.NormFloat64())
		}
		after = binary.LittleEndian.AppendUint32(after, math.Float32bits(x))
	}
	return before, after
}

// TestDelta: whoever has what was before gets what is after, of any lengths.
func TestDelta(t *testing.T) {
	before, after := numbers(50_000, 3)
	for _, c := range [][2][]byte{{before, after}, {before, before}, {nil, after}, {before, nil}, {before[:1001], after}, {before, after[:1003]}, {{1}, {2}}} {
		for _, d := range [][]byte{Encode(c[0], c[1]), encode(xor(c[0], c[1]), 1), encode(xor(c[0], c[1]), 2), encode(xor(c[0], c[1]), 4)} {
			got, err := Apply(c[0], d, len(c[1]))
			if err != nil || !bytes.Equal(got, c[1]) {
				t.Errorf("%d and %d bytes in planes of %d: %v", len(c[0]), len(c[1]), d[0], err)
			}
		}
	}
	// A third of the numbers changes, and of these the last two bytes of four alone: a sixth
	// of the bytes, and which those are.
	if d := Encode(before, after); len(d) > len(after)/3 {
		t.Errorf("a delta of %d bytes for %d, in planes of %d", len(d), len(after), d[0])
	}
}

// TestRefused: a delta that is cut short, damaged or larger than is accepted.
func TestRefused(t *testing.T) {
	before, after := numbers(1000, 3)
	d := Encode(before, after)
	for n := range d {
		if _, err := Apply(before, d[:n], len(after)); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(d))
		}
	}
	if _, err := Apply(before, d, len(after)-1); err == nil {
		t.Error("more than the accepted bytes")
	}
	less := bytes.Clone(d)
	binary.LittleEndian.PutUint64(less[1:], uint64(len(after)-4)) // and the frame has more
	if _, err := Apply(before, less, len(after)); err == nil {
		t.Error("a frame that has more than the delta says")
	}
	d[0] = 3
	if _, err := Apply(before, d, len(after)); err == nil {
		t.Error("planes of 3")
	}
}

// FuzzApply: no delta breaks the decoder or takes more memory than is accepted.
func FuzzApply(f *testing.F) {
	before, after := numbers(20, 3)
	f.Add(Encode(before, after))
	f.Add(Encode(before, nil))
	f.Fuzz(func(t *testing.T, delta []byte) {
		if out, err := Apply(before, delta, 100); err == nil && len(out) > 100 {
			t.Errorf("%d bytes", len(out))
		}
	})
}
