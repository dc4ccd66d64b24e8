package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
	"github.com/rlzero/rlzero/model/text"
)

// readGGUF opens a GGUF file as the Hugging Face folder that it was made from.
func readGGUF(path string) (*Folder, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: path}
	if err := f.fromGGUF(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *Folder) fromGGUF(file *gguf.File) error {
	name, err := file.Metadata.Text(ggufArchKey)
	if err != nil {
		return err
	}
	arch, ok := ggufArchs[name]
	if !ok {
		return fmt.Errorf("%s: found %q; accepted: %s", ggufArchKey, name, strings.Join(slices.Sorted(maps.Keys(ggufArchs)), ", "))
	}
	if f.Config, err = ggufConfig(file, name, arch); err != nil {
		return err
	}
	if f.Tokenizer, err = text.ReadGGUF(file.Metadata); err != nil {
		return err
	}
	if f.Tensors, err = ggufTensors(file, f.Config, arch); err != nil {
		return err
	}
	return CheckTensors(f.Config, f.Tensors)
}

// ggufTensors are the tensors of a file under the names of a Hugging Face folder.
func ggufTensors(file *gguf.File, c Config, arch ggufArch) (*TensorSet, error) {
	set := &TensorSet{tensors: map[string]storedTensor{}, files: nil}
	used := map[string]bool{ggufRopeFreqs: true}
	for _, spec := range Tensors(c) {
		f := families[c.Family]
		name, err := ggufName(f, spec.Name)
		if err != nil {
			return nil, err
		}
		t, ok := file.Tensor(name)
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", name)
		}
		used[name] = true
		place := placeOf(c, f, arch, spec.Name)
		if place.heads > 0 && (len(t.Shape) == 0 || t.Shape[0]%(2*place.heads) != 0) {
			return nil, fmt.Errorf("tensor %s: found shape %v; accepted: pairs of rows for each of %d heads", name, t.Shape, place.heads)
		}
		set.tensors[spec.Name] = place.stored(file, t)
	}
	for _, t := range file.Tensors {
		if !used[t.Name] {
			return nil, fmt.Errorf("tensor %s is not part of the model that the metadata describe", t.Name)
		}
	}
	set.files = append(set.files, file)
	return set, nil
}

// stored is a tensor of a file that is read as its place says.
func (p ggufPlace) stored(file *gguf.File, t gguf.Tensor) storedTensor {
	return storedTensor{
		shape: t.Shape,
		read: func(from, n int) ([]float32, error) {
			raw, err := p.rows(file, t, from, n)
			if err != nil {
				return nil, err
			}
			data, err := t.Type.Dequantize(raw)
			if err == nil && len(t.Shape) == 1 {
				data = p.fromFile(data)
			}
			return p.shifted(data, -p.plus), err
		},
		blocks: func(kind gguf.Type, from, n int) ([]byte, error) {
			if t.Type != kind || p.plus != 0 || len(t.Shape) == 1 {
				return nil, nil
			}
			return p.rows(file, t, from, n)
		},
	}
}

// rows are rows of a tensor as they lie in a file, in their own order; a vector, which is one row,
// has its numbers in the file's.
func (p ggufPlace) rows(file *gguf.File, t gguf.Tensor, from, n int) ([]byte, error) {
	if p.heads == 0 || len(t.Shape) == 1 {
		return file.Rows(t, from, n)
	}
	var out []byte
	for row := from; row < from+n; row++ {
		raw, err := file.Rows(t, p.rowInFile(row, t.Shape[0]), 1)
		if err != nil {
			return nil, err
		}
		out = append(out, raw...)
	}
	return out, nil
}

// ggufConfig makes a config.json of the metadata, and reads it.
func ggufConfig(file *gguf.File, name string, arch ggufArch) (Config, error) {
	whole, err := file.Metadata.Text(ggufConfigKey)
	if err != nil {
		return Config{}, err
	}
	if whole != "" {
		c, err := ParseConfig([]byte(whole))
		if err == nil {
			err = agree(file.Metadata, c, name)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", ggufConfigKey, err)
		}
		return c, err
	}
	k := ggufKeys{file: file, arch: name, config: map[string]any{"model_type": arch.family}}
	k.sizes()
	k.rotation()
	k.tokens()
	if k.err != nil {
		return Config{}, k.err
	}
	data, err := jsonfile.Marshal(k.config)
	if err != nil {
		return Config{}, err
	}
	c, err := ParseConfig(data)
	if err != nil {
		return c, fmt.Errorf("the metadata as a config.json: %w", err)
	}
	return c, k.checkFactors(&c)
}

// agree refuses a config that the keys which all programs read contradict: they would take the file
// for another model.
func agree(m gguf.Metadata, c Config, arch string) error {
	if own := ggufFamilies[c.Family]; own != arch {
		return fmt.Errorf("a model of family %s has %s %q; found %q", c.Family, ggufArchKey, own, arch)
	}
	for _, p := range append(ggufNumbers(c, arch), ggufIDs(c)...) {
		found := m.Get(p.Key)
		x, _, err := m.Float(p.Key)
		want, _, number := gguf.Metadata{p}.Float(p.Key)
		if same := err == nil && number == nil && float32(x) == float32(want); found != nil && !same && found != p.Value {
			return fmt.Errorf("it makes %s %v, but the file has %v: one of the two was changed", p.Key, p.Value, found)
		}
	}
	return nil
}

