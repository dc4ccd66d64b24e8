package run

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/algo"
)

// tiny is a model that takes a step in a moment.
var tiny = []string{
	"model.layers=1", "model.width=16", "model.heads=1", "model.head_dim=16", "model.mlp=16",
	"task.eval_problems=2", "task.eval_samples=1", "stage.warm-up.skip=true",
	"stage.rl.steps=1", "stage.rl.prompts_per_step=4", "stage.rl.group_size=4", "stage.rl.updates_per_rollout=2", "stage.rl.reward=random",
	"stage.rl.eval_every=0", "stage.rl.eval_problems=1",
}

// tinyRun trains on the plain-Go device and returns the weights and the metrics.
func tinyRun(t *testing.T, overrides ...string) (weights []byte, metrics map[string]any) {
	t.Helper()
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	dir := t.TempDir()
	sum, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, append(tiny, overrides...)...)), Dir: dir, Device: dev, Show: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	weights, err = os.ReadFile(filepath.Join(sum.Checkpoint, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	rows := metricRows(t, dir, "optim/updates")
	return weights, rows[len(rows)-1]
}

// TestEveryMethodTrains: each method that a recipe can name makes its updates, and the
// weights are other ones afterwards.
func TestEveryMethodTrains(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains by every method")
	}
	beside := map[string][]string{
		"passk": {"stage.rl.algorithm.pass_k=2"},                // of 4 completions 4 are right or one is not: always the same
		"otb":   {"stage.rl.algorithm.otb_weight=1 - exp(old)"}, // as the method itself says, and the next
		"wpo":   {"stage.rl.algorithm.pair_weight=stop(exp(group_sum(mean(logp))))"},
	}
	elsewhere := map[string]string{"gdpo": "TestGDPO", "bradley_terry": "TestHeadLearns", "pointwise": "TestPairs", "step_labels": "TestStepRows"} // which trains by it
	still, _ := tinyRun(t, "stage.rl.optimizer.lr=0")
	for _, name := range algo.MethodNames() {
		m, err := algo.LoadMethod(name)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Trains() && beside[name] == nil {
			if elsewhere[name] == "" {
				t.Errorf("%s does not train", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			sets := append([]string{"stage.rl.algorithm.preset=" + name, "stage.rl.algorithm.loss=" + lossOf(m)}, beside[name]...)
			weights, row := tinyRun(t, sets...)
			if bytes.Equal(weights, still) {
				t.Error("the weights have not moved")
			}
			if n, _ := row["optim/updates"].(float64); n < 1 || n > 2 {
				t.Errorf("%v updates", row["optim/updates"])
			}
			if loss, ok := row["policy/loss"].(float64); !ok || math.IsNaN(loss) {
				t.Errorf("loss %v", row["policy/loss"])
			}
			if row["policy/equal"] != row["policy/compared"] || row["policy/mismatch_kl"] != 0.0 {
				t.Errorf("sampler and trainer differ: %v", row)
			}
		})
	}
}

// TestGDPO: the method of two rewards trains where the stage has verifiers of their names.
func TestGDPO(t *testing.T) {
	still, _ := tinyRun(t, "stage.rl.optimizer.lr=0")
	weights, row := tinyRun(t, "stage.rl.algorithm.preset=gdpo", `stage.rl.verifier=[{name = "first", source = "def reward(row, completion):\n    return len(completion) % 2"}, {name = "second", source = "def reward(row, completion):\n    return 1 if \"1\" in completion else 0"}]`)
	if bytes.Equal(weights, still) || row["policy/grad_norm"] == 0.0 {
		t.Errorf("the weights have not moved: %v", row)
	}
}

// lossOf is a method's own loss: the recipe has another one.
func lossOf(m algo.Method) string {
	if loss, ok := m.Formulas["loss"]; ok {
		return loss
	}
	return "token_mean(weight*policy + penalty)"
}

// TestWaysOfTraining: a local loss and the same one beside a term that makes it not local come
// to the same weights and metrics, bit for bit, each in one batch an update and in several: the
// figures that the sampler recorded are the trainer's, and parts have the bits of the whole.
func TestWaysOfTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains six times")
	}
	const loss, none = "stage.rl.algorithm.loss=token_mean(weight*policy + penalty) - 0.01*token_mean(entropy)", " + 0*update_max(highest(logp))"
	for _, rows := range []string{"micro_batch_tokens=8192", "micro_batch_tokens=60"} {
		want, row := tinyRun(t, rows, loss)
		for name, other := range map[string]string{
			"not local": none,
			// uniform_logp is not recorded: a forward pass of its own
			"not recorded": " + 0*update_max(highest(uniform_logp))",
		} {
			weights, got := tinyRun(t, rows, loss+other)
			if !bytes.Equal(weights, want) {
				t.Errorf("%s, %s: other weights", name, rows)
			}
			for metric, v := range row {
				if got[metric] != v {
					t.Errorf("%s, %s: %s is %v, want %v", name, rows, metric, got[metric], v)
				}
			}
		}
	}
}

