package gguf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
)

// TestSamples: files that gguf-py wrote have its metadata and tensors.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "gguf"), "*.gguf"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples, %v", err)
	}
	for _, name := range names {
		var want struct {
			Metadata map[string]any `json:"metadata"`
			Tensors  map[string]struct {
				Type  string `json:"type"`
				Shape []int  `json:"shape"`
				SHA   string `json:"sha256_f32"`
			} `json:"tensors"`
		}
		data, err := os.ReadFile(strings.TrimSuffix(name, ".gguf") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for key, value := range want.Metadata {
			if got := plain(t, f.Metadata.Get(key)); !reflect.DeepEqual(got, plain(t, value)) {
				t.Errorf("%s: %s is %v, want %v", name, key, got, value)
			}
		}
		if len(f.Tensors) != len(want.Tensors) {
			t.Errorf("%s has %d tensors, want %d", name, len(f.Tensors), len(want.Tensors))
		}
		for key, w := range want.Tensors {
			tensor, ok := f.Tensor(key)
			values, err := f.Read(key)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			raw, err := binary.Append(nil, le, values)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(raw)
			if !ok || tensor.Type.String() != w.Type || !slices.Equal(tensor.Shape, w.Shape) || hex.EncodeToString(sum[:]) != w.SHA {
				t.Errorf("%s: tensor %+v with sum %x, want %+v", name, tensor, sum, w)
			}
		}
	}
}

// plain is a value as JSON has it, numbers as float64 and very large ones as they are written.
func plain(t *testing.T, value any) any {
	t.Helper()
	switch v := value.(type) {
	case float32:
		value = float64(v)
	case []float32:
		wide := make([]float64, len(v))
		for i, x := range v {
			wide[i] = float64(x)
		}
		value = wide
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 15 && !strings.ContainsAny(string(text), ".eE[\"") { // a whole number that float64 may not hold
		return string(text)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// small is a file with one of everything that is written.
func small(t testing.TB) []byte {
	t.Helper()
	values := make([]float32, 64)
	for i := range values {
		values[i] = float32(i) - 20.5
	}
	data := func() ([]float32, error) { return values, nil }
	var out bytes.Buffer
	err := Write(&out, Metadata{
		{"general.architecture", "llama"}, {"u8", uint8(7)}, {"u32", uint32(9)}, {"i32", int32(-9)}, {"u64", uint64(1 << 40)}, {"f32", float32(0.5)},
		{"bool", true}, {"texts", []string{"", "é"}}, {"ints", []int32{-1, 2}}, {"floats", []float32{0.25}}, {"bools", []bool{true, false}},
	}, []Source{{"a", F32, []int{2, 32}, data}, {"b", Q8_0, []int{2, 32}, data}, {"c", BF16, []int{64}, data}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestWrite: what is written reads back.
func TestWrite(t *testing.T) {
	data := small(t)
	f, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Metadata); got != "[{general.architecture llama} {u8 7} {u32 9} {i32 -9} {u64 1099511627776} {f32 0.5} {bool true} {texts [ é]} {ints [-1 2]} {floats [0.25]} {bools [true false]}]" {
		t.Errorf("metadata %s", got)
	}
	a, err := f.Read("a")
	if err != nil || a[0] != -20.5 || a[63] != 42.5 || !reflect.DeepEqual(f.Tensors[0].Shape, []int{2, 32}) {
		t.Errorf("%v, %v", a, err)
	}
	blocks, err := Q8_0.Quantize(a)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Q8_0.Dequantize(blocks)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := f.Read("b"); err != nil || !slices.Equal(b, want) {
		t.Errorf("%v, %v; want %v", b, err, want)
	}
	if err := Write(&bytes.Buffer{}, nil, []Source{{"a", Q8_0, []int{31}, nil}}); err == nil || !strings.Contains(err.Error(), "are not whole blocks of Q8_0") {
		t.Errorf("%v", err)
	}
}

// TestRefuses: headers that lie are refused before anything large is allocated.
func TestRefuses(t *testing.T) {
	good := small(t)
	edit := func(at int, bytes ...byte) []byte {
		out := slices.Clone(good)
		copy(out[at:], bytes)
		return out
	}
	huge := []byte{255, 255, 255, 255, 255, 255, 255, 127}
	at := bytes.Index(good, []byte("texts")) + 5 + 4 + 4 // the length of the list
	shape := bytes.Index(good, append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, 'a')) + 9 + 4
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "4 bytes are needed, and 0 are left"},
		{"magic", edit(0, 'X'), `found "XGUF" in the first four bytes`},
		{"version", edit(4, 1), "found version 1; accepted: 2, 3"},
		{"big-endian", edit(4, 0, 0, 0, 3), "the file is big-endian"},
		{"tensors", edit(8, huge...), "there are 9223372036854775807 tensors"},
		{"pairs", edit(16, huge...), ""},
		{"key", edit(24, huge...), "a name has 9223372036854775807 bytes"},
		{"list", edit(at, huge...), `key "texts" is a list of 9223372036854775807 values`},
		{"dimension", edit(shape, huge...), "tensor a has too many elements"},
		{"type", edit(shape+16, 4), "tensor a: found type 4; accepted: F32"},
		{"cut", good[:len(good)-100], "inside the file"},
	} {
		f, err := Parse(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.name, f, err, c.want)
		}
		if cut := len(hint.All(err)) > 0; cut != (c.name == "cut") {
			t.Errorf("%s: hints %q", c.name, hint.All(err))
		}
	}
}

// FuzzParse: a file ends in tensors or in an error.
func FuzzParse(f *testing.F) {
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, tensor := range file.Tensors {
			if _, err := file.Read(tensor.Name); err != nil {
				t.Fatalf("a tensor that was accepted: %v", err)
			}
		}
	})
}
