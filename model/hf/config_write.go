package hf

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/model/gguf"
)

// MarshalJSON is the config.json of a model whose weights are stored as float32:
// keys sorted, in the spelling that every version of transformers reads.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.keys(gguf.F32)) }

// torchTypes are the names that torch_dtype has for the types of weights.
var torchTypes = map[gguf.Type]string{gguf.F32: "float32", gguf.F16: "float16", gguf.BF16: "bfloat16"}

// keys are those of config.json for weights of a type.
func (c Config) keys(stored gguf.Type) map[string]any {
	f := families[c.Family]
	out := map[string]any{"use_cache": true, "hidden_act": "silu"}
	if f.GELU {
		delete(out, "hidden_act")
		out["hidden_activation"] = geluName
	}
	for k, v := range c.Raw {
		out[k] = v
	}
	c.layerKeys(f, out)
	for k, v := range map[string]any{
		"architectures": []string{f.architecture}, "model_type": c.Family, "torch_dtype": torchTypes[stored],
		"vocab_size": c.Vocab, "hidden_size": c.Width, "intermediate_size": c.MLP,
		"num_hidden_layers": c.Layers, "num_attention_heads": c.Heads,
		"num_key_value_heads": c.KVHeads, "head_dim": c.HeadDim, "max_position_embeddings": c.MaxPositions,
		"rms_norm_eps": jsonFloat(c.NormEps), "rope_theta": jsonFloat(c.RopeTheta), "rope_scaling": c.RopeScaling.keys(),
		"tie_word_embeddings": c.TieEmbeddings,
		"bos_token_id":        idOrNull(c.BOS), "eos_token_id": idsOrNull(c.EOS), "pad_token_id": idOrNull(c.PAD),
		"initializer_range": jsonFloat(c.InitStd),
	} {
		out[k] = v
	}
	if f.attentionBias {
		out["attention_bias"] = c.AttentionBias
	}
	if f.mlpBias {
		out["mlp_bias"] = c.MLPBias
	}
	if f.queryScalar > 0 {
		out["query_pre_attn_scalar"] = jsonFloat(c.QueryScalar)
	}
	if f.localTheta > 0 {
		out["rope_local_base_freq"] = jsonFloat(c.LocalTheta)
	}
	for k, d := range map[string]Dtype{dtypeKey: c.Dtype, kvDtypeKey: c.KVDtype} {
		if d != "" && d != F32 {
			out[k] = d
		}
	}
	return out
}

// Unlike is the first key of config.json, by its name, that tells another arithmetic than that of another
// model, with the values of both as JSON; "": there is none. Ids of tokens, the length of the context, how
// numbers are stored, and keys that no pass reads make no difference.
func (c Config) Unlike(other Config) (key string, own, others []byte, err error) {
	c.Raw, other.Raw = nil, nil
	a, b := c.keys(gguf.F32), other.keys(gguf.F32)
	maps.Copy(b, map[string]any{"initializer_range": a["initializer_range"], "max_position_embeddings": a["max_position_embeddings"], dtypeKey: a[dtypeKey], kvDtypeKey: a[kvDtypeKey]})
	for _, id := range tokenKeys {
		b[id] = a[id]
	}
	union := maps.Clone(a)
	maps.Copy(union, b)
	for _, key := range slices.Sorted(maps.Keys(union)) {
		own, err := json.Marshal(a[key])
		if err != nil {
			return "", nil, nil, err
		}
		others, err := json.Marshal(b[key])
		if err != nil || !bytes.Equal(own, others) {
			return key, own, others, err
		}
	}
	return "", nil, nil, nil
}

// layerKeys are the keys about what differs from layer to layer. What was read and
// makes no difference stays as it was.
func (c Config) layerKeys(f family, out map[string]any) {
	switch {
	case c.Window > 0:
		out["sliding_window"] = c.Window
		if f.window != windowAlways {
			out["layer_types"] = layerTypes(c.Sliding)
		}
		if f.window == windowOptIn || f.window == windowNoRope {
			out["use_sliding_window"] = true
		}
	case f.window == windowAlways:
		out["sliding_window"] = nil // absent means 4096
	case f.window == windowPattern:
		out["layer_types"] = layerTypes(make([]bool, c.Layers)) // absent means that most slide
	}
	if f.noRopeEvery > 0 {
		rotates := slices.Repeat([]int{1}, c.Layers)
		for i, none := range c.NoRope {
			if none {
				rotates[i] = 0
			}
		}
		out["no_rope_layers"] = rotates
	}
}

// The values of layer_types.
const (
	slidingAttention = "sliding_attention"
	fullAttention    = "full_attention"
)

func layerTypes(sliding []bool) []string {
	types := make([]string, len(sliding))
	for i, s := range sliding {
		types[i] = fullAttention
		if s {
			types[i] = slidingAttention
		}
	}
	return types
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
