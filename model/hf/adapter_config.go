package hf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// AdapterConfig describes a LoRA adapter (Hu et al., arXiv 2106.09685): to the product of
// each module that it names, x W^T, it adds Scale * (x A^T) B^T. It is the content of a
// PEFT adapter_config.json; the name of each field's key follows it.
type AdapterConfig struct {
	Rank   int     // r
	Alpha  float64 // lora_alpha; the scale is Alpha/Rank
	RSLoRA bool    // use_rslora: the scale is Alpha/sqrt(Rank) (Kalajdzievski, arXiv 2312.03732)

	// target_modules: ends of module names, such as q_proj; nil for all linear layers of
	// the blocks. Where it is one text it is a regular expression of whole names.
	Targets []string
	Pattern string

	// rank_pattern and alpha_pattern: regular expressions of the ends of module names, the
	// first that matches counts.
	Ranks, Alphas []Override

	Base string // base_model_name_or_path: the model's folder, or its id on the Hugging Face hub

	// Raw holds the keys that were read and that no field above stands for.
	Raw map[string]json.RawMessage
}

// Override is one entry of a rank_pattern or an alpha_pattern.
type Override struct {
	Pattern string
	Value   float64
}

const (
	allLinear         = "all-linear"
	adapterConfigFile = "adapter_config.json"
	adapterFile       = "adapter_model.safetensors"
	maxRank           = 1 << 12
)

// plainKeys are the keys of adapter_config.json that change what an adapter computes,
// with the values that plain LoRA has besides null.
var plainKeys = map[string][]string{
	"peft_type": {`"LORA"`}, "bias": {`"none"`}, "fan_in_fan_out": {"false"}, "use_dora": {"false"}, "lora_bias": {"false"},
	"use_qalora": {"false"}, "use_bdlora": {"false"}, "modules_to_save": {"[]"}, "layers_to_transform": {"[]"}, "layers_pattern": {"[]", `""`},
	"exclude_modules": {"[]"}, "layer_replication": {"[]"}, "target_parameters": {"[]"}, "trainable_token_indices": {"[]"},
	"alora_invocation_tokens": {"[]"}, "arrow_config": {}, "kasa_config": {}, "velora_config": {}, "monteclora_config": {},
}

// ParseAdapterConfig reads an adapter_config.json. What plain LoRA would pass over and
// thereby misread is an error.
func ParseAdapterConfig(data []byte) (AdapterConfig, error) {
	keys, err := readObject(data, 1)
	if err != nil {
		return AdapterConfig{}, err
	}
	r := configReader{keys: keys}
	for _, key := range slices.Sorted(maps.Keys(plainKeys)) {
		v, given := keys[key]
		if given && string(v.raw) != "null" && !slices.Contains(plainKeys[key], string(v.raw)) {
			r.refuse(key, strings.Join(append(slices.Clone(plainKeys[key]), "null"), " or ")+": adapters are plain LoRA here")
		}
	}
	a := AdapterConfig{
		Rank: r.sizeOr("r", 8), Alpha: r.number("lora_alpha", 8), RSLoRA: r.flag("use_rslora", false),
		Base: r.text("base_model_name_or_path", ""),
	}
	a.Targets, a.Pattern = r.targets()
	a.Ranks, a.Alphas = r.overrides("rank_pattern"), r.overrides("alpha_pattern")
	if r.err != nil {
		return a, r.err
	}
	a.Raw = r.rest()
	return a, a.Check()
}

// targets reads target_modules: a list, or one regular expression.
func (r *configReader) targets() (list []string, pattern string) {
	const accepted = "a list of module names, a regular expression, or " + allLinear
	raw := r.take("target_modules")
	switch {
	case raw == nil:
		if r.err == nil {
			r.err = r.missing("target_modules", accepted)
		}
	case raw[0] == '"':
		if pattern = r.text("target_modules", ""); pattern == allLinear {
			pattern = ""
		}
	case json.Unmarshal(raw, &list) != nil || len(list) == 0:
		r.refuse("target_modules", accepted)
	}
	slices.Sort(list)
	return list, pattern
}

// overrides reads a pattern object in the order of the file.
func (r *configReader) overrides(key string) []Override {
	raw := r.take(key)
	if raw == nil {
		return nil
	}
	const accepted = "an object from patterns to numbers"
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		r.refuse(key, accepted)
		return nil
	}
	var list []Override
	for dec.More() {
		name, err := dec.Token()
		o := Override{Pattern: fmt.Sprint(name)}
		if err != nil || dec.Decode(&o.Value) != nil {
			r.refuse(key, accepted)
			return nil
		}
		list = append(list, o)
	}
	return list
}

