package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEpisodes: a run of episodes is trained, shown turn by turn, measured, and its turns are drawn
// again.
func TestEpisodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ok := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := rlzero(t, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d, %s", args, code, stderr)
		}
		return stdout
	}
	sets := strings.Fields("model.width=16 model.heads=2 model.head_dim=8 model.mlp=24 task.eval_problems=3 task.eval_samples=2 stage.warm-up.batch_size=4 stage.warm-up.hold_steps=3 stage.warm-up.until_valid=0 stage.warm-up.decay_steps=2 stage.warm-up.test_every=3 stage.rl.prompts_per_step=2 stage.rl.group_size=2 stage.rl.steps=1 stage.rl.eval_problems=2")
	train := []string{"train", "guess-tiny", "--device", "ref", "--run", dir}
	for _, s := range sets {
		train = append(train, "--set", s)
	}
	ok(train...)
	if shown := ok("show", dir, "--group", "0"); !strings.Contains(shown, "turn 1: ") || !strings.Contains(shown, "           world: ") {
		t.Errorf("shown is\n%s", shown)
	}
	if shown := ok("show", dir, "--group", "0", "--tokens"); !strings.Contains(shown, "[") {
		t.Errorf("shown with tokens is\n%s", shown)
	}
	if measured := ok("eval", dir, "--n", "2", "--k", "1", "--device", "ref"); !strings.Contains(measured, "mean@2") || strings.Contains(measured, "left out") {
		t.Errorf("measured is\n%s", measured)
	}
	if measured := ok("eval", dir, "--task", "guess", "--problems", "2", "--n", "2", "--k", "1", "--device", "ref"); !strings.Contains(measured, "2 problems x 2 samples") {
		t.Errorf("measured on the task is\n%s", measured)
	}
	if told := ok("tasks", "show", "guess"); !strings.Contains(told, "On 200 problems the best player earns 1.000") {
		t.Errorf("the task is told as\n%s", told)
	}
}
