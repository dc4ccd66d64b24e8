package hf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
)

// floats makes a tensor of given values.
func floats(name string, shape []int, values ...float32) NamedTensor {
	return NamedTensor{Name: name, Shape: shape, Data: func() ([]float32, error) { return values, nil }}
}

// stored builds a file of a header as text and data.
func stored(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func openBytes(t testing.TB, data []byte) (*TensorSet, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), WeightsFile)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := OpenTensorFile(path)
	if err == nil {
		t.Cleanup(func() { set.Close() })
	}
	return set, err
}

func TestSafetensorsRoundTrip(t *testing.T) {
	tensors := []NamedTensor{
		floats("b.weight", []int{2, 3}, 1, -2, 0x1p-149, math.MaxFloat32, 0, float32(math.Copysign(0, -1))),
		floats("a", []int{}, 7),
		floats("empty", []int{0, 4}),
		floats(`<"name">`, []int{1}, 3),
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := WriteSafetensors(w, tensors); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("equal tensors gave different files")
	}
	header := binary.LittleEndian.Uint64(first.Bytes())
	if header%8 != 0 {
		t.Errorf("the header has %d bytes, want a multiple of 8", header)
	}
	if text := first.String(); !strings.Contains(text, `"__metadata__":{"format":"pt"}`) {
		t.Errorf("no format in the header %.80q", text)
	}
	set, err := openBytes(t, first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Names(), []string{`<"name">`, "a", "b.weight", "empty"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	for _, want := range tensors {
		got, err := set.Read(want.Name)
		values, _ := want.Data()
		if err != nil || !slices.Equal(bitsOf(got), bitsOf(values)) || !slices.Equal(set.shape(want.Name), want.Shape) {
			t.Errorf("%s: got %v of shape %v (%v), want %v of %v", want.Name, got, set.shape(want.Name), err, values, want.Shape)
		}
	}
	if _, err := set.Read("c"); err == nil || set.shape("c") != nil {
		t.Errorf("an absent tensor gives %v and shape %v", err, set.shape("c"))
	}
}

func in(typ gguf.Type, t NamedTensor) NamedTensor {
	t.Type = typ
	return t
}

// TestSafetensorsTypes: numbers in 16 bits are rounded to the nearest.
func TestSafetensorsTypes(t *testing.T) {
	values := []float32{1, -2, 1 + 0x1p-9, 0.1}
	for typ, want := range map[gguf.Type][]float32{
		gguf.F32:  values,
		gguf.F16:  {1, -2, 1 + 0x1p-9, 0x1.998p-4},
		gguf.BF16: {1, -2, 1, 0x1.9ap-4}, // a tie goes to the even one
	} {
		var b bytes.Buffer
		if err := WriteSafetensors(&b, []NamedTensor{in(typ, floats("odd", []int{1}, 3)), in(typ, floats("a", []int{2, 2}, values...))}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), `"dtype":"`+typ.String()+`"`) {
			t.Errorf("%s: header %.150q", typ, b.String())
		}
		set, err := openBytes(t, b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := set.Read("a"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", typ, got, err, want)
		}
	}
}

func bitsOf(values []float32) []uint32 {
	b := make([]uint32, len(values))
	for i, x := range values {
		b[i] = math.Float32bits(x)
	}
	return b
}

func TestWriteSafetensorsRefuses(t *testing.T) {
	broken := errors.New("device lost")
	for _, c := range []struct {
		tensors []NamedTensor
		want    string
	}{
		{[]NamedTensor{floats("a", []int{2}, 1)}, "tensor a: found 1 elements"},
		{[]NamedTensor{floats("a", []int{1}, 1), floats("a", []int{1}, 1)}, "tensor a: there are two of this name"},
		{[]NamedTensor{{Name: "a", Shape: []int{1}, Data: func() ([]float32, error) { return nil, broken }}}, "tensor a: device lost"},
		{[]NamedTensor{in(gguf.F16, floats("a", []int{2}, 1, 65505))}, "tensor a: element 1 is 65505, which F16 cannot hold"},
	} {
		if err := WriteSafetensors(&bytes.Buffer{}, c.tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestHalfPrecision compares all 65,536 values with the definitions.
func TestHalfPrecision(t *testing.T) {
	var raw []byte
	for h := range 1 << 16 {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(h))
	}
	f16, bf16 := decodeFloats("F16", raw), decodeFloats("BF16", raw)
	for h := range 1 << 16 {
		if want := fields(h, 5, 10); !sameFloat(f16[h], want) {
			t.Errorf("F16 %#04x: got %v, want %v", h, f16[h], want)
		}
		if want := fields(h, 8, 7); !sameFloat(bf16[h], want) {
			t.Errorf("BF16 %#04x: got %v, want %v", h, bf16[h], want)
		}
	}
}

// fields is the value of a 16-bit float with so many bits of exponent and fraction
// (IEEE 754-2019, section 3.4).
func fields(h, expBits, fracBits int) float64 {
	sign := 1 - 2*float64(h>>15)
	exp, frac := h>>fracBits&(1<<expBits-1), float64(h&(1<<fracBits-1))
	bias := 1<<(expBits-1) - 1
	switch {
	case exp == 1<<expBits-1 && frac != 0:
		return math.NaN()
	case exp == 1<<expBits-1:
		return sign * math.Inf(1)
	case exp == 0:
		return math.Copysign(math.Ldexp(frac, 1-bias-fracBits), sign)
	}
	return sign * math.Ldexp(1+math.Ldexp(frac, -fracBits), exp-bias)
}

func sameFloat(got float32, want float64) bool {
	return math.Float64bits(float64(got)) == math.Float64bits(want) || got != got && want != want
}

func TestSafetensorsRefused(t *testing.T) {
	entry := func(rest string) string { return `{"w":{` + rest + `}}` }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty file", nil, "header: the file has 0 bytes"},
		{"length of all ones", bytes.Repeat([]byte{0xff}, 16), "header: found a length of 18446744073709551615"},
		{"not an object", stored("[]"), "header: found"},
		{"not JSON", stored("{"), "header: line 1: not valid JSON"},
		{"name twice", stored(`{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`), `key "w" is already`},
		{"no shape", stored(entry(`"dtype":"F32","data_offsets":[0,4]`), 0, 0, 0, 0), "tensor w: found"},
		{"negative size", stored(entry(`"dtype":"F32","shape":[-1],"data_offsets":[0,4]`), 0, 0, 0, 0), "tensor w"},
		{"size that overflows", stored(entry(`"dtype":"F32","shape":[4294967295,4294967295,4294967295],"data_offsets":[0,4]`), 0, 0, 0, 0), "tensor w: shape"},
		{"three offsets", stored(entry(`"dtype":"F32","shape":[1],"data_offsets":[0,4,8]`), 0, 0, 0, 0), "data_offsets [0 4 8]"},
		{"end before begin", stored(entry(`"dtype":"F32","shape":[1],"data_offsets":[4,0]`), 0, 0, 0, 0), "data_offsets [4 0]"},
		{"cut", stored(entry(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`), 0, 0, 0, 0), "within the file's 4 bytes of data"},
		{"integers", stored(entry(`"dtype":"I64","shape":[1],"data_offsets":[0,8]`), 0, 0, 0, 0, 0, 0, 0, 0), `dtype "I64", accepted: F32, BF16, F16`},
		{"hole", stored(entry(`"dtype":"F16","shape":[1],"data_offsets":[2,4]`), 0, 0, 0, 0), "2 bytes between the header and tensor w"},
		{"infinite", stored(entry(`"dtype":"F16","shape":[2],"data_offsets":[0,4]`), 0, 0, 0, 0x7c), "tensor w: found an infinite value at element 1"},
	} {
		set, err := openBytes(t, c.data)
		if err == nil {
			_, err = set.Read("w")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), WeightsFile) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if cut := len(hint.All(err)) > 0; cut != (c.name == "cut") {
			t.Errorf("%s: hints %q", c.name, hint.All(err))
		}
	}
}

func TestShards(t *testing.T) {
	write := func(dir, name string, tensors ...NamedTensor) {
		var b bytes.Buffer
		if err := WriteSafetensors(&b, tensors); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ weightMap, want string }{
		{`{"a": "1.safetensors", "b": "2.safetensors"}`, ""},
		{`{"a": "2.safetensors", "b": "1.safetensors"}`, "the index says"},
		{`{"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"}`, "tensor c is not in 2.safetensors"},
		{`{"b": "2.safetensors", "c": "1.safetensors"}`, "tensor a is in 1.safetensors but not in the index"},
		{`{"a": "../1.safetensors"}`, "a file of the same folder"},
		{`["a"]`, "weight_map"},
	} {
		dir := t.TempDir()
		write(dir, "1.safetensors", floats("a", []int{1}, 1))
		write(dir, "2.safetensors", floats("b", []int{1}, 2))
		index := fmt.Sprintf(`{"metadata": {"total_size": 8}, "weight_map": %s}`, c.weightMap)
		if err := os.WriteFile(filepath.Join(dir, indexFile), []byte(index), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := openTensors(dir)
		if err == nil {
			_, err = set.Read("b")
			set.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.weightMap, err, c.want)
		}
	}
}

// FuzzSafetensorsHeader: whatever the bytes, no panic, and what is accepted lies
// within the file, each byte in one tensor.
func FuzzSafetensorsHeader(f *testing.F) {
	var b bytes.Buffer
	if err := WriteSafetensors(&b, []NamedTensor{floats("a", []int{2}, 1, 2), floats("b", []int{1, 1}, 3)}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(stored(`{"w":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}`, 0, 0))
	f.Add(stored(`{"w":{"dtype":"F32","shape":[],"data_offsets":[-4,0]}}`))
	f.Add(bytes.Repeat([]byte{0xff}, 9))
	f.Add(stored(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0, 0))
	f.Add(stored(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775800,9223372036854775804]}}`, 0, 0, 0, 0))
	f.Add(stored(`{"a":{"dtype":"F32","shape":[4294967295,4294967295],"data_offsets":[0,4]},"a":null,"__metadata__":[]}`, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := readHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		total := int64(8 + binary.LittleEndian.Uint64(data))
		for name, s := range tensors {
			if s.offset < 8 || s.offset+s.size > int64(len(data)) {
				t.Errorf("tensor %q: bytes %d to %d of a file of %d", name, s.offset, s.offset+s.size, len(data))
			}
			total += s.size
		}
		if total != int64(len(data)) {
			t.Errorf("header and tensors have %d bytes, the file %d", total, len(data))
		}
	})
}
