package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/hf"
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
