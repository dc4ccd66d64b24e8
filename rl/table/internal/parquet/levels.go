package parquet

import (
	"encoding/binary"
	"errors"
)

var errShort = errors.New("the page has fewer bytes than its values need")

// hybrid reads integers of a fixed width that are stored in runs: of one value, or of
// groups of eight that are packed bit by bit (Encodings.md, RLE).
type hybrid struct {
	data  []byte
	width int    // bits, up to 32
	left  uint64 // values of the run
	run   bool   // of one value, else packed
	value uint64 // of a run of one value
	bit   int    // where the next packed value begins, in data
	end   int    // of the packed run, bytes
}

func (h *hybrid) next() (uint64, error) {
	for h.left == 0 {
		if !h.run {
			h.data = h.data[h.end:]
			h.bit, h.end = 0, 0
		}
		if err := h.begin(); err != nil {
			return 0, err
		}
	}
	h.left--
	if h.run {
		return h.value, nil
	}
	v, ok := bitsAt(h.data[:h.end], h.bit, h.width)
	h.bit += h.width
	if !ok {
		return 0, errShort
	}
	return v, nil
}

// begin reads the head of a run.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errShort
	}
	h.data = h.data[n:]
	h.left, h.run = head>>1, head&1 == 0
	if !h.run {
		if h.left > uint64(len(h.data)) && h.width > 0 { // writers may leave out the end of the last group
			h.left = uint64(len(h.data))
		}
		h.end = int(min(h.left*uint64(h.width), uint64(len(h.data))))
		h.left *= 8
		return nil
	}
	size := (h.width + 7) / 8
	if len(h.data) < size {
		return errShort
	}
	var buf [8]byte
	copy(buf[:], h.data[:size])
	h.value = binary.LittleEndian.Uint64(buf[:])
	h.data = h.data[size:]
	return nil
}

// bitsAt returns the width bits that begin at a bit of data, lowest first. Bits beyond
// the end are zero; a value that has none of its bits inside is not there.
func bitsAt(data []byte, bit, width int) (uint64, bool) {
	if width == 0 {
		return 0, true
	}
	first := bit / 8
	if first >= len(data) {
		return 0, false
	}
	var buf [16]byte
	copy(buf[:], data[first:])
	shift := uint(bit % 8)
	v := binary.LittleEndian.Uint64(buf[:]) >> shift
	if shift > 0 {
		v |= uint64(buf[8]) << (64 - shift)
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v, true
}

// delta reads integers stored as differences in blocks of miniblocks (Encodings.md,
// DELTA_BINARY_PACKED).
type delta struct {
	data      []byte
	minis     int // miniblocks of a block
	perMini   int // values of a miniblock
	left      uint64
	value     int64
	first     bool // value is the first, which stands in the header
	least     int64
	widths    []byte // of the block's miniblocks that are left
	inMini    int    // values left in the miniblock
	bit, size int    // of the miniblock: where the next value begins, and bytes
}

// maxBlock bounds the values of a block; writers use 128.
const maxBlock = 1 << 16

func newDelta(data []byte, most int64) (*delta, error) {
	var header [3]uint64
	for i := range header {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errShort
		}
		header[i], data = v, data[n:]
	}
	first, n := binary.Varint(data)
	if n <= 0 {
		return nil, errShort
	}
	block, minis, total := header[0], header[1], header[2]
	if block == 0 || block > maxBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 || total > uint64(most) {
		return nil, errors.New("the header of delta-encoded values is damaged")
	}
	return &delta{data: data[n:], minis: int(minis), perMini: int(block / minis), left: total, value: first, first: true}, nil
}

func (d *delta) next() (value, error) {
	if d.left == 0 {
		return value{}, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return value{bits: uint64(d.value)}, nil
	}
	if d.inMini == 0 {
		if err := d.begin(); err != nil {
			return value{}, err
		}
	}
	v, ok := bitsAt(d.data[:d.size], d.bit, int(d.widths[0]))
	if !ok {
		return value{}, errShort
	}
	d.bit += int(d.widths[0])
	d.inMini--
	d.value += d.least + int64(v) // wraps, as the format says
	return value{bits: uint64(d.value)}, nil
}

// begin goes to the next miniblock, and to the next block where the block has no more.
func (d *delta) begin() error {
	d.data = d.data[d.size:]
	d.size, d.bit = 0, 0
	if len(d.widths) > 0 {
		d.widths = d.widths[1:]
	}
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.data)
		if n <= 0 || len(d.data) < n+d.minis {
			return errShort
		}
		d.least, d.widths, d.data = least, d.data[n:n+d.minis], d.data[n+d.minis:]
	}
	if d.widths[0] > 64 {
		return errors.New("the bit width of delta-encoded values is damaged")
	}
	d.size = min(int(d.widths[0])*d.perMini/8, len(d.data))
	d.inMini = d.perMini
	return nil
}

// rest returns the bytes after the last value and leaves d as it is.
func (d *delta) rest() ([]byte, error) {
	end := *d
	if end.first && end.left > 0 {
		end.left--
	}
	for end.left > 0 {
		if end.inMini == 0 {
			if err := end.begin(); err != nil {
				return nil, err
			}
		}
		n := min(end.left, uint64(end.inMini))
		end.left -= n
		end.inMini -= int(n)
	}
	return end.data[end.size:], nil
}
