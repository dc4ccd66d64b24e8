package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkers: a run with workers on its device has the logs of one without, and so has
// one with a worker whose device is wrong.
func TestWorkers(t *testing.T) {
	var logs []string
	for _, flags := range [][]string{nil, {"--workers", "local:2", "--audit", "0.5"}, {"--workers", "local:ref,ref", "--workers-mode", "draft"}, {"--workers", "local:broken", "--audit", "1"}} {
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "--device", "ref", "--run", dir}, flags...)
		for _, set := range []string{"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64", "task.eval_problems=2", "task.eval_samples=2", "stage.warm-up.skip=true", "stage.rl.steps=2", "stage.rl.prompts_per_step=3", "stage.rl.group_size=4", "stage.rl.eval_every=0", "stage.rl.reward=random"} {
			args = append(args, "--set", set)
		}
		code, _, stderr := rlzero(t, append(args, "countdown-short")...)
		if code != 0 || strings.Contains(stderr, "\nworkers answered ") != (flags != nil) {
			t.Fatalf("%v: exit code %d, %s", flags, code, stderr)
		}
		if refused := strings.Contains(stderr, "worker 1 (ref:0) is refused: item "); refused != slices.Contains(flags, "local:broken") {
			t.Errorf("%v: %s", flags, stderr)
		}
		text := ""
		for _, name := range []string{"metrics.jsonl", "completions.jsonl", "evaluations.jsonl", "recipe.toml", "receipt.json"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text += string(data)
		}
		logs = append(logs, text)
		if text != logs[0] {
			t.Errorf("%v: the run has other bytes", flags)
		}
	}
}

func TestWorkersUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--workers is \"3\"; accepted: local:N":                      {"--workers", "3"},
		"--workers is \"local:\"; accepted: local:N":                 {"--workers", "local:"},
		"--workers is \"local:0\"; accepted: local:1 to local:64":    {"--workers", "local:0"},
		"--workers is \"local:1000\"; accepted: local:1 to local:64": {"--workers", "local:1000"},
		"--workers: unknown device \"nosuch\"":                       {"--workers", "local:ref,nosuch"},
		"--workers-mode is \"fast\"; accepted: exact, draft":         {"--workers", "local:1", "--workers-mode", "fast"},
		"--audit is 2; accepted: numbers from 0 to 1":                {"--audit", "2"},
	} {
		args = append([]string{"train", "--device", "ref", "--run", filepath.Join(t.TempDir(), "run"), "countdown-short"}, args...)
		if code, _, stderr := rlzero(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}
