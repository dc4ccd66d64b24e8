package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// head is the length of what stands before the compressed bytes.
const head = 1 + 8

// window is more than zstd wants besides what it decodes, bytes.
const window = 1 << 20

// widths are those that planes may have: bytes of a number.
var widths = []int{1, 2, 4}

// sample is how many bytes tell which width is the best.
const sample = 1 << 20

// Encode is after for whoever has before.
func Encode(before, after []byte) []byte {
	changed := xor(before, after)
	start := min(len(changed)/2, 64<<10) // the head of a file of tensors has no numbers
	some := changed[start:min(len(changed), start+sample)]
	best := encode(some, widths[0])
	for _, width := range widths[1:] {
		if d := encode(some, width); len(d) < len(best) {
			best = d
		}
	}
	return encode(changed, int(best[0]))
}

// encode is the delta that stands for what has changed.
func encode(changed []byte, width int) []byte {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil { // of the options, which are constants
		panic(err)
	}
	out := binary.LittleEndian.AppendUint64([]byte{byte(width)}, uint64(len(changed)))
	return e.EncodeAll(split(changed, width), out)
}

// Apply is what a delta from before encodes, of at most most bytes.
func Apply(before, delta []byte, most int) ([]byte, error) {
	if len(delta) < head {
		return nil, errors.New("a delta is cut short")
	}
	width, n := int(delta[0]), binary.LittleEndian.Uint64(delta[1:])
	if !slices.Contains(widths, width) || n > uint64(most) {
		return nil, fmt.Errorf("a delta of %d bytes in planes of %d; accepted: at most %d, in planes of %v", n, width, most, widths)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*n+window))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	planes, err := d.DecodeAll(delta[head:], make([]byte, 0, n))
	if err == nil && uint64(len(planes)) != n {
		err = fmt.Errorf("a delta has %d bytes in place of %d", len(planes), n)
	}
	if err != nil {
		return nil, err
	}
	return xor(before, join(planes, width)), nil
}

// xor combines two texts; the result is as long as the second.
func xor(before, after []byte) []byte {
	out := slices.Clone(after)
	for i := range min(len(before), len(out)) {
		out[i] ^= before[i]
	}
	return out
}

// split puts byte k of all numbers together, for each k. Bytes that make no whole number
// are at the end.
func split(b []byte, width int) []byte {
	out := make([]byte, len(b))
	n := len(b) / width
	for i := range n {
		for k := range width {
			out[k*n+i] = b[i*width+k]
		}
	}
	copy(out[n*width:], b[n*width:])
	return out
}

// join undoes split.
func join(b []byte, width int) []byte {
	out := make([]byte, len(b))
	n := len(b) / width
	for i := range n {
		for k := range width {
			out[i*width+k] = b[k*n+i]
		}
	}
	copy(out[n*width:], b[n*width:])
	return out
}
