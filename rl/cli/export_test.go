package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestModelfile: Ollama is told what ends a turn and how to sample, and to pass on prompts as
// they are to a model without a chat template.
func TestModelfile(t *testing.T) {
	dir := fixtures.ChatModel(t)
	const sampling = `{"eos_token_id": [6, 7], "temperature": 0.7, "top_p": 0.9, "top_k": 20}`
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(sampling), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func() string {
		t.Helper()
		f, err := hf.ReadFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Tensors.Close()
		return modelfile(f, "model-f16.gguf")
	}
	const parameters = "PARAMETER temperature 0.7\nPARAMETER top_p 0.9\nPARAMETER top_k 20\n"
	f, err := hf.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensors.Close()
	from := "FROM ./model-f16.gguf\n"
	for _, id := range []int{6, 7} {
		from += "PARAMETER stop \"" + f.Tokenizer.Token(id) + "\"\n"
	}
	if got, want := file(), from+parameters; got != want {
		t.Errorf("with a chat template:\n%swant:\n%s", got, want)
	}
	if err := os.Remove(filepath.Join(dir, "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	if got, want := file(), from+"TEMPLATE \"{{ .Prompt }}\"\n"+parameters; got != want {
		t.Errorf("without one:\n%swant:\n%s", got, want)
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if got, want := file(), "FROM ./model-f16.gguf\nTEMPLATE \"{{ .Prompt }}\"\n"+parameters; got != want {
		t.Errorf("without a tokenizer:\n%swant:\n%s", got, want)
	}
}

// TestExportMember: a model that a stage trained is exported in place of the policy, with its head, and
// reads the same; what is not there and what a format cannot hold is refused.
func TestExportMember(t *testing.T) {
	run := t.TempDir()
	dir := filepath.Join(run, "checkpoints", "step-000001")
	const text = "base = \"countdown-tiny\"\n[models.shaped]\nfamily = \"llama\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n" +
		"[[stage]]\nname = \"warm-up\"\ntrains = \"shaped\"\n[[stage]]\nname = \"rl\"\n[stage.algorithm]\npenalty = \"0*shaped\"\n"
	if err := errors.Join(os.Mkdir(filepath.Dir(dir), 0o755), os.Rename(fixtures.ChatModel(t), dir), os.WriteFile(filepath.Join(run, recipe.File), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := hf.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	weight := make([]float32, f.Config.Width)
	for i := range weight {
		weight[i] = float32(i%7) - 3
	}
	head := hf.NewHead(weight, 0.5)
	_, tensors, err := f.Files(gguf.F32)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, tensors []hf.NamedTensor) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		var b bytes.Buffer
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), hf.WriteSafetensors(&b, tensors), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range tensors { // the member's weights are the policy's and 1 more
		data := tensors[i].Data
		tensors[i].Data = func() ([]float32, error) {
			out, err := data()
			for j := range out {
				out[j]++
			}
			return out, err
		}
	}
	write(recipe.MemberWeights("rm"), tensors)
	write(recipe.MemberWeights("teacher"), tensors)
	write(recipe.MemberWeights("shaped"), tensors) // whose shape might be the policy's
	want, err := tensors[0].Data()
	if err := errors.Join(err, f.Tensors.Close()); err != nil {
		t.Fatal(err)
	}
	write(recipe.MemberHead("rm"), head.Tensors())
	for _, c := range []struct {
		member, format, want string
	}{
		{"rm", "hf", ""},
		{"teacher", "hf", ""},
		{"rm", "gguf", "--member rm: it has a head, which --format gguf cannot hold; accepted: hf"},
		{"shaped", "hf", "--member shaped: it has a shape of its own, and no file beside its weights says which; accepted: one of [models] with copy"},
		{"judge", "hf", "--member judge: " + dir + " has no model of that name; accepted: one of [models] with copy that a stage trains"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		code, _, stderr := rlzero(t, "export", dir, "--member", c.member, "--format", c.format, "--out", out)
		if c.want != "" {
			if code == 0 || !strings.Contains(stderr, c.want) {
				t.Errorf("%s as %s: %s, want %q", c.member, c.format, stderr, c.want)
			}
			continue
		}
		if code != 0 {
			t.Fatal(stderr)
		}
		open := hf.ReadFolder
		if c.member == "rm" {
			open = hf.ReadHeaded
		}
		g, err := open(out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.Tensors.Read(tensors[0].Name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %s is not the member's (%v)", c.member, tensors[0].Name, err)
		}
		if c.member == "rm" && g.Head.Score(weight, 0) != head.Score(weight, 0) {
			t.Errorf("the head says %v, was %v", g.Head.Score(weight, 0), head.Score(weight, 0))
		}
		g.Tensors.Close()
	}
}

// TestExportMemberOfAdapters: a model that is an adapter beside the policy's is merged as that one is, and the policy's is
// not.
func TestExportMemberOfAdapters(t *testing.T) {
	base := newTiny(t, 1)
	member, run, out := withAdapter(t, base), t.TempDir(), t.TempDir()
	dir := filepath.Join(run, "checkpoints", "step-000001")
	at := func(parts ...string) string { return filepath.Join(parts...) }
	if err := errors.Join(os.CopyFS(dir, os.DirFS(member)), os.Mkdir(at(dir, "models"), 0o755), os.Rename(at(dir, "adapter_model.safetensors"), at(dir, recipe.MemberWeights("teacher")))); err != nil {
		t.Fatal(err)
	}
	zeros, err := os.ReadFile(at(member, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	clear(zeros[8+binary.LittleEndian.Uint64(zeros):]) // all but the header
	if err := os.WriteFile(at(dir, "adapter_model.safetensors"), zeros, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"member": {dir, "--member", "teacher"}, "merged": {base, "--adapter", member}, "policy": {dir}} {
		if code, _, stderr := rlzero(t, append([]string{"export", "--out", at(out, name)}, args...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	read := func(name string) string {
		data, err := os.ReadFile(at(out, name, hf.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if read("member") != read("merged") || read("member") == read("policy") {
		t.Error("the member's adapter is not what was merged")
	}
	if code, _, stderr := rlzero(t, "export", dir, "--member", "teacher", "--format", "peft", "--out", at(out, "peft")); code == 0 || !strings.Contains(stderr, "--format peft writes the policy's adapter alone") {
		t.Errorf("peft: %s", stderr)
	}
	if code, _, stderr := rlzero(t, "export", dir, "--member", "teacher", "--adapter", member, "--out", at(out, "two")); code != 2 || !strings.Contains(stderr, "does not go with --member") {
		t.Errorf("an adapter more: %s", stderr)
	}
}
