package run

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/store"
)

// inPPO trains a value head, and holds the policy to its moving average. Metrics say which
// share of the values of now are those of the time of sampling, to the bit, and of the
// log-probs of the average those of the policy.
var inPPO = []string{"stage.rl.algorithm.preset=ppo", "stage.rl.algorithm.loss=token_mean(weight*policy + penalty) + value_coef*token_mean(value_loss)",
	"stage.rl.algorithm.penalty=kl_k3 + 0.1*square(logp - ema)", "stage.rl.ema_decay=0.5",
	"stage.rl.optimizer.value_lr=0.01", `stage.rl.algorithm.metrics={"my/same" = "update_token_mean(value == old_value)", "my/near" = "step_token_mean(ema == old)"}`}

// TestValueHeadRuns: a run with a critic and an average of the policy is as exact as one
// without, of a whole model and of an adapter: sampler and trainer agree to the bit, and so
// do the values at the beginning of a step and in its first update; another cut of the work
// changes nothing, and a run that goes on from any checkpoint writes the same bytes. The head
// is learnt, the average begins as the policy and lags it, and no folder of a model has
// either.
func TestValueHeadRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	for name, c := range map[string]struct {
		dev  gpu.Device
		more []string
	}{"whole": {first(t), nil}, "adapter": {tester(t), slices.Concat(inLoRA, []string{"stage.rl.updates_per_rollout=1"})}} {
		t.Run(name, func(t *testing.T) {
			base := exactRun(t, c.dev, slices.Concat(smallRun, inPPO, c.more))
			for _, row := range metricRows(t, base, "my/same") {
				if same := row["my/same"].(float64); name == "adapter" && same != 1 || name == "whole" && !(0 < same && same < 1) {
					t.Errorf("step %v: a share of %v of the values is that of the time of sampling", row["step"], same)
				}
				if near := row["my/near"].(float64); (near == 1) != (row["step"] == float64(smallRunSteps-3)) {
					t.Errorf("step %v: the average gives a share of %v of the tokens the log-probs of the policy", row["step"], near)
				}
				if _, ok := row["value/explained_variance"].(float64); !ok {
					t.Errorf("step %v: value/explained_variance is %v", row["step"], row["value/explained_variance"])
				}
			}
			found, err := store.FindModel(base, store.TakeLast)
			must(t, err)
			head, err := hf.OpenTensorFile(filepath.Join(found.Dir, "trainer", "value.safetensors"))
			must(t, err)
			defer head.Close()
			if want := []string{"value.bias", "value.weight"}; !slices.Equal(slices.Sorted(slices.Values(head.Names())), want) {
				t.Errorf("the head has %v, want %v", head.Names(), want)
			}
			for _, name := range head.Names() {
				data, err := head.Read(name)
				must(t, err)
				if slices.Max(data) == 0 && slices.Min(data) == 0 {
					t.Errorf("%s is zero: it was not learnt", name)
				}
			}
			f, err := hf.ReadFolder(found.Dir) // strict about names
			must(t, err)
			must(t, f.Tensors.Close())
		})
	}
}

// TestCriticLearns: where each token earns the same, a value is how many are left, which a
// model with positions can know: the critic, alone in training, comes to explain most of
// it. At first it is a constant, which explains nothing.
func TestCriticLearns(t *testing.T) {
	explained := func(steps string) float64 {
		_, row := tinyRun(t, "stage.rl.algorithm.preset=ppo", "stage.rl.algorithm.loss=token_mean(value_loss)", "stage.rl.algorithm.pay=0.1 + 0*old",
			"stage.rl.algorithm.lambda=1", "stage.rl.optimizer.lr=0.01", "stage.rl.optimizer.value_lr=0.03", "stage.rl.steps="+steps)
		return row["value/explained_variance"].(float64)
	}
	if first, last := explained("1"), explained("40"); math.Abs(first) > 0.1 || last < 0.5 {
		t.Errorf("explained variance %v at first, %v after 40 steps", first, last)
	}
}

// TestCriticRests: a stage of rows whose loss reads no head leaves the critic of an earlier stage as it is,
// also where weights decay.
func TestCriticRests(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains")
	}
	dir := t.TempDir()
	must(t, trainText(t, tester(t), dir, `
[[stage]]
name = "warm-up"
[[stage]]
name = "rl"
reward = "random"
[stage.algorithm]
preset = "ppo"
loss = "token_mean(weight*policy + penalty) + value_coef*token_mean(value_loss)"
[[stage]]
name = "again"
kind = "sft"
batch_size = 4
test_every = 2
hold_steps = 1
decay_steps = 1
checkpoint_every = 1
[stage.optimizer]
lr = 1e-2
weight_decay = 0.1
warmup_steps = 0
`, false))
	head := func(step int) []byte {
		data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", step), "trainer", "value.safetensors"))
		must(t, err)
		return data
	}
	learned := head(smallRunSteps)
	if bytes.Equal(learned, head(smallRunSteps-4)) {
		t.Error("the critic has not learned")
	}
	for step := smallRunSteps + 1; step <= smallRunSteps+2; step++ {
		if !bytes.Equal(head(step), learned) {
			t.Errorf("step %d: the critic has changed", step)
		}
	}
}
