package gguf

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// blockCase is a case of blocks.json.
type blockCase struct {
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	Input []byte `json:"input_f32"`
	Bytes []byte `json:"bytes"`
	Want  []byte `json:"dequantized_f32"`
}

func floatsOf(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(le.Uint32(data[4*i:]))
	}
	return out
}

// ulps is how many float32 numbers a and b are apart.
func ulps(a, b float32) int64 {
	order := func(x float32) int64 {
		bits := int64(int32(math.Float32bits(x)))
		if bits < 0 {
			bits = math.MinInt32 - bits
		}
		return bits
	}
	return max(order(a)-order(b), order(b)-order(a))
}

// TestBlocks: blocks of every type read as gguf-py reads them, and those that are
// written have its bytes.
func TestBlocks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "gguf"), "blocks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []blockCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	byName := map[string]Type{}
	for number, f := range formats {
		byName[f.name] = number
	}
	seen := map[string]bool{}
	for i, c := range file.Cases {
		typ, ok := byName[c.Type]
		if !ok {
			t.Errorf("type %s is not known", c.Type)
			continue
		}
		seen[c.Type] = true
		got, err := typ.Dequantize(c.Bytes)
		if err != nil {
			t.Errorf("case %d, %s: %v", i, c.Type, err)
			continue
		}
		allowed := int64(1) // as the fixtures' README has it
		if c.Input != nil {
			allowed = 0
		}
		want := floatsOf(c.Want)
		if len(got) != len(want) {
			t.Errorf("case %d, %s: %d numbers, want %d", i, c.Type, len(got), len(want))
			continue
		}
		for j := range want {
			if ulps(got[j], want[j]) > allowed {
				t.Errorf("case %d, %s: element %d is %v, want %v", i, c.Type, j, got[j], want[j])
				break
			}
		}
		if c.Input == nil {
			continue
		}
		bytes, err := typ.Quantize(floatsOf(c.Input))
		if err != nil || base64.StdEncoding.EncodeToString(bytes) != base64.StdEncoding.EncodeToString(c.Bytes) {
			t.Errorf("case %d, %s: quantises to other bytes, %v", i, c.Type, err)
		}
	}
	t.Logf("%d cases of %d types", len(file.Cases), len(seen))
	if len(seen) == 0 {
		t.Error("no case was read")
	}
}
