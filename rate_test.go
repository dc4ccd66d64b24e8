//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkTwoWorkers is how much faster completions are drawn by two workers than by one,
// each a process with one processor of its own, over NATS on loopback, in a recipe that
// samples for most of its time. It needs two processors with nothing else to do, and
// taskset. Once is enough: go test -run '^$' -bench TwoWorkers -benchtime 1x .
func BenchmarkTwoWorkers(b *testing.B) {
	program := buildProgram(b)
	b.Setenv("LP_NUM_THREADS", "0") // of lavapipe: it draws with the thread that asks
	for b.Loop() {
		one, two := drawing(b, program, 1), drawing(b, program, 2)
		b.ReportMetric(one, "s/step-of-1")
		b.ReportMetric(two, "s/step-of-2")
		b.ReportMetric(one/two, "ratio")
	}
}

// drawing is the time, s, that the completions of a step take with n workers: the mean of
// all steps but the first two, as the run draws the first itself and the workers join.
func drawing(b *testing.B, program program, n int) float64 {
	dir := filepath.Join(b.TempDir(), "run")
	args := []string{"train", "--run", dir, "--workers", "nats", "--workers-mode", "exact", "--audit", "0", "countdown-tiny"}
	for _, set := range []string{"stage.rl.reward=random", "stage.warm-up.skip=true", "stage.rl.steps=5", "stage.rl.eval_every=0", "task.eval_problems=1", "task.eval_samples=1",
		"stage.rl.prompts_per_step=64", "stage.rl.group_size=16", "stage.rl.updates_per_rollout=1", "model.layers=4", "model.width=192", "model.heads=6", "model.mlp=768"} {
		args = append(args, "--set", set)
	}
	trainer := program.run(b, args...)
	if !trainer.until(func() bool { return strings.Contains(trainer.shown(), "rlzero worker nats://") }) {
		b.Fatalf("no address is printed:\n%s", trainer.shown())
	}
	_, url, _ := strings.Cut(trainer.shown(), "rlzero worker ")
	pinned := program
	pinned.path = "taskset"
	for i := range n {
		pinned.run(b, "-c", fmt.Sprint(i), program.path, "worker", strings.Fields(url)[0])
	}
	if code := trainer.wait(); code != 0 {
		b.Fatalf("exit code %d:\n%s", code, trainer.shown())
	}
	data, err := os.ReadFile(filepath.Join(dir, "timing.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	steps, seconds := 0.0, 0.0
	for line := range bytes.Lines(data) {
		var row struct {
			Step    int
			Rollout float64 `json:"time/rollout_s"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			b.Fatal(err)
		}
		if row.Step > 2 && row.Rollout > 0 {
			steps, seconds = steps+1, seconds+row.Rollout
		}
	}
	return seconds / steps
}
