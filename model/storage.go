package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/gguf"
)

// Dtype says how numbers lie in a device's memory. All arithmetic is float32.
type Dtype string

// The ways to keep numbers. bf16 is the upper half of a float32: rounded to the
// nearest, ties to the even one, once, when the number is stored. q8_0 and q4_0 are
// llama.cpp's blocks of 32 numbers with a scale, for the matrices of the blocks of a
// frozen model; its vocabulary's tables are then bf16.
const (
	F32  Dtype = "f32" // also ""
	BF16 Dtype = "bf16"
	Q8   Dtype = "q8_0"
	Q4   Dtype = "q4_0"
)

// blockSize is how many numbers of a row share a scale in q8_0 and q4_0.
const blockSize = 32

// blocked are the storages in blocks: their type in GGUF, and the 32-bit words of a block
// on the device: its scale, then the numbers.
var blocked = map[Dtype]struct {
	kind  gguf.Type
	words int
}{Q8: {gguf.Q8_0, 9}, Q4: {gguf.Q4_0, 5}}

// check refuses what is no storage.
func (d Dtype) check(key string, accepted ...Dtype) error {
	if d == "" || slices.Contains(accepted, d) {
		return nil
	}
	var names []string
	for _, a := range accepted {
		names = append(names, string(a))
	}
	return fmt.Errorf("%s: found %q, accepted: %s", key, string(d), strings.Join(names, ", "))
}

// Blocked tells whether numbers are kept in blocks, which no update can change.
func (d Dtype) Blocked() bool { return blocked[d].words > 0 }

// errTrained is the error of a model in blocks that is to be trained.
func (d Dtype) errTrained() error {
	return fmt.Errorf("dtype: matrices in %s cannot be updated; accepted: an adapter that is trained (lora.rank above 0), or %s, %s", d, F32, BF16)
}

// table is the storage of the vocabulary's tables beside matrices that are kept so: rows
// of them are looked up one by one.
func (d Dtype) table() Dtype {
	if d.Blocked() {
		return BF16
	}
	return d
}

// packed is the size of n numbers in bytes; 0 for float32, which is not packed.
func (d Dtype) packed(n int) int {
	if d == BF16 {
		return 2 * n
	}
	return n / blockSize * blocked[d].words * 4
}

// kernel is the name of a kernel for operands that are kept so.
func (d Dtype) kernel(name string) string {
	if d == BF16 {
		return name + "_bf16"
	}
	return name
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

// matrix is what the passes read of a matrix, as its storage has it.
func (p parameters) matrix(r *region) gpu.View {
	if b := p.packed[r.chunk]; b != nil {
		d := p.chunks[r.chunk].storage
		return gpu.View{Buffer: b, Offset: d.packed(r.off / 4), Size: d.packed(r.bytes() / 4)}
	}
	return p.view(r)
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
	d := p.chunks[r.chunk].storage
	raw, err := d.pack(b.data)
	if err != nil {
		return err
	}
	for row, blocks := range b.blocks {
		if blocks != nil {
			copy(raw[d.packed(row*r.cols):], d.spread(blocks))
		}
	}
	v := p.matrix(r)
	return v.Buffer.Write(v.Offset+d.packed(b.first*r.cols), raw)
}

func (p parameters) read(r *region, b band) error {
	if p.arena[r.chunk] != nil {
		return p.arena.read(r, b)
	}
	v, d := p.matrix(r), p.chunks[r.chunk].storage
	raw := make([]byte, d.packed(len(b.data)))
	if err := v.Buffer.Read(v.Offset+d.packed(b.first*r.cols), raw); err != nil {
		return err
	}
	d.unpack(raw, b.data)
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

// pack is numbers as the kernels read them in a storage.
func (d Dtype) pack(v []float32) ([]byte, error) {
	if d == BF16 {
		return bf16Bytes(v), nil
	}
	blocks, err := blocked[d].kind.Quantize(v)
	if err != nil {
		return nil, err
	}
	return d.spread(blocks), nil
}

// spread is GGUF blocks as the kernels read them: scales as float32.
func (d Dtype) spread(blocks []byte) []byte {
	_, size := blocked[d].kind.Block()
	out := make([]byte, 0, len(blocks)/size*blocked[d].words*4)
	for ; len(blocks) > 0; blocks = blocks[size:] {
		scale := halfToFloat(binary.LittleEndian.Uint16(blocks))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
		out = append(out, blocks[2:size]...)
	}
	return out
}

// unpack is the inverse of pack.
func (d Dtype) unpack(raw []byte, data []float32) {
	if d == BF16 {
		for i := range data {
			data[i] = math.Float32frombits(uint32(raw[2*i])<<16 | uint32(raw[2*i+1])<<24)
		}
		return
	}
	size := 4 * blocked[d].words
	for i := range data {
		block, j := raw[i/blockSize*size:][:size], i%blockSize
		number := float32(int8(block[4:][j%(size-4)]))
		if d == Q4 {
			number = float32(int(block[4+j%16]>>(j/16*4)&15) - 8)
		}
		data[i] = number * math.Float32frombits(binary.LittleEndian.Uint32(block))
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
