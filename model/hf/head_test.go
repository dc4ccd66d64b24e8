package hf

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/gguf"
)

// headFolder copies a folder with a head, with some changes.
func headFolder(t *testing.T, name string, config [2]string, change func(tensors map[string]NamedTensor)) string {
	t.Helper()
	from, dir := filepath.Join("testdata/heads", name), t.TempDir()
	data, err := os.ReadFile(filepath.Join(from, configFile))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if config[0] != "" {
		if text = strings.Replace(text, config[0], config[1], 1); text == string(data) {
			t.Fatalf("%s has no %s", name, config[0])
		}
	}
	if err := os.WriteFile(filepath.Join(dir, configFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ts, err := openTensors(from)
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	tensors := map[string]NamedTensor{}
	for _, n := range ts.Names() {
		tensors[n] = NamedTensor{Name: n, Shape: ts.shape(n), Data: func() ([]float32, error) { return ts.Read(n) }}
	}
	if change != nil {
		change(tensors)
	}
	var list []NamedTensor
	for _, n := range slices.Sorted(maps.Keys(tensors)) {
		list = append(list, tensors[n])
	}
	out, err := os.Create(filepath.Join(dir, WeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteSafetensors(out, list); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHeadsRefused: a folder whose head is not what its config says is refused, and the error says what
// was found and what is accepted.
func TestHeadsRefused(t *testing.T) {
	drop := func(name string) func(map[string]NamedTensor) {
		return func(ts map[string]NamedTensor) { delete(ts, name) }
	}
	reshape := func(name string, shape ...int) func(map[string]NamedTensor) {
		return func(ts map[string]NamedTensor) {
			ts[name] = NamedTensor{Name: name, Shape: shape, Data: func() ([]float32, error) { return make([]float32, product(shape)), nil }}
		}
	}
	none := [2]string{}
	for _, c := range []struct {
		about, folder string
		config        [2]string
		change        func(map[string]NamedTensor)
		want          string
	}{
		{"no head", "qwen2_sequence", none, drop("score.weight"), "has no head (architectures: Qwen2ForSequenceClassification; looked for score.weight)"},
		{"a causal model without one", "qwen2_value", none, drop("v_head.summary.weight"), "has no head (architectures: Qwen2ForCausalLM; looked for v_head.summary.weight)"},
		{"another width", "qwen2_sequence", none, reshape("score.weight", 1, 8), "tensor score.weight: found shape [1 8], accepted: [labels 16]"},
		{"a vector", "qwen2_sequence", none, reshape("score.weight", 16), "tensor score.weight: found shape [16]"},
		{"two values", "qwen2_value", none, reshape("v_head.summary.weight", 2, 16), "tensor v_head.summary.weight: found shape [2 16]"},
		{"no bias", "qwen3_token_2", none, drop("score.bias"), "tensor score.bias: found shape [], accepted: [2], as Qwen3ForTokenClassification has"},
		{"a bias too many", "qwen2_sequence", none, reshape("score.bias", 1), "tensor score.bias is not part of the model"},
		{"an inner layer that is too small", "qwen2_process", none, reshape("score.0.weight", 8, 16), "tensor score.0.weight: found shape [8 16]"},
		{"more labels than rows", "llama_sequence_3", none, reshape("score.weight", 2, 16), `id2label has 3 labels`},
		{"no list of labels", "llama_sequence_3", [2]string{`"id2label": {`, `"id2label": 3, "other": {`}, nil, "id2label: found 3, accepted: an object of names by number"},
		{"a head of another family", "llama_sequence_3", [2]string{"LlamaForSequenceClassification", "LlamaForProcessRewardModel"}, nil,
			`architectures: found [ "LlamaForProcessRewardModel" ] (a list), accepted: ["LlamaForSequenceClassification"], ["LlamaForTokenClassification"], ["LlamaForCausalLM"]`},
	} {
		dir := headFolder(t, c.folder, c.config, c.change)
		_, err := ReadHeaded(dir)
		if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) {
			t.Errorf("%s: %v, want %q", c.about, err, c.want)
		}
	}
	f, err := ReadHeaded("testdata/heads/llama_sequence_3")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Tensors.Close()
	for label, want := range map[string]string{"": "no label is chosen; the head has 3 (LABEL_0, LABEL_1, LABEL_2)", "good": `there is no label "good"`} {
		if _, err := f.Head.Label(label); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("label %q: %v", label, err)
		}
	}
	if i, err := f.Head.Label("LABEL_1"); err != nil || i != 1 {
		t.Errorf("LABEL_1 is %d (%v)", i, err)
	}
}

// TestHeadsWritten: a folder of each kind that is written again says what the one that was read says, of
// each label; and so does a head of one's own.
func TestHeadsWritten(t *testing.T) {
	state := make([]float32, 16)
	for i := range state {
		state[i] = float32(i%5) - 1.5
	}
	again := func(f *Folder, head *Head) *Folder {
		t.Helper()
		f.Head = head
		small, tensors, err := f.Files(gguf.F32)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, write := range Contents(small, WeightsFile, tensors) {
			out, err := os.Create(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(write(out), out.Close()); err != nil {
				t.Fatal(err)
			}
		}
		g, err := ReadHeaded(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Tensors.Close() })
		return g
	}
	entries, err := os.ReadDir("testdata/heads")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		f, err := ReadHeaded(filepath.Join("testdata/heads", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		g := again(f, f.Head)
		if g.architecture != f.architecture || !slices.Equal(g.Head.Labels, f.Head.Labels) {
			t.Errorf("%s: %s with %v, was %s with %v", e.Name(), g.architecture, g.Head.Labels, f.architecture, f.Head.Labels)
		}
		for label := range f.Head.Labels {
			if got, want := g.Head.Score(state, label), f.Head.Score(state, label); got != want {
				t.Errorf("%s: label %d says %v, was %v", e.Name(), label, got, want)
			}
		}
		f.Tensors.Close()
	}
	f, err := ReadHeaded("testdata/heads/qwen2_value")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Tensors.Close()
	own := NewHead(state, 0.5)
	if g := again(f, own); g.architecture != "Qwen2ForTokenClassification" || g.Head.Score(state, 0) != own.Score(state, 0) {
		t.Errorf("a head of one's own is in %s and says %v, was %v", g.architecture, g.Head.Score(state, 0), own.Score(state, 0))
	}
}
