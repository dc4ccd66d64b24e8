package hf

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/text"
)

// FuzzGGUF: whatever a GGUF file says of model and tokenizer, it ends in a model whose tensors
// can be read, or in an error.
func FuzzGGUF(f *testing.F) {
	bytewise, err := text.ParseTokenizer(fixtures.ByteTokenizer(f))
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range Families() {
		c := Config{Family: family, Vocab: 259, Width: 8, Layers: 1, Heads: 1, KVHeads: 1, HeadDim: 8, MLP: 8,
			MaxPositions: 8, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: 0, EOS: []int{2}, InitStd: 0.1}
		var tensors bytes.Buffer
		if err := WriteSafetensors(&tensors, random(Tensors(c))); err != nil {
			f.Fatal(err)
		}
		ts, err := ReadTensors("test", bytes.NewReader(tensors.Bytes()), int64(tensors.Len()))
		if err != nil {
			f.Fatal(err)
		}
		for _, tokenizer := range []*text.Tokenizer{nil, bytewise} {
			var out bytes.Buffer
			if _, err := WriteGGUF(&out, &Folder{Config: c, Tensors: ts, Tokenizer: tokenizer}, "test", GGUFTypes[1]); err != nil {
				f.Fatal(err)
			}
			f.Add(out.Bytes())
			f.Add(bytes.Replace(out.Bytes(), []byte(ggufConfigKey), []byte("others.config"), 1)) // as another program's
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Parse(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		var folder Folder
		if folder.fromGGUF(file) != nil {
			return
		}
		for _, spec := range Tensors(folder.Config) {
			// Numbers are looked at where they are read; all else was found before.
			if _, err := folder.Tensors.Read(spec.Name); err != nil && !strings.Contains(err.Error(), "accepted: finite numbers") {
				t.Fatalf("%s: %v", spec.Name, err)
			}
		}
	})
}

// random are tensors of small random numbers.
func random(specs []TensorSpec) []NamedTensor {
	rng := rand.New(rand.NewPCG(1, 2))
	tensors := zeros(specs)
	for i := range tensors {
		zero := tensors[i].Data
		tensors[i].Data = func() ([]float32, error) {
			data, err := zero()
			for j := range data {
				data[j] = float32(rng.NormFloat64() * 0.1)
			}
			return data, err
		}
	}
	return tensors
}
