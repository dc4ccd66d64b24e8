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

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
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
	_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, quiet...)), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
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

// TestLoggedReward: the advantages in completions.jsonl are those of the rewards there,
// less the KL to the reference that the recipe takes off; without one they are the rewards
// less their mean, to the bit.
func TestLoggedReward(t *testing.T) {
	dir := t.TempDir()
	trainIn(t, dir, false, append([]string{"stage.rl.algorithm.advantage=kl_reward - group_mean(reward)", "stage.rl.algorithm.beta=0.5", "stage.rl.optimizer.lr=0.01"}, quiet...)...)
	lines := linesOf(t, filepath.Join(dir, "completions.jsonl"))
	sum, n := rewardsByGroup(lines)
	if differing(lines, sum, n) == 0 {
		t.Error("no advantage differs from the reward less its mean: the KL is missing")
	}
	plain := t.TempDir()
	trainIn(t, plain, false, append([]string{"stage.rl.algorithm.advantage=reward - group_mean(reward)", "stage.rl.optimizer.lr=0.01"}, quiet...)...)
	alone := linesOf(t, filepath.Join(plain, "completions.jsonl"))
	plainSum, plainN := rewardsByGroup(alone)
	if other := differing(alone, plainSum, plainN); other > 0 || len(plainSum) == 0 {
		t.Errorf("without the KL %d of %d advantages are not the logged reward less its mean", other, len(alone))
	}
	for _, row := range metricRows(t, dir, "reward/mean") {
		total, count := 0.0, 0.0
		for group := range sum {
			if group[0] == row["step"].(float64) {
				total, count = total+sum[group], count+n[group]
			}
		}
		const roundings = 64 * 0x1p-52 // of a sum of 20 numbers of about 1, taken in two orders
		if mean := row["reward/mean"].(float64); !(math.Abs(total/count-mean) <= roundings) {
			t.Errorf("step %v: the logged rewards have the mean %v, reward/mean is %v", row["step"], total/count, mean)
		}
	}
}

// rewardsByGroup are the sum of the logged rewards and their number, by step and group.
func rewardsByGroup(lines []map[string]any) (sum, n map[[2]float64]float64) {
	sum, n = map[[2]float64]float64{}, map[[2]float64]float64{}
	for _, c := range lines {
		if r, scored := c["reward"].(float64); scored {
			group := [2]float64{c["step"].(float64), c["group"].(float64)}
			sum[group] += r
			n[group]++
		}
	}
	return sum, n
}

// differing counts the completions whose advantage is not their reward less the mean of their
// group, in the order of the lines.
func differing(lines []map[string]any, sum, n map[[2]float64]float64) int {
	other := 0
	for _, c := range lines {
		group := [2]float64{c["step"].(float64), c["group"].(float64)}
		if a, has := c["advantage"].(float64); has && a != c["reward"].(float64)-sum[group]/n[group] {
			other++
		}
	}
	return other
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
	shown := &trigger{text: "reward", cancel: cancel}
	_, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: dir, Device: tester(t), Show: shown})
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("not interrupted: %v", err)
	}
	if said := "matrices of the model are kept in f32, keys and values in f32\n"; !strings.Contains(shown.shown.String(), said) {
		t.Errorf("it did not say %q:\n%s", said, &shown.shown)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
	must(t, os.Mkdir(filepath.Join(dir, "checkpoints"), 0o755))
	for _, c := range checkpointDirs(t, base)[1:] {
		must(t, os.RemoveAll(c)) // the newest checkpoint is another one
	}
	_, err = Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "in whose place is now that in ") {
		t.Errorf("resumed from another model: %v", err)
	}
}

// TestBaseHasGoneOn: a run that trains an adapter for the model of another run is not continued once
// that run offers another model: checkpoints have the adapter alone.
func TestBaseHasGoneOn(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	trainIn(t, base, false, append(slices.Clone(quiet), "stage.rl.steps=2")...)
	sets := append(slices.DeleteFunc(slices.Clone(quiet), func(set string) bool { return strings.HasPrefix(set, "model.") }),
		"model.path="+base, "model.lora.rank=2", "stage.warm-up.skip=true")
	interruptAt(t, dir, false, "step 2: ", sets)
	whole := copyRun(t, dir)
	trainIn(t, whole, true, sets...) // as long as it is the same
	trainIn(t, base, true, append(slices.Clone(quiet), "stage.rl.steps=4")...)
	_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, sets...)), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "in whose place is now that in ") {
		t.Errorf("continued over another model: %v", err)
	}
}

// TestUnsaved: a run without checkpoints starts over only if it had none yet.
func TestUnsaved(t *testing.T) {
	r := &recipe.Recipe{Stages: []recipe.Stage{{Name: "warm-up", CheckpointEvery: 2}, {Name: "rl"}}}
	for text, want := range map[string]string{
		"": "",
		`{"step":1,"stage":"warm-up"}` + "\n" + `{"step":2,"stage":"warm-up"}` + "\n" + `{"step":3,"sta`: "",
		`{"step":2,"stage":"warm-up"}` + "\n" + `{"step":3,"stage":"warm-up"}` + "\n":                    "line 2: ",
		`{"step":1,"stage":"rl"}` + "\n": "line 1: ",
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(text), 0o644))
		if err := unsaved(r, dir); want == "" && err != nil || want != "" && (!errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	dir := t.TempDir()
	trainIn(t, dir, false, quiet...)
	must(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
	must(t, os.Mkdir(filepath.Join(dir, "checkpoints"), 0o755))
	before := runFiles(t, dir)
	_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, quiet...)), Dir: dir, Resume: true, Device: tester(t), Show: &trigger{}})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "its checkpoints are gone") {
		t.Errorf("a run that has lost its checkpoints: %v", err)
	}
	sameRun(t, runFiles(t, dir), before)
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
	if _, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, smallRun...)), Dir: dir, Resume: true, Device: tester(t), Show: show}); !errors.Is(err, ErrInterrupted) {
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
