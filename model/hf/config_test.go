package hf

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/internal/jsonfile"
)

// tinyConfig is a complete config of one layer with 6 tokens.
func tinyConfig(t testing.TB, family string) Config {
	t.Helper()
	c, err := NewConfig(family)
	if err != nil {
		t.Fatal(err)
	}
	c.Vocab, c.Width, c.MLP, c.Layers, c.Heads, c.HeadDim = 6, 8, 12, 1, 2, 4
	c.EOS, c.PAD = []int{1}, 0
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

// minimal is a config.json with nothing but what has to be there; more is added to it.
func minimal(family, more string) []byte {
	return []byte(fmt.Sprintf(`{
"model_type": %q,
"vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
"num_hidden_layers": 2, "num_attention_heads": 32%s
}`, family, more))
}

// TestConfigDefaults: the table of the model fixtures' README.
func TestConfigDefaults(t *testing.T) {
	for _, c := range []struct {
		family, more     string
		kvHeads, headDim int
		positions        int
		qkNorm           bool
	}{
		{"llama", "", 32, 2, 2048, false},
		{"llama", `, "num_key_value_heads": null, "head_dim": null`, 32, 2, 2048, false},
		{"qwen3", "", 32, 128, 32768, true},
		{"mistral", `, "sliding_window": null`, 8, 2, 131072, false},
		{"mistral", `, "sliding_window": null, "num_key_value_heads": null`, 32, 2, 131072, false},
	} {
		got, err := ParseConfig(minimal(c.family, c.more))
		if err != nil {
			t.Errorf("%s%s: %v", c.family, c.more, err)
			continue
		}
		got.Raw = nil
		want := Config{Family: c.family, Vocab: 100, Width: 64, MLP: 96, Layers: 2, Heads: 32,
			KVHeads: c.kvHeads, HeadDim: c.headDim, MaxPositions: c.positions, QKNorm: c.qkNorm,
			NormEps: 1e-6, RopeTheta: 10000, BOS: -1, PAD: -1, InitStd: 0.02}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s%s:\n got %+v\nwant %+v", c.family, c.more, got, want)
		}
	}
}

// TestConfigSpellings: transformers 4 and 5 say the same in different keys.
func TestConfigSpellings(t *testing.T) {
	llama3 := `"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64`
	want := &RopeScaling{Type: "llama3", Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 64}
	for _, c := range []struct {
		more    string
		scaling *RopeScaling
	}{
		{`"rope_theta": 5e5, "rope_scaling": null, "torch_dtype": "bfloat16"`, nil},
		{`"rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", ` + llama3 + `}`, want},
		{`"rope_theta": 500000.0, "rope_scaling": {"type": "llama3", ` + llama3 + `}`, want},
		{`"dtype": "bfloat16", "rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", ` + llama3 + `}`, want},
		{`"rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}`, nil},
		{`"rope_theta": 500000.0, "rope_scaling": {"type": "linear", "factor": 2}`, &RopeScaling{Type: "linear", Factor: 2}},
	} {
		got, err := ParseConfig(minimal("llama", ", "+c.more))
		if err != nil {
			t.Errorf("%s: %v", c.more, err)
			continue
		}
		if got.RopeTheta != 500000 || !reflect.DeepEqual(got.RopeScaling, c.scaling) {
			t.Errorf("%s: got theta %v, scaling %+v", c.more, got.RopeTheta, got.RopeScaling)
		}
	}
}

