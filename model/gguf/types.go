package gguf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Type is how the numbers of a tensor are stored.
type Type uint32

// Types, with the numbers that ggml gives them (ggml/include/ggml.h).
const (
	F32   Type = 0
	F16   Type = 1
	Q4_0  Type = 2
	Q4_1  Type = 3
	Q5_0  Type = 6
	Q5_1  Type = 7
	Q8_0  Type = 8
	Q2K   Type = 10
	Q3K   Type = 11
	Q4K   Type = 12
	Q5K   Type = 13
	Q6K   Type = 14
	IQ4NL Type = 20
	IQ4XS Type = 23
	BF16  Type = 30
	MXFP4 Type = 39
)

// format is what is known of a type.
type format struct {
	name     string
	elements int // of a block
	bytes    int // of a block
	decode   func(block []byte, out []float32)
	encode   func(in []float32, block []byte) // nil: not written
}

// formats has a row for every type that is read.
var formats = map[Type]format{
	F32:   {"F32", 1, 4, decodeF32, encodeF32},
	F16:   {"F16", 1, 2, decodeF16, encodeF16},
	BF16:  {"BF16", 1, 2, decodeBF16, encodeBF16},
	Q4_0:  {"Q4_0", 32, 18, decodeQ4_0, encodeQ4_0},
	Q4_1:  {"Q4_1", 32, 20, decodeQ4_1, encodeQ4_1},
	Q5_0:  {"Q5_0", 32, 22, decodeQ5_0, encodeQ5_0},
	Q5_1:  {"Q5_1", 32, 24, decodeQ5_1, encodeQ5_1},
	Q8_0:  {"Q8_0", 32, 34, decodeQ8_0, encodeQ8_0},
	Q2K:   {"Q2_K", 256, 84, decodeQ2K, nil},
	Q3K:   {"Q3_K", 256, 110, decodeQ3K, nil},
	Q4K:   {"Q4_K", 256, 144, decodeQ4K, nil},
	Q5K:   {"Q5_K", 256, 176, decodeQ5K, nil},
	Q6K:   {"Q6_K", 256, 210, decodeQ6K, nil},
	IQ4NL: {"IQ4_NL", 32, 18, decodeIQ4NL, nil},
	IQ4XS: {"IQ4_XS", 256, 136, decodeIQ4XS, nil},
	MXFP4: {"MXFP4", 32, 17, decodeMXFP4, nil},
}

// String is the name that ggml gives the type.
func (t Type) String() string {
	if f, ok := formats[t]; ok {
		return f.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block is how many elements a block of the type has, and its bytes; 0 for a type that
// is not known.
func (t Type) Block() (elements, bytes int) { return formats[t].elements, formats[t].bytes }

// accepted lists the types that are read.
func accepted() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(formats)) {
		names = append(names, formats[t].name)
	}
	return strings.Join(names, ", ")
}

// Dequantize converts whole blocks to float32.
func (t Type) Dequantize(data []byte) ([]float32, error) {
	f, ok := formats[t]
	if !ok {
		return nil, fmt.Errorf("found %s; accepted: %s", t, accepted())
	}
	if len(data)%f.bytes != 0 {
		return nil, fmt.Errorf("%d bytes are not whole blocks of %s, which have %d", len(data), t, f.bytes)
	}
	out := make([]float32, len(data)/f.bytes*f.elements)
	for i := 0; i*f.bytes < len(data); i++ {
		f.decode(data[i*f.bytes:(i+1)*f.bytes], out[i*f.elements:(i+1)*f.elements])
	}
	return out, nil
}

// Quantize converts float32 to whole blocks, rounding as the reference implementation
// does.
func (t Type) Quantize(data []float32) ([]byte, error) {
	f, ok := formats[t]
	if !ok || f.encode == nil {
		return nil, fmt.Errorf("tensors are not written as %s", t)
	}
	if len(data)%f.elements != 0 {
		return nil, fmt.Errorf("%d elements are not whole blocks of %s, which have %d", len(data), t, f.elements)
	}
	out := make([]byte, len(data)/f.elements*f.bytes)
	for i := 0; i*f.elements < len(data); i++ {
		f.encode(data[i*f.elements:(i+1)*f.elements], out[i*f.bytes:(i+1)*f.bytes])
	}
	return out, nil
}
