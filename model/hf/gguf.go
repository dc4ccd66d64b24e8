package hf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// ggufArch is how GGUF files of an architecture differ from Hugging Face folders.
type ggufArch struct {
	family   string // model_type that its files are read as
	permuted bool   // rows of q and k: pairs that rotate together are neighbours
}

// ggufArchs has a row for each value of general.architecture. Rows of q and k are
// permuted where llama.cpp rotates neighbours (llama_model_rope_type: NORM) and not halves
// (NEOX). https://github.com/ggml-org/llama.cpp/blob/master/src/llama-model.cpp, and for
// the conversion convert_hf_to_gguf.py: LlamaModel.permute, Gemma3Model (norms as 1+w).
var ggufArchs = map[string]ggufArch{
	"llama":   {"llama", true},
	"qwen2":   {"qwen2", false},
	"qwen3":   {"qwen3", false},
	"gemma3":  {"gemma3_text", false},
	"smollm3": {"smollm3", true},
}

// ggufFamilies is the architecture that a family is written as.
var ggufFamilies = map[string]string{
	"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma3_text": "gemma3", "smollm3": "smollm3",
}

// Metadata keys; those of an architecture follow its name and a dot.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
const (
	ggufArchKey   = "general.architecture"
	ggufConfigKey = "rlzero.config" // config.json, as GGUF has no keys for all of it
	ggufRopeFreqs = "rope_freqs.weight"
)

// ggufOutside are the names of tensors outside of blocks.
var ggufOutside = map[string]string{EmbedName: "token_embd.weight", "model.norm.weight": "output_norm.weight", HeadName: "output.weight"}

// ggufInside are the names of what a block has, without ".weight" or ".bias".
var ggufInside = map[string]string{
	"input_layernorm":  "attn_norm",
	"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
	"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
	"post_attention_layernorm": "ffn_norm",
	"mlp.gate_proj":            "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}

// ggufSandwich are the names that differ in blocks with norms after their parts too.
var ggufSandwich = map[string]string{
	"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
}

// ggufName is the name of a tensor in a GGUF file.
func ggufName(f family, name string) (string, error) {
	if out, ok := ggufOutside[name]; ok {
		return out, nil
	}
	layer, part, ok := strings.Cut(strings.TrimPrefix(name, "model.layers."), ".")
	dot := strings.LastIndexByte(part, '.')
	if !ok || dot < 0 {
		return "", fmt.Errorf("tensor %s has no name in GGUF", name)
	}
	names := ggufInside
	if f.Sandwich {
		names = maps.Clone(ggufInside)
		maps.Copy(names, ggufSandwich)
	}
	inside, ok := names[part[:dot]]
	if !ok {
		return "", fmt.Errorf("tensor %s has no name in GGUF", name)
	}
	return "blk." + layer + "." + inside + part[dot:], nil
}

// ggufPlace says how a tensor's values differ in the file.
type ggufPlace struct {
	heads int     // whose rows are permuted; 0: none
	plus  float32 // added to every value
}

func placeOf(c Config, f family, arch ggufArch, name string) ggufPlace {
	var p ggufPlace
	switch {
	case !arch.permuted:
	case strings.Contains(name, ".q_proj."):
		p.heads = c.Heads
	case strings.Contains(name, ".k_proj."):
		p.heads = c.KVHeads
	}
	if strings.HasSuffix(name, "norm.weight") {
		p.plus = float32(f.NormPlus)
	}
	return p
}

// rowInFile is where row r of so many lies in the file: half h, pair j of a head is row
// 2j+h of it there.
func (p ggufPlace) rowInFile(r, rows int) int {
	if p.heads == 0 {
		return r
	}
	perHead := rows / p.heads
	head, r := r/perHead, r%perHead
	return head*perHead + r%(perHead/2)*2 + r/(perHead/2)
}

// toFile changes a tensor's values to those of a GGUF file.
func (p ggufPlace) toFile(data []float32, shape []int) []float32 {
	if p.heads == 0 {
		return p.shifted(data, p.plus)
	}
	out := make([]float32, len(data))
	cols := len(data) / shape[0]
	for row := range shape[0] {
		copy(out[p.rowInFile(row, shape[0])*cols:], data[row*cols:(row+1)*cols])
	}
	return out
}

// fromFile are the numbers of a vector, a bias, in their own order.
func (p ggufPlace) fromFile(data []float32) []float32 {
	if p.heads == 0 {
		return data
	}
	out := make([]float32, len(data))
	for i := range out {
		out[i] = data[p.rowInFile(i, len(data))]
	}
	return out
}

func (p ggufPlace) shifted(data []float32, by float32) []float32 {
	if by == 0 {
		return data
	}
	out := slices.Clone(data)
	for i := range out {
		out[i] += by
	}
	return out
}

// ropeFactors are the numbers by which llama.cpp divides the rotation frequencies of a
// model with rope scaling llama3; nil for others.
func ropeFactors(c Config) []float32 {
	s := c.RopeScaling
	if s == nil || s.Type != "llama3" {
		return nil
	}
	out := make([]float32, c.HeadDim/2)
	for i := range out {
		f := math.Pow(c.RopeTheta, -2*float64(i)/float64(c.HeadDim))
		out[i] = float32(f / s.scale(f))
	}
	return out
}
