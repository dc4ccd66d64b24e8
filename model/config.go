package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Config describes a decoder: the content of a Hugging Face config.json. The
// name of each field's key stands behind it.
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
	AttentionBias bool // attention_bias; not supported yet
	MLPBias       bool // mlp_bias; not supported yet

	BOS int   // bos_token_id, -1 for none
	EOS []int // eos_token_id: any of them ends a completion
	PAD int   // pad_token_id, -1 for none

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
		BOS: -1, PAD: -1, InitStd: 0.02,
	}, nil
}

// Complete fills in KVHeads (Heads) and HeadDim (Width/Heads) where they are 0
// and checks everything. The error names the key of config.json that is wrong.
func (c *Config) Complete() error {
	if _, err := lookupFamily(c.Family); err != nil {
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
	return c.validate()
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
	if c.AttentionBias {
		return fmt.Errorf("attention_bias: found true, accepted: false (biases are not supported yet)")
	}
	if c.MLPBias {
		return fmt.Errorf("mlp_bias: found true, accepted: false (biases are not supported yet)")
	}
	if err := errors.Join(c.Dtype.check(dtypeKey), c.KVDtype.check(kvDtypeKey)); err != nil {
		return err
	}
	if err := c.validateIDs(); err != nil {
		return err
	}
	return c.RopeScaling.validate()
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

// RopeTable returns cosines and sines of the rotation angles, [positions] rows of
// HeadDim/2 each, computed in float64 and rounded once. Row p, column i is the
// angle p * f_i, f_i = theta^(-2i/HeadDim) before scaling. Element i of a head is
// paired with element i + HeadDim/2 (rotate_half).
//
// llama3 scaling: wavelengths above original/low are divided by factor, those
// below original/high are kept, and between them the frequency is blended
// linearly in original/wavelength. Source: modeling_rope_utils.py of transformers,
// _compute_llama3_parameters.
func RopeTable(c Config, positions int) (cos, sin [][]float32) {
	half := c.HeadDim / 2
	freq := make([]float64, half)
	for i := range freq {
		freq[i] = c.RopeScaling.scale(math.Pow(c.RopeTheta, -2*float64(i)/float64(c.HeadDim)))
	}
	cos, sin = make([][]float32, positions), make([][]float32, positions)
	for p := range positions {
		cos[p], sin[p] = make([]float32, half), make([]float32, half)
		for i, f := range freq {
			s, c := math.Sincos(float64(p) * f)
			cos[p][i], sin[p][i] = float32(c), float32(s)
		}
	}
	return cos, sin
}

// scale changes one frequency, in radians per token.
func (s *RopeScaling) scale(f float64) float64 {
	switch {
	case s == nil:
		return f
	case s.Type == "linear":
		return f / s.Factor
	}
	turns := float64(s.OriginalMaxPositions) * f / (2 * math.Pi) // original / wavelength
	switch {
	case turns < s.LowFreqFactor:
		return f / s.Factor
	case turns > s.HighFreqFactor:
		return f
	}
	blend := (turns - s.LowFreqFactor) / (s.HighFreqFactor - s.LowFreqFactor)
	return (1-blend)*f/s.Factor + blend*f
}

// MarshalJSON is the config.json of a model whose weights are stored as float32:
// keys sorted, in the spelling that every version of transformers reads.
func (c Config) MarshalJSON() ([]byte, error) {
	out := map[string]any{"hidden_act": "silu", "use_cache": true}
	f := families[c.Family]
	if f.window == windowAlways {
		out["sliding_window"] = nil // absent means 4096
	}
	for k, v := range c.Raw {
		out[k] = v
	}
	for k, v := range map[string]any{
		"architectures": []string{f.architecture}, "model_type": c.Family, "torch_dtype": "float32",
		"vocab_size": c.Vocab, "hidden_size": c.Width, "intermediate_size": c.MLP,
		"num_hidden_layers": c.Layers, "num_attention_heads": c.Heads,
		"num_key_value_heads": c.KVHeads, "head_dim": c.HeadDim, "max_position_embeddings": c.MaxPositions,
		"rms_norm_eps": jsonFloat(c.NormEps), "rope_theta": jsonFloat(c.RopeTheta), "rope_scaling": c.RopeScaling.keys(),
		"tie_word_embeddings": c.TieEmbeddings, "attention_bias": c.AttentionBias, "mlp_bias": c.MLPBias,
		"bos_token_id": idOrNull(c.BOS), "eos_token_id": idsOrNull(c.EOS), "pad_token_id": idOrNull(c.PAD),
		"initializer_range": jsonFloat(c.InitStd),
	} {
		out[k] = v
	}
	for k, d := range map[string]Dtype{dtypeKey: c.Dtype, kvDtypeKey: c.KVDtype} {
		if d == BF16 {
			out[k] = d
		}
	}
	return json.Marshal(out)
}

func (s *RopeScaling) keys() map[string]any {
	if s == nil {
		return nil
	}
	k := map[string]any{"rope_type": s.Type, "factor": jsonFloat(s.Factor)}
	if s.Type == "llama3" {
		k["low_freq_factor"], k["high_freq_factor"] = jsonFloat(s.LowFreqFactor), jsonFloat(s.HighFreqFactor)
		k["original_max_position_embeddings"] = s.OriginalMaxPositions
	}
	return k
}

// jsonFloat is a number that other programs take for a float: 10000.0, never
// 10000, which transformers would warn of.
type jsonFloat float64

func (x jsonFloat) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(float64(x))
	if err == nil && !bytes.ContainsAny(data, ".e") {
		data = append(data, ".0"...)
	}
	return data, err
}

func idOrNull(id int) any {
	if id < 0 {
		return nil
	}
	return id
}

func idsOrNull(ids []int) any {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		return ids[0]
	}
	return ids
}