// ggufKeys collects the keys of a config.json. The first error stays.
type ggufKeys struct {
	file   *gguf.File
	arch   string
	config map[string]any
	err    error
}

// number copies a number of the architecture to a key of the config.
func (k *ggufKeys) number(from, to string, needed bool) {
	key := k.arch + "." + from
	x, there, err := k.file.Metadata.Float(key)
	if err == nil && !there && needed {
		err = fmt.Errorf("%s is missing", key)
	}
	if err != nil && k.err == nil {
		k.err = err
	}
	if there && err == nil {
		// The shortest decimal of the float32 is what the number was before.
		k.config[to] = json.Number(strconv.FormatFloat(x, 'g', -1, 64))
		if short := float64(float32(x)); short == x {
			k.config[to] = json.Number(strconv.FormatFloat(x, 'g', -1, 32))
		}
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			k.config[to] = int64(x)
		}
	}
}

func (k *ggufKeys) sizes() {
	k.number("embedding_length", "hidden_size", true)
	k.number("block_count", "num_hidden_layers", true)
	k.number("feed_forward_length", "intermediate_size", true)
	k.number("attention.head_count", "num_attention_heads", true)
	k.number("attention.head_count_kv", "num_key_value_heads", false)
	k.number("attention.key_length", "head_dim", false)
	k.number("attention.layer_norm_rms_epsilon", "rms_norm_eps", true)
	k.number("context_length", "max_position_embeddings", true)
	if _, there := k.config["num_key_value_heads"]; !there {
		k.config["num_key_value_heads"] = k.config["num_attention_heads"]
	}
	if _, there := k.config["head_dim"]; !there && k.err == nil {
		width, _ := k.config["hidden_size"].(int64)
		if heads, _ := k.config["num_attention_heads"].(int64); heads > 0 {
			k.config["head_dim"] = width / heads
		}
	}
	embedding, ok := k.file.Tensor(ggufOutside[EmbedName])
	if !ok || len(embedding.Shape) != 2 {
		k.err = errors.Join(k.err, fmt.Errorf("tensor %s is missing", ggufOutside[EmbedName]))
		return
	}
	k.config["vocab_size"] = embedding.Shape[0]
	_, head := k.file.Tensor(ggufOutside[HeadName])
	k.config["tie_word_embeddings"] = !head
	if _, bias := k.file.Tensor("blk.0.attn_output.bias"); bias {
		k.config["attention_bias"] = true
	}
	if _, bias := k.file.Tensor("blk.0.ffn_up.bias"); bias {
		k.config["mlp_bias"] = true
	}
}

// rotation reads the keys of positions. What llama.cpp has in its code for gemma3 are the
// defaults of its family here too.
func (k *ggufKeys) rotation() {
	k.number("rope.freq_base", "rope_theta", false)
	k.number("attention.sliding_window", "sliding_window", false)
	if k.arch == "gemma3" {
		k.config["query_pre_attn_scalar"] = k.config["head_dim"]
	}
	kind, err := k.file.Metadata.Text(k.arch + ".rope.scaling.type")
	if err != nil {
		k.err = errors.Join(k.err, err)
	}
	if kind != "" && kind != "none" {
		k.number("rope.scaling.factor", "factor", true)
		k.config["rope_scaling"] = map[string]any{"rope_type": kind, "factor": k.config["factor"]}
		delete(k.config, "factor")
	}
}

// tokens reads the ids of special tokens.
func (k *ggufKeys) tokens() {
	id := func(key string) (int, bool) {
		n, there, err := k.file.Metadata.Int("tokenizer.ggml." + key)
		if err != nil && k.err == nil {
			k.err = err
		}
		return n, there
	}
	if n, there := id("bos_token_id"); there {
		k.config["bos_token_id"] = n
	}
	if n, there := id("padding_token_id"); there {
		k.config["pad_token_id"] = n
	}
	var ends []int
	for _, key := range []string{"eos_token_id", "eot_token_id"} {
		if n, there := id(key); there && !slices.Contains(ends, n) {
			ends = append(ends, n)
		}
	}
	k.config["eos_token_id"] = ends
}

// checkFactors finds the rope scaling that a file has only as factors. Those of the
// Llama models from 3.1 on differ in their factor alone.
// https://huggingface.co/meta-llama/Llama-3.2-1B/blob/main/config.json
func (k *ggufKeys) checkFactors(c *Config) error {
	if _, there := k.file.Tensor(ggufRopeFreqs); !there {
		return nil
	}
	factors, err := k.file.Read(ggufRopeFreqs)
	if err != nil {
		return err
	}
	if len(factors) != c.HeadDim/2 {
		return fmt.Errorf("tensor %s has %d numbers; accepted: %d, half of the head's size", ggufRopeFreqs, len(factors), c.HeadDim/2)
	}
	c.RopeScaling = &RopeScaling{Type: "llama3", Factor: float64(slices.Max(factors)), LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 8192}
	for i, want := range ropeFactors(*c) {
		// Both are the same number in float64 but for its last bits, rounded to float32.
		if low, high := math.Nextafter32(want, 0), math.Nextafter32(want, math.MaxFloat32); !(low <= factors[i] && factors[i] <= high) {
			return fmt.Errorf("tensor %s: factor %d is %v; accepted: %v, as in Llama 3.1 and 3.2 (low_freq_factor 1, high_freq_factor 4, 8192 positions)", ggufRopeFreqs, i, factors[i], want)
		}
	}
	return c.RopeScaling.validate()
}
