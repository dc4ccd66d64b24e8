package hf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
)

// TensorSpec is the name and shape that a config asks of a tensor.
type TensorSpec struct {
	Name  string
	Shape []int
}

// Names of the vocabulary's tables. A model that is tied has no head of its own.
const (
	EmbedName = "model.embed_tokens.weight"
	HeadName  = "lm_head.weight"
)

// specs collects tensors in the order of the files.
type specs []TensorSpec

func (s *specs) vector(name string, n int) { *s = append(*s, TensorSpec{name + ".weight", []int{n}}) }

// module is a linear layer of a block.
type module struct {
	name    string
	out, in int
}

// modules adds linear layers that are read from the same input: their matrices, then their
// biases.
func (s *specs) modules(biased bool, list ...module) {
	for _, m := range list {
		*s = append(*s, TensorSpec{m.name + ".weight", []int{m.out, m.in}})
	}
	for _, m := range list {
		if biased {
			*s = append(*s, TensorSpec{m.name + ".bias", []int{m.out}})
		}
	}
}

// Tensors lists the tensors of a model in the order of its files. Matrices are [out][in].
func Tensors(c Config) []TensorSpec {
	parts := c.Parts()
	list := specs{{EmbedName, []int{c.Vocab, c.Width}}}
	for i := range c.Layers {
		list.attention(c, parts, BlockTensor(i, ""))
		list.mlp(c, parts, BlockTensor(i, ""))
	}
	list.vector("model.norm", c.Width)
	if !c.TieEmbeddings {
		list = append(list, TensorSpec{HeadName, []int{c.Vocab, c.Width}})
	}
	return list
}

// Parameters is the number of parameters of a model.
func (c Config) Parameters() int {
	n := 0
	for _, spec := range Tensors(c) {
		n += product(spec.Shape)
	}
	return n
}

// BlockTensor is the name of a layer of block i, without its ending ".weight" or ".bias".
func BlockTensor(i int, name string) string { return fmt.Sprintf("%s%d.%s", blocks, i, name) }

const blocks = "model.layers." // what the names of all tensors of blocks begin with

func (s *specs) attention(c Config, parts Parts, block string) {
	heads, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	s.vector(block+"input_layernorm", c.Width)
	s.modules(parts.QKVBias || c.AttentionBias,
		module{block + "self_attn.q_proj", heads, c.Width},
		module{block + "self_attn.k_proj", kv, c.Width},
		module{block + "self_attn.v_proj", kv, c.Width})
	if c.QKNorm {
		s.vector(block+"self_attn.q_norm", c.HeadDim)
		s.vector(block+"self_attn.k_norm", c.HeadDim)
	}
	s.modules(c.AttentionBias, module{block + "self_attn.o_proj", c.Width, heads})
	if parts.Sandwich {
		s.vector(block+"post_attention_layernorm", c.Width)
	}
}

func (s *specs) mlp(c Config, parts Parts, block string) {
	before := "post_attention_layernorm"
	if parts.Sandwich {
		before = "pre_feedforward_layernorm"
	}
	s.vector(block+before, c.Width)
	s.modules(c.MLPBias, module{block + "mlp.gate_proj", c.MLP, c.Width}, module{block + "mlp.up_proj", c.MLP, c.Width})
	s.modules(c.MLPBias, module{block + "mlp.down_proj", c.Width, c.MLP})
	if parts.Sandwich {
		s.vector(block+"post_feedforward_layernorm", c.Width)
	}
}

// CheckTensors compares a set with what the config asks for. A tied model may
// hold an lm_head.weight: the embedding wins, as in transformers' tie_weights.
func CheckTensors(c Config, ts *TensorSet) error {
	surplus := map[string]bool{}
	for name := range ts.tensors {
		// Files of the first Llamas also hold the rotation frequencies, which follow
		// from the config.
		surplus[name] = !strings.HasSuffix(name, ".rotary_emb.inv_freq")
	}
	for _, want := range Tensors(c) {
		if !surplus[want.Name] {
			tied := ""
			if want.Name == HeadName {
				tied = "; if the model uses its embedding as head, config.json should say tie_word_embeddings true"
			}
			return fmt.Errorf("tensor %s is missing%s", want.Name, tied)
		}
		if found := ts.tensors[want.Name].shape; !slices.Equal(found, want.Shape) {
			return fmt.Errorf("tensor %s: found shape %v, accepted: %v by config.json", want.Name, found, want.Shape)
		}
		delete(surplus, want.Name)
	}
	if c.TieEmbeddings {
		delete(surplus, HeadName)
	}
	for _, name := range ts.Names() {
		if surplus[name] {
			err := fmt.Errorf("tensor %s is not part of the model that config.json describes", name)
			if strings.HasPrefix(name, forms[len(forms)-1].layers[0]) {
				err = hint.With(err, scores)
			}
			return err
		}
	}
	return nil
}

// Tensors lists the matrices of an adapter over the model of a config, in the order of PEFT's
// files: A is [rank][in], B [out][rank]. A target that is no module of the model is an error.
func (a AdapterConfig) Tensors(c Config) ([]TensorSpec, error) {
	var modules, ends []string
	var list []TensorSpec
	for _, spec := range Tensors(c) {
		name, ok := strings.CutSuffix(spec.Name, ".weight")
		if !ok || len(spec.Shape) < 2 || !strings.HasPrefix(name, blocks) {
			continue
		}
		modules, ends = append(modules, name), append(ends, name[strings.LastIndex(name, ".")+1:])
		if a.Targeted(name) {
			rank, _ := a.Of(name)
			list = append(list,
				TensorSpec{AdapterTensor(name, "A"), []int{rank, spec.Shape[1]}},
				TensorSpec{AdapterTensor(name, "B"), []int{spec.Shape[0], rank}})
		}
	}
	slices.Sort(ends)
	has := strings.Join(slices.Compact(ends), ", ")
	for _, end := range a.Targets {
		if !slices.ContainsFunc(modules, func(m string) bool { return endsIn(m, end) }) {
			return nil, fmt.Errorf("the model has no module %s; it has %s", end, has)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%q matches no module of the model; it has %s", a.Pattern, has)
	}
	return list, nil
}

// AdapterTensor is the name of a module's matrix "A" or "B" in a PEFT file.
func AdapterTensor(module, part string) string {
	return "base_model.model." + module + ".lora_" + part + ".weight"
}

// CheckAdapter compares a set with the tensors of an adapter.
func CheckAdapter(want []TensorSpec, ts *TensorSet) error {
	known := map[string]bool{}
	for _, spec := range want {
		known[spec.Name] = true
		if found := ts.shape(spec.Name); found == nil {
			return fmt.Errorf("tensor %s is missing", spec.Name)
		} else if !slices.Equal(found, spec.Shape) {
			return fmt.Errorf("tensor %s: found shape %v, accepted: %v", spec.Name, found, spec.Shape)
		}
	}
	for _, name := range ts.Names() {
		if !known[name] {
			return fmt.Errorf("tensor %s belongs to no module that %s names", name, adapterConfigFile)
		}
	}
	return nil
}
