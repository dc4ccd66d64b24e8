package hf

import (
	"fmt"
	"slices"
	"strings"
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
func (d Dtype) Blocked() bool { return d == Q8 || d == Q4 }
