package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestRows: the rows that a run has made are shown with what they were made of, as data too, and refused where
// one is not as it was written.
func TestRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	train := []string{"train", "chain-sum-tiny", "--device", "ref", "--run", dir}
	for _, s := range strings.Fields("model.width=16 model.heads=2 model.head_dim=8 model.mlp=24 task.eval_problems=3 task.eval_samples=2 stage.warm-up.batch_size=4 stage.warm-up.hold_steps=3 stage.warm-up.until_valid=0 stage.warm-up.decay_steps=2 stage.warm-up.test_every=3 stage.rl.prompts_per_step=2 stage.rl.updates_per_rollout=1 stage.rl.group_size=2 stage.rl.steps=2 stage.rl.eval_problems=2 stage.rl.reward=random") {
		train = append(train, "--set", s)
	}
	train = append(train, "--set", `stage.rl.make=[{rows = "asked", each = "group", row = {question = "{question}", answer = "{answer}", form = "running_total", tokens = "{group_mean(tokens)}"}}]`, "--set", `stage.rl.source=[{rows = "asked", share = 0.5}]`)
	if code, _, stderr := rlzero(t, train...); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	code, shown, stderr := rlzero(t, "rows", dir, "--n", "3")
	if code != 0 || !strings.HasPrefix(shown, "asked: 4 rows\n\nasked/2  step 6 of stage rl, group 1, by policy@5, seed 1\n  from ") || strings.Count(shown, "\n  question: ") != 3 || strings.Count(shown, "\n  tokens: ") != 3 {
		t.Errorf("shown is\n%s%s", shown, stderr)
	}
	if code, told, stderr := rlzero(t, "audit", dir); code != 0 || !strings.Contains(told, "no problem found") {
		t.Errorf("a run that draws made rows is audited as\n%s%s", told, stderr)
	}
	_, all, _ := rlzero(t, "rows", dir, "--json", "--rows", "asked")
	lines := strings.Split(strings.TrimSpace(all), "\n")
	var row struct {
		ID, From, By, Question string
		Step                   int
		Tokens                 float64
	}
	if err := json.Unmarshal([]byte(lines[3]), &row); err != nil || len(lines) != 4 || row.ID != "asked/4" || row.From+":" != row.Question || row.By != "policy@6" || row.Step != 7 || row.Tokens == 0 {
		t.Errorf("%d rows, the last %+v, %v", len(lines), row, err)
	}
	if code, _, stderr := rlzero(t, "rows", dir, "--rows", "askd"); code == 0 || !strings.Contains(stderr, `has no rows "askd"; did you mean asked?`) {
		t.Errorf("another name: %s", stderr)
	}
	file := filepath.Join(dir, record.MadeFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), `"group":1`, `"group":0`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := rlzero(t, "rows", dir); code == 0 || !strings.Contains(stderr, "rows.jsonl: line 2: the line, or one before it, is not as it was written") {
		t.Errorf("a changed row: %s", stderr)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := rlzero(t, "rows", dir); code == 0 || !strings.Contains(stderr, "makes no rows: no stage of its recipe has [[stage.make]]") {
		t.Errorf("a run that makes none: %s", stderr)
	}
}
