package hf

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// FuzzAdapterConfig: whatever the bytes, no panic; a config that is accepted gives every module a
// rank and a scale that can be computed with, and is read back as it was written.
func FuzzAdapterConfig(f *testing.F) {
	for _, text := range []string{
		`{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}`,
		`{"target_modules": "all-linear", "use_rslora": true, "modules_to_save": ["lm_head"], "bias": "none"}`,
		`{"target_modules": ".*\\.(q|k)_proj", "exclude_modules": ["model.layers.0.self_attn.q_proj"], "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"^model\\.layers\\.1\\..*": 3.5}}`,
		`{"target_modules": ["up_proj"], "layers_to_transform": [0, 2], "layers_pattern": ["layers"], "base_model_name_or_path": "x"}`,
		`{"target_modules": ["up_proj"], "layers_to_transform": 1, "use_dora": true}`,
		`{"target_modules": "(((((a*)*)*)*)*)*b", "rank_pattern": {"(": 1}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAdapterConfig(data)
		if err != nil {
			return
		}
		for _, module := range []string{"model.layers.0.self_attn.q_proj", "model.layers.2.mlp.up_proj", "lm_head", ""} {
			a.Targeted(module)
			if rank, scale := a.Of(module); rank < 1 || rank > maxRank || !(scale > 0) || math.IsInf(scale, 0) {
				t.Errorf("%s: %q has rank %d and scale %v", data, module, rank, scale)
			}
		}
		written, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAdapterConfig(written)
		if err != nil {
			t.Fatalf("%s was written as %s: %v", data, written, err)
		}
		a.Raw, again.Raw = nil, nil
		if !reflect.DeepEqual(a, again) {
			t.Errorf("%+v was written, and read as %+v", a, again)
		}
	})
}
