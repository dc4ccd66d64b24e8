package hf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/text"
)

// GGUFType is how WriteGGUF stores matrices.
type GGUFType struct {
	Name  string
	Type  gguf.Type
	Head  gguf.Type // of the embedding and the output head
	Ftype uint32    // general.file_type (llama.h: llama_ftype)
}

// GGUFTypes lists the types that WriteGGUF takes. The embedding and the output head of
// q4_0 are q8_0: they hurt most when they are coarse, and llama-quantize keeps them finer
// too.
var GGUFTypes = []GGUFType{
	{"f32", gguf.F32, gguf.F32, 0}, {"f16", gguf.F16, gguf.F16, 1}, {"bf16", gguf.BF16, gguf.BF16, 32},
	{"q8_0", gguf.Q8_0, gguf.Q8_0, 7}, {"q4_0", gguf.Q4_0, gguf.Q8_0, 2},
}

// WriteGGUF writes a model as a GGUF file that llama.cpp loads: matrices in the given
// type, vectors as f32. A matrix whose rows are no whole blocks is f16. Equal models give
// equal bytes. name is for people. notes say what llama.cpp would do otherwise than this
// program, a sentence each.
func WriteGGUF(w io.Writer, f *Folder, name string, typ GGUFType) (notes []string, err error) {
	c := f.Config
	archName, ok := ggufFamilies[c.Family]
	if !ok {
		return nil, fmt.Errorf("models of family %s are not written as GGUF", c.Family)
	}
	arch, fam := ggufArchs[archName], families[c.Family]
	metadata, notes, err := ggufMetadata(f, archName, name, typ)
	if err != nil {
		return nil, err
	}
	var sources []gguf.Source
	for _, spec := range Tensors(c) {
		to, err := ggufName(fam, spec.Name)
		if err != nil {
			return nil, err
		}
		place := placeOf(c, fam, arch, spec.Name)
		kind := typ.typeOf(spec)
		sources = append(sources, gguf.Source{Name: to, Type: kind, Shape: spec.Shape, Data: func() ([]float32, error) {
			data, err := f.Tensors.Read(spec.Name)
			if err != nil {
				return nil, err
			}
			return place.toFile(data, spec.Shape), checkRange(data, kind)
		}})
	}
	if factors := ropeFactors(c); factors != nil {
		sources = append(sources, gguf.Source{Name: ggufRopeFreqs, Type: gguf.F32, Shape: []int{len(factors)}, Data: func() ([]float32, error) { return factors, nil }})
	}
	return notes, gguf.Write(w, metadata, sources)
}

// typeOf is the type of a tensor.
func (t GGUFType) typeOf(spec TensorSpec) gguf.Type {
	kind := t.Type
	if spec.Name == EmbedName || spec.Name == HeadName {
		kind = t.Head
	}
	block, _ := kind.Block()
	switch {
	case len(spec.Shape) < 2:
		return gguf.F32
	case spec.Shape[len(spec.Shape)-1]%block != 0:
		return gguf.F16
	}
	return kind
}

// checkRange refuses numbers that a 16-bit float, also as the scale of a block, does not
// hold.
func checkRange(data []float32, kind gguf.Type) error {
	most := float32(65504) // of binary16
	switch kind {
	case gguf.F32, gguf.BF16:
		return nil
	case gguf.Q8_0:
		most *= 127
	case gguf.Q4_0:
		most *= 8
	}
	for i, x := range data {
		if x > most || x < -most {
			return fmt.Errorf("element %d is %v, which %s cannot hold; accepted: at most %v; write bf16 or f32", i, x, kind, most)
		}
	}
	return nil
}

// ggufMetadata describes a model and its tokenizer.
func ggufMetadata(f *Folder, arch, name string, typ GGUFType) (m gguf.Metadata, notes []string, err error) {
	c := f.Config
	add := func(key string, value any) { m = append(m, gguf.Pair{Key: key, Value: value}) }
	add(ggufArchKey, arch)
	add("general.type", "model")
	add("general.name", cmp.Or(name, arch))
	add("general.file_type", typ.Ftype)
	if typ.Type == gguf.Q8_0 || typ.Type == gguf.Q4_0 {
		add("general.quantization_version", uint32(2))
	}
	m = append(m, ggufNumbers(c, arch)...)
	config, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	add(ggufConfigKey, string(config))
	tokenizer, notes, err := ggufTokenizer(f)
	return append(m, tokenizer...), append(ggufNotes(c, arch), notes...), err
}

