package tensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
)

// Storage is how numbers lie in a device's memory, with what follows for kernels and sizes.
type Storage hf.Dtype

const (
	F32  = Storage(hf.F32)
	BF16 = Storage(hf.BF16)
	q8   = Storage(hf.Q8)
	q4   = Storage(hf.Q4)
)

// BlockSize is how many numbers of a row share a scale in q8_0 and q4_0.
const BlockSize = 32

// blockTypes are the storages in blocks: their type in GGUF, and the bits of a number. On the
// device the numbers of a chunk, signed, follow each other without their scales, which
// stand after them as float32: so both can be read in long words.
var blockTypes = map[Storage]struct {
	kind gguf.Type
	bits int
}{q8: {gguf.Q8_0, 8}, q4: {gguf.Q4_0, 4}}

// GGUF is the type of the blocks in GGUF files.
func (d Storage) GGUF() gguf.Type { return blockTypes[d].kind }

// Blocked tells whether numbers are kept in blocks, which no update can change.
func (d Storage) Blocked() bool { return hf.Dtype(d).Blocked() }

// ErrTrained is the error of a model in blocks that is to be trained.
func (d Storage) ErrTrained() error {
	return fmt.Errorf("dtype: matrices in %s cannot be updated; accepted: an adapter that is trained (lora.rank above 0), or %s, %s", d, F32, BF16)
}

// Table is the storage of the vocabulary's tables beside matrices that are kept so: rows
// of them are looked up one by one.
func (d Storage) Table() Storage {
	if d.Blocked() {
		return BF16
	}
	return d
}

// bits is the size of a number, the scales of blocks left out.
func (d Storage) bits() int {
	switch {
	case d.Blocked():
		return blockTypes[d].bits
	case d == BF16:
		return 16
	}
	return 32
}

// scales is the size of the scales of n numbers in bytes; 0 outside of blocks.
func (d Storage) scales(n int) int {
	if d.Blocked() {
		return n / BlockSize * 4
	}
	return 0
}

// packed is the size of n numbers in bytes; 0 for float32, which is not packed.
func (d Storage) packed(n int) int {
	if d.bits() == 32 {
		return 0
	}
	return n*d.bits()/8 + d.scales(n)
}

// Kernel is the name of a kernel for operands that are kept so.
func (d Storage) Kernel(name string) string {
	if d.bits() == 32 {
		return name
	}
	return name + "_" + string(d)
}

// Matrix is a matrix of a device as kernels bind it.
type Matrix struct {
	Storage         Storage
	Numbers, Scales gpu.View // Scales: of blocks alone
}

// From is what a product binds of the rows from a row on, each of ld numbers.
func (m Matrix) From(row, ld int) []gpu.View {
	views := []gpu.View{device.At(m.Numbers, row*ld*m.Storage.bits()/32)}
	if m.Storage.Blocked() {
		views = append(views, device.At(m.Scales, m.Storage.scales(row*ld)/4))
	}
	return views
}

// Multiply records c[M][N] = a[M][K] b[K][N]. If continues is true the sums go on from
// what c holds.
func (b Matrix) Multiply(r *device.Recorder, continues bool, m, n, k, lda, ldb, ldc int, a, c gpu.View) {
	for k0, count := range r.Panels(k) {
		kernel := "matmul_nn"
		if continues || k0 > 0 {
			kernel = "matmul_nn_acc"
		}
		bind := slices.Concat([]gpu.View{device.At(a, k0)}, b.From(k0, ldb), []gpu.View{c})
		r.Matmul(b.Storage.Kernel(kernel), m, n, count, lda, ldb, ldc, bind...)
	}
}

// Store is where tensors lie by region.
type Store interface {
	write(r *Region, b band) error
	read(r *Region, b band) error // into b.data
}

// Parameters are a model's, in one of three forms:
//
//	                       vectors   matrices
//	f32                    float32   float32
//	bf16                   float32   float32, which the optimizer updates, and their copy in bf16
//	bf16, in blocks, frozen  float32   packed
//
// Forward and backward pass read the copy where there is one, so sampler and
// trainer see the same rounded weights; the gradient is that of the rounded
// weights and goes to the float32 ones as it is.
type Parameters struct {
	Arena        // float32; nil for chunks that are packed alone
	Packed Arena // nil for chunks of float32
	chunks []Chunk
}

