package doctor

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
)

// preset is the recipe that the runs are cut from.
const preset = "countdown-tiny"

// brief cuts everything that the checks do not look at.
var brief = []string{
	"task.eval_problems=4", "task.eval_samples=2", "sampler_sequences=32",
	"stage.rl.prompts_per_step=4", "stage.rl.group_size=4", "stage.rl.updates_per_rollout=2",
	"stage.rl.eval_every=0", "stage.rl.checkpoint_every=0", "stage.rl.sample_every=0",
	// The model knows nothing: only random rewards give it something to learn.
	"stage.rl.reward=random",
}

// train runs the preset with overrides in a folder of its own.
func (p *subject) train(name string, overrides ...string) (dir string, err error) {
	r, err := recipe.Load(preset, append(overrides, brief...))
	if err != nil {
		return "", err
	}
	opened, err := resolve.Open(r, nil)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(p.dir, name)
	_, err = run.Train(p.ctx, run.Options{Opened: opened, Dir: dir, Device: p.dev, Show: io.Discard})
	return dir, err
}

// still are the metrics of a run whose policy does not move.
var still = []struct {
	name string
	want float64
}{
	{"policy/ratio_first", 1}, {"policy/ratio_mean", 1}, {"policy/mismatch_kl", 0}, {"policy/clip_fraction", 0},
}

// standStill trains with learning rate 0: the policy must stay what it was, and
// the metrics must say so exactly.
func standStill(p *subject) (string, error) {
	const steps = 20
	dir, err := p.train("still", "stage.warm-up.skip=true", fmt.Sprintf("stage.rl.steps=%d", steps), "stage.rl.optimizer.lr=0")
	if err != nil {
		return "", err
	}
	updates := 0.0
	err = metrics.Each(filepath.Join(dir, record.MetricsFile), func(p metrics.Point) error {
		n := p.Values["optim/updates"] // 0: every group had equal rewards, or it is the evaluation
		updates += n
		for _, s := range still {
			got, there := p.Values[s.name]
			if !there {
				got = math.NaN()
			}
			if n != 0 && got != s.want {
				return fmt.Errorf("step %d: %s is %v, must be exactly %v", p.Step, s.name, got, s.want)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if updates < steps {
		return "", fmt.Errorf("only %v updates in %d steps, too few to test anything", updates, steps)
	}
	before, err := weights(dir, 0)
	if err != nil {
		return "", err
	}
	after, err := weights(dir, steps)
	if err != nil {
		return "", err
	}
	if before != after {
		return "", fmt.Errorf("%v updates with learning rate 0 changed the weights", updates)
	}
	return fmt.Sprintf("%d steps, %v updates: ratio 1, mismatch KL 0, clip fraction 0 and the weights unchanged, all exactly", steps, updates), nil
}

// weights is the hash of the weights after a step.
func weights(dir string, step int) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", step), "model.safetensors"))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// repeat trains twice, warm-up and reinforcement learning: the receipts, which
// hash all that a run writes but times, must be equal.
func repeat(p *subject) (string, error) {
	var receipts [2]*receipt.Receipt
	for i := range receipts {
		dir, err := p.train(fmt.Sprintf("repeat-%d", i), "stage.warm-up.hold_steps=6", "stage.warm-up.decay_steps=2",
			"stage.warm-up.test_every=6", "stage.warm-up.batch_size=8", "stage.rl.steps=6")
		if err != nil {
			return "", err
		}
		if receipts[i], err = receipt.Read(dir); err != nil {
			return "", err
		}
	}
	first, second := everything(receipts[0]), everything(receipts[1])
	for i, h := range first {
		if i >= len(second) || h != second[i] {
			return "", fmt.Errorf("%s differs between two runs of one recipe", h.Name)
		}
	}
	last := receipts[0].Checkpoints[len(receipts[0].Checkpoints)-1]
	return fmt.Sprintf("two runs of 8 warm-up and 6 RL steps end in %s, SHA-256 %.16s", last.Name, last.SHA256), nil
}

// everything lists what a receipt has hashes of, inputs first.
func everything(r *receipt.Receipt) []receipt.Hash {
	all := []receipt.Hash{{Name: "recipe.toml", SHA256: r.Recipe}, {Name: "data", SHA256: r.Data}}
	return append(append(all, r.Logs...), r.Checkpoints...)
}
