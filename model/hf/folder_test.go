package hf

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/text"
)

// readAll opens a folder and reads every tensor, as Load does; or that of an adapter, if
// it has a base.
func readAll(dir, base string) error {
	if base != "" {
		f, err := ReadFolder(filepath.Join(dir, base))
		if err != nil {
			return err
		}
		defer f.Tensors.Close()
		_, ts, err := OpenAdapter(f.Config, dir)
		if err == nil {
			ts.Close()
		}
		return err
	}
	f, err := ReadFolder(dir)
	if err != nil {
		return err
	}
	defer f.Tensors.Close()
	for _, spec := range Tensors(f.Config) {
		if _, err := f.Tensors.Read(spec.Name); err != nil {
			return err
		}
	}
	return nil
}

// TestModelsBad: each folder is refused with a message that names the fault, and
// without an allocation that a small file cannot justify.
func TestModelsBad(t *testing.T) {
	const allocated = 8 << 20 // bytes; the folders are below 20 KB
	fixtures.Each(t, "models_bad", func(t *testing.T, dir string) {
		matched, failed := 0, 0
		for _, file := range glob(t, dir, "*/expect.json") {
			folder := filepath.Dir(file)
			var want refusal
			readJSON(t, file, &want)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readAll(folder, want.Base)
			runtime.ReadMemStats(&after)
			if complaint := want.check(err); complaint != "" {
				failed++
				t.Errorf("%s (%s): %s; error: %v", filepath.Base(folder), want.What, complaint, err)
			} else if n := after.TotalAlloc - before.TotalAlloc; n > allocated {
				failed++
				t.Errorf("%s: %d bytes allocated", filepath.Base(folder), n)
			} else {
				matched++
			}
		}
		fixtures.Report(t, "models_bad", matched, failed, 0)
	})
}

// refusal is expect.json; the fixtures' README defines it.
type refusal struct {
	What           string
	Base           string
	MustLoad       bool     `json:"must_load"`
	MustMention    []string `json:"must_mention"`
	MustMentionAny []string `json:"must_mention_any"`
}