// TestStatesResume: a run whose method carries a number for the run, one for each prompt and
// one that moves with each update comes to the same bytes when it is cut and resumed, and the
// numbers change what is learnt.
func TestStatesResume(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	states := slices.Concat(quiet, []string{"stage.rl.reward=random", "stage.rl.checkpoint_every=1",
		`stage.rl.algorithm.state={usual = {start = 0.5, next = "0.9*usual + 0.1*step_mean(reward)"}, rate = {start = 0.25, next = "0.5*rate + 0.5*step_mean(reward)", by = "row"}, coef = {start = 0.01, next = "coef + if(update_token_mean(entropy) < 2, 0.01, -0.001)"}}`,
		"stage.rl.algorithm.advantage=reward - 0.5*usual - 0.5*rate",
		"stage.rl.algorithm.loss=token_mean(weight*policy + penalty) - coef*token_mean(entropy)"})
	dir := t.TempDir()
	trainIn(t, dir, false, states...)
	still := t.TempDir()
	trainIn(t, still, false, append(states, "stage.rl.algorithm.advantage=reward - 0.5*0.5 - 0.5*0.25 + 0*usual + 0*rate", "stage.rl.algorithm.loss=token_mean(weight*policy + penalty) - 0.01*token_mean(entropy) + 0*coef")...)
	all, without := checkpointDirs(t, dir), checkpointDirs(t, still)
	if same(t, all[len(all)-1], without[len(without)-1]) {
		t.Error("the states change nothing")
	}
	cut := copyRun(t, dir)
	for _, c := range checkpointDirs(t, cut)[3:] {
		must(t, os.RemoveAll(c))
	}
	trainIn(t, cut, true, states...)
	sameRun(t, runFiles(t, cut), runFiles(t, dir))
}

// same says whether two checkpoints have the same weights.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(filepath.Join(a, "model.safetensors"))
	must(t, err)
	y, err := os.ReadFile(filepath.Join(b, "model.safetensors"))
	must(t, err)
	return bytes.Equal(x, y)
}

// TestRefill: groups whose keep is false are drawn again, so that all groups of a step teach
// something; what was drawn in vain is counted and moves the states, by what models said
// before the updates; and a run that is cut and resumed comes to the same bytes.
func TestRefill(t *testing.T) {
	sets := slices.Concat(quiet, []string{"stage.rl.reward=random", "stage.rl.group_size=2", "stage.rl.checkpoint_every=1", "stage.rl.refill.tries=8",
		"stage.rl.algorithm.keep=group_std(reward) > 0",
		`stage.rl.algorithm.state={all = {start = 0, next = "all + step_count(true)"}, far = {start = 1, next = "step_mean(mean(abs(ema - old)))"}}`,
		`stage.rl.algorithm.metrics={"my/all" = "all", "my/far" = "far", "my/groups" = "prompts_count(group_std(reward) > 0)"}`})
	dir := t.TempDir()
	trainIn(t, dir, false, sets...)
	refused, before := 0.0, 0.0
	for i, row := range metricRows(t, dir, "rollout/refused_groups") {
		n, tokens := row["rollout/refused_groups"].(float64), row["rollout/refused_tokens"].(float64)
		if row["my/groups"] != 5.0 || row["groups/uniform_share"] != 0.0 {
			t.Errorf("step %v has %v groups with a signal, and %v without", row["step"], row["my/groups"], row["groups/uniform_share"])
		}
		if tokens < 2*n {
			t.Errorf("step %v: %v tokens in %v refused groups", row["step"], tokens, n)
		}
		if row["my/all"] != before {
			t.Errorf("step %v: the state has seen %v completions, want %v", row["step"], row["my/all"], before)
		}
		// The average begins as the policy, and lags it from the first update on.
		if far := row["my/far"].(float64); i == 0 && far != 1 || i == 1 && far != 0 || i > 1 && far == 0 {
			t.Errorf("step %v: the average was %v nats away in the step before", row["step"], far)
		}
		before += 2 * (5 + n)
		refused += n
	}
	if refused == 0 {
		t.Error("no group was refused: the test shows nothing")
	}
	cut := copyRun(t, dir)
	for _, c := range checkpointDirs(t, cut)[3:] {
		must(t, os.RemoveAll(c))
	}
	trainIn(t, cut, true, sets...)
	sameRun(t, runFiles(t, cut), runFiles(t, dir))
}

// TestTextFacts: a run cuts completions where its formula says, and methods read the values
// that the reward names.
func TestTextFacts(t *testing.T) {
	_, row := tinyRun(t, "stage.rl.reward=brief = if(tokens > 9, 1, 0); random + brief", "stage.rl.algorithm.segments=begins('[0-9]') or position == 3", "stage.rl.algorithm.advantage=own*(reward - segment_mean(old))",
		`stage.rl.algorithm.metrics={"my/brief" = "step_mean(reward.brief)", "my/cuts" = "step_sum(count(segment_sum(old) <= 0))", "my/begin" = "step_token_count(position == 1 or position == 3 or begins('[0-9]'))"}`)
	if row["my/brief"] != row["reward/term/brief"] || row["my/brief"] == nil {
		t.Errorf("reward.brief has the mean %v, the reward %v", row["my/brief"], row["reward/term/brief"])
	}
	if row["my/cuts"] != row["my/begin"] || row["my/cuts"] == 0.0 {
		t.Errorf("%v segments, and %v places where one begins", row["my/cuts"], row["my/begin"])
	}
}
