//go:build unix

package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// small are the arguments of train for a run of a small model, with that many RL steps.
func small(dir string, steps int) []string {
	args := []string{"train", "--run", dir, "countdown-short", "--set", fmt.Sprint("stage.rl.steps=", steps)}
	for _, set := range []string{"stage.rl.reward=random", "checkpoint.keep=1000", "stage.warm-up.skip=true", "model.width=32", "model.heads=2", "model.head_dim=16",
		"model.mlp=64", "task.eval_problems=4", "stage.rl.prompts_per_step=4", "stage.rl.group_size=4"} {
		args = append(args, "--set", set)
	}
	return args
}

// TestDiskFull: a run with a worker over NATS whose disk takes no checkpoint any more stops
// and says which file; its worker waits, and once there is room again the run goes on from
// the last checkpoint to the bytes of an undisturbed one.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains for some seconds")
	}
	if dev, err := gpu.Open(""); err == nil {
		dev.Close()
	} else if os.Getenv("RLZERO_WANT_DEVICE") == "" {
		t.Logf("on the plain-Go device: %v", err)
		t.Setenv("RLZERO_DEVICE", "ref")
	}
	program := buildProgram(t)
	train := func(dir string, more ...string) []string {
		args := append(small(dir, 160), "--set", "stage.rl.checkpoint_every=4")
		return append(args, more...)
	}
	base, dir := filepath.Join(t.TempDir(), "undisturbed"), filepath.Join(t.TempDir(), "full")
	if p := program.run(t, train(base)...); p.wait() != 0 {
		t.Fatalf("undisturbed:\n%s", p.shown())
	}
	// A worker that comes when a run has ended waits for ever, so it is there before the run begins,
	// which takes some seconds, longer than a worker rests between tries, and has joined before it is killed. Another run finds a free port.
	finds := program.run(t, train(filepath.Join(t.TempDir(), "port"), "--workers", "nats")...)
	if !finds.until(func() bool { return strings.Contains(finds.shown(), "rlzero worker nats://") }) {
		t.Fatalf("no address is printed:\n%s", finds.shown())
	}
	finds.cmd.Process.Kill()
	finds.wait()
	_, url, _ := strings.Cut(finds.shown(), "rlzero worker ")
	url = strings.Fields(url)[0]
	nats := []string{"--workers", strings.Replace(url, "nats://", "nats:", 1), "--workers-mode", "exact"}
	worker := program.run(t, "worker", url)
	if !worker.until(func() bool { return strings.Contains(worker.shown(), "waits for the trainer") }) {
		t.Fatalf("the worker does not wait for its trainer:\n%s", worker.shown())
	}
	first := program.run(t, train(dir, nats...)...)
	joined := func() bool {
		all, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "step-*", "manifest.json"))
		return len(all) > 0 && strings.Contains(first.shown(), " joins: ")
	}
	if !first.until(joined) {
		t.Fatalf("the run ends before its first checkpoint, or before the worker joins:\n%s\n%s", first.shown(), worker.shown())
	}
	first.cmd.Process.Kill()
	first.wait()
	before := filesOf(t, dir)

	// No file may be longer than 16 blocks of 512 bytes or, with some shells, 1,024: less
	// than a checkpoint's weights, and more than what a run writes before them.
	resume := append([]string{"train", "--resume", "--run", dir}, nats...)
	limited := program
	limited.path = "/bin/sh"
	full := limited.run(t, append([]string{"-c", `ulimit -f 16; exec "$0" "$@"`, program.path}, resume...)...)
	if code := full.wait(); code != 1 {
		t.Fatalf("exit code %d, want 1:\n%s", code, full.shown())
	}
	if text := full.shown(); !strings.Contains(text, "checkpoints/step-") && !strings.Contains(text, "jsonl") || !strings.Contains(text, "too large") || !strings.Contains(text, "free some space") {
		t.Errorf("what is said:\n%s", text)
	}
	after := filesOf(t, dir)
	for name, data := range before {
		if strings.HasPrefix(name, "checkpoints/") && !strings.Contains(name, ".tmp") && after[name] != data {
			t.Errorf("%s has other bytes than before the disk was full", name)
		}
	}

	last := program.run(t, resume...)
	if code := last.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, last.shown())
	}
	if !worker.ends() {
		t.Fatalf("the run has ended, and the worker does not:\n%s\n%s", last.shown(), worker.shown())
	}
	if code := worker.wait(); code != 0 || !strings.Contains(worker.shown(), "the run is complete") {
		t.Errorf("the worker's exit code is %d:\n%s", code, worker.shown())
	}
	got := filesOf(t, dir)
	delete(got, "workers.json") // of the fleet
	sameFiles(t, got, filesOf(t, base))
}
