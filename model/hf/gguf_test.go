package hf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
)

// writeGGUF writes a model into a file.
func writeGGUF(t *testing.T, f *Folder, typ GGUFType) (file string, notes []string) {
	t.Helper()
	var out bytes.Buffer
	notes, err := WriteGGUF(&out, f, "test", typ)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, notes
}

// openFolder opens a model until the test ends.
func openFolder(t *testing.T, path string) *Folder {
	t.Helper()
	f, err := ReadFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Tensors.Close() })
	return f
}

// TestGGUF: models of every family go through GGUF. In f32 they come back with the same
// bits, but for norms that are stored as 1+w; in other types as the type rounds them.
func TestGGUF(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "models"), "*", "config.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no models, %v", err)
	}
	families := map[string]bool{}
	for _, config := range dirs {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f := openFolder(t, dir)
			families[f.Config.Family] = true
			for _, typ := range GGUFTypes {
				file, _ := writeGGUF(t, f, typ)
				sameModel(t, f, openFolder(t, file), typ)
				if typ.Name == "f32" {
					withoutConfig(t, f, file)
				}
			}
		})
	}
	if len(families) != len(ggufFamilies) {
		t.Errorf("families %v, of %d", families, len(ggufFamilies))
	}
}

// sameModel compares a model with what came back from GGUF.
func sameModel(t *testing.T, f, back *Folder, typ GGUFType) {
	t.Helper()
	want, err := json.Marshal(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(back.Config); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: config %s, %v; want %s", typ.Name, got, err, want)
	}
	for _, spec := range Tensors(f.Config) {
		want, err := f.Tensors.Read(spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		if plus := float32(families[f.Config.Family].NormPlus); strings.HasSuffix(spec.Name, "norm.weight") && plus != 0 {
			for i, x := range want {
				want[i] = float32(x+plus) - plus
			}
		}
		// Rows of q and k change places and keep their blocks.
		data, err := typ.typeOf(spec).Quantize(want)
		if err != nil {
			t.Fatal(err)
		}
		if want, err = typ.typeOf(spec).Dequantize(data); err != nil {
			t.Fatal(err)
		}
		got, err := back.Tensors.Read(spec.Name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: tensor %s has changed, %v", typ.Name, spec.Name, err)
		}
	}
}

// withoutConfig reads the config from the keys that all programs write.
func withoutConfig(t *testing.T, f *Folder, file string) {
	t.Helper()
	g, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	g.Metadata = slices.DeleteFunc(g.Metadata, func(p gguf.Pair) bool { return p.Key == ggufConfigKey })
	name := ggufFamilies[f.Config.Family]
	got, err := ggufConfig(g, name, ggufArchs[name])
	if s := f.Config.RopeScaling; s != nil && s.Type == "llama3" && (s.OriginalMaxPositions != 8192 || s.LowFreqFactor != 1 || s.HighFreqFactor != 4) {
		if err == nil || !strings.Contains(err.Error(), "as in Llama 3.1 and 3.2") {
			t.Errorf("rope factors that nobody published: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	facts := func(c Config) string {
		return fmt.Sprint(c.Vocab, c.Width, c.Layers, c.Heads, c.KVHeads, c.HeadDim, c.MLP, c.MaxPositions, c.NormEps, c.RopeTheta,
			c.RopeScaling.keys(), c.TieEmbeddings, c.QKNorm, c.AttentionBias, c.MLPBias, c.BOS, c.EOS, c.PAD)
	}
	if facts(got) != facts(f.Config) {
		t.Errorf("config %s, want %s", facts(got), facts(f.Config))
	}
}

// TestRopeFactors: the published scaling of Llama 3.2 is found again by its factors.
func TestRopeFactors(t *testing.T) {
	c := Config{HeadDim: 64, RopeTheta: 500000, RopeScaling: &RopeScaling{Type: "llama3", Factor: 32, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 8192}}
	factors := ropeFactors(c)
	if factors[0] != 1 || factors[31] != 32 {
		t.Errorf("%v", factors)
	}
	var out bytes.Buffer
	data := func() ([]float32, error) { return factors, nil }
	if err := gguf.Write(&out, nil, []gguf.Source{{Name: ggufRopeFreqs, Type: gguf.F32, Shape: []int{32}, Data: data}}); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Parse(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	found := Config{HeadDim: 64, RopeTheta: 500000}
	if err := (&ggufKeys{file: file}).checkFactors(&found); err != nil || *found.RopeScaling != *c.RopeScaling {
		t.Errorf("%+v, %v", found.RopeScaling, err)
	}
}

// TestPermute: rows that rotate together become neighbours, as in LlamaModel.permute of
// convert_hf_to_gguf.py: reshape(heads, 2, half, cols).swapaxes(1, 2).
func TestPermute(t *testing.T) {
	rows := []float32{0, 1, 2, 3, 10, 11, 12, 13} // two heads of four rows, one column
	got := ggufPlace{heads: 2}.toFile(rows, []int{8, 1})
	if want := []float32{0, 2, 1, 3, 10, 12, 11, 13}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	six := []float32{0, 1, 2, 3, 4, 5}
	if got := (ggufPlace{heads: 1}).toFile(six, []int{6, 1}); !slices.Equal(got, []float32{0, 3, 1, 4, 2, 5}) {
		t.Errorf("%v", got)
	}
}

// TestGGUFContradicts: a file whose standard keys say something else than its rlzero.config is
// refused, with the key.
func TestGGUFContradicts(t *testing.T) {
	f := openFolder(t, filepath.Join(fixtures.Root(t), "testdata", "models", "llama_smollm2_tied"))
	path, _ := writeGGUF(t, f, GGUFTypes[0])
	for key, value := range map[string]any{
		"llama.attention.head_count": uint32(f.Config.Heads * 2), "llama.rope.freq_base": float32(12345), "llama.context_length": uint32(7),
		"tokenizer.ggml.eos_token_id": uint32(f.Config.EOS[0] + 1), "general.architecture": "qwen2",
	} {
		g, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Metadata {
			if g.Metadata[i].Key == key {
				g.Metadata[i].Value = value
			}
		}
		arch, _ := g.Metadata.Text(ggufArchKey)
		if _, err := ggufConfig(g, arch, ggufArchs[arch]); err == nil || !strings.Contains(err.Error(), key) || !strings.HasPrefix(err.Error(), ggufConfigKey+": ") {
			t.Errorf("%s = %v: %v", key, value, err)
		}
		g.Close()
	}
}

// TestGGUFBiases: biases of q and k of a llama go out and come back, with their rows in the order of
// the weights'.
func TestGGUFBiases(t *testing.T) {
	f := openFolder(t, filepath.Join(fixtures.Root(t), "testdata", "models", "llama_smollm2_tied"))
	f.Config.AttentionBias = true
	for _, spec := range Tensors(f.Config) {
		if strings.HasSuffix(spec.Name, "_proj.bias") {
			f.Tensors.tensors[spec.Name] = storedTensor{shape: spec.Shape, read: func(_, _ int) ([]float32, error) { // the whole vector is one row
				data := make([]float32, spec.Shape[0])
				for i := range data {
					data[i] = float32(i)
				}
				return data, nil
			}}
		}
	}
	for _, typ := range GGUFTypes {
		path, _ := writeGGUF(t, f, typ)
		sameModel(t, f, openFolder(t, path), typ)
		if typ.Name == "f32" {
			withoutConfig(t, f, path)
		}
		g, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		bias, err := g.Read("blk.0.attn_k.bias")
		if half := f.Config.HeadDim / 2; err != nil || bias[1] != float32(half) || bias[2] != 1 {
			t.Errorf("%s: the bias of k begins %v, %v; llama.cpp wants pairs side by side", typ.Name, bias[:4], err)
		}
		g.Close()
	}
}

// TestGGUFRefuses: files that are not of a known model are refused by name.
func TestGGUFRefuses(t *testing.T) {
	values := func() ([]float32, error) { return make([]float32, 32), nil }
	embedding := gguf.Source{Name: "token_embd.weight", Type: gguf.F32, Shape: []int{4, 8}, Data: values}
	for _, c := range []struct {
		metadata gguf.Metadata
		tensors  []gguf.Source
		want     string
	}{
		{nil, nil, `general.architecture: found ""; accepted: gemma3, llama, qwen2, qwen3, smollm3`},
		{gguf.Metadata{{Key: ggufArchKey, Value: uint32(1)}}, nil, "general.architecture: found uint32; accepted: a string"},
		{gguf.Metadata{{Key: ggufArchKey, Value: "mamba"}}, nil, `found "mamba"`},
		{gguf.Metadata{{Key: ggufArchKey, Value: "llama"}}, []gguf.Source{embedding}, "llama.embedding_length is missing"},
	} {
		var out bytes.Buffer
		if err := gguf.Write(&out, c.metadata, c.tensors); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFolder(file); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+": ") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if err := checkRange([]float32{1, 70000}, gguf.F16); err == nil || !strings.Contains(err.Error(), "element 1 is 70000, which F16 cannot hold") {
		t.Errorf("%v", err)
	}
}

// TestGGUFNotes: what llama.cpp has in its code and would compute otherwise, or not load, is said;
// of a model as llama.cpp has it nothing is.
func TestGGUFNotes(t *testing.T) {
	for _, c := range []struct {
		family string
		change func(c *Config)
		want   string
	}{
		{"llama", func(c *Config) { c.HeadDim = 8 }, ""},
		{"mistral", func(c *Config) { c.Window, c.Sliding = 8, []bool{true, true} }, "a window of 8 tokens"},
		{"qwen2", func(c *Config) {}, ""},
		{"qwen2", func(c *Config) { c.HeadDim = 8 }, "as wide as the model, 64, but in this model they have 32"},
		{"smollm3", func(c *Config) { c.NoRope = []bool{true, false} }, "every 4th layer"},
		{"gemma3_text", func(c *Config) { c.LocalTheta = 5 }, "base 10000, but this model has 5"},
		{"gemma3_text", func(c *Config) { c.QueryScalar = 7 }, "by that of 7"},
	} {
		config, err := NewConfig(c.family)
		if err != nil {
			t.Fatal(err)
		}
		config.Vocab, config.Width, config.Layers, config.Heads, config.HeadDim, config.MLP, config.QueryScalar = 264, 64, 2, 4, 16, 96, 0
		c.change(&config)
		if err := config.Complete(); err != nil {
			t.Fatal(err)
		}
		var said string
		for _, note := range ggufNotes(config, ggufFamilies[c.family]) {
			said += note
		}
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: notes %q, want %q", c.family, said, c.want)
		}
	}
}
