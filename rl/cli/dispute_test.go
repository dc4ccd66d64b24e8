package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/fleet/bus"
	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/verify"
)

// TestDispute: the result of a wrong device is kept, and its item is drawn again: by a right
// device as the trainer did, by the wrong one as the worker did.
func TestDispute(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--device", "ref", "--run", dir, "--workers", "local:broken", "--audit", "1"}
	for _, set := range tinyRun {
		args = append(args, "--set", set)
	}
	if code, _, stderr := rlzero(t, append(args, "countdown-short")...); code != 0 {
		t.Fatal(stderr)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, disputesDir, "*.json"))
	if len(kept) != 1 {
		t.Fatalf("%d disputes are kept", len(kept))
	}
	for device, want := range map[string]struct {
		code int
		text []string
	}{
		"ref":    {0, []string{"trainer: rlzero ", "the worker drew: prompt ", "the trainer drew: the same completions as here, to the bit"}},
		"broken": {exitFailed, []string{"here: rlzero ", "the worker drew: the same completions as here, to the bit", "the trainer drew: prompt "}},
	} {
		code, stdout, stderr := rlzero(t, "worker", "--device", device, "--item", kept[0])
		if code != want.code {
			t.Errorf("%s: exit code %d, %s", device, code, stderr)
		}
		for _, text := range want.text {
			if !strings.Contains(stdout, text) {
				t.Errorf("%s: %q is not in %s", device, text, stdout)
			}
		}
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	weights, _ := filepath.Glob(filepath.Join(dir, disputesDir, "*.safetensors"))
	for _, c := range []struct{ file, text, want string }{
		{weights[0], "x", "is not the file with which"},
		{kept[0], strings.Replace(string(text), `"item": "`, `"item": "AAAA`, 1), "not an item of this version"},
		{kept[0], "x", "invalid character"},
	} {
		if err := os.WriteFile(c.file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := rlzero(t, "worker", "--device", "ref", "--item", kept[0]); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.want, code, stderr)
		}
	}
}

// TestRecall: what a run found out of its workers is known when it goes on.
func TestRecall(t *testing.T) {
	w := &workers{dir: t.TempDir(), hub: &bus.Hub{}}
	if err := os.Mkdir(filepath.Join(w.dir, "checkpoints"), 0o755); err != nil { // it is a run folder
		t.Fatal(err)
	}
	if err := w.recall(); err != nil || w.options.Trusted != nil || w.options.Refused != nil {
		t.Errorf("a new run: %v, %+v", err, w.options)
	}
	if err := w.options.Remember(map[string]int{"a": 3}, map[string]string{"b": "because"}); err != nil {
		t.Fatal(err)
	}
	local := &workers{dir: w.dir} // of this machine alone: who was refused elsewhere stays so
	if err := local.recall(); err != nil || local.options.Trusted["a"] != 3 || local.options.Refused != nil {
		t.Errorf("%v, %+v", err, local.options)
	}
	if err := local.options.Remember(map[string]int{"a": 3}, map[string]string{"device": "because"}); err != nil {
		t.Fatal(err)
	}
	next := &workers{dir: w.dir, hub: &bus.Hub{}}
	if err := next.recall(); err != nil || next.options.Trusted["a"] != 3 || next.options.Refused["b"] != "because" || len(next.options.Refused) != 1 {
		t.Errorf("%v, %+v", err, next.options)
	}
	if err := os.WriteFile(filepath.Join(w.dir, workersFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := next.recall(); !errors.Is(err, lines.ErrInput) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestJudgeNothing: where this machine has not the engine of a disputed item, nobody is
// said to be right.
func TestJudgeNothing(t *testing.T) {
	item := verdict.Item{Engine: verify.Engine{Verifier: "code:javascript", Options: json.RawMessage("{}"), Release: "code:javascript, elsewhere"},
		Asked: []verdict.Asked{{Row: json.RawMessage(`{"id":"a","question":""}`), Completions: []string{"no program"}}}}
	right := verify.Reject("", "", "no program")
	d := disputeLine{Worker: "w", Item: item.Encode(), Right: item.Answer([]*verify.Verdict{&right})}
	d.Answer = d.Right
	var out bytes.Buffer
	c := cli.NewContext(&cli.App{Writer: &out, ErrWriter: &out}, flag.NewFlagSet("", flag.ContinueOnError), nil)
	c.Context = t.Context()
	if err := d.judgeAgain(c, "file"); err == nil || !strings.Contains(err.Error(), "the item asks for code:javascript, elsewhere") || strings.Contains(out.String(), "judged") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
