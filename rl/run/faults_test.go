package run

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/lines"
)

// TestNoCheckpointLeft: a run whose checkpoints are all damaged is not started over,
// and nothing of it is touched.
func TestNoCheckpointLeft(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, false, quiet...)
	for _, c := range checkpointDirs(t, dir) {
		must(t, os.WriteFile(filepath.Join(c, "model.safetensors"), []byte("damaged"), 0o644))
	}
	want := runFiles(t, dir)
	_, err := Train(t.Context(), Options{Recipe: shortRecipe(t, quiet...), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "all its checkpoints are damaged") {
		t.Errorf("error %v", err)
	}
	sameRun(t, runFiles(t, dir), want)
}

// TestMeasuredBefore: a run that starts from a model says what it started from, also
// where it was interrupted and resumed.
func TestMeasuredBefore(t *testing.T) {
	base := t.TempDir()
	trainIn(t, base, false, quiet...)
	sets := append(slices.DeleteFunc(slices.Clone(quiet), func(set string) bool { return strings.HasPrefix(set, "model.") }),
		"model.path="+base, "stage.warm-up.skip=true", "stage.rl.checkpoint_every=1")
	dir := t.TempDir()
	_, shown := trainIn(t, dir, false, sets...)
	rows := metricRows(t, dir, "eval/greedy")
	if len(rows) != 2 || rows[0]["step"] != 0.0 || rows[0]["stage"] != "rl" || rows[1]["step"] != 4.0 {
		t.Errorf("evaluations of all problems: %v, want one at step 0 and one at step 4", rows)
	}
	if !strings.Contains(shown, "before rl: pass@1 ") {
		t.Errorf("the first evaluation was not shown:\n%s", shown)
	}
	cut := copyRun(t, dir)
	for _, c := range checkpointDirs(t, cut)[2:] {
		must(t, os.RemoveAll(c))
	}
	trainIn(t, cut, true, sets...)
	sameRun(t, runFiles(t, cut), runFiles(t, dir))
}

// TestLoggedReward: the reward in completions.jsonl is the one that is trained on, with
// the KL to the reference taken off where the recipe says so.
func TestLoggedReward(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, false, append([]string{"stage.rl.algorithm.kl_in=reward", "stage.rl.algorithm.kl_coef=0.5", "stage.rl.optimizer.lr=0.01"}, quiet...)...)
	sum, n, other := map[float64]float64{}, map[float64]float64{}, 0
	for _, c := range linesOf(t, filepath.Join(dir, "completions.jsonl")) {
		if r, scored := c["reward"].(float64); scored {
			step := c["step"].(float64)
			sum[step] += r
			n[step]++
			if r != 0 && r != 1 {
				other++
			}
		}
	}
	for _, row := range metricRows(t, dir, "reward/mean") {
		step, mean := row["step"].(float64), row["reward/mean"].(float64)
		const roundings = 64 * 0x1p-52 // of a sum of 20 numbers of about 1, taken in two orders
		if got := sum[step] / n[step]; !(math.Abs(got-mean) <= roundings) {
			t.Errorf("step %v: the logged rewards have the mean %v, reward/mean is %v", step, got, mean)
		}
	}
	if other == 0 {
		t.Error("no reward differs from the verdict: the test shows nothing")
	}
}

// TestOtherOrigin: a run that has no checkpoint yet is not begun again from a model that
// has changed, as model.path may lead to a run that has gone on.
func TestOtherOrigin(t *testing.T) {
	base := t.TempDir()
	trainIn(t, base, false, quiet...)
	sets := append(slices.DeleteFunc(slices.Clone(quiet), func(set string) bool { return strings.HasPrefix(set, "model.") }),
		"model.path="+base, "stage.warm-up.skip=true")
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := Train(ctx, Options{Recipe: shortRecipe(t, sets...), Dir: dir, Device: tester(t), Show: &trigger{text: "reward", cancel: cancel}})
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("not interrupted: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
	must(t, os.Mkdir(filepath.Join(dir, "checkpoints"), 0o755))
	for _, c := range checkpointDirs(t, base)[1:] {
		must(t, os.RemoveAll(c)) // the newest checkpoint is another one
	}
	_, err = Train(t.Context(), Options{Recipe: shortRecipe(t, sets...), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "which has changed since") {
		t.Errorf("resumed from another model: %v", err)
	}
}

// TestReceiptOfAnEnd: a run that goes on again has no receipt until it ends, and shows
// the accuracy that was measured last.
func TestReceiptOfAnEnd(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, false, smallRun...)
	want := runFiles(t, dir)
	all := checkpointDirs(t, dir)
	for _, c := range all[len(all)-2:] {
		must(t, os.RemoveAll(c))
	}
	ctx, cancel := context.WithCancel(t.Context())
	show := &trigger{text: "held-out", cancel: cancel}
	if _, err := Train(ctx, Options{Recipe: shortRecipe(t, smallRun...), Dir: dir, Resume: true, Device: tester(t), Show: show}); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("not interrupted: %v after\n%s", err, show.shown.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "receipt.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run in progress has a receipt: %v", err)
	}
	trainIn(t, dir, true, smallRun...)
	got := runFiles(t, dir)
	withoutExtra(t, got, want)
	sameRun(t, got, want)
}
