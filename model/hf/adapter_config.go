package hf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
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

	// exclude_modules, written as target_modules are: modules that get no adapter after all.
	Excluded       []string
	ExcludePattern string

	// layers_to_transform: the blocks whose modules get an adapter, where Targets has only the end of
	// their names; nil for all. layers_pattern: regular expressions of what stands before the number of a
	// block in a name; nil for any.
	Layers        []int
	LayersPattern []string

	// modules_to_save: modules that were trained whole and lie beside the adapter. Of these a model
	// takes its output head alone, see [Folder.TakeHead].
	Saved []string

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
	"use_qalora": {"false"}, "use_bdlora": {"false"}, "layer_replication": {"[]"}, "target_parameters": {"[]"}, "trainable_token_indices": {"[]"},
	"alora_invocation_tokens": {"[]"}, "arrow_config": {}, "kasa_config": {}, "velora_config": {}, "monteclora_config": {},
	initKey: {"true", "false", `"gaussian"`, `"eva"`, `"orthogonal"`},
}

// initKey says how A and B began. The other values of PEFT, pissa and olora among them, also take what
// the two begin with off the model's own matrices: an adapter that was trained then belongs to those.
// (https://github.com/huggingface/peft/blob/v0.17.1/src/peft/tuners/lora/layer.py, pissa_init).
const initKey = "init_lora_weights"

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
			first := r.err == nil
			r.refuse(key, strings.Join(append(slices.Clone(plainKeys[key]), "null"), " or ")+": adapters are plain LoRA here")
			if first && key == initKey {
				r.err = hint.With(r.err, "let PEFT write it as plain LoRA: save_pretrained(DIR, path_initial_model_for_weight_conversion=FIRST)")
			}
		}
	}
	a := AdapterConfig{
		Rank: r.sizeOr("r", 8), Alpha: r.number("lora_alpha", 8), RSLoRA: r.flag("use_rslora", false),
		Base: r.text("base_model_name_or_path", ""),
	}
	a.Targets, a.Pattern = r.modules("target_modules")
	if a.Targets == nil && a.Pattern == "" && r.err == nil {
		r.err = r.missing("target_modules", acceptedModules)
	}
	if a.Pattern == allLinear {
		a.Pattern = ""
	}
	a.Excluded, a.ExcludePattern = r.modules("exclude_modules")
	a.Layers = r.blockNumbers()
	a.LayersPattern = r.texts("layers_pattern", "a regular expression, or a list of some")
	a.Saved = r.texts("modules_to_save", savedModule)
	a.Ranks, a.Alphas = r.overrides("rank_pattern"), r.overrides("alpha_pattern")
	if r.err != nil {
		return a, r.err
	}
	a.Raw = r.rest()
	return a, a.Check()
}

const (
	acceptedModules = "a list of module names, a regular expression, or " + allLinear
	savedModule     = "lm_head" // the one of modules_to_save that a model can take
)

// modules reads names of modules: a list, or one regular expression; neither where the key is not
// there, or has nothing in it.
func (r *configReader) modules(key string) (list []string, pattern string) {
	if raw := r.take(key); len(raw) > 0 && raw[0] == '"' {
		return nil, r.text(key, "")
	}
	list = r.texts(key, acceptedModules)
	slices.Sort(list)
	return list, ""
}

// texts reads a text, or a list of some; nil where the key is not there, or has nothing in it.
func (r *configReader) texts(key, accepted string) (list []string) {
	raw := r.take(key)
	var one string
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &one) == nil:
		if one != "" {
			list = []string{one}
		}
	case json.Unmarshal(raw, &list) != nil:
		r.refuse(key, accepted)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// blockNumbers reads layers_to_transform: the number of a block, or a list of some.
func (r *configReader) blockNumbers() (list []int) {
	const key = "layers_to_transform"
	raw := r.take(key)
	var one int
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &one) == nil:
		list = []int{one}
	case json.Unmarshal(raw, &list) != nil:
		r.refuse(key, "the number of a block, or a list of some")
	}
	if len(list) == 0 {
		return nil
	}
	return list
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
				return fmt.Errorf("%s: %q is not a regular expression: %w", key, o.Pattern, err)
			}
			if !(o.Value > 0) || key == "rank_pattern" && (o.Value != math.Trunc(o.Value) || o.Value > maxRank) {
				return fmt.Errorf("%s: found %v for %q, accepted: numbers above 0, and for ranks whole ones up to %d", key, o.Value, o.Pattern, maxRank)
			}
		}
	}
	for key, pattern := range map[string]string{"target_modules": a.Pattern, "exclude_modules": a.ExcludePattern} {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("%s: %q is not a regular expression: %w", key, pattern, err)
		}
	}
	for _, pattern := range a.LayersPattern {
		if _, err := layerPattern(pattern); err != nil {
			return fmt.Errorf("layers_pattern: %q is not a regular expression: %w", pattern, err)
		}
	}
	switch { // as PEFT's LoraConfig refuses them
	case a.Layers != nil && a.Targets == nil:
		return fmt.Errorf("layers_to_transform: found %v, accepted: nothing beside a target_modules that is one text", a.Layers)
	case a.LayersPattern != nil && a.Layers == nil:
		return fmt.Errorf("layers_pattern: found %q, accepted: nothing where layers_to_transform is not there", a.LayersPattern)
	}
	for _, module := range a.Saved {
		if module != savedModule {
			return fmt.Errorf("modules_to_save: found %q, accepted: %s alone", module, savedModule)
		}
	}
	return nil
}