// TestConfigRefused: the message names the line, the key, and what was found.
func TestConfigRefused(t *testing.T) {
	for _, c := range []struct{ family, more, want string }{
		{"mamba7", "", `line 2: model_type: found "mamba7"`},
		{"gpt2", "", "supported: gemma3_text, llama, mistral, qwen2, qwen3, smollm3"},
		{"gemma3_text", `, "hidden_activation": "gelu"`, `hidden_activation: found "gelu"`},
		{"gemma3_text", `, "final_logit_softcapping": 30.0`, "final_logit_softcapping: found 30.0, accepted: null"},
		{"gemma3_text", `, "use_bidirectional_attention": true`, "use_bidirectional_attention: found true"},
		{"gemma3_text", `, "query_pre_attn_scalar": -1`, "query_pre_attn_scalar: found -1"},
		{"gemma3_text", `, "sliding_window": null, "layer_types": ["sliding_attention", "full_attention"]`, "sliding_window: found 0"},
		{"gemma3_text", `, "layer_types": ["sliding_attention"]`, "layer_types: found"},
		{"gemma3_text", `, "layer_types": ["sliding_attention", "chunked_attention"]`, "layer_types: found"},
		{"gemma3_text", `, "rope_parameters": {"full_attention": {"rope_type": "yarn"}}`, "rope_parameters.full_attention.rope_type: found"},
		{"smollm3", `, "no_rope_layers": [1]`, "no_rope_layers: found"},
		{"smollm3", `, "no_rope_layers": [1, 2]`, "no_rope_layers: found"},
		{"llama", `, "hidden_size": 64`, `key "hidden_size" is already in line 3`},
		{"llama", `, "head_dim": 2.5`, `line 4: head_dim: found 2.5, accepted: a positive integer`},
		{"llama", `, "head_dim": 3`, "head_dim: found 3, accepted: an even number"},
		{"llama", `, "num_key_value_heads": 5`, "num_key_value_heads: found 5, accepted: a divisor of num_attention_heads 32"},
		{"llama", `, "rms_norm_eps": 0`, "rms_norm_eps: found 0"},
		{"llama", `, "rms_norm_eps": "1e-6"`, `rms_norm_eps: found "1e-6" (a string), accepted: a number`},
		{"llama", `, "tie_word_embeddings": 1`, "tie_word_embeddings: found 1, accepted: true or false"},
		{"llama", `, "attention_bias": 1`, "attention_bias: found 1"},
		{"llama", `, "hidden_act": "gelu"`, `hidden_act: found "gelu"`},
		{"llama", `, "eos_token_id": 100`, "eos_token_id: found 100, accepted: token ids below vocab_size 100"},
		{"llama", `, "eos_token_id": "</s>"`, `eos_token_id: found "</s>" (a string)`},
		{"llama", `, "max_position_embeddings": 99999999999`, "max_position_embeddings: found 99999999999, accepted: 1 to"},
		{"llama", `, "architectures": ["LlamaForSequenceClassification"]`, "architectures: found"},
		{"llama", `, "quantization_config": {"bits": 4}`, "quantization_config: found"},
		{"llama", `, "partial_rotary_factor": 0.5`, "partial_rotary_factor: found 0.5"},
		{"llama", ",\n\"rope_scaling\": {\n\"rope_type\": \"yarn\", \"factor\": 4}", `line 6: rope_scaling.rope_type: found "yarn" (a string), accepted: default, linear, llama3`},
		{"llama", `, "rope_scaling": {"rope_type": "llama3", "factor": 8}`, "rope_scaling.low_freq_factor is missing"},
		{"llama", `, "rope_scaling": {"rope_type": "linear", "factor": 0.5}`, "rope_scaling: found factor 0.5"},
		{"llama", `, "rope_scaling": {"rope_type": "linear", "factor": 2, "attention_factor": 2}`, "rope_scaling.attention_factor: found 2"},
		{"llama", `, "rope_scaling": 8`, "rope_scaling: found 8, accepted: an object or null"},
		{"mistral", `, "sliding_window": 0`, "sliding_window: found 0"},
		{"qwen3", `, "layer_types": ["full_attention", "sliding_attention"]`, "layer_types: found"},
		{"qwen3", `, "use_sliding_window": true, "layer_types": ["full_attention", "sliding_attention"]`, "sliding_window: found 0"},
	} {
		_, err := ParseConfig(minimal(c.family, c.more))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%s: got %v, want %q", c.family, c.more, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "JSON"}, {"[]", "accepted: an object"}, {"{\n\"a\": 1\n\"b\": 2}", "line 3: not valid JSON"},
		{"{}", "model_type is missing"}, {`{"model_type": "llama"}`, "vocab_size is missing"},
	} {
		if _, err := ParseConfig([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// TestConfigLayers: which layers have a window and which do not rotate, by the rules of
// the families' README of the model fixtures and of their configuration files.
func TestConfigLayers(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		family, more string
		window       int
		sliding      []bool
		noRope       []bool
	}{
		{"mistral", "", 4096, []bool{yes, yes}, nil},
		{"mistral", `, "sliding_window": 7`, 7, []bool{yes, yes}, nil},
		{"qwen2", `, "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 1`, 16, []bool{no, yes}, nil},
		{"qwen2", `, "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 0`, 16, []bool{yes, yes}, nil},
		{"qwen3", `, "use_sliding_window": true, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]`, 16, []bool{yes, no}, nil},
		{"gemma3_text", "", 4096, []bool{yes, yes}, nil},
		{"gemma3_text", `, "sliding_window": 9, "sliding_window_pattern": 2`, 9, []bool{yes, no}, nil},
		{"gemma3_text", `, "layer_types": ["full_attention", "full_attention"]`, 0, nil, nil},
		{"smollm3", "", 0, nil, nil},
		{"smollm3", `, "no_rope_layer_interval": 2`, 0, nil, []bool{no, yes}},
		{"smollm3", `, "no_rope_layers": [0, 1]`, 0, nil, []bool{yes, no}},
		{"smollm3", `, "no_rope_layers": [0, 1], "use_sliding_window": true, "sliding_window": 5`, 5, []bool{yes, no}, []bool{yes, no}},
	} {
		got, err := ParseConfig(minimal(c.family, c.more))
		if err != nil {
			t.Errorf("%s%s: %v", c.family, c.more, err)
			continue
		}
		if got.Window != c.window || !slices.Equal(got.Sliding, c.sliding) || !slices.Equal(got.NoRope, c.noRope) {
			t.Errorf("%s%s: window %d in %v, no rotation in %v", c.family, c.more, got.Window, got.Sliding, got.NoRope)
		}
		data, err := got.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseConfig(data)
		again.Raw, got.Raw = nil, nil
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s%s: written and read again: %v\n got %+v\nwant %+v", c.family, c.more, err, again, got)
		}
	}
	got, err := ParseConfig(minimal("gemma3_text", `, "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 5000.0}, "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1e6}}`))
	if err != nil || got.LocalTheta != 5000 || got.RopeTheta != 1e6 || got.RopeScaling == nil || got.RopeScaling.Factor != 8 {
		t.Errorf("rope_parameters of two kinds of layers: %+v, %v", got, err)
	}
}

// TestLayersOutOfRange: a number of layers is checked before lists of that length are made.
func TestLayersOutOfRange(t *testing.T) {
	for _, family := range Families() {
		for _, layers := range []string{"-1", "0", "1000000000", "9223372036854775807"} {
			data := strings.Replace(string(minimal(family, "")), `"num_hidden_layers": 2`, `"num_hidden_layers": `+layers, 1)
			if _, err := ParseConfig([]byte(data)); err == nil || !strings.Contains(err.Error(), "num_hidden_layers") {
				t.Errorf("%s, %s layers: %v; want an error that names num_hidden_layers", family, layers, err)
			}
		}
	}
}

// Windows that published configs carry without using them must not stop a model.
func TestConfigUnusedWindow(t *testing.T) {
	for _, more := range []string{
		`, "use_sliding_window": false, "sliding_window": 16, "max_window_layers": 1`,
		`, "use_sliding_window": true, "sliding_window": null, "max_window_layers": 1`,
		`, "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 2`,
		`, "use_sliding_window": true, "sliding_window": 16, "layer_types": ["full_attention", "full_attention"]`,
	} {
		if _, err := ParseConfig(minimal("qwen3", more)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// TestConfigWritten: a config made from scratch survives its file, and so do keys
// that we do not know.
func TestConfigWritten(t *testing.T) {
	for _, family := range Families() {
		want := tinyConfig(t, family)
		want.RopeScaling = &RopeScaling{"llama3", 8, 1, 4, 64}
		want.BOS, want.EOS = 3, []int{1, 4}
		data, err := jsonfile.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseConfig(data)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", family, err, data)
		}
		got.Raw = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", family, got, want)
		}
		for _, text := range []string{fmt.Sprintf(`"rope_theta": %.1f`, want.RopeTheta), `"torch_dtype": "float32"`, families[family].architecture} {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s: no %s in\n%s", family, text, data)
			}
		}
	}
	c, err := ParseConfig(minimal("llama", `, "my_key": {"b": [1, 2.50]}, "dtype": "bfloat16"`))
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); !strings.Contains(text, `"my_key":{"b":[1,2.50]}`) || strings.Contains(text, "bfloat16") {
		t.Errorf("got %s", text)
	}
}

// TestRopeTable compares with the definition in wavelengths, in the three bands of
// llama3 scaling. Head width 8, theta 10000, original 64: the wavelengths are 6.28
// (below 64/4: kept), 62.8 (between), 628 and 6283 (above 64/1: divided by 8).
func TestRopeTable(t *testing.T) {
	c := Config{HeadDim: 8, RopeTheta: 10000, RopeScaling: &RopeScaling{"llama3", 8, 1, 4, 64}}
	smooth := (64/(2*math.Pi/0.1) - 1) / (4 - 1)
	freq := []float64{1, (1-smooth)*0.1/8 + smooth*0.1, 0.01 / 8, 0.001 / 8}
	checkRope(t, "llama3", c, freq)
	c.RopeScaling = &RopeScaling{Type: "linear", Factor: 4}
	checkRope(t, "linear", c, []float64{1. / 4, 0.1 / 4, 0.01 / 4, 0.001 / 4})
	c.RopeScaling = nil
	checkRope(t, "none", c, []float64{1, 0.1, 0.01, 0.001})
}

func checkRope(t *testing.T, name string, c Config, freq []float64) {
	t.Helper()
	const positions = 300
	cos, sin := RopeTable(c.HeadDim, c.RopeTheta, c.RopeScaling, positions)
	// The angle is below 300 with a relative error of a few 2^-53, the table is
	// rounded to float32: half a unit in the last place of 1, and a little.
	const bound = 0x1p-25 + 300*8*0x1p-53
	for p := range positions {
		if len(cos[p]) != 4 || len(sin[p]) != 4 {
			t.Fatalf("%s: a row has %d and %d angles, want 4", name, len(cos[p]), len(sin[p]))
		}
		for i, f := range freq {
			angle := float64(p) * f
			if math.Abs(float64(cos[p][i])-math.Cos(angle)) > bound || math.Abs(float64(sin[p][i])-math.Sin(angle)) > bound {
				t.Fatalf("%s: position %d, pair %d: got %v, %v, want the cosine and sine of %v", name, p, i, cos[p][i], sin[p][i], angle)
			}
		}
	}
}

func TestFamilies(t *testing.T) {
	if got := Families(); !slices.Equal(got, []string{"gemma3_text", "llama", "mistral", "qwen2", "qwen3", "smollm3"}) {
		t.Errorf("got %v", got)
	}
}
