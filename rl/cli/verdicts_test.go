package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/fleet/bus"
)

// TestVerify: a run whose programs are judged by a worker that only verifies has the logs
// of one without. Some programs hang on a limit, which the trainer meets itself.
func TestVerify(t *testing.T) {
	base, folder := filepath.Join(t.TempDir(), "base"), t.TempDir()
	args := []string{"train", "--device", "ref", "--run", base}
	for _, set := range tinyRun {
		args = append(args, "--set", set)
	}
	if code, _, stderr := rlzero(t, append(args, "countdown-short")...); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	rows := ""
	for i := range 12 { // a program that prints nothing, an expression perhaps, passes every second
		rows += fmt.Sprintf(`{"question":"%d 13 7 4 > 10:","tests":[{"stdin":"","stdout":%q}]}`+"\n", 10+i, []string{"", "a"}[i%2])
	}
	for name, text := range map[string]string{"rows.jsonl": rows, "recipe.toml": fmt.Sprintf(programRecipe, base)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var logs []string
	for _, with := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		args := []string{"rlzero", "train", "--device", "ref", "--run", dir, filepath.Join(folder, "recipe.toml")}
		ended := make(chan int, 1)
		var told bytes.Buffer
		l := &listener{joined: make(chan struct{}), held: !with}
		l.begin = func(url string) {
			go func() {
				ended <- Main([]string{"rlzero", "worker", "--for", "verify", url}, nil, io.Discard, writerFunc(func(p []byte) {
					told.Write(p)
					if strings.HasPrefix(string(p), "takes part") {
						close(l.joined)
					}
				}))
			}()
		}
		if with {
			args = append(args, "--workers", "nats", "--workers-mode", "exact")
		}
		if code := Main(args, nil, io.Discard, l); code != 0 {
			t.Fatalf("exit code %d, %s", code, l.String())
		}
		if with {
			if code := <-ended; code != 0 || !strings.HasPrefix(told.String(), "offers verify (code:javascript") {
				t.Errorf("the worker's exit code is %d: %s", code, told.String())
			}
			if !theirs.MatchString(l.String()) {
				t.Errorf("no verdict is the worker's: %s", l.String())
			}
		}
		logs = append(logs, logsOf(t, dir))
	}
	if logs[0] != logs[1] {
		t.Error("the run has other bytes with a worker that verifies")
	}
}

const programRecipe = `
seed = 1
[model]
path = %q
[task]
data = "rows.jsonl"
verifier = "code:javascript"
options = { extract = "none" }
held_out = 0.3
eval_problems = 2
eval_samples = 2
max_prompt_tokens = 24
[[stage]]
name = "rl"
kind = "rl"
steps = 4
prompts_per_step = 8
group_size = 16
[stage.sampling]
max_completion_tokens = 8
`

var theirs = regexp.MustCompile(`; [1-9][0-9]* verdicts are theirs`)

func TestPresence(t *testing.T) {
	both := bus.Card{System: "linux/amd64", Device: "paper", Drafts: true, Verifies: map[string]string{"code:wasm": "1"}, Lacks: map[string]string{"code:python": "no box"}}
	for want, p := range map[string]bus.Presence{
		"K  works, class same, mode exact, version 3, 7 items done, heard 1 s ago; offers draft, verify (code:wasm), not code:python: no box; paper, linux/amd64": {Worker: "K", Card: both, Class: "same", Mode: "exact", Version: 3, Busy: true, Done: 7, Silent: 1},
		"K  waits, class not known yet, mode draft, 0 items done, heard 0 s ago; offers draft; ,":                                                                 {Worker: "K", Card: bus.Card{Drafts: true}, Mode: "draft", Version: -1},
		"K  other, refused: it lies": {Worker: "K", Class: "other", Version: -1, Refused: "it lies"},
	} {
		if got := presenceText(p); strings.TrimSpace(got) != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