// endPattern matches module names that end in a pattern, as PEFT's get_pattern_key does
// (https://github.com/huggingface/peft/blob/v0.17.1/src/peft/utils/other.py).
func endPattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:.*\.)?(?:` + pattern + `)$`)
}

// layerPattern finds the number of a block in a module's name, after what a pattern of layers_pattern
// matches.
func layerPattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^.*\.(?:` + pattern + `)\.(\d+)\.`)
}

// Targeted tells whether a module gets an adapter, as PEFT's check_target_module_exists does
// (https://github.com/huggingface/peft/blob/v0.17.1/src/peft/tuners/tuners_utils.py).
func (a AdapterConfig) Targeted(module string) bool {
	whole := func(pattern string) bool {
		return pattern != "" && regexp.MustCompile(`^(?:`+pattern+`)$`).MatchString(module)
	}
	ends := func(names []string) bool {
		return slices.ContainsFunc(names, func(end string) bool { return endsIn(module, end) })
	}
	switch {
	case whole(a.ExcludePattern) || ends(a.Excluded):
		return false
	case a.Pattern != "":
		return whole(a.Pattern)
	case a.Targets == nil:
		return true
	case slices.Contains(a.Targets, module): // whose whole name says in which block it is
		return true
	}
	return ends(a.Targets) && a.inLayers(module)
}

// inLayers tells whether a module is in one of the blocks of layers_to_transform.
func (a AdapterConfig) inLayers(module string) bool {
	if a.Layers == nil {
		return true
	}
	patterns := a.LayersPattern
	if patterns == nil {
		patterns = []string{`[^.]*`}
	}
	for _, pattern := range patterns {
		re, err := layerPattern(pattern)
		if err != nil {
			return false // Check has refused it
		}
		if found := re.FindStringSubmatch(module); found != nil {
			n, err := strconv.Atoi(found[len(found)-1]) // the pattern may have groups of its own
			return err == nil && slices.Contains(a.Layers, n)
		}
	}
	return false
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
		"lora_dropout": jsonFloat(0), "task_type": "CAUSAL_LM", "use_dora": false,
	}
	for k, v := range a.Raw {
		out[k] = v
	}
	var targets, excluded any = a.Targets, a.Excluded
	if a.Targets == nil {
		targets = cmp.Or(a.Pattern, allLinear)
	}
	if a.ExcludePattern != "" {
		excluded = a.ExcludePattern
	}
	if a.ExcludePattern != "" || a.Excluded != nil {
		out["exclude_modules"] = excluded
	}
	if a.Layers != nil {
		out["layers_to_transform"] = a.Layers
	}
	if a.LayersPattern != nil {
		out["layers_pattern"] = a.LayersPattern
	}
	var base any
	if a.Base != "" {
		base = a.Base
	}
	for k, v := range map[string]any{
		"peft_type": "LORA", "r": a.Rank, "lora_alpha": a.Alpha, "use_rslora": a.RSLoRA, "target_modules": targets,
		"rank_pattern": overrides(a.Ranks), "alpha_pattern": overrides(a.Alphas), "base_model_name_or_path": base, "modules_to_save": a.Saved,
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
	if errors.Is(err, fs.ErrNotExist) {
		return AdapterConfig{}, hint.With(fmt.Errorf("%s has no %s", filepath.Dir(path), adapterConfigFile), "give a PEFT folder, such as a checkpoint of a run that trained an adapter")
	}
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
	return openAdapterFile(c, dir, filepath.Join(dir, adapterFile))
}

// openAdapterFile is OpenAdapter with the tensors of a file.
func openAdapterFile(c Config, dir, file string) (AdapterConfig, *TensorSet, error) {
	path := filepath.Join(dir, adapterConfigFile)
	cfg, err := readAdapterConfig(path)
	if err != nil {
		return cfg, nil, err
	}
	want, err := cfg.Tensors(c)
	if err != nil {
		return cfg, nil, fmt.Errorf("%s: target_modules: %w", path, err)
	}
	ts, err := OpenTensorFile(file)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.Saved != nil { // it is the model's, see TakeHead
		delete(ts.tensors, adapterHead)
	}
	if err := CheckAdapter(want, ts); err != nil {
		ts.Close()
		return cfg, nil, fmt.Errorf("%s: %w", file, err)
	}
	return cfg, ts, nil
}

// adapterHead is the name of an output head in a PEFT file.
const adapterHead = "base_model.model." + HeadName

// HasHead tells whether a PEFT folder brings an output head beside its adapter.
func HasHead(dir string) (bool, error) {
	cfg, err := readAdapterConfig(filepath.Join(dir, adapterConfigFile))
	return cfg.Saved != nil, err
}

// TakeHead puts the output head that a PEFT folder brings in place of the model's own. A model whose
// head is its embedding then has a head of its own. Without one nothing changes.
func (f *Folder) TakeHead(dir string) error {
	brings, err := HasHead(dir)
	if err != nil || !brings {
		return err
	}
	path := filepath.Join(dir, adapterFile)
	ts, err := OpenTensorFile(path)
	if err != nil {
		return err
	}
	f.Tensors.files = append(f.Tensors.files, ts)
	head, there := ts.tensors[adapterHead]
	if want := []int{f.Config.Vocab, f.Config.Width}; !there {
		return fmt.Errorf("%s: tensor %s is missing, which modules_to_save names", path, adapterHead)
	} else if !slices.Equal(head.shape, want) {
		return fmt.Errorf("%s: tensor %s: found shape %v, accepted: %v", path, adapterHead, head.shape, want)
	}
	f.Config.TieEmbeddings = false
	f.Tensors.tensors[HeadName] = head
	return nil
}
