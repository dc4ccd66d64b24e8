package model

import (
	"fmt"
	"math"

	"github.com/rlzero/rlzero/gpu"
)

// Dtype says how numbers lie in a device's memory. All arithmetic is float32.
type Dtype string

// The ways to keep numbers. bf16 is the upper half of a float32: rounded to the
// nearest, ties to the even one, once, when the number is stored.
const (
	F32  Dtype = "f32" // also ""
	BF16 Dtype = "bf16"
)

// check refuses what is neither.
func (d Dtype) check(key string) error {
	if d != "" && d != F32 && d != BF16 {
		return fmt.Errorf("%s: found %q, accepted: %s, %s", key, string(d), F32, BF16)
	}
	return nil
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
	write(r *region, data []float32) error
	read(r *region, data []float32) error
}

// parameters are a model's, in one of three forms:
//
//	              vectors   matrices
//	f32           float32   float32
//	bf16          float32   float32, which the optimizer updates, and their copy in bf16
//	bf16, frozen  float32   bf16
//
// Forward and backward pass read the copy where there is one, so sampler and
// trainer see the same rounded weights; the gradient is that of the rounded
// weights and goes to the float32 ones as it is.
type parameters struct {
	arena       // float32; nil for chunks of matrices of a frozen bf16 model
	bf16  arena // pairs of bf16, half a chunk's size; nil for chunks of vectors
}

func (l *layout) newParameters(dev gpu.Device, dtype Dtype, frozen bool) (parameters, error) {
	var p parameters
	var err error
	size := chunk.whole
	if dtype == BF16 && frozen {
		size = chunk.vectors
	}
	if p.arena, err = l.newArena(dev, "parameters", size); err != nil {
		return p, err
	}
	size = chunk.none
	if dtype == BF16 {
		size = chunk.halves
	}
	if p.bf16, err = l.newArena(dev, "bf16 parameters", size); err != nil {
		p.free()
	}
	return p, err
}

func (p parameters) free() {
	p.arena.free()
	p.bf16.free()
}

// matrix is what the passes read of a matrix.
func (p parameters) matrix(r *region) gpu.View {
	if b := p.bf16[r.chunk]; b != nil {
		return gpu.View{Buffer: b, Offset: r.off / 2, Size: r.bytes() / 2}
	}
	return p.view(r)
}

func (p parameters) write(r *region, data []float32) error {
	if p.arena[r.chunk] != nil {
		if err := p.arena.write(r, data); err != nil {
			return err
		}
	}
	if b := p.bf16[r.chunk]; b != nil {
		return b.Write(r.off/2, bf16Bytes(data))
	}
	return nil
}

func (p parameters) read(r *region, data []float32) error {
	if p.arena[r.chunk] != nil {
		return p.arena.read(r, data)
	}
	raw := make([]byte, 2*len(data))
	if err := p.bf16[r.chunk].Read(r.off/2, raw); err != nil {
		return err
	}
	for i := range data {
		data[i] = math.Float32frombits(uint32(raw[2*i])<<16 | uint32(raw[2*i+1])<<24)
	}
	return nil
}

// recordRound records the rounding of the float32 matrices into their copies.
func (p parameters) recordRound(r *recorder, l *layout) {
	for i, b := range p.bf16 {
		if b != nil {
			size := l.chunks[i].size
			r.op("round_bf16", size/4, 1, []gpu.View{{Buffer: p.arena[i], Size: size}, {Buffer: b, Size: size / 2}}, u(size/4))
		}
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