// NewParameters allocates parameters, all zeros; frozen ones in packed form alone.
func (l *Set) NewParameters(dev gpu.Device, frozen bool) (Parameters, error) {
	p := Parameters{chunks: l.Chunks}
	var err error
	size := Chunk.Whole
	if frozen {
		size = Chunk.Unpacked
	}
	if p.Arena, err = l.NewArena(dev, "parameters", size); err != nil {
		return p, err
	}
	if p.Packed, err = l.NewArena(dev, "packed parameters", Chunk.Packed); err != nil {
		p.Free()
		return Parameters{}, err
	}
	return p, nil
}

// ParametersIn are frozen parameters in a pool, which has the memory. They may lie in a phase of a scratch, where they are
// what somebody writes there when it is entered.
func (l *Set) ParametersIn(p *device.Pool) Parameters {
	return Parameters{chunks: l.Chunks, Arena: l.newArenaIn(p, "parameters", Chunk.Unpacked), Packed: l.newArenaIn(p, "packed parameters", Chunk.Packed)}
}

// Free frees the device memory.
func (p Parameters) Free() {
	p.Arena.Free()
	p.Packed.Free()
}

// Matrix is what the passes read of a matrix.
func (p Parameters) Matrix(r *Region) Matrix {
	b, d := p.Packed[r.Chunk], p.chunks[r.Chunk].Storage
	if b.Buffer == nil {
		return Matrix{Numbers: p.View(r)}
	}
	off, n, all := r.off/4, r.Bytes()/4, p.chunks[r.Chunk].Size/4
	return Matrix{
		Storage: d,
		Numbers: gpu.View{Buffer: b.Buffer, Offset: b.Offset + off*d.bits()/8, Size: n * d.bits() / 8},
		Scales:  gpu.View{Buffer: b.Buffer, Offset: b.Offset + all*d.bits()/8 + d.scales(off), Size: d.scales(n)},
	}
}

func (p Parameters) write(r *Region, b band) error {
	if p.Arena[r.Chunk].Buffer != nil {
		if err := p.Arena.write(r, b); err != nil {
			return err
		}
	}
	if p.Packed[r.Chunk].Buffer == nil {
		return nil
	}
	m := p.Matrix(r)
	d := m.Storage
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
	first := b.first * r.Cols
	return device.Upload(device.Put(device.At(m.Numbers, first*d.bits()/32), numbers), device.Put(device.At(m.Scales, d.scales(first)/4), scales))
}

func (p Parameters) read(r *Region, b band) error {
	if p.Arena[r.Chunk].Buffer != nil {
		return p.Arena.read(r, b)
	}
	m := p.Matrix(r)
	d, first, n := m.Storage, b.first*r.Cols, len(b.data)
	numbers, scales := make([]byte, n*d.bits()/8), make([]byte, d.scales(n))
	if err := m.Numbers.Buffer.Read(m.Numbers.Offset+first*d.bits()/8, numbers); err != nil {
		return err
	}
	if err := m.Scales.Buffer.Read(m.Scales.Offset+d.scales(first), scales); err != nil {
		return err
	}
	d.unpack(numbers, scales, b.data)
	return nil
}

// RecordRound records the rounding of the float32 matrices into their copies.
func (p Parameters) RecordRound(r *device.Recorder) {
	for i, b := range p.Packed {
		if b.Buffer != nil {
			size := p.chunks[i].Size
			r.Op("round_bf16", size/4, 1, []gpu.View{p.Arena[i], b}, uint32(size/4))
		}
	}
}

// pack is numbers as the kernels read them in a storage, and the scales of blocks.
func (d Storage) pack(v []float32) (numbers, scales []byte, err error) {
	if d == BF16 {
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
func (d Storage) spread(blocks []byte) (numbers, scales []byte) {
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
func (d Storage) unpack(numbers, scales []byte, data []float32) {
	for i := range data {
		switch d {
		case BF16:
			data[i] = math.Float32frombits(uint32(numbers[2*i])<<16 | uint32(numbers[2*i+1])<<24)
			continue
		case q8:
			data[i] = float32(int8(numbers[i]))
		default:
			data[i] = float32(int8(numbers[i/2]<<(4-i%2*4)) >> 4)
		}
		data[i] *= math.Float32frombits(binary.LittleEndian.Uint32(scales[i/BlockSize*4:]))
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
