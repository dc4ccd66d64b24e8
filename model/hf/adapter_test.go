package hf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// adapterJSON is an adapter_config.json with what has to be there, and more.
func adapterJSON(more string) []byte {
	return []byte(`{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"]` + more + `}`)
}

func TestAdapterConfigRefused(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{`, "use_dora": true`, "use_dora: found true, accepted: false or null"},
		{`, "bias": "all"`, `bias: found "all"`},
		{`, "lora_bias": true`, "lora_bias: found true"},
		{`, "target_parameters": ["mlp.experts"]`, "target_parameters: found"},
		{`, "layer_replication": [[0, 2]]`, "layer_replication: found"},
		{`, "trainable_token_indices": [3]`, "trainable_token_indices: found"},
		{`, "modules_to_save": ["lm_head", "embed_tokens"]`, `modules_to_save: found "embed_tokens", accepted: lm_head alone`},
		{`, "layers_to_transform": [0.5]`, "layers_to_transform: found"},
		{`, "layers_pattern": "layers"`, `layers_pattern: found ["layers"], accepted: nothing where layers_to_transform is not there`},
		{`, "layers_to_transform": 1, "layers_pattern": ["(layers"]`, `layers_pattern: "(layers" is not a regular expression`},
		{`, "exclude_modules": "q_("`, `exclude_modules: "q_(" is not a regular expression`},
		{`, "exclude_modules": {}`, "exclude_modules: found"},
		{`, "rank_pattern": {"q_proj": 2.5}`, "rank_pattern: found 2.5"},
		{`, "rank_pattern": {"q_proj(": 2}`, `rank_pattern: "q_proj(" is not a regular expression`},
		{`, "rank_pattern": [2]`, "rank_pattern: found"},
		{`, "kasa_config": {}`, "kasa_config: found"},
		{`, "init_lora_weights": "pissa_niter_4"`, `accepted: true or false or "gaussian" or "eva" or "orthogonal" or null: adapters are plain LoRA here`},
		{`, "init_lora_weights": "olora"`, "init_lora_weights: found"},
	} {
		if _, err := ParseAdapterConfig(adapterJSON(c.more)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.more, err, c.want)
		}
	}
	for _, text := range []string{`{"peft_type": "LORA"}`, `{"peft_type": "IA3", "target_modules": ["q_proj"]}`, `{"r": 0, "target_modules": ["q_proj"]}`, `{"target_modules": "q_("}`,
		`{"target_modules": "all-linear", "layers_to_transform": [0]}`, `{"target_modules": []}`, `{"target_modules": 3}`} {
		if _, err := ParseAdapterConfig([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestAdapterModules: which modules get an adapter of which rank and scale, counted by
// hand after PEFT's rules.
func TestAdapterModules(t *testing.T) {
	for _, c := range []struct {
		text, module string
		rank         int
		scale        float64
	}{
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}`, "model.layers.0.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}`, "model.layers.0.self_attn.xq_proj", 0, 0},
		{`{"r": 16, "lora_alpha": 8, "use_rslora": true, "target_modules": "all-linear"}`, "model.layers.0.mlp.up_proj", 16, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ".*\\.1\\..*_proj"}`, "model.layers.1.mlp.up_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ".*\\.1\\..*_proj"}`, "model.layers.0.mlp.up_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "rank_pattern": {"layers.1.self_attn.q_proj": 2, "q_proj": 8}, "alpha_pattern": {"1.self_attn.q_proj": 3}}`,
			"model.layers.1.self_attn.q_proj", 2, 1.5},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "layers_to_transform": [1, 11]}`, "model.layers.11.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "layers_to_transform": 1}`, "model.layers.11.self_attn.q_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": ["h", "layers"]}`, "model.layers.1.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": "h"}`, "model.layers.1.self_attn.q_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["model.layers.0.self_attn.q_proj"], "layers_to_transform": [1]}`, "model.layers.0.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "exclude_modules": ["layers.0.self_attn.q_proj"]}`, "model.layers.0.self_attn.q_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": "all-linear", "exclude_modules": ".*\\.mlp\\..*"}`, "model.layers.0.mlp.up_proj", 0, 0},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "modules_to_save": ["lm_head"]}`, "model.layers.0.self_attn.q_proj", 4, 2},
		{`{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "rank_pattern": {"q_proj": 8, "layers.1.self_attn.q_proj": 2}}`, "model.layers.1.self_attn.q_proj", 8, 1},
	} {
		a, err := ParseAdapterConfig([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !a.Targeted(c.module) {
			if c.rank != 0 {
				t.Errorf("%s: %s gets no adapter", c.text, c.module)
			}
			continue
		}
		if rank, scale := a.Of(c.module); rank != c.rank || scale != c.scale {
			t.Errorf("%s: %s has rank %d and scale %v, want %d and %v", c.text, c.module, rank, scale, c.rank, c.scale)
		}
		data, err := jsonfile.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAdapterConfig(data)
		if again.Raw, a.Raw = nil, nil; err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s: written and read again: %v\n got %+v\nwant %+v", c.text, err, again, a)
		}
	}
}

// TestAdapterOverGGUF: the base of an adapter may be a GGUF file.
func TestAdapterOverGGUF(t *testing.T) {
	model := filepath.Join(fixtures.Dir(t, "models"), "qwen2_tied_bf16")
	file, _ := writeGGUF(t, openFolder(t, model), GGUFTypes[0])
	dir := adapterOver(t, model, file)
	f := openFolder(t, dir)
	if f.Adapter != dir || f.Dir != file {
		t.Errorf("adapter %q over %q", f.Adapter, f.Dir)
	}
	if err := f.Merge(""); err != nil {
		t.Error(err)
	}
}

// TestAdapterNamesModel: an adapter that is written for others names its model by an id of
// the hub, and never by a path.
func TestAdapterNamesModel(t *testing.T) {
	model, err := filepath.Abs(filepath.Join(fixtures.Dir(t, "models"), "qwen2_tied_bf16"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("models/mine", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base, origin string // of the adapter's config, and of the model's
		want         any
		notes        int
	}{
		{"Qwen/Qwen2.5-0.5B", "", "Qwen/Qwen2.5-0.5B", 0},
		{"Qwen/Qwen2.5-0.5B", "another/one", "Qwen/Qwen2.5-0.5B", 0},
		{"/models/qwen", "", nil, 1},
		{"models/mine", "", nil, 1},
		{"../runs/first", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B", 1},
		{"", "models/mine", nil, 1},
	} {
		f := openFolder(t, model)
		if c.origin != "" {
			f.Config.Raw["_name_or_path"] = json.RawMessage(strconv.Quote(c.origin))
		}
		small, _, notes, err := f.AdapterFiles(adapterOver(t, model, c.base), gguf.F32)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(small[adapterConfigFile], &keys); err != nil {
			t.Fatal(err)
		}
		if got := keys["base_model_name_or_path"]; got != c.want || len(notes) != c.notes {
			t.Errorf("%+v: named %v, notes %q", c, got, notes)
		}
	}
}

// TestNoAdapter: a folder that is none of PEFT, such as that of a run, is refused with what to give.
func TestNoAdapter(t *testing.T) {
	dir := t.TempDir()
	_, _, err := OpenAdapter(Config{}, dir)
	if err == nil || err.Error() != dir+" has no adapter_config.json" || !strings.Contains(strings.Join(hint.All(err), ""), "a checkpoint of a run") {
		t.Errorf("%v, hints %q", err, hint.All(err))
	}
}

// adapterOver is a folder with the adapter of a fixture, which names a base.
func adapterOver(t *testing.T, model, base string) string {
	t.Helper()
	dir, from := t.TempDir(), filepath.Join(model, "adapters", "qv_rslora_r8")
	for _, name := range []string{adapterConfigFile, adapterFile} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == adapterConfigFile {
			var keys map[string]any
			if err := json.Unmarshal(data, &keys); err != nil {
				t.Fatal(err)
			}
			keys["base_model_name_or_path"] = base
			if data, err = json.Marshal(keys); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
