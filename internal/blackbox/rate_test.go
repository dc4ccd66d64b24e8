//go:build linux

package blackbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// BenchmarkTwoWorkers is how much faster completions are drawn by two workers than by one,
// each a process with one processor of its own, over NATS on loopback, in a recipe that
// samples for most of its time. It reports the ratio of the rollouts, all that the run waits
// for before it learns, and that of whole steps, which the trainer's learning is a part of. What
// two processors of the machine can do stands beside it: the ceiling is the same ratio of one
// run without workers and of two such runs at once, which have nothing to do with each other.
//
// It needs two processors with nothing else to do, and taskset. The figures are the means of
// the turns: go test -run '^$' -bench TwoWorkers -benchtime 2x ./internal/blackbox
func BenchmarkTwoWorkers(b *testing.B) {
	program := buildProgram(b)
	b.Setenv("LP_NUM_THREADS", "0") // of lavapipe: it draws with the thread that asks
	var one, two, alone, beside timed
	n := 0.0
	for b.Loop() {
		n++
		one.add(fleetOf(b, program, 1))
		two.add(fleetOf(b, program, 2))
		alone.add(without(b, program, 1))
		beside.add(without(b, program, 2))
	}
	b.ReportMetric(one.Rollout/n, "rollout-s/step-of-1")
	b.ReportMetric(two.Rollout/n, "rollout-s/step-of-2")
	b.ReportMetric(one.Rollout/two.Rollout, "rollout-ratio")
	b.ReportMetric((one.Rollout+one.Train)/(two.Rollout+two.Train), "step-ratio")
	b.ReportMetric(2*alone.Rollout/beside.Rollout, "ceiling")
}

// boundByRollouts are the arguments of train for a recipe that draws 1,024 completions a step
// and learns from one group in ten: those of which chance rewards eleven of sixteen or more.
func boundByRollouts(dir string) []string {
	args := []string{"train", "--run", dir, "countdown-tiny"}
	for _, set := range []string{"stage.rl.reward=random", "stage.rl.algorithm.keep=group_mean(reward) > 0.65", "stage.warm-up.skip=true", "stage.rl.steps=5",
		"stage.rl.eval_every=0", "task.eval_problems=1", "task.eval_samples=1", "stage.rl.prompts_per_step=64", "stage.rl.group_size=16",
		"stage.rl.updates_per_rollout=1", "model.layers=4", "model.width=192", "model.heads=6", "model.mlp=768"} {
		args = append(args, "--set", set)
	}
	return args
}

// fleetOf is what a step takes with n workers.
func fleetOf(b *testing.B, program program, n int) timed {
	dir := filepath.Join(b.TempDir(), "run")
	trainer := program.run(b, append(boundByRollouts(dir), "--workers", "nats", "--workers-mode", "exact", "--audit", "0")...)
	if !trainer.until(func() bool { return strings.Contains(trainer.shown(), "rlzero worker nats://") }) {
		b.Fatalf("no address is printed:\n%s", trainer.shown())
	}
	_, url, _ := strings.Cut(trainer.shown(), "rlzero worker ")
	for i := range n {
		program.pinned(b, i, "worker", strings.Fields(url)[0])
	}
	return meanStep(b, trainer, dir)
}

// without is what a step takes without workers, the mean of n runs at once.
func without(b *testing.B, program program, n int) (mean timed) {
	var dirs []string
	var runs []*process
	for i := range n {
		dirs = append(dirs, filepath.Join(b.TempDir(), "run"))
		runs = append(runs, program.pinned(b, i, boundByRollouts(dirs[i])...))
	}
	for i, p := range runs {
		t := meanStep(b, p, dirs[i])
		mean.Rollout += t.Rollout / float64(n)
		mean.Train += t.Train / float64(n)
	}
	return mean
}

// pinned starts the program on one processor.
func (p program) pinned(b *testing.B, processor int, args ...string) *process {
	path := p.path
	p.path = "taskset"
	return p.run(b, append([]string{"-c", fmt.Sprint(processor), path}, args...)...)
}

// meanStep waits for a run, and is what its steps took but for the first two: the run draws
// the first itself, and the workers join.
func meanStep(b *testing.B, p *process, dir string) (mean timed) {
	if code := p.wait(); code != 0 {
		b.Fatalf("exit code %d:\n%s", code, p.shown())
	}
	steps := stepsOf(b, dir)
	for _, t := range steps {
		mean.Rollout += t.Rollout / float64(len(steps))
		mean.Train += t.Train / float64(len(steps))
	}
	return mean
}

// timed is what a step took.
type timed struct {
	Step    int
	Rollout float64 `json:"time/rollout_s"`
	Train   float64 `json:"time/train_s"`
}

func (t *timed) add(more timed) { t.Rollout, t.Train = t.Rollout+more.Rollout, t.Train+more.Train }

// stepsOf are the RL steps of a run but for the first two.
func stepsOf(b *testing.B, dir string) (steps []timed) {
	data, err := os.ReadFile(filepath.Join(dir, "timing.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var t timed
		if err := json.Unmarshal(line, &t); err != nil {
			b.Fatal(err)
		}
		steps = append(steps, t)
	}
	return slices.DeleteFunc(steps, func(t timed) bool { return t.Step <= 2 || t.Rollout == 0 })
}