// ggufNumbers are what the keys of an architecture say of a model.
func ggufNumbers(c Config, arch string) (m gguf.Metadata) {
	add := func(key string, value any) { m = append(m, gguf.Pair{Key: arch + "." + key, Value: value}) }
	size := func(key string, n int) { add(key, uint32(n)) }
	size("vocab_size", c.Vocab)
	size("context_length", c.MaxPositions)
	size("embedding_length", c.Width)
	size("block_count", c.Layers)
	size("feed_forward_length", c.MLP)
	size("attention.head_count", c.Heads)
	size("attention.head_count_kv", c.KVHeads)
	size("attention.key_length", c.HeadDim)
	size("attention.value_length", c.HeadDim)
	size("rope.dimension_count", c.HeadDim)
	add("attention.layer_norm_rms_epsilon", float32(c.NormEps))
	add("rope.freq_base", float32(c.RopeTheta))
	if s := c.RopeScaling; s != nil && s.Type == "linear" {
		add("rope.scaling.type", "linear")
		add("rope.scaling.factor", float32(s.Factor))
	}
	if c.Window > 0 {
		size("attention.sliding_window", c.Window)
	}
	return m
}

// ggufIDs are what the keys of special tokens say of a model.
func ggufIDs(c Config) (m gguf.Metadata) {
	add := func(key string, id int) {
		if id >= 0 {
			m = append(m, gguf.Pair{Key: "tokenizer.ggml." + key, Value: uint32(id)})
		}
	}
	add("bos_token_id", c.BOS)
	add("padding_token_id", c.PAD)
	for i, id := range c.EOS[:min(2, len(c.EOS))] {
		add([]string{"eos_token_id", "eot_token_id"}[i], id)
	}
	return m
}

// ggufTokenizer describes the tokenizer, the special tokens and the chat template.
func ggufTokenizer(f *Folder) (m gguf.Metadata, notes []string, err error) {
	c := f.Config
	if f.Tokenizer == nil {
		m = gguf.Metadata{{Key: "tokenizer.ggml.model", Value: "no_vocab"}}
		notes = append(notes, "The model has no tokenizer: llama.cpp loads the file and takes token ids alone.")
	} else {
		m, err = f.Tokenizer.GGUF(c.Vocab)
		if errors.Is(err, text.ErrNotGGUF) {
			notes, err = append(notes, fmt.Sprintf("llama.cpp takes token ids alone from this file, as it cannot have the tokenizer: %v. rlzero reads the tokenizer from it.", err)), nil
		}
		if err != nil {
			return nil, nil, err
		}
		template, err := f.Tokenizer.Template()
		if err != nil {
			return nil, nil, err
		}
		if template != "" {
			m = append(m, gguf.Pair{Key: "tokenizer.chat_template", Value: template})
		}
	}
	m = append(m, ggufIDs(c)...)
	if len(c.EOS) > 2 {
		notes = append(notes, fmt.Sprintf("GGUF has keys for two of the %d tokens that end a text; llama.cpp does not stop at the others.", len(c.EOS)))
	}
	return m, notes, nil
}

// ggufNotes say what llama.cpp has in its code and cannot be told.
// https://github.com/ggml-org/llama.cpp/blob/master/src/llama-model.cpp (load_hparams)
func ggufNotes(c Config, arch string) (notes []string) {
	note := func(wrong bool, format string, args ...any) {
		if wrong {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	if arch == "qwen2" {
		note(c.Heads*c.HeadDim != c.Width, "In llama.cpp the %d heads of qwen2 are together as wide as the model, %d, but in this model they have %d: llama.cpp does not load the file.", c.Heads, c.Width, c.Heads*c.HeadDim)
	}
	switch arch {
	case "llama", "qwen2", "qwen3":
		note(c.Window > 0, "The model has layers with a window of %d tokens, which llama.cpp does not have for %s: beyond that length llama.cpp computes something else.", c.Window, arch)
	case "smollm3":
		note(!slices.Equal(c.NoRope, everyNth(c.Layers, families["smollm3"].noRopeEvery)), "In llama.cpp every 4th layer of smollm3 does not rotate, but in this model others do not: llama.cpp computes something else.")
		note(c.Window > 0, "llama.cpp has no windows for smollm3: beyond %d tokens llama.cpp computes something else.", c.Window)
	case "gemma3":
		sliding := everyNth(c.Layers, slidingPattern)
		for i := range sliding {
			sliding[i] = !sliding[i]
		}
		note(c.Window > 0 && !slices.Equal(c.Sliding, sliding), "In llama.cpp all but every 6th layer of gemma3 have the window, but in this model others have it: llama.cpp computes something else.")
		note(c.LocalTheta > 0 && c.LocalTheta != families["gemma3_text"].localTheta, "llama.cpp rotates sliding layers of gemma3 with base 10000, but this model has %v: llama.cpp computes something else.", c.LocalTheta)
		note(c.QueryScalar > 0 && math.Abs(c.QueryScalar-float64(c.HeadDim)) > 0, "llama.cpp divides queries of gemma3 by the root of head_dim %d, but this model by that of %v: llama.cpp computes something else.", c.HeadDim, c.QueryScalar)
	}
	return notes
}
