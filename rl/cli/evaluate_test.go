package cli

import (
	"os"
	"path/filepath"
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
