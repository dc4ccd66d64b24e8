package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// ParseConfig reads a config.json. Sizes have to be there; other keys have the
// defaults of their family. Both spellings are read: rope_theta and rope_scaling
// (transformers 4), rope_parameters (5). Errors name line, key, what was found and
// what is accepted.
func ParseConfig(data []byte) (Config, error) {
	c, _, err := parseConfig(data, false)
	return c, err
}

// parseConfig is ParseConfig, also of a model that has a head and no table of output tokens, and the
// architecture that it names; "": none.
func parseConfig(data []byte, headed bool) (c Config, architecture string, err error) {
	keys, err := readObject(data, 1)
	if err != nil {
		return Config{}, "", err
	}
	r := configReader{keys: keys}
	modelType := r.text("model_type", "")
	if r.err == nil && modelType == "" {
		r.err = r.missing("model_type", strings.Join(Families(), ", "))
	}
	if r.err != nil {
		return Config{}, "", r.err
	}
	if c, err = NewConfig(modelType); err != nil {
		return Config{}, "", r.at("model_type", err)
	}
	f := families[modelType]
	accepted := []string{f.architecture}
	if headed {
		accepted = append(f.headed(modelType), f.architecture)
	}
	architecture = r.refuseMisread(f, accepted)
	if !headed && r.err != nil && r.named(f.headed(modelType)) >= 0 {
		r.err = hint.With(r.err, scores)
	}

	c.Vocab = r.size("vocab_size")
	c.Width = r.size("hidden_size")
	c.MLP = r.size("intermediate_size")
	c.Layers = r.size("num_hidden_layers")
	c.Heads = r.size("num_attention_heads")
	c.KVHeads = r.sizeOr("num_key_value_heads", c.Heads)
	if _, ok := keys["num_key_value_heads"]; !ok && f.kvHeads > 0 {
		c.KVHeads = f.kvHeads
	}
	c.HeadDim = r.sizeOr("head_dim", c.HeadDim)
	c.MaxPositions = r.sizeOr("max_position_embeddings", c.MaxPositions)
	c.NormEps = r.number("rms_norm_eps", c.NormEps)
	c.InitStd = r.number("initializer_range", c.InitStd)
	c.TieEmbeddings = r.flag("tie_word_embeddings", c.TieEmbeddings)
	if f.attentionBias {
		c.AttentionBias = r.flag("attention_bias", false)
	}
	if f.mlpBias {
		c.MLPBias = r.flag("mlp_bias", false)
	}
	if f.queryScalar > 0 {
		c.QueryScalar = r.number("query_pre_attn_scalar", c.QueryScalar)
	}
	c.BOS = r.id("bos_token_id")
	c.PAD = r.id("pad_token_id")
	c.EOS = r.ids("eos_token_id")
	c.Dtype = r.dtype(dtypeKey)
	c.KVDtype = r.dtype(kvDtypeKey)
	r.rope(&c)
	r.layers(f, &c)
	if r.err != nil {
		return Config{}, "", r.err
	}
	if err := c.Complete(); err != nil {
		return Config{}, "", err
	}
	c.Raw = r.rest()
	return c, architecture, nil
}

// jsonValue is one value of a JSON object and the line its key begins in.
type jsonValue struct {
	raw  json.RawMessage
	line int
}

// readObject splits a JSON object that begins in line first into its keys. A key
// given twice is an error.
func readObject(data []byte, first int) (map[string]jsonValue, error) {
	var check json.RawMessage
	if err := json.Unmarshal(data, &check); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: not valid JSON: %w", first+newlines(data, syntax.Offset), err)
		}
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("found %s, accepted: an object { ... }", jsonfile.Describe(check))
	}
	keys := map[string]jsonValue{}
	line, counted := first, int64(0) // lines are counted once, for headers of megabytes
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // after { and between values only keys can come
		line += newlines(data[counted:], dec.InputOffset()-counted)
		counted = dec.InputOffset()
		v := jsonValue{line: line}
		if err := dec.Decode(&v.raw); err != nil {
			return nil, err
		}
		if other, ok := keys[key]; ok {
			return nil, fmt.Errorf("line %d: key %q is already in line %d", v.line, key, other.line)
		}
		keys[key] = v
	}
	return keys, nil
}

