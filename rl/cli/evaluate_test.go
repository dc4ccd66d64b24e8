package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEvaluateRecipe: the method of a recipe's stage is evaluated on columns of one's own, counted
// by hand; a stage that is not there is answered with the nearest one.
func TestEvaluateRecipe(t *testing.T) {
	dir := t.TempDir()
	columns, own := filepath.Join(dir, "columns.jsonl"), filepath.Join(dir, "own.toml")
	for file, text := range map[string]string{
		columns: `{"group": [0, 0], "completion": {"reward": [1, 0]}, "token": {"logp": [[-1], [-2]], "old": [[-1], [-2]]}}`,
		own:     "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\n[stage.algorithm]\npreset = \"\"\nadvantage = \"3*(reward - group_mean(reward))\"\nloss = \"token_sum(-A*logp)\"\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// -(1.5*-1) - (-1.5*-2) = -1.5
	if code, out, stderr := rlzero(t, "formulas", "eval", "--recipe", own, "--in", columns); code != 0 || !strings.Contains(out, `"loss":-1.5,"dlogp":[[-1.5],[1.5]]`) || !strings.Contains(out, `"advantage":[1.5,-1.5]`) {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if code, _, stderr := rlzero(t, "formulas", "eval", "--recipe", own, "--stage", "r", "--in", columns); code != exitUsage || !strings.Contains(stderr, `unknown stage "r"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := rlzero(t, "formulas", "eval", "--recipe", "raftt", "--in", columns); code == 0 || !strings.Contains(stderr, "did you mean raft?") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestEvalTriesScript: a script that fails on the rows ends an evaluation before anything is sampled.
func TestEvalTriesScript(t *testing.T) {
	dir := t.TempDir()
	rows, script, model := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "judge.star"), filepath.Join(dir, "model")
	for name, text := range map[string]string{rows: `{"question":"6*7?","answer":"42"}` + "\n", script: "def reward(row, completion):\n    return row[\"none\"]\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := rlzero(t, "model", "new", model); code != 0 {
		t.Fatal(stderr)
	}
	code, _, stderr := rlzero(t, "eval", model, "--data", rows, "--verifier", script, "--device", "ref")
	if code != exitUsage || !strings.Contains(stderr, `line 1, with the answer "42" as the completion: judge.star:2: key "none" not in row`) || strings.Contains(stderr, "completions  ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestEvalTree: an evaluation by a tree has the same plain figures as one without, and each round as many
// completions as the recipe says; what the tree cannot read is refused.
func TestEvalTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--device", "ref", "--run", dir}
	for _, set := range append(slices.Clone(tinyRun), "stage.rl.group_size=6", `stage.rl.tree={rounds = 2, roots = 2, open = 1, width = 2, at = "position > 1", distinct = true, choose = "same_mean(task, node) + depth"}`) {
		args = append(args, "--set", set)
	}
	if code, _, stderr := rlzero(t, append(args, "countdown-short")...); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	eval := func(more ...string) (code int, out map[string]any, stderr string) {
		code, text, stderr := rlzero(t, append([]string{"eval", dir, "--device", "ref", "--problems", "4", "--n", "3", "--k", "1,3", "--json"}, more...)...)
		if code == 0 {
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
		}
		return code, out, stderr
	}
	code, grown, stderr := eval("--tree")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	tree := grown["tree"].(map[string]any)
	delete(grown, "tree")
	if _, plain, _ := eval(); !reflect.DeepEqual(plain, grown) {
		t.Errorf("with a tree %v, without %v", grown, plain)
	}
	rounds := tree["rounds"].([]any)
	tokens := 0.0
	for i, r := range rounds {
		round := r.(map[string]any)
		if round["leaves"] != float64(2+2*i) || round["tokens"].(float64) <= tokens || round["best"].(float64) < round["mean"].(float64) {
			t.Errorf("round %d after %v tokens: %v", i, tokens, round)
		}
		tokens = round["tokens"].(float64)
	}
	if len(rounds) != 3 || tree["stage"] != "rl" {
		t.Errorf("%v", tree)
	}
	for want, sets := range map[string][]string{
		"tree/choose of stage rl reads ref, which only a run knows":    {"--set", "stage.rl.tree.choose=segment_mean(old - ref)"},
		"tree/choose of stage rl reads solved, which only a run knows": {"--set", "stage.rl.tree.choose=depth + solved"},
		"goes with the task of a recipe, and neither with":             {"--against", dir},
	} {
		if code, _, stderr := eval(append(sets, "--tree")...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %s", sets, code, stderr)
		}
	}
}