// Check refuses what no adapter can have.
func (a AdapterConfig) Check() error {
	if a.Rank < 1 || a.Rank > maxRank {
		return fmt.Errorf("r: found %d, accepted: 1 to %d", a.Rank, maxRank)
	}
	if !(a.Alpha > 0) || math.IsInf(a.Alpha, 0) {
		return fmt.Errorf("lora_alpha: found %v, accepted: a number above 0", a.Alpha)
	}
	for key, list := range map[string][]Override{"alpha_pattern": a.Alphas, "rank_pattern": a.Ranks} {
		for _, o := range list {
			if _, err := endPattern(o.Pattern); err != nil {
				return fmt.Errorf("%s: %q is no regular expression: %w", key, o.Pattern, err)
			}
			if !(o.Value > 0) || key == "rank_pattern" && (o.Value != math.Trunc(o.Value) || o.Value > maxRank) {
				return fmt.Errorf("%s: found %v for %q, accepted: numbers above 0, and for ranks whole ones up to %d", key, o.Value, o.Pattern, maxRank)
			}
		}
	}
	if _, err := regexp.Compile(a.Pattern); err != nil {
		return fmt.Errorf("target_modules: %q is no regular expression: %w", a.Pattern, err)
	}
	return nil
}

// endPattern matches module names that end in a pattern, as PEFT's get_pattern_key does
// (https://github.com/huggingface/peft/blob/v0.17.1/src/peft/utils/other.py).
func endPattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:.*\.)?(?:` + pattern + `)$`)
}

// Targeted tells whether a module gets an adapter.
func (a AdapterConfig) Targeted(module string) bool {
	switch {
	case a.Pattern != "":
		return regexp.MustCompile(`^(?:` + a.Pattern + `)$`).MatchString(module)
	case a.Targets == nil:
		return true
	}
	return slices.ContainsFunc(a.Targets, func(end string) bool { return endsIn(module, end) })
}

// endsIn tells whether a module's name is end, or ends in it after a dot.
func endsIn(module, end string) bool { return module == end || strings.HasSuffix(module, "."+end) }

// Of is the rank of a module's adapter and the scale of what it adds.
func (a AdapterConfig) Of(module string) (rank int, scale float64) {
	value := func(list []Override, otherwise float64) float64 {
		for _, o := range list {
			if p, err := endPattern(o.Pattern); err == nil && p.MatchString(module) {
				return o.Value
			}
		}
		return otherwise
	}
	r, alpha := value(a.Ranks, float64(a.Rank)), value(a.Alphas, a.Alpha)
	if a.RSLoRA {
		return int(r), alpha / math.Sqrt(r)
	}
	return int(r), alpha / r
}

// MarshalJSON is the adapter_config.json as PEFT reads it.
func (a AdapterConfig) MarshalJSON() ([]byte, error) {
	out := map[string]any{
		"bias": "none", "fan_in_fan_out": false, "inference_mode": true, "init_lora_weights": true,
		"lora_dropout": jsonFloat(0), "modules_to_save": nil, "task_type": "CAUSAL_LM", "use_dora": false,
	}
	for k, v := range a.Raw {
		out[k] = v
	}
	var targets any = a.Targets
	if a.Targets == nil {
		targets = allLinear
		if a.Pattern != "" {
			targets = a.Pattern
		}
	}
	var base any
	if a.Base != "" {
		base = a.Base
	}
	for k, v := range map[string]any{
		"peft_type": "LORA", "r": a.Rank, "lora_alpha": a.Alpha, "use_rslora": a.RSLoRA, "target_modules": targets,
		"rank_pattern": overrides(a.Ranks), "alpha_pattern": overrides(a.Alphas), "base_model_name_or_path": base,
	} {
		out[k] = v
	}
	return json.Marshal(out)
}

// overrides are written in their order, which counts.
type overrides []Override

func (list overrides) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, o := range list {
		key, err := json.Marshal(o.Pattern)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(append(out, key...), ":%v", o.Value)
	}
	return append(out, '}'), nil
}

// readAdapterConfig reads the adapter_config.json of a PEFT folder.
func readAdapterConfig(path string) (AdapterConfig, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return AdapterConfig{}, err
	}
	a, err := ParseAdapterConfig(data)
	if err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// OpenAdapter opens a PEFT folder and checks it against the model of a config: what it
// targets, and names and shapes of its tensors. Values are checked when read.
func OpenAdapter(c Config, dir string) (AdapterConfig, *TensorSet, error) {
	path := filepath.Join(dir, adapterConfigFile)
	cfg, err := readAdapterConfig(path)
	if err != nil {
		return cfg, nil, err
	}
	want, err := cfg.Tensors(c)
	if err != nil {
		return cfg, nil, fmt.Errorf("%s: %w", path, err)
	}
	ts, err := OpenTensorFile(filepath.Join(dir, adapterFile))
	if err != nil {
		return cfg, nil, err
	}
	if err := CheckAdapter(want, ts); err != nil {
		ts.Close()
		return cfg, nil, fmt.Errorf("%s: %w", filepath.Join(dir, adapterFile), err)
	}
	return cfg, ts, nil
}