// newlines counts line ends before an offset.
func newlines(data []byte, offset int64) int {
	return bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

// configReader takes keys out of a JSON object. The first error stays; what is
// read after it has no meaning.
type configReader struct {
	prefix string // of keys in messages: the object they lie in
	keys   map[string]jsonValue
	used   []string
	err    error
}

// take returns a key's value and notes that a field stands for it; nil for an
// absent key and for null.
func (r *configReader) take(key string) json.RawMessage {
	r.used = append(r.used, key)
	v, ok := r.keys[key]
	if !ok || string(v.raw) == "null" {
		return nil
	}
	return v.raw
}

func (r *configReader) at(key string, err error) error {
	if v, ok := r.keys[key]; ok {
		return fmt.Errorf("line %d: %w", v.line, err)
	}
	return err
}

func (r *configReader) refuse(key, accepted string) {
	if r.err == nil {
		r.err = r.at(key, fmt.Errorf("%s%s: found %s, accepted: %s", r.prefix, key, jsonfile.Describe(r.keys[key].raw), accepted))
	}
}

func (r *configReader) missing(key, accepted string) error {
	return fmt.Errorf("%s%s is missing; accepted: %s", r.prefix, key, accepted)
}

// size reads a positive integer that has to be there.
func (r *configReader) size(key string) int {
	if r.take(key) == nil && r.err == nil {
		r.err = r.missing(key, positive)
	}
	return r.sizeOr(key, 0)
}

// sizeOr reads a positive integer; fallback stands for null and an absent key.
func (r *configReader) sizeOr(key string, fallback int) int {
	raw := r.take(key)
	if raw == nil {
		return fallback
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		r.refuse(key, positive)
	}
	return n
}

const positive = "a positive integer"

// dtype reads a Dtype, which Config.validate checks; "" for f32.
func (r *configReader) dtype(key string) Dtype {
	if d := Dtype(r.text(key, "")); d != F32 {
		return d
	}
	return ""
}

func (r *configReader) number(key string, fallback float64) float64 {
	raw := r.take(key)
	if raw == nil {
		return fallback
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		r.refuse(key, "a number")
	}
	return x
}

func (r *configReader) mustNumber(key string) float64 {
	if _, ok := r.keys[key]; !ok && r.err == nil {
		r.err = r.missing(key, "a number")
	}
	return r.number(key, 0)
}

func (r *configReader) flag(key string, fallback bool) bool {
	raw := r.take(key)
	if raw == nil {
		return fallback
	}
	if s := string(raw); s != "true" && s != "false" {
		r.refuse(key, "true or false")
	}
	return string(raw) == "true"
}

func (r *configReader) text(key, fallback string) string {
	raw := r.take(key)
	if raw == nil {
		return fallback
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		r.refuse(key, "a string")
	}
	return s
}

// id reads a token id; -1 for null, an absent key, and the -1 that some published
// files have.
func (r *configReader) id(key string) int {
	raw := r.take(key)
	if raw == nil {
		return -1
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < -1 {
		r.refuse(key, "a token id or null")
	}
	return n
}

// ids reads a token id or a list of them.
func (r *configReader) ids(key string) []int {
	raw := r.take(key)
	if raw == nil {
		return nil
	}
	var list []int
	if raw[0] != '[' {
		raw = slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
	}
	if json.Unmarshal(raw, &list) != nil {
		r.refuse(key, "a token id, a list of them, or null")
	}
	return list
}

func (r *configReader) ropeScaling() RopeScaling {
	var s RopeScaling
	key := "rope_type"
	if _, ok := r.keys[key]; !ok {
		key = "type" // its name before transformers 4.43
	}
	switch s.Type = r.text(key, "default"); s.Type {
	case "default":
	case "linear", "llama3":
		s.Factor = r.mustNumber("factor")
	default:
		r.refuse(key, "default, linear, llama3")
	}
	if s.Type == "llama3" {
		s.LowFreqFactor = r.mustNumber("low_freq_factor")
		s.HighFreqFactor = r.mustNumber("high_freq_factor")
		s.OriginalMaxPositions = r.size("original_max_position_embeddings")
	}
	r.refusePartialRotation()
	for _, key := range slices.Sorted(maps.Keys(r.rest())) {
		if key != "type" {
			r.refuse(key, fmt.Sprintf("the keys of rope_type %q", s.Type))
		}
	}
	return s
}

func (r *configReader) refusePartialRotation() {
	if _, ok := r.keys["partial_rotary_factor"]; ok && r.number("partial_rotary_factor", 1) != 1 {
		r.refuse("partial_rotary_factor", "1: the whole head is rotated")
	}
}

// refuseMisread stops at keys that change what the weights or the arithmetic
// mean, so that passing over them would misread the model. It returns the architecture that is named,
// which has to be one of those accepted; "": none is.
func (r *configReader) refuseMisread(f family, accepted []string) (architecture string) {
	for _, key := range []string{"quantization_config", "compression_config"} {
		if v, ok := r.keys[key]; ok && string(v.raw) != "null" {
			r.refuse(key, "none: quantised weights are not supported; use the unquantised model")
		}
	}
	activation, names := "hidden_act", []string{"silu", "swish"}
	if f.GELU {
		activation, names = "hidden_activation", []string{geluName}
	}
	if v, ok := r.keys[activation]; ok && string(v.raw) != "null" && !slices.Contains(names, strings.Trim(string(v.raw), `"`)) {
		r.refuse(activation, strconv.Quote(names[0]))
	}
	if v, ok := r.keys["final_logit_softcapping"]; ok && string(v.raw) != "null" {
		r.refuse("final_logit_softcapping", "null: soft capping of logits is not supported")
	}
	if v, ok := r.keys["use_bidirectional_attention"]; ok && string(v.raw) == "true" {
		r.refuse("use_bidirectional_attention", "false: the decoder is causal")
	}
	r.refusePartialRotation()
	if raw := r.take("architectures"); raw != nil {
		var names []string
		i := r.named(accepted)
		switch err := json.Unmarshal(raw, &names); {
		case i >= 0:
			architecture = names[i]
		case err != nil || len(names) > 0:
			r.refuse("architectures", `["`+strings.Join(accepted, `"], ["`)+`"]`)
		}
	}
	return architecture
}

// named is the place of the first architecture that is named and is one of some; -1: none is.
func (r *configReader) named(some []string) int {
	var names []string
	if json.Unmarshal(r.keys["architectures"].raw, &names) != nil {
		return -1
	}
	return slices.IndexFunc(names, func(name string) bool { return slices.Contains(some, name) })
}

// rest is what no field stands for. The stored type of the weights is dropped: it
// binds nobody (the tensors' headers count), and we write our own.
func (r *configReader) rest() map[string]json.RawMessage {
	rest := map[string]json.RawMessage{}
	for key, v := range r.keys {
		if !slices.Contains(r.used, key) && key != "dtype" && key != "torch_dtype" {
			rest[key] = v.raw
		}
	}
	return rest
}
