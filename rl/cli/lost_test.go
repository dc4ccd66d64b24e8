package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// losingBackend has one device, which is lost after some work.
type losingBackend struct{}

func (losingBackend) Name() string { return "losing" }

func (losingBackend) List() ([]gpu.Info, error) {
	return []gpu.Info{{ID: "losing:0", Name: "a device that goes away", Kind: gpu.Reference, Usable: true}}, nil
}

func (losingBackend) Open(int) (gpu.Device, error) {
	ref, err := gpu.Open("ref")
	return &gputest.Losing{Device: ref, Submissions: 40}, err
}

func init() { gpu.Register(losingBackend{}) }

// TestDeviceLost: a training run whose device is lost says how to go on, and the
// command it names does.
func TestDeviceLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--device", "losing", "--run", dir}
	for _, set := range []string{"model.width=8", "model.heads=1", "model.head_dim=8", "model.mlp=8", "model.layers=1", "task.eval_problems=2", "task.eval_samples=1",
		"stage.warm-up.batch_size=2", "stage.warm-up.hold_steps=2", "stage.warm-up.decay_steps=2", "stage.rl.steps=2", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2", "stage.rl.reward=random"} {
		args = append(args, "--set", set)
	}
	code, _, stderr := rlzero(t, append(args, "countdown-short")...)
	resume := "rlzero train --resume --run " + dir
	if code != exitFailed || !strings.Contains(stderr, "rlzero: error: ") || !strings.Contains(stderr, gpu.ErrDeviceLost.Error()) || !strings.Contains(stderr, resume) {
		t.Fatalf("exit code %d, want %d and %q in\n%s", code, exitFailed, resume, stderr)
	}
	if code, _, stderr := rlzero(t, "train", "--device", "ref", "--resume", "--run", dir); code != 0 || !strings.Contains(stderr, "done in") {
		t.Errorf("resumed: exit code %d\n%s", code, stderr)
	}
}
