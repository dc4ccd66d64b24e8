package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Config describes a decoder: the content of a Hugging Face config.json. The
// name of each field's key follows it.
type Config struct {
	Family       string // model_type
	Vocab        int    // vocab_size
	Width        int    // hidden_size
	Layers       int    // num_hidden_layers
	Heads        int    // num_attention_heads
	KVHeads      int    // num_key_value_heads, divides Heads
	HeadDim      int    // head_dim, even; need not be Width/Heads
	MLP          int    // intermediate_size
	MaxPositions int    // max_position_embeddings, tokens

	NormEps     float64      // rms_norm_eps
	RopeTheta   float64      // rope_theta
	RopeScaling *RopeScaling // rope_scaling, nil for none

	TieEmbeddings bool // tie_word_embeddings: the output head is the embedding
	QKNorm        bool // RMSNorm of each head of q and k before rotation; by family
	AttentionBias bool // attention_bias, on q, k, v and o; ignored by families without the key
	MLPBias       bool // mlp_bias, on gate, up and down; ignored by families without the key

	Window      int     // sliding_window: a query sees itself and Window-1 tokens before it; 0: none
	Sliding     []bool  // [layer] layer_types: whether it has the window; nil: none has
	NoRope      []bool  // [layer] no_rope_layers: whether it does not rotate; nil: all rotate
	LocalTheta  float64 // rope_local_base_freq: the base of sliding layers, never scaled; 0: RopeTheta
	QueryScalar float64 // query_pre_attn_scalar: queries are divided by its root; 0: HeadDim

	BOS int   // bos_token_id, -1 for none
	EOS []int // eos_token_id: any of them ends a completion
	PAD int   // pad_token_id, -1 for none

	Generation GenerationConfig // generation_config.json, which lies beside

	InitStd float64 // initializer_range, of fresh weights

	Dtype   Dtype // rlzero_dtype, of matrices as the passes read them
	KVDtype Dtype // rlzero_kv_dtype, of keys and values

	// Raw holds the keys of a config.json that was read and that no field above
	// stands for. MarshalJSON writes them back unchanged.
	Raw map[string]json.RawMessage
}

// Keys of a config.json that only this program reads.
const (
	dtypeKey   = "rlzero_dtype"
	kvDtypeKey = "rlzero_kv_dtype"
)

// RopeScaling changes the rotation frequencies of a model whose context was
// extended. Type "linear" divides every frequency by Factor; "llama3" only those
// whose wavelength exceeds OriginalMaxPositions/HighFreqFactor, see [RopeTable].
type RopeScaling struct {
	Type                 string  // rope_type
	Factor               float64 // factor
	LowFreqFactor        float64 // low_freq_factor, llama3 only
	HighFreqFactor       float64 // high_freq_factor, llama3 only
	OriginalMaxPositions int     // original_max_position_embeddings, llama3 only
}

// Largest sizes a config may ask for. No model comes near; what is beyond is a
// damaged file, and must not lead to an allocation of that size.
const (
	maxSize      = 1 << 24 // rows, columns, positions, vocabulary
	maxLayers    = 1 << 12
	maxHeadCount = 1 << 12
)

// NewConfig has the defaults of a family. The sizes Vocab, Width, Layers, Heads
// and MLP are left for the caller; KVHeads and HeadDim 0 are filled in by
// [Config.Complete].
func NewConfig(familyName string) (Config, error) {
	f, err := lookupFamily(familyName)
	if err != nil {
		return Config{}, err
	}
	return Config{
		Family: familyName, HeadDim: f.headDim, MaxPositions: f.maxPositions,
		NormEps: f.normEps, RopeTheta: f.ropeTheta,
		TieEmbeddings: f.tied, QKNorm: f.qkNorm,
		LocalTheta: f.localTheta, QueryScalar: f.queryScalar,
		BOS: -1, PAD: -1, InitStd: 0.02,
	}, nil
}

// Complete fills in KVHeads (Heads) and HeadDim (Width/Heads) where they are 0, the
// layers with a window or without rotation where their lists are nil, and checks
// everything. The error names the key of config.json that is wrong.
func (c *Config) Complete() error {
	f, err := lookupFamily(c.Family)
	if err != nil {
		return err
	}
	if c.KVHeads == 0 {
		c.KVHeads = c.Heads
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		if c.Width%c.Heads != 0 {
			return fmt.Errorf("num_attention_heads: found %d, accepted: a divisor of hidden_size %d, or a head_dim of its own", c.Heads, c.Width)
		}
		c.HeadDim = c.Width / c.Heads
	}
	if err := c.validate(); err != nil {
		return err
	}
	f.fillLayers(c)
	return c.validateLayers()
}

