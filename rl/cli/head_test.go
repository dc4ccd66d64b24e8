package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/store"
)

// headedFolder is the folder of a chat model with a head.
func headedFolder(t *testing.T) string {
	t.Helper()
	f, err := hf.ReadFolder(fixtures.ChatModel(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Tensors.Close()
	weight := make([]float32, f.Config.Width)
	for i := range weight {
		weight[i] = float32(i%7) - 3
	}
	f.Head = hf.NewHead(weight, 0.5)
	small, tensors, err := f.Files(gguf.F32)
	out := filepath.Join(t.TempDir(), "rm")
	if err := errors.Join(err, store.WriteFolder(store.OS(), out, hf.Contents(small, hf.WeightsFile, tensors))); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHeadedFolder: a model with a head is scored and evaluated by the commands for models: what eval
// counts is what score says of the rows' conversations, and what cannot draw tokens says what reads it.
func TestHeadedFolder(t *testing.T) {
	dir, rows := headedFolder(t), t.TempDir()
	write := func(name string, lines ...string) string {
		t.Helper()
		file := filepath.Join(rows, name)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	say := func(question, answer string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":%q},{"role":"assistant","content":%q}]}`, question, answer)
	}
	scores := func(conversations ...string) (last []float64) {
		t.Helper()
		code, out, stderr := rlzero(t, "score", dir, "--in", write("said.jsonl", conversations...), "--device", "ref")
		if code != 0 {
			t.Fatal(stderr)
		}
		for _, text := range splitLines(out) {
			var line struct {
				IDs    []int
				Scores []float64
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil || len(line.IDs) == 0 || len(line.Scores) != len(line.IDs) {
				t.Fatalf("%s (%v)", text, err)
			}
			last = append(last, line.Scores[len(line.Scores)-1])
		}
		return last
	}
	evaluated := func(file string, flags ...string) map[string]float64 {
		t.Helper()
		code, out, stderr := rlzero(t, append([]string{"eval", dir, "--data", file, "--json", "--device", "ref"}, flags...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		var line map[string]any
		if err := json.Unmarshal([]byte(out), &line); err != nil {
			t.Fatal(out)
		}
		figures := map[string]float64{}
		for key, v := range line {
			if x, number := v.(float64); number {
				figures[key] = x
			}
		}
		return figures
	}
	said := scores(say("one?", "1"), say("one?", "no"), say("two?", "2"), say("two?", "1 1"))
	want := 0.0
	for _, pair := range [][2]float64{{said[0], said[1]}, {said[2], said[3]}} {
		if pair[0] > pair[1] {
			want += 0.5
		}
	}
	pairs := write("pairs.jsonl", `{"question":"one?","chosen":"1","rejected":"no"}`, `{"question":"two?","chosen":"2","rejected":"1 1"}`)
	if got := evaluated(pairs); got["pairs"] != want || got["pairs_of"] != 2 || got["alone_of"] != 4 || got["rows"] != 2 {
		t.Errorf("scores %v: %v, want %v of 2 pairs", said, got, want)
	}
	alone := 0.0
	for i, right := range []bool{true, false, false} {
		if right == (said[i] > 0) {
			alone++
		}
	}
	labels := write("labels.jsonl", `{"question":"one?","completion":"1","label":true}`, `{"question":"one?","completion":"no","label":false}`, `{"question":"two?","completion":"2","label":"wrong"}`)
	if got := evaluated(labels); math.Abs(got["alone"]-alone/3) > 0x1p-50 || got["one_of_n_of"] != 1 || got["best_of_n_of"] != 1 {
		t.Errorf("scores %v: %v, want %v of 3 alone", said, got, alone)
	}
	if got := evaluated(labels, "--problems", "1"); got["rows"] != 1 || got["alone_of"] != 1 {
		t.Errorf("one row: %v", got)
	}
	steps := write("steps.jsonl", `{"question":"one?","steps":["1","no"],"labels":[true,false]}`)
	if got := evaluated(steps); got["steps_of"] != 2 || got["alone_of"] != 0 {
		t.Errorf("steps: %v", got)
	}
	if code, out, _ := rlzero(t, "eval", dir, "--data", pairs, "--device", "ref"); code != 0 || !strings.Contains(out, "scored by LABEL_0") || !strings.Contains(out, "of 2 pairs") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if got := evaluated(write("broken.jsonl", `{"question":"one?","completion":"1","label":true}`, `{"question":"one?","completion":"a\u0000<|im_end|>","label":false}`)); got["rows"] != 2 || got["left_out"] != 0 {
		t.Errorf("a tokenizer of bytes: %v", got)
	}
	nothing := write("nothing.jsonl", `{"question":"one?","answer":"1"}`)
	for _, c := range []struct {
		args, want, hint string
	}{
		{"eval " + dir + " --data " + nothing, "nothing.jsonl: line 1: nothing is preferred", "--set task.columns.chosen=COLUMN"},
		{"eval " + dir + " --data " + pairs + " --n 4", "--n does not go with a model that has a head", ""},
		{"eval " + dir + " --data " + pairs + " --greedy", "--greedy does not go with a model that has a head", ""},
		{"eval " + dir + " --data " + pairs + " --seed 2", "--seed does not go with a model that has a head", ""},
		{"eval " + dir + " --data " + pairs + " --label good", `there is no label "good"; the head has 1 (LABEL_0)`, "--label LABEL_0"},
		{"score " + dir + " --in " + pairs + " --temperature 2", "--temperature does not go with a model that has a head", ""},
		{"score " + fixtures.ChatModel(t) + " --in " + pairs + " --label good", "--label is for models with a head", ""},
		{"sample " + dir + " --prompt one", `accepted: ["Qwen3ForCausalLM"]`, "rlzero score, rlzero eval and [models.NAME] with head = true read it"},
		{"export " + dir + " --out " + filepath.Join(rows, "out"), `accepted: ["Qwen3ForCausalLM"]`, "rlzero score"},
	} {
		args := strings.Fields(c.args)
		if args[0] != "export" {
			args = append(args, "--device", "ref")
		}
		code, _, stderr := rlzero(t, args...)
		if code != exitUsage || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, c.hint) {
			t.Errorf("%s: exit code %d, %s; want %q and %q", c.args, code, stderr, c.want, c.hint)
		}
	}
}

// TestExportUnmade: a member whose first stage has not begun is exported as the run opened it, and that is
// said.
func TestExportUnmade(t *testing.T) {
	const text = "base = \"chain-sum-tiny\"\n[models.rm]\ncopy = \"policy\"\nhead = true\n[[stage]]\nname = \"warm-up\"\n[[stage]]\nname = \"rm\"\nkind = \"rl\"\ntrains = \"rm\"\nsteps = 1\n[stage.algorithm]\npreset = \"bradley_terry\"\n[[stage]]\nname = \"rl\"\nreward = \"rm\"\n"
	run := t.TempDir()
	dir := filepath.Join(run, "checkpoints", "step-000001")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "trainer"), 0o755), os.WriteFile(filepath.Join(run, recipe.File), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stage int
		began bool
		said  bool
	}{{0, true, true}, {1, false, true}, {1, true, false}, {2, false, false}} {
		state := fmt.Sprintf(`{"position":{"stage":%d,"step":1,"total":1},"began":%t}`, c.stage, c.began)
		if err := os.WriteFile(filepath.Join(dir, "trainer", "state.json"), []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		if note := unmade(dir, "rm"); (note != "") != c.said || c.said && note != "rm is still as the run opened it: its first stage, rm, has not begun in this checkpoint" {
			t.Errorf("stage %d, began %t: %q", c.stage, c.began, note)
		}
	}
	if note := unmade(t.TempDir(), "rm"); note != "" {
		t.Errorf("of no run: %q", note)
	}
}