func (r refusal) check(err error) string {
	if r.MustLoad {
		if err != nil {
			return "must load"
		}
		return ""
	}
	if err == nil {
		return "must be refused"
	}
	text := strings.ToLower(err.Error())
	mentions := func(s string) bool { return strings.Contains(text, strings.ToLower(s)) }
	for _, s := range r.MustMention {
		if !mentions(s) {
			return "must mention " + s
		}
	}
	if len(r.MustMentionAny) > 0 && !slices.ContainsFunc(r.MustMentionAny, mentions) {
		return "must mention one of " + strings.Join(r.MustMentionAny, ", ")
	}
	return ""
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestModelFolders reads every model, writes it anew and reads it back: the same config and the same values.
func TestModelFolders(t *testing.T) {
	fixtures.Each(t, "models", func(t *testing.T, dir string) {
		matched, failed := 0, 0
		for _, file := range glob(t, dir, "*/expected.json") {
			folder := filepath.Dir(file)
			f, err := ReadFolder(folder)
			if err != nil {
				t.Error(err)
				failed++
				continue
			}
			if t.Run(filepath.Base(folder), func(t *testing.T) { rewrite(t, f) }) {
				matched++
			} else {
				failed++
			}
			f.Tensors.Close()
		}
		fixtures.Report(t, "models", matched, failed, 0)
	})
}

// rewrite writes a folder as a checkpoint would and compares what it reads back.
func rewrite(t *testing.T, f *Folder) {
	var tensors []NamedTensor
	for _, spec := range Tensors(f.Config) {
		tensors = append(tensors, NamedTensor{Name: spec.Name, Shape: spec.Shape, Data: func() ([]float32, error) { return f.Tensors.Read(spec.Name) }})
	}
	var weights bytes.Buffer
	if err := WriteSafetensors(&weights, tensors); err != nil {
		t.Fatal(err)
	}
	files, err := FolderFiles(f.Config, f.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	files[WeightsFile] = weights.Bytes()
	g := readBack(t, files)
	defer g.Tensors.Close()

	sameConfig(t, g.Config, f.Config)
	for _, spec := range Tensors(f.Config) {
		want, err := f.Tensors.Read(spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.Tensors.Read(spec.Name); err != nil || !slices.Equal(got, want) {
			t.Errorf("tensor %s changed (%v)", spec.Name, err)
		}
	}
}

func readBack(t *testing.T, files map[string][]byte) *Folder {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sameConfig compares two configs. Keys that only the written one has (hidden_act
// and the like) are not compared: they are ours.
func sameConfig(t *testing.T, got, want Config) {
	t.Helper()
	for key, v := range want.Raw {
		if !sameJSON(got.Raw[key], v) {
			t.Errorf("key %s: got %s, want %s", key, got.Raw[key], v)
		}
	}
	got.Raw, want.Raw = nil, nil
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("config changed:\n got %s\nwant %s", a, b)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// tinyFolder is a model of one layer with its tokenizer, as files.
func tinyFolder(t testing.TB) map[string][]byte {
	t.Helper()
	c := tinyConfig(t, "llama")
	tok, err := text.NewWords([]string{"<pad>", "<eos>", "0", "1", "+", "="})
	if err != nil {
		t.Fatal(err)
	}
	files, err := FolderFiles(c, tok)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteSafetensors(&b, zeros(Tensors(c))); err != nil {
		t.Fatal(err)
	}
	files[WeightsFile] = b.Bytes()
	return files
}

func zeros(specs []TensorSpec) []NamedTensor {
	var tensors []NamedTensor
	for _, s := range specs {
		tensors = append(tensors, NamedTensor{Name: s.Name, Shape: s.Shape, Data: func() ([]float32, error) { return make([]float32, product(s.Shape)), nil }})
	}
	return tensors
}

func TestFolderCarriesCompanions(t *testing.T) {
	files := tinyFolder(t)
	files["chat_template.jinja"] = []byte("{{ messages }}")
	f := readBack(t, files)
	defer f.Tensors.Close()
	if f.Tokenizer == nil {
		t.Fatal("the tokenizer was not read")
	}
	out, err := FolderFiles(f.Config, f.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
		if !bytes.Equal(out[name], files[name]) {
			t.Errorf("%s changed on its way through", name)
		}
	}
}

func TestGenerationConfig(t *testing.T) {
	files := tinyFolder(t)
	files["generation_config.json"] = []byte(`{"eos_token_id": [4, 1], "temperature": 0.6, "top_k": 20, "top_p": null, "suppress_tokens": [3]}`)
	f := readBack(t, files)
	defer f.Tensors.Close()
	if !slices.Equal(f.Config.EOS, []int{4, 1}) {
		t.Errorf("EOS is %v, want those of generation_config.json", f.Config.EOS)
	}
	g := f.Config.Generation
	if g.Temperature == nil || *g.Temperature != 0.6 || g.TopK == nil || *g.TopK != 20 || g.TopP != nil || g.MinP != nil {
		t.Errorf("got %+v", g)
	}
	out, err := FolderFiles(f.Config, f.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(out["generation_config.json"], &keys); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"bos_token_id": nil, "eos_token_id": []any{4.0, 1.0}, "pad_token_id": 0.0, "temperature": 0.6, "top_k": 20.0, "top_p": nil, "suppress_tokens": []any{3.0}}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("written as %v, want %v", keys, want)
	}
	if _, err := parseGenerationConfig([]byte("{\n\"top_p\": \"high\"}")); err == nil || !strings.Contains(err.Error(), "line 2: top_p") {
		t.Errorf("a wrong type gives %v", err)
	}
}

func TestTokenizerLargerThanModel(t *testing.T) {
	files := tinyFolder(t)
	tok, err := text.NewWords([]string{"<pad>", "<eos>", "0", "1", "+", "=", "-"})
	if err != nil {
		t.Fatal(err)
	}
	files["tokenizer.json"] = tok.Files()["tokenizer.json"]
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadFolder(dir); err == nil || !strings.Contains(err.Error(), "7 tokens") {
		t.Errorf("got %v", err)
	}
}

func TestCheckTensors(t *testing.T) {
	tied := tinyConfig(t, "llama")
	tied.TieEmbeddings = true
	untied := tied
	untied.TieEmbeddings = false
	head := TensorSpec{HeadName, []int{tied.Vocab, tied.Width}}
	inverse := TensorSpec{"model.layers.0.self_attn.rotary_emb.inv_freq", []int{2}}
	for _, c := range []struct {
		name  string
		cfg   Config
		specs []TensorSpec
		want  string
	}{
		{"tied", tied, Tensors(tied), ""},
		{"tied with a head of its own", tied, append(Tensors(tied), head), ""},
		{"stored frequencies", tied, append(Tensors(tied), inverse), ""},
		{"untied without head", untied, Tensors(tied), "tie_word_embeddings"},
		{"surplus", tied, append(Tensors(tied), TensorSpec{"model.layers.0.self_attn.q_norm.weight", []int{4}}), "q_norm.weight is not part of the model that config.json describes"},
		{"transposed", tied, append([]TensorSpec{{EmbedName, []int{tied.Width, tied.Vocab}}}, Tensors(tied)[1:]...), "found shape [8 6]"},
	} {
		set := &TensorSet{tensors: map[string]storedTensor{}}
		for _, s := range c.specs {
			set.tensors[s.Name] = storedTensor{shape: s.Shape}
		}
		err := CheckTensors(c.cfg, set)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestForeignFolder: weights and tokenizers in forms that are not read are refused with
// what to fetch.
func TestForeignFolder(t *testing.T) {
	good := filepath.Join(fixtures.Selection(t, "models_bad"), "control_good")
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
	for _, c := range []struct{ without, name, content, want, advice string }{
		{"model.safetensors", "pytorch_model.bin", "PK", "has its weights in pytorch_model.bin, a Python pickle", "download the model's safetensors files"},
		{"model.safetensors", "pytorch_model.bin.index.json", "{}", "has its weights in pytorch_model.bin.index.json", "download the model's safetensors files"},
		{"model.safetensors", "model.safetensors", pointer, "model.safetensors is a pointer of Git LFS", "git lfs pull"},
		{"tokenizer.json", "tokenizer.model", "sp", "has its tokenizer in tokenizer.model; accepted: tokenizer.json", "download the model's tokenizer.json"},
		{"tokenizer.json", "tokenizer.json", pointer, "tokenizer.json is a pointer of Git LFS", "git lfs pull"},
	} {
		dir := t.TempDir()
		for _, file := range glob(t, good, "*") {
			if filepath.Base(file) == c.without {
				continue
			}
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFolder(dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.Join(hint.All(err), " "), c.advice) {
			t.Errorf("%s: %v, hints %q; want %s", c.name, err, hint.All(err), c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "model.gguf")
	for content, want := range map[string]string{pointer: "model.gguf is a pointer of Git LFS", "<html></html>": `model.gguf: found "<htm" in the first four bytes`} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFolder(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