func (c *Config) validate() error {
	for _, s := range []struct {
		key        string
		value, max int
	}{
		{"vocab_size", c.Vocab, maxSize}, {"hidden_size", c.Width, maxSize},
		{"num_hidden_layers", c.Layers, maxLayers}, {"num_attention_heads", c.Heads, maxHeadCount},
		{"num_key_value_heads", c.KVHeads, maxHeadCount}, {"head_dim", c.HeadDim, maxSize},
		{"intermediate_size", c.MLP, maxSize}, {"max_position_embeddings", c.MaxPositions, maxSize},
	} {
		if s.value < 1 || s.value > s.max {
			return fmt.Errorf("%s: found %d, accepted: 1 to %d", s.key, s.value, s.max)
		}
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("num_key_value_heads: found %d, accepted: a divisor of num_attention_heads %d", c.KVHeads, c.Heads)
	}
	if c.HeadDim%2 != 0 {
		return fmt.Errorf("head_dim: found %d, accepted: an even number (rotation pairs the two halves of a head)", c.HeadDim)
	}
	for _, p := range []struct {
		key   string
		value float64
	}{{"rms_norm_eps", c.NormEps}, {"rope_theta", c.RopeTheta}, {"initializer_range", c.InitStd}} {
		if !(p.value > 0) || math.IsInf(p.value, 0) {
			return fmt.Errorf("%s: found %v, accepted: a number above 0", p.key, p.value)
		}
	}
	for _, p := range []struct {
		key   string
		value float64
	}{{"rope_local_base_freq", c.LocalTheta}, {"query_pre_attn_scalar", c.QueryScalar}} {
		if !(p.value >= 0) || math.IsInf(p.value, 0) {
			return fmt.Errorf("%s: found %v, accepted: a number above 0", p.key, p.value)
		}
	}
	if err := errors.Join(c.Dtype.check(dtypeKey, F32, BF16, Q8, Q4), c.KVDtype.check(kvDtypeKey, F32, BF16)); err != nil {
		return err
	}
	if err := c.validateIDs(); err != nil {
		return err
	}
	return c.RopeScaling.validate()
}

// validateLayers checks the lists that have an entry for each layer.
func (c *Config) validateLayers() error {
	for _, l := range []struct {
		key  string
		list []bool
	}{{"layer_types", c.Sliding}, {"no_rope_layers", c.NoRope}} {
		if l.list != nil && len(l.list) != c.Layers {
			return fmt.Errorf("%s: found %d entries, accepted: num_hidden_layers %d", l.key, len(l.list), c.Layers)
		}
	}
	if c.Sliding != nil && (c.Window < 1 || c.Window > maxSize) {
		return fmt.Errorf("sliding_window: found %d, accepted: 1 to %d, for layers with sliding attention", c.Window, maxSize)
	}
	return nil
}

func (c *Config) validateIDs() error {
	check := func(key string, id, least int) error {
		if id < least || id >= c.Vocab {
			return fmt.Errorf("%s: found %d, accepted: token ids below vocab_size %d", key, id, c.Vocab)
		}
		return nil
	}
	for _, id := range c.EOS {
		if err := check("eos_token_id", id, 0); err != nil {
			return err
		}
	}
	if err := check("bos_token_id", c.BOS, -1); err != nil {
		return err
	}
	return check("pad_token_id", c.PAD, -1)
}

func (s *RopeScaling) validate() error {
	if s == nil {
		return nil
	}
	if s.Type != "linear" && s.Type != "llama3" {
		return fmt.Errorf("rope_scaling: found rope_type %q, accepted: default, linear, llama3", s.Type)
	}
	if !(s.Factor >= 1) || math.IsInf(s.Factor, 0) {
		return fmt.Errorf("rope_scaling: found factor %v, accepted: a number from 1 up", s.Factor)
	}
	if s.Type == "linear" {
		return nil
	}
	if !(s.LowFreqFactor > 0 && s.HighFreqFactor > s.LowFreqFactor) || math.IsInf(s.HighFreqFactor, 0) {
		return fmt.Errorf("rope_scaling: found low_freq_factor %v and high_freq_factor %v, accepted: 0 < low < high", s.LowFreqFactor, s.HighFreqFactor)
	}
	if s.OriginalMaxPositions < 1 || s.OriginalMaxPositions > maxSize {
		return fmt.Errorf("rope_scaling: found original_max_position_embeddings %d, accepted: 1 to %d", s.OriginalMaxPositions, maxSize)
	}
	return nil
}
