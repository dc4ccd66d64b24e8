package model

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
)

// storage is how numbers lie in a device's memory, with what follows for kernels and sizes.
type storage hf.Dtype

const (
	f32  = storage(hf.F32)
	bf16 = storage(hf.BF16)
	q8   = storage(hf.Q8)
	q4   = storage(hf.Q4)
)

// blockSize is how many numbers of a row share a scale in q8_0 and q4_0.
const blockSize = 32

// blockTypes are the storages in blocks: their type in GGUF, and the bits of a number. On the
// device the numbers of a chunk, signed, follow each other without their scales, which
// stand after them as float32: so both can be read in long words.
var blockTypes = map[storage]struct {
	kind gguf.Type
	bits int
}{q8: {gguf.Q8_0, 8}, q4: {gguf.Q4_0, 4}}

// blocked tells whether numbers are kept in blocks, which no update can change.
func (d storage) blocked() bool { return hf.Dtype(d).Blocked() }

// errTrained is the error of a model in blocks that is to be trained.
func (d storage) errTrained() error {
	return fmt.Errorf("dtype: matrices in %s cannot be updated; accepted: an adapter that is trained (lora.rank above 0), or %s, %s", d, f32, bf16)
}

// table is the storage of the vocabulary's tables beside matrices that are kept so: rows
// of them are looked up one by one.
func (d storage) table() storage {
	if d.blocked() {
		return bf16
	}
	return d
}

// bits is the size of a number, the scales of blocks left out.
func (d storage) bits() int {
	switch {
	case d.blocked():
		return blockTypes[d].bits
	case d == bf16:
		return 16
	}
	return 32
}

// scales is the size of the scales of n numbers in bytes; 0 outside of blocks.
func (d storage) scales(n int) int {
	if d.blocked() {
		return n / blockSize * 4
	}
	return 0
}

// packed is the size of n numbers in bytes; 0 for float32, which is not packed.
func (d storage) packed(n int) int {
	if d.bits() == 32 {
		return 0
	}
	return n*d.bits()/8 + d.scales(n)
}

// kernel is the name of a kernel for operands that are kept so.
func (d storage) kernel(name string) string {
	if d.bits() == 32 {
		return name
	}
	return name + "_" + string(d)
}

// matrix is a matrix of a device as kernels bind it.
type matrix struct {
	storage         storage
	numbers, scales gpu.View // scales: of blocks alone
}

// from is what a product binds of the rows from a row on, each of ld numbers.
func (m matrix) from(row, ld int) []gpu.View {
	views := []gpu.View{at(m.numbers, row*ld*m.storage.bits()/32)}
	if m.storage.blocked() {
		views = append(views, at(m.scales, m.storage.scales(row*ld)/4))
	}
	return views
}

// store is where tensors lie by region.
type store interface {
	write(r *region, b band) error
	read(r *region, b band) error // into b.data
}

// parameters are a model's, in one of three forms:
//
//	                       vectors   matrices
//	f32                    float32   float32
//	bf16                   float32   float32, which the optimizer updates, and their copy in bf16
//	bf16, in blocks, frozen  float32   packed
//
// Forward and backward pass read the copy where there is one, so sampler and
// trainer see the same rounded weights; the gradient is that of the rounded
// weights and goes to the float32 ones as it is.
type parameters struct {
	arena        // float32; nil for chunks that are packed alone
	packed arena // nil for chunks of float32
	chunks []chunk
}

func (l *tensors) newParameters(dev gpu.Device, frozen bool) (parameters, error) {
	p := parameters{chunks: l.chunks}
	var err error
	size := chunk.whole
	if frozen {
		size = chunk.unpacked
	}
	if p.arena, err = l.newArena(dev, "parameters", size); err != nil {
		return p, err
	}
	if p.packed, err = l.newArena(dev, "packed parameters", chunk.packed); err != nil {
		p.free()
		return parameters{}, err
	}
	return p, nil
}

func (p parameters) free() {
	p.arena.free()
	p.packed.free()
}

// matrix is what the passes read of a matrix.
func (p parameters) matrix(r *region) matrix {
	b, d := p.packed[r.chunk], p.chunks[r.chunk].storage
	if b == nil {
		return matrix{numbers: p.view(r)}
	}
	off, n, all := r.off/4, r.bytes()/4, p.chunks[r.chunk].size/4
	return matrix{
		storage: d,
		numbers: gpu.View{Buffer: b, Offset: off * d.bits() / 8, Size: n * d.bits() / 8},
		scales:  gpu.View{Buffer: b, Offset: all*d.bits()/8 + d.scales(off), Size: d.scales(n)},
	}
}

