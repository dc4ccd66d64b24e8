package hf

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Parts are what an architecture changes in the parts of the common decoder, whatever the
// keys of a config.json say.
type Parts struct {
	QKVBias    bool    // biases on q, k and v
	Sandwich   bool    // norms after attention and MLP too, and other names of the norms
	NormPlus   float64 // added to the factors of all norms: 1 where the files hold w of 1+w
	GELU       bool    // gelu by tanh (key hidden_activation) and not silu (key hidden_act)
	EmbedScale bool    // embeddings are multiplied by sqrt(hidden_size)
}

// Parts are those of the config's family.
func (c Config) Parts() Parts { return families[c.Family].Parts }

// family is what an architecture adds to the common decoder: the defaults of
// the keys that its config.json may leave out, and the options of its parts.
type family struct {
	Parts

	architecture string // config.json: architectures[0]

	headDim      int // head_dim when absent; 0: hidden_size / num_attention_heads
	kvHeads      int // num_key_value_heads when absent (null is another matter); 0: num_attention_heads
	maxPositions int
	ropeTheta    float64
	normEps      float64
	tied         bool

	attentionBias bool    // the key attention_bias counts: biases on q, k, v and o
	mlpBias       bool    // the key mlp_bias counts: biases on gate, up and down
	qkNorm        bool    // RMSNorm of each query and key head before the rotation
	queryScalar   float64 // query_pre_attn_scalar when absent; 0: head_dim, and no such key
	window        windowRule
	localTheta    float64 // rope_local_base_freq of sliding layers when absent; 0: they rotate as all do
	noRopeEvery   int     // no_rope_layer_interval when absent: every n-th layer does not rotate; 0: all do

	sources []string // where each of these is written down, below [transformers]
}

// windowRule says in which layers a query sees only the sliding_window tokens up to
// itself.
type windowRule int

const (
	windowNever   windowRule = iota // the keys are ignored
	windowAlways                    // in all, unless sliding_window is null; 4096 when absent
	windowOptIn                     // by layer_types, or from max_window_layers on, with use_sliding_window
	windowNoRope                    // by layer_types, or where there is no rotation, with use_sliding_window
	windowPattern                   // by layer_types, or in all but every sliding_window_pattern-th; 4096 when absent
)

// families has one row per model_type of config.json. Its sources are files of
// https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/. The rotation is in
// modeling_rope_utils.py for all of them, the window in masking_utils.py
// (sliding_window_overlay).
var families = map[string]family{
	"llama": {architecture: "LlamaForCausalLM", maxPositions: 2048, ropeTheta: 10000, normEps: 1e-6,
		attentionBias: true, mlpBias: true,
		sources: []string{"models/llama/configuration_llama.py", "models/llama/modeling_llama.py (biases)"}},
	"mistral": {architecture: "MistralForCausalLM", maxPositions: 4096 * 32, ropeTheta: 10000, normEps: 1e-6,
		kvHeads: 8, window: windowAlways,
		sources: []string{"models/mistral/configuration_mistral.py", "models/mistral/modeling_mistral.py (window)"}},
	"qwen2": {architecture: "Qwen2ForCausalLM", maxPositions: 32768, ropeTheta: 10000, normEps: 1e-6,
		kvHeads: 32, Parts: Parts{QKVBias: true}, window: windowOptIn,
		sources: []string{"models/qwen2/configuration_qwen2.py (window)", "models/qwen2/modeling_qwen2.py (biases)"}},
	"qwen3": {architecture: "Qwen3ForCausalLM", maxPositions: 32768, ropeTheta: 10000, normEps: 1e-6,
		headDim: 128, kvHeads: 32, attentionBias: true, qkNorm: true, window: windowOptIn,
		sources: []string{"models/qwen3/configuration_qwen3.py (window)", "models/qwen3/modeling_qwen3.py (q_norm, k_norm, biases)"}},
	"gemma3_text": {architecture: "Gemma3ForCausalLM", maxPositions: 131072, ropeTheta: 1e6, normEps: 1e-6,
		headDim: 256, kvHeads: 4, tied: true,
		attentionBias: true, qkNorm: true, Parts: Parts{Sandwich: true, NormPlus: 1, GELU: true, EmbedScale: true},
		queryScalar: 256, window: windowPattern, localTheta: 10000,
		sources: []string{"models/gemma3/configuration_gemma3.py (defaults, layer_types)",
			"models/gemma3/modeling_gemma3.py (Gemma3RMSNorm: 1+w; Gemma3DecoderLayer: four norms; Gemma3TextScaledWordEmbedding; " +
				"Gemma3Attention: query_pre_attn_scalar; Gemma3TextModel: two rotations)"}},
	"smollm3": {architecture: "SmolLM3ForCausalLM", maxPositions: 32768, ropeTheta: 2e6, normEps: 1e-6,
		kvHeads: 4, tied: true, attentionBias: true, mlpBias: true, window: windowNoRope, noRopeEvery: 4,
		sources: []string{"models/smollm3/configuration_smollm3.py (no_rope_layers)", "models/smollm3/modeling_smollm3.py (use_rope)"}},
}

// Families lists the model types that the decoder runs.
func Families() []string {
	var names []string
	for name := range families {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// lookupFamily finds the row of a model type.
func lookupFamily(name string) (family, error) {
	f, ok := families[name]
	if !ok {
		return f, fmt.Errorf("model_type: found %q, an unknown architecture; supported: %s", name, strings.Join(Families(), ", "))
	}
	return f, nil
}

// fillLayers sets what differs from layer to layer where the config does not say it,
// and leaves out what makes no difference.
func (f family) fillLayers(c *Config) {
	if c.NoRope == nil && f.noRopeEvery > 0 {
		c.NoRope = everyNth(c.Layers, f.noRopeEvery)
	}
	if c.Sliding == nil && c.Window > 0 {
		switch f.window {
		case windowAlways:
			c.Sliding = slices.Repeat([]bool{true}, c.Layers)
		case windowPattern:
			c.Sliding = everyNth(c.Layers, slidingPattern)
			for i := range c.Sliding {
				c.Sliding[i] = !c.Sliding[i]
			}
		}
	}
	if !slices.Contains(c.Sliding, true) {
		c.Sliding, c.Window = nil, 0
	}
	if !slices.Contains(c.NoRope, true) {
		c.NoRope = nil
	}
}

const (
	slidingWindow  = 4096 // sliding_window when absent, tokens
	slidingPattern = 6    // sliding_window_pattern when absent
)

// everyNth is true for layers n-1, 2n-1, ...
func everyNth(layers, n int) []bool {
	out := make([]bool, layers)
	for i := n - 1; i < layers; i += n {
		out[i] = true
	}
	return out
}
