package model

import (
	"fmt"
	"sort"
	"strings"
)

// family is what an architecture adds to the common decoder: the defaults of
// the keys that its config.json may leave out, and its quirks.
type family struct {
	architecture string // config.json: architectures[0]
	missing      string // what the decoder lacks for it; "" if it runs

	headDim      int // head_dim when absent; 0: hidden_size / num_attention_heads
	kvHeads      int // num_key_value_heads when absent (null is another matter); 0: num_attention_heads
	maxPositions int
	ropeTheta    float64
	normEps      float64
	tied         bool
	qkNorm       bool
	window       windowRule
	source       string // below [transformersModels]
}

// windowRule says when keys of config.json ask for sliding-window attention.
type windowRule int

const (
	windowNever  windowRule = iota // the family has none, the keys are ignored
	windowAlways                   // sliding_window is not null; 4096 when absent
	windowOptIn                    // use_sliding_window, in layers from max_window_layers on
)

// transformersModels is where the sources of the table below lie; the defaults
// are those of version 4.57.1.
const transformersModels = "https://github.com/huggingface/transformers/tree/v4.57.1/src/transformers/models/"

// families has one row per model_type of config.json.
var families = map[string]family{
	"llama": {architecture: "LlamaForCausalLM", maxPositions: 2048, ropeTheta: 10000, normEps: 1e-6,
		source: "llama/configuration_llama.py"},
	"mistral": {architecture: "MistralForCausalLM", maxPositions: 4096 * 32, ropeTheta: 10000, normEps: 1e-6,
		kvHeads: 8, window: windowAlways, source: "mistral/configuration_mistral.py"},
	"qwen2": {architecture: "Qwen2ForCausalLM", maxPositions: 32768, ropeTheta: 10000, normEps: 1e-6,
		kvHeads: 32, window: windowOptIn, missing: "biases on the q, k and v projections",
		source: "qwen2/modeling_qwen2.py"},
	"qwen3": {architecture: "Qwen3ForCausalLM", maxPositions: 32768, ropeTheta: 10000, normEps: 1e-6,
		headDim: 128, kvHeads: 32, qkNorm: true, window: windowOptIn, source: "qwen3/configuration_qwen3.py"},
	"gemma3_text": {architecture: "Gemma3ForCausalLM", maxPositions: 131072, ropeTheta: 1e6, normEps: 1e-6,
		headDim: 256, kvHeads: 4, tied: true, qkNorm: true,
		missing: "norm weights as 1+w, norms after attention and MLP, gelu, sliding windows and two rope bases",
		source:  "gemma3/modeling_gemma3.py"},
	"smollm3": {architecture: "SmolLM3ForCausalLM", maxPositions: 32768, ropeTheta: 2e6, normEps: 1e-6,
		kvHeads: 4, tied: true, window: windowOptIn, missing: "layers without rope (no_rope_layers)",
		source: "smollm3/modeling_smollm3.py"},
}

// Families lists the model types that the decoder runs.
func Families() []string {
	var names []string
	for name, f := range families {
		if f.missing == "" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// lookupFamily finds the row of a model type that the decoder runs.
func lookupFamily(name string) (family, error) {
	f, ok := families[name]
	supported := strings.Join(Families(), ", ")
	if !ok {
		return f, fmt.Errorf("model_type: found %q, an unknown architecture; supported: %s", name, supported)
	}
	if f.missing != "" {
		return f, fmt.Errorf("model_type: family %s is not supported yet: it needs %s; supported: %s", name, f.missing, supported)
	}
	return f, nil
}