func (p parameters) write(r *region, b band) error {
	if p.arena[r.chunk] != nil {
		if err := p.arena.write(r, b); err != nil {
			return err
		}
	}
	if p.packed[r.chunk] == nil {
		return nil
	}
	m := p.matrix(r)
	d := m.storage
	numbers, scales, err := d.pack(b.data)
	if err != nil {
		return err
	}
	for row, blocks := range b.blocks {
		if blocks != nil {
			n, s := d.spread(blocks)
			copy(numbers[row*len(n):], n)
			copy(scales[row*len(s):], s)
		}
	}
	first := b.first * r.cols
	return writeAll(write{at(m.numbers, first*d.bits()/32), numbers}, write{at(m.scales, d.scales(first)/4), scales})
}

func (p parameters) read(r *region, b band) error {
	if p.arena[r.chunk] != nil {
		return p.arena.read(r, b)
	}
	m := p.matrix(r)
	d, first, n := m.storage, b.first*r.cols, len(b.data)
	numbers, scales := make([]byte, n*d.bits()/8), make([]byte, d.scales(n))
	if err := m.numbers.Buffer.Read(m.numbers.Offset+first*d.bits()/8, numbers); err != nil {
		return err
	}
	if err := m.scales.Buffer.Read(m.scales.Offset+d.scales(first), scales); err != nil {
		return err
	}
	d.unpack(numbers, scales, b.data)
	return nil
}

// recordRound records the rounding of the float32 matrices into their copies.
func (p parameters) recordRound(r *recorder) {
	for i, b := range p.packed {
		if b != nil {
			size := p.chunks[i].size
			r.op("round_bf16", size/4, 1, []gpu.View{{Buffer: p.arena[i], Size: size}, {Buffer: b, Size: size / 2}}, u(size/4))
		}
	}
}

// pack is numbers as the kernels read them in a storage, and the scales of blocks.
func (d storage) pack(v []float32) (numbers, scales []byte, err error) {
	if d == bf16 {
		return bf16Bytes(v), nil, nil
	}
	blocks, err := blockTypes[d].kind.Quantize(v)
	if err != nil {
		return nil, nil, err
	}
	numbers, scales = d.spread(blocks)
	return numbers, scales, nil
}

// spread is GGUF blocks as the kernels read them.
func (d storage) spread(blocks []byte) (numbers, scales []byte) {
	_, size := blockTypes[d].kind.Block()
	count := len(blocks) / size
	numbers, scales = make([]byte, 0, count*(size-2)), make([]byte, 0, 4*count)
	for ; len(blocks) > 0; blocks = blocks[size:] {
		scale := gguf.Half(blocks)
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(scale))
		levels := blocks[2:size]
		if d == q8 {
			numbers = append(numbers, levels...)
			continue
		}
		// The lower halves of the file's bytes are numbers 0 to 15, the upper ones 16 to
		// 31. The file has 0 to 15 for -8 to 7.
		for _, up := range []int{0, 4} {
			for i := 0; i < len(levels); i += 2 {
				numbers = append(numbers, (levels[i]>>up&15|levels[i+1]>>up<<4)^0x88)
			}
		}
	}
	return numbers, scales
}

// unpack is the inverse of pack.
func (d storage) unpack(numbers, scales []byte, data []float32) {
	for i := range data {
		switch d {
		case bf16:
			data[i] = math.Float32frombits(uint32(numbers[2*i])<<16 | uint32(numbers[2*i+1])<<24)
			continue
		case q8:
			data[i] = float32(int8(numbers[i]))
		default:
			data[i] = float32(int8(numbers[i/2]<<(4-i%2*4)) >> 4)
		}
		data[i] *= math.Float32frombits(binary.LittleEndian.Uint32(scales[i/blockSize*4:]))
	}
}

// bf16Bytes are numbers as kernel round_bf16 stores them.
func bf16Bytes(v []float32) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		bits := math.Float32bits(x)
		if x != x {
			bits |= 0x400000 // quiet
		} else {
			bits += 0x7fff + bits>>16&1
		}
		b = append(b, byte(bits>>16), byte(bits>>24))
	}
	return b
}
