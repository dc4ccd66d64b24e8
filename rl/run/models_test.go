package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/local"
	"github.com/rlzero/rlzero/rl/infer"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
)

// withoutReward are the overrides of a small run without what it is paid by and held by.
var withoutReward = slices.DeleteFunc(slices.Clone(smallRun), func(set string) bool {
	return strings.HasPrefix(set, "stage.rl.reward") || strings.HasPrefix(set, "stage.rl.algorithm")
})

// trainText trains a small run of a recipe that is laid over countdown-short.
func trainText(t *testing.T, dev gpu.Device, dir, text string, resume bool, overrides ...string) error {
	t.Helper()
	return trainWith(t, Options{Dir: dir, Resume: resume, Device: dev}, text, overrides...)
}

// trainWith is trainText with other options.
func trainWith(t *testing.T, o Options, text string, overrides ...string) error {
	t.Helper()
	r, err := parsed(text, overrides...)
	if err != nil {
		return err
	}
	o.Opened, o.Show = opened(t, r), &bytes.Buffer{}
	_, err = Train(t.Context(), o)
	return err
}

// parsed is a small recipe that is laid over countdown-short.
func parsed(text string, overrides ...string) (*recipe.Recipe, error) {
	four := []string{"task.settings.numbers=4", "task.settings.max_number=22", "task.settings.max_total=45"}
	return recipe.Parse("mine.toml", "base = \"countdown-short\"\n"+text, slices.Concat(four, withoutReward, overrides))
}

// copies are models that are made of the policy, and metrics that hold them against it.
const copies = `
[models.twin]
copy = "policy"
[models.past]
copy = "policy"
renew = 2
[models.slow]
copy = "policy"
follow = 0.5
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - twin)/2 + 0.01*slow"
[stage.algorithm.metrics]
"my/twin" = "step_token_mean(twin == old)"
"my/past" = "step_token_mean(past == old)"
"my/slow" = "step_token_mean(slow == old)"
`

// TestCopies: a copy is the policy to the last bit when it is made, and then stays, is made again, or
// moves. A run with copies comes to the same bytes from each of its checkpoints. Of an adapter they
// are adapters.
func TestCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	for name, more := range map[string][]string{"whole": nil, "adapter": {"model.dtype=q8_0", "model.lora.rank=3"}} {
		t.Run(name, func(t *testing.T) {
			dev, dir := tester(t), t.TempDir()
			more := append(slices.Clone(more), `stage.rl.reward=exp(mean_score_of(row.answer, prompt, past)) + random`)
			must(t, trainText(t, dev, dir, copies, false, more...))
			rows := metricRows(t, dir, "my/twin")
			if len(rows) != 4 {
				t.Fatalf("%d steps", len(rows))
			}
			for step, row := range rows {
				for metric, equal := range map[string]bool{"my/twin": step == 0, "my/past": step%2 == 0, "my/slow": step == 0} {
					if share := row[metric].(float64); (share == 1) != equal {
						t.Errorf("step %d: %s is %v", step+1, metric, share)
					}
				}
				for _, metric := range []string{"twin/kl", "twin/logp", "slow/logp"} {
					if x, there := row[metric].(float64); !there || math.IsNaN(x) || strings.HasSuffix(metric, "logp") && x >= 0 {
						t.Errorf("step %d: %s is %v", step+1, metric, row[metric])
					}
				}
				if row["policy/mismatch_kl"] != 0.0 {
					t.Errorf("step %d: sampler and trainer differ", step+1)
				}
			}
			want, all := runFiles(t, dir), checkpointDirs(t, dir)
			for _, keep := range []int{len(all) - 4, len(all) - 1} {
				again := copyRun(t, dir)
				for _, c := range checkpointDirs(t, again)[keep:] {
					must(t, os.RemoveAll(c))
				}
				must(t, trainText(t, dev, again, copies, true, more...))
				sameRun(t, runFiles(t, again), want)
			}
		})
	}
}

// TestFreshCopies: on every device and in every storage a copy says the bits of the policy that it was made of.
func TestFreshCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains on every device")
	}
	storages := map[string][]string{"f32": nil, "bf16": inBF16, "adapter over q8_0": {"model.dtype=q8_0", "model.lora.rank=3"}, "adapter over q4_0": {"model.dtype=q4_0", "model.lora.rank=3"}}
	step := []string{"task.eval_problems=1", "task.eval_samples=1", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1", "stage.warm-up.test_every=1000", "stage.warm-up.checkpoint_every=0",
		"stage.rl.steps=1", "stage.rl.prompts_per_step=2", "stage.rl.eval_every=0", "stage.rl.eval_problems=1"}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for name, stored := range storages {
			if gputest.Slow(dev) && name != "bf16" {
				continue
			}
			dir := t.TempDir()
			must(t, trainText(t, dev, dir, copies, false, slices.Concat(stored, step)...))
			if rows := metricRows(t, dir, "my/twin"); len(rows) != 1 || rows[0]["my/twin"] != 1.0 || rows[0]["my/past"] != 1.0 || rows[0]["my/slow"] != 1.0 {
				t.Errorf("%s: the shares of the tokens of which fresh copies say the policy's bits: %v", name, rows)
			}
		}
	})
}

// navigated is a recipe in which a small policy picks the blocks by which a model of another shape goes on, which has
// learned to write before.
const navigated = `
[model]
width = 16
heads = 2
head_dim = 8
[models.writer]
family = "llama"
layers = 2
width = 24
heads = 3
mlp = 48
init_std = 0.1
[task]
episode = {turns = 3, tokens = 40}
[[task.tool]]
tool = "blocks"
options = {model = "writer", step = "^[^=]*=[0-9]+", draws = 3, context = 48, max_tokens = 16}
[[stage]]
name = "warm-up"
trains = "writer"
[[stage]]
name = "rl"
[stage.algorithm]
preset = "grpo"
advantage = "own*turn_reward"
[stage.algorithm.metrics]
"my/writer" = "step_token_mean(writer)"
`

// TestNavigated: a model from random weights learns in a stage of its own, by a shape of its own, and the policy stays as
// it was made meanwhile; then it writes, and stays as it was. Turns are paid by what their blocks change. A run comes to
// the same bytes from each of its checkpoints, and an evaluation asks the writer that a checkpoint has.
func TestNavigated(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, navigated, false))
	learned := metricRows(t, dir, "sft/loss")
	if first, last := learned[0]["sft/loss"].(float64), learned[len(learned)-1]["sft/loss"].(float64); !(last < first) {
		t.Errorf("the loss of the writer goes from %v to %v", first, last)
	}
	for _, row := range metricRows(t, dir, "my/writer") {
		if x := row["my/writer"].(float64); !(x < 0) || row["policy/mismatch_kl"] != 0.0 {
			t.Errorf("the writer says %v, and sampler and trainer of the policy differ by %v", x, row["policy/mismatch_kl"])
		}
	}
	picked := 0
	must(t, record.Each(filepath.Join(dir, record.CompletionsFile), func(n int, c record.Completion) error {
		for _, turn := range c.Turns {
			if turn.By == record.ByPolicy && turn.Facts["block"] > 0 {
				picked++
			}
		}
		return nil
	}))
	if picked == 0 {
		t.Error("no turn picks a block: the test shows little")
	}
	files, all := func(checkpoint, name string) []byte {
		data, err := os.ReadFile(filepath.Join(checkpoint, filepath.FromSlash(name)))
		must(t, err)
		return data
	}, checkpointDirs(t, dir)
	writer := recipe.MemberWeights("writer")
	last := all[len(all)-1]
	for i, c := range all[:len(all)-1] {
		var state State
		var err error
		if state, err = ReadState(c); err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(files(c, writer), files(last, writer)); same != (state.At.Stage == 1) {
			t.Errorf("checkpoint %d: the writer is the last one: %t", i, same)
		}
	}
	want := runFiles(t, dir)
	for keep := 1; keep < len(all); keep++ {
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[keep:] {
			must(t, os.RemoveAll(c))
		}
		must(t, trainText(t, dev, again, navigated, true))
		sameRun(t, runFiles(t, again), want)
	}
	m, err := cast.OpenModel(dev, last, "", hf.Dtype(""), hf.Dtype(""))
	must(t, err)
	defer m.Close()
	o := eval.Options{Subject: eval.Subject{Task: filepath.Join(dir, "recipe.toml")}, Folder: last, Problems: 4, N: 2, K: []int{1}, Params: rollout.Params{Temperature: 1}, Seed: 1}
	report, err := eval.Model(t.Context(), m, o)
	must(t, err)
	if report.NotScored > 0 {
		t.Errorf("%d completions are not scored", report.NotScored)
	}
	found, err := store.FindModel(dir, store.TakeBest)
	must(t, err)
	best, err := cast.OpenModel(dev, found.Dir, "", hf.Dtype(""), hf.Dtype(""))
	must(t, err)
	defer best.Close()
	o.Folder = found.Dir
	if _, err := eval.Model(t.Context(), best, o); err != nil {
		t.Errorf("the best model: %v", err)
	}
	o.Folder = t.TempDir()
	if _, err := eval.Model(t.Context(), m, o); err == nil || !strings.Contains(err.Error(), "the model writer is made in a run, and a checkpoint has its weights") {
		t.Errorf("without its weights: %v", err)
	}
}

// prompts are models that score what the policy wrote after prompts of their own.
const prompted = `
[models.same]
copy = "policy"
prompt = "{question}"
[models.knows]
copy = "policy"
prompt = "7 {question}"
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - knows)/2"
[stage.algorithm.metrics]
"my/same" = "step_token_mean(same == old)"
"my/knows" = "step_token_mean(knows == old)"
`

// TestPrompted: a copy with the policy's own prompt says the policy's bits, with another prompt other
// ones; where that prompt is too long for the run there is no such number, and a row without what it
// shows is refused before the first step.
func TestPrompted(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains several times")
	}
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, prompted, false, "task.max_prompt_tokens=12"))
	for i, row := range metricRows(t, dir, "my/same") {
		if same, knows := row["my/same"].(float64), row["my/knows"].(float64); (same == 1) != (i == 0) || knows == 1 {
			t.Errorf("step %d: the same for a share of %v with its own prompt, and %v with another", i+1, same, knows)
		}
		if _, there := row["rollout/no_value"]; there {
			t.Errorf("step %d: %v", i+1, row)
		}
	}
	dir = t.TempDir()
	must(t, trainText(t, dev, dir, strings.Replace(prompted, "7 {question}", strings.Repeat("7 ", 80)+"{question}", 1), false, "stage.rl.algorithm.weight=if(scored(knows), 1, 0)", "stage.rl.algorithm.as_written=true"))
	for _, row := range metricRows(t, dir, "my/same") {
		if share, there := row["my/knows"]; there {
			t.Errorf("step %v: %v of the tokens have a log-prob after a prompt that is too long", row["step"], share)
		}
	}
	if err := trainText(t, dev, t.TempDir(), strings.Replace(prompted, "7 {question}", "{hint}", 1), false); err == nil || !strings.Contains(err.Error(), "mine.toml:8:1: models.knows.prompt: problem ") {
		t.Errorf("a row without a hint: %v", err)
	}
}

// taught is a run that makes its own teacher, of the warm-up's model.
const taught = `
[models.teacher]
copy = "policy"
[[stage]]
name = "warm-up"
[[stage]]
name = "teach"
kind = "rl"
trains = "teacher"
steps = 2
prompts_per_step = 4
group_size = 4
reward = "random"
eval_every = 1
eval_problems = 4
checkpoint_every = 1
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - teacher)/2"
[stage.algorithm.metrics]
"my/teacher" = "step_token_mean(teacher == old)"
`

// TestTrains: a stage that trains another model draws with it, evaluates and saves it. It leaves the policy
// as it was, to the byte, and each checkpoint has the policy as its model; the policy goes on from there.
// Sampler and trainer agree to the bit through all exchanges, and a run that is killed comes to the same
// bytes.
func TestTrains(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	for name, more := range map[string][]string{"whole in bf16": {"model.dtype=bf16"}, "adapter": {"model.dtype=q8_0", "model.lora.rank=3"}} {
		t.Run(name, func(t *testing.T) {
			dev, dir := tester(t), t.TempDir()
			must(t, trainText(t, dev, dir, taught, false, more...))
			weights := "model.safetensors"
			if name == "adapter" {
				weights = "adapter_model.safetensors"
			}
			const other = "models/teacher.safetensors"
			file := func(step int, name string) string {
				data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", step), filepath.FromSlash(name)))
				must(t, err)
				return string(data)
			}
			const warm, teach = 5 + 3, 5 + 3 + 2
			policy, teacher := file(warm, weights), file(teach, other)
			switch {
			case policy == teacher:
				t.Error("the teacher has not learned")
			case file(teach-1, weights) != policy || file(teach, weights) != policy:
				t.Error("the policy has changed while the teacher learned")
			case file(teach+1, other) != teacher || file(teach+4, other) != teacher:
				t.Error("the teacher has changed while the policy learned")
			case file(teach+1, weights) == policy:
				t.Error("the policy has not learned")
			}
			for _, row := range metricRows(t, dir, "policy/compared") {
				if row["policy/mismatch_kl"] != 0.0 || row["policy/compared"] != row["policy/equal"] {
					t.Errorf("step %v: sampler and trainer differ: %v", row["step"], row)
				}
				if _, asks := row["teacher/kl"]; asks != (row["stage"] == "rl") {
					t.Errorf("step %v of %v asks the teacher: %t", row["step"], row["stage"], asks)
				}
			}
			for _, row := range metricRows(t, dir, "my/teacher") {
				if row["my/teacher"].(float64) == 1 {
					t.Errorf("step %v: the teacher is the policy", row["step"])
				}
			}
			helped := t.TempDir() // by a worker, whose weights are those of whoever is trained
			must(t, trainWith(t, Options{Dir: helped, Device: dev, Workers: oneWorker(t)}, taught, more...))
			if got, want := runFiles(t, helped), runFiles(t, dir); got["metrics.jsonl"] != want["metrics.jsonl"] || got["completions.jsonl"] != want["completions.jsonl"] {
				t.Error("with a worker the run comes to other metrics or completions")
			}
			var stands Standing
			text, err := os.ReadFile(filepath.Join(dir, store.ResultFile))
			must(t, err)
			must(t, json.Unmarshal(text, &stands))
			if stands.Start.Stage != "warm-up" || stands.Best.Stage == "teach" || stands.Last.Stage != "rl" {
				t.Errorf("the run stands by %s, %s and %s", stands.Start.Stage, stands.Best.Stage, stands.Last.Stage)
			}
			want, all := runFiles(t, dir), checkpointDirs(t, dir)
			for keep := len(all) - 7; keep < len(all); keep++ { // from the end of the warm-up on
				if keep%2 == 0 || name == "adapter" && keep%3 != 0 {
					continue
				}
				again := copyRun(t, dir)
				for _, c := range checkpointDirs(t, again)[keep:] {
					must(t, os.RemoveAll(c))
				}
				must(t, trainText(t, dev, again, taught, true, more...))
				sameRun(t, runFiles(t, again), want)
			}
		})
	}
}

// oneWorker starts a worker in plain Go.
func oneWorker(t *testing.T) func(*recipe.Recipe, *cast.Cast, func(string)) (rollout.Sampler, error) {
	return func(r *recipe.Recipe, c *cast.Cast, _ func(string)) (rollout.Sampler, error) {
		w, err := local.Start(r, c, []gpu.Device{tester(t)}, fleet.Options{})
		if err == nil {
			t.Cleanup(w.Close)
		}
		return w, err
	}
}

// TestMadeOfNothing: numbers that a formula cannot make end the run at its key.
func TestMadeOfNothing(t *testing.T) {
	err := trainText(t, tester(t), t.TempDir(), "[models.moved]\nweights = \"policy/(policy - policy)\"\n[[stage]]\nname = \"look\"\nkind = \"eval\"\ntrains = \"moved\"\n[[stage]]\nname = \"warm-up\"\n", false)
	if err == nil || !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), "mine.toml:3:1: models.moved.weights: ") {
		t.Errorf("%v", err)
	}
}

// made is a run that makes a model of what its stages made, and of a folder.
func made(folder string) string {
	return "[models.other]\npath = '" + folder + "'\n" + `
[models.better]
copy = "policy"
[models.moved]
weights = "policy + 0.5*(better - policy) + 0.25*(other - policy)"
[models.twin]
weights = "policy"
[[stage]]
name = "warm-up"
[[stage]]
name = "teach"
kind = "rl"
trains = "better"
steps = 2
prompts_per_step = 4
group_size = 4
reward = "random"
checkpoint_every = 1
[[stage]]
name = "look"
kind = "eval"
trains = "moved"
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - moved)/2"
[stage.algorithm.metrics]
"my/twin" = "step_token_mean(twin == old)"
`
}

// TestMadeOfOthers: a formula makes a model when the first stage begins that uses it, of what its models are then,
// to the bit; it stays, is measured and asked. Its checkpoints continue to the same bytes, and a folder that has
// changed is refused.
func TestMadeOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	dev, from, dir := tester(t), t.TempDir(), t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "seed=2", "stage.rl.skip=true")...)
	found, err := store.FindModel(from, "")
	must(t, err)
	folder := copyRun(t, found.Dir)
	must(t, trainText(t, dev, dir, made(folder), false))
	all := checkpointDirs(t, dir)
	read := func(file string) map[string][]float32 {
		ts, err := hf.OpenTensorFile(file)
		must(t, err)
		defer ts.Close()
		numbers := map[string][]float32{}
		for _, name := range ts.Names() {
			numbers[name], err = ts.Read(name)
			must(t, err)
		}
		return numbers
	}
	const warm = 5 + 3
	at := filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", warm+2+1)) // the first of the last stage
	policy, other := read(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", warm), "model.safetensors")), read(filepath.Join(folder, "model.safetensors"))
	better, moved := read(filepath.Join(at, "models", "better.safetensors")), read(filepath.Join(at, "models", "moved.safetensors"))
	for name, numbers := range moved {
		for i, x := range numbers {
			p := float64(policy[name][i])
			if want := float32(p + 0.5*(float64(better[name][i])-p) + 0.25*(float64(other[name][i])-p)); x != want {
				t.Fatalf("%s[%d] is %v, want %v", name, i, x, want)
			}
		}
	}
	for i, row := range metricRows(t, dir, "my/twin") {
		if share := row["my/twin"].(float64); (share == 1) != (i == 0) {
			t.Errorf("step %d: the twin says what the policy said for a share of %v", i+1, share)
		}
	}
	want := runFiles(t, dir)
	for _, keep := range []int{len(all) - 5, len(all) - 2} {
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[keep:] {
			must(t, os.RemoveAll(c))
		}
		must(t, trainText(t, dev, again, made(folder), true))
		sameRun(t, runFiles(t, again), want)
	}
	file := filepath.Join(folder, "model.safetensors")
	text, err := os.ReadFile(file)
	must(t, err)
	text[len(text)-1] ^= 1
	must(t, os.WriteFile(file, text, 0o600))
	again := copyRun(t, dir)
	must(t, os.RemoveAll(checkpointDirs(t, again)[len(all)-1]))
	if err := trainText(t, dev, again, made(folder), true); err == nil || !strings.Contains(err.Error(), "mine.toml:3:1: models.other.path: ") {
		t.Errorf("a folder that has changed: %v", err)
	}
	wide := copyRun(t, folder)
	config := filepath.Join(wide, "config.json")
	text, err = os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, bytes.Replace(text, []byte(`"rope_theta": `), []byte(`"rope_theta": 1`), 1), 0o600))
	if err := trainText(t, dev, t.TempDir(), made(wide), false); err == nil || !strings.Contains(err.Error(), "mine.toml:8:1: models.moved.weights: ") || !strings.Contains(err.Error(), "rope_theta") {
		t.Errorf("a model of other arithmetic: %v", err)
	}
}

// summed is a run whose policy learns by the sum of its logits and those of two others.
const summed = `
[models.big]
copy = "policy"
[models.small]
copy = "policy"
[models.total]
logits = "policy + 0.5*(big - small)"
[models.same]
logits = "big"
[models.near]
logits = "0.5*policy + 0.5*big"
[[stage]]
name = "warm-up"
[[stage]]
name = "big"
kind = "rl"
trains = "big"
steps = 2
prompts_per_step = 4
group_size = 4
reward = "random"
[[stage]]
name = "rl"
trains = "total"
[stage.algorithm]
preset = "grpo"
penalty = "0.05*square(logp - near)/2"
[stage.algorithm.metrics]
"my/same" = "step_token_mean(same == big)"
"my/apart" = "step_token_mean(near == big)"
"my/first" = "update_token_mean(exp(logp - old) == 1)"
[[stage]]
name = "look"
kind = "eval"
trains = "near"
`

// TestSummed: a stage that trains a sum of logits draws and learns by it: sampler and trainer agree to the bit, so
// that the first ratio is exactly 1, and the policy learns, while those beside it stay. A sum of one model says what
// that says, to the bit. The run comes to the same bytes from each of its checkpoints.
func TestSummed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	for name, more := range map[string][]string{"whole": nil, "adapter": {"model.dtype=q8_0", "model.lora.rank=3"}} {
		t.Run(name, func(t *testing.T) {
			dev, dir := tester(t), t.TempDir()
			more := append(slices.Clone(more), "stage.rl.updates_per_rollout=1")
			must(t, trainText(t, dev, dir, summed, false, more...))
			rows := metricRows(t, dir, "my/same")
			for _, row := range rows {
				if row["my/same"] != 1.0 || row["my/apart"].(float64) == 1 || row["my/first"] != 1.0 {
					t.Errorf("step %v: for a share of %v a sum of one model says what that says, for %v another sum does, and the first ratio is 1 for %v", row["step"], row["my/same"], row["my/apart"], row["my/first"])
				}
			}
			for _, row := range metricRows(t, dir, "policy/compared") {
				if row["policy/mismatch_kl"] != 0.0 || row["policy/compared"] != row["policy/equal"] {
					t.Errorf("step %v: sampler and trainer differ: %v", row["step"], row)
				}
			}
			want, all := runFiles(t, dir), checkpointDirs(t, dir)
			weights := "model.safetensors"
			if name == "adapter" {
				weights = "adapter_model.safetensors"
			}
			file := func(dir, name string) string {
				data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				must(t, err)
				return string(data)
			}
			last, before := all[len(all)-1], all[len(all)-3]
			if file(last, weights) == file(before, weights) || file(last, "models/big.safetensors") != file(before, "models/big.safetensors") {
				t.Error("the policy has not learned, or who is added to it has")
			}
			for _, keep := range []int{len(all) - 3, len(all) - 1} {
				again := copyRun(t, dir)
				for _, c := range checkpointDirs(t, again)[keep:] {
					must(t, os.RemoveAll(c))
				}
				must(t, trainText(t, dev, again, summed, true, more...))
				sameRun(t, runFiles(t, again), want)
			}
		})
	}
}

// lagging is a run that draws what filters keep of the distribution of a copy of its policy.
func lagging(renew int) string {
	return fmt.Sprintf("[models.lag]\ncopy = \"policy\"\nrenew = %d\n[[stage]]\nname = \"rl\"\ncheckpoint_every = 2\nreward = \"random\"\nsampling = {top_k = 2, filter_by = \"lag\"}\n", renew)
}

// TestFiltered: a filter by a copy that is made again after each step draws what the policy's own filter does, to the
// bit, and a filter by one that lags does from the second step on no more. What such a run draws is learned from as ever:
// log-probs are the same bits in sampler and trainer. The run comes to the same bytes from each of its checkpoints.
func TestFiltered(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	dev := tester(t)
	nobody := func(*recipe.Recipe, *cast.Cast, func(string)) (rollout.Sampler, error) {
		return nil, errors.New("asked")
	}
	if err := trainWith(t, Options{Dir: t.TempDir(), Device: dev, Workers: nobody}, lagging(0)); err == nil || !strings.Contains(err.Error(), "filters act on the distribution of lag, and workers have the policy alone") {
		t.Errorf("with workers: %v", err)
	}
	drawn := func(text string, sets ...string) (dir string, lines []string) {
		dir = t.TempDir()
		must(t, trainText(t, dev, dir, text, false, append(slices.Clone(sets), "stage.rl.steps=5", "stage.rl.optimizer.lr=0.02")...))
		data, err := os.ReadFile(filepath.Join(dir, "completions.jsonl"))
		must(t, err)
		return dir, strings.Split(string(data), "\n")
	}
	for name, more := range map[string][]string{"whole": nil, "adapter": {"model.dtype=q8_0", "model.lora.rank=3"}} {
		t.Run(name, func(t *testing.T) {
			_, own := drawn("[[stage]]\nname = \"rl\"\ncheckpoint_every = 2\nreward = \"random\"\nsampling = {top_k = 2}\n", more...)
			if _, near := drawn(lagging(1), more...); !slices.Equal(near, own) {
				t.Error("a filter by a copy of the last step draws what the policy's own does not")
			}
			dir, far := drawn(lagging(0), more...)
			if slices.Equal(far, own) {
				t.Error("a filter by the first policy draws what the policy's own does")
			}
			for _, row := range metricRows(t, dir, "policy/compared") {
				if row["policy/mismatch_kl"] != 0.0 || row["policy/compared"] != row["policy/equal"] {
					t.Errorf("step %v: sampler and trainer differ: %v", row["step"], row)
				}
			}
			dir, _ = drawn(lagging(3), more...)
			want, all := runFiles(t, dir), checkpointDirs(t, dir)
			for keep := 1; keep < len(all); keep++ {
				again := copyRun(t, dir)
				for _, c := range checkpointDirs(t, again)[keep:] {
					must(t, os.RemoveAll(c))
				}
				must(t, trainText(t, dev, again, lagging(3), true, append(slices.Clone(more), "stage.rl.steps=5", "stage.rl.optimizer.lr=0.02")...))
				sameRun(t, runFiles(t, again), want)
			}
		})
	}
}

// TestFilteredByOtherHeights: a model that says logits of more tokens than the policy has cannot filter what it draws,
// also where the tokenizers are the same.
func TestFilteredByOtherHeights(t *testing.T) {
	dev, from := tester(t), t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "stage.rl.skip=true")...)
	found, err := store.FindModel(from, "")
	must(t, err)
	f, err := hf.ReadFolder(found.Dir)
	must(t, err)
	cfg := f.Config
	cfg.Vocab += 8
	m, err := model.New(dev, cfg, 1, 32)
	must(t, err)
	defer m.Close()
	files, err := hf.FolderFiles(cfg, f.Tokenizer)
	must(t, err)
	taller := filepath.Join(t.TempDir(), "taller")
	must(t, store.WriteFolder(store.OS(), taller, hf.Contents(files, hf.WeightsFile, m.Tensors())))
	text := strings.Replace(lagging(0), "copy = \"policy\"\nrenew = 0", "path = '"+taller+"'", 1)
	want := fmt.Sprintf("model lag has logits of %d tokens, and the policy, whose draws it filters, of %d", cfg.Vocab, cfg.Vocab-8)
	if err := trainText(t, dev, t.TempDir(), text, false); err == nil || !strings.Contains(err.Error(), "models.lag.path: "+want) {
		t.Errorf("%v, want %s", err, want)
	}
	must(t, trainText(t, dev, t.TempDir(), strings.Replace(text, taller, found.Dir, 1), false, "stage.rl.steps=1"))
}

// fromFolder is a recipe whose policy is compared with a model of a folder.
func fromFolder(folder string) string {
	return "[models.teacher]\npath = '" + folder + "'\n" + `[[stage]]
name = "rl"
reward = "score_of('7', prompt, teacher) + random"
[stage.algorithm]
penalty = "0.05*square(logp - teacher)/2"
`
}

// TestFolderScores: a model of a folder says the bits that rlzero score says of the same tokens, at
// the temperature of the stage, in whatever company, on every device and in every storage. Its files are in the
// receipt, and a run goes on only while they are what they were.
func TestFolderScores(t *testing.T) {
	dev := mostly(t)
	from := t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "seed=2", "stage.rl.skip=true")...)
	found, err := store.FindModel(from, "")
	must(t, err)
	folder := copyRun(t, found.Dir)
	devices, stored := []gpu.Device{dev}, []storage{{hf.F32, hf.F32}}
	if !testing.Short() {
		devices, stored = gputest.Devices(t), append(stored, storage{hf.BF16, hf.F32}, storage{hf.Q8, hf.F32}, storage{hf.Q4, hf.F32}, storage{hf.F32, hf.BF16})
	}
	for _, on := range devices {
		var plain [][]float64
		for i, as := range stored {
			var said [][]float64
			t.Run(fmt.Sprintf("%s %s %s", gputest.Name(on), as.dtype, as.kv), func(t *testing.T) { said = scores(t, on, folder, as) })
			if i == 0 {
				plain = said
			} else if slices.EqualFunc(said, plain, slices.Equal) {
				t.Errorf("stored as %v it says what it says in f32", as)
			}
		}
	}
	dir := t.TempDir()
	must(t, trainText(t, dev, dir, fromFolder(folder), false))

	text, err := os.ReadFile(filepath.Join(dir, receipt.File))
	must(t, err)
	weights, err := os.ReadFile(filepath.Join(folder, "model.safetensors"))
	must(t, err)
	if !strings.Contains(string(text), `"teacher"`) || !strings.Contains(string(text), receipt.Sum(weights)) {
		t.Errorf("the receipt lacks the teacher: %s", text)
	}
	weights[len(weights)-1] ^= 1
	must(t, os.WriteFile(filepath.Join(folder, "model.safetensors"), weights, 0o644))
	err = trainText(t, dev, dir, fromFolder(folder), true)
	if want := "models.teacher.path: " + folder + " has changed since run " + dir + " began"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// storage is how a model keeps its matrices, and its keys and values.
type storage struct{ dtype, kv hf.Dtype }

// scores are what a model of a folder says on a device, stored so, of the tokens of a few views: alone, among others and
// as rlzero score says it.
func scores(t *testing.T, dev gpu.Device, folder string, as storage) [][]float64 {
	ids := []int{4, 7, 3, 9, 12, 5, 2, 8}
	var views []rollout.View
	for _, cut := range []int{8, 5, 7} {
		views = append(views, rollout.View{IDs: append(slices.Clone(ids[:cut-1]), ids[cut%4]), Spans: []rollout.Span{{From: 3, To: cut}}, Temperature: 0.7})
	}
	stored := func(text string) string {
		path := "path = '" + folder + "'"
		return strings.ReplaceAll(text, path, fmt.Sprintf("%s\ndtype = %q\nkv_dtype = %q", path, as.dtype, as.kv))
	}
	opened := func(text string) *cast.Cast {
		r, err := parsed(stored(text))
		must(t, err)
		c, err := cast.Open(r, "", dev)
		must(t, err)
		t.Cleanup(c.Close)
		must(t, c.Begin(r, 1))
		return c
	}
	c := opened(fromFolder(folder))
	rows, err := c.Supply("teacher", views)
	must(t, err)
	model, err := cast.OpenModel(dev, folder, "", as.dtype, as.kv)
	must(t, err)
	defer model.Close()
	for i, v := range views {
		line, err := json.Marshal(map[string]any{"ids": v.IDs})
		must(t, err)
		var out bytes.Buffer
		must(t, infer.Score(model, "test", bytes.NewReader(line), &out, v.Temperature, infer.ChatOptions{}))
		var said struct{ Logprobs []*float32 }
		must(t, json.Unmarshal(out.Bytes(), &said))
		for k, x := range rows[i] {
			if want := float64(*said.Logprobs[3+k]); x != want {
				t.Errorf("view %d, token %d: %v, and rlzero score says %v", i, 3+k, x, want)
			}
		}
	}
	all := opened("[models.again]\npath = '" + folder + "'\n[models.twin]\ncopy = \"policy\"\n" + strings.Replace(fromFolder(folder), "square(logp - teacher)/2", "square(logp - teacher)/2 + 0*(again + twin)", 1))
	for _, name := range []string{"twin", "again", "teacher", "twin", "teacher"} {
		got, err := all.Supply(name, views)
		must(t, err)
		if same := slices.EqualFunc(got, rows, slices.Equal); same != (name != "twin") {
			t.Errorf("%s among others says the same as the teacher alone: %t", name, same)
		}
	}
	alone, err := c.Supply("teacher", views[1:2])
	must(t, err)
	if !slices.Equal(alone[0], rows[1]) {
		t.Errorf("%v alone and %v among others", alone[0], rows[1])
	}
	return rows
}

// TestFolderFaults: a folder that cannot be asked is refused before a run begins, with the place in
// the recipe.
func TestFolderFaults(t *testing.T) {
	dev := tester(t)
	from := t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "stage.rl.skip=true", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1")...)
	found, err := store.FindModel(from, "")
	must(t, err)
	changed := func(name string, change func(text string) string) string {
		dir := copyRun(t, found.Dir)
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		must(t, err)
		if now := change(string(text)); now != string(text) {
			must(t, os.WriteFile(file, []byte(now), 0o644))
		} else {
			t.Fatalf("%s is as it was", name)
		}
		return dir
	}
	none := copyRun(t, found.Dir)
	must(t, os.Remove(filepath.Join(none, "tokenizer.json")))
	config, err := hf.ReadFolder(found.Dir)
	must(t, err)
	must(t, config.Tensors.Close())
	plus, _ := config.Tokenizer.ID("+")
	for _, c := range []struct{ about, folder, want string }{
		{"none", filepath.Join(found.Dir, "nowhere"), "no such file"},
		{"no model", t.TempDir(), "has no config.json and no checkpoints"},
		{"no tokens", none, "model teacher has no tokenizer.json"},
		{"other tokens", changed("tokenizer.json", func(s string) string {
			return strings.NewReplacer(`"+":`, `"-":`, `"-":`, `"+":`).Replace(s)
		}), fmt.Sprintf(`id %d is "-" in model teacher and "+" in the policy; accepted: a model with the same tokens`, plus)},
		{"no room", changed("config.json", func(s string) string {
			return strings.Replace(s, `"max_position_embeddings": 64`, `"max_position_embeddings": 9`, 1)
		}), "but the context of model teacher has 9"},
		{"a damaged file", changed("model.safetensors", func(s string) string { return s[:len(s)-4] }), "model.safetensors"},
	} {
		err := trainText(t, dev, t.TempDir(), fromFolder(c.folder), false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "mine.toml:3:1: models.teacher.path") {
			t.Errorf("%s: %v\nwant mine.toml:3:1: models.teacher.path and %s", c.about, err, c.want)
		}
	}
	on := strings.Replace(fromFolder(found.Dir), "path = ", "adapter = '"+from+"'\npath = ", 1)
	if err := trainText(t, dev, t.TempDir(), on, false); err == nil || !strings.Contains(err.Error(), "models.teacher.adapter: "+from+" has no adapter_config.json") {
		t.Errorf("a run in place of an adapter: %v", err)
	}
	wide := config.Config
	wide.MLP += 4
	wider, err := model.NewFrozen(dev, wide, 64)
	must(t, err)
	defer wider.Close()
	must(t, wider.AddAdapter(hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"up_proj"}}, 1))
	says, err := wider.AdapterConfigFile()
	must(t, err)
	adapter := filepath.Join(t.TempDir(), "adapter")
	must(t, store.WriteFolder(store.OS(), adapter, hf.Contents(map[string][]byte{"adapter_config.json": says}, "adapter_model.safetensors", wider.AdapterTensors())))
	on = strings.Replace(fromFolder(found.Dir), "path = ", "adapter = '"+adapter+"'\npath = ", 1)
	if err := trainText(t, dev, t.TempDir(), on, false); err == nil || !strings.Contains(err.Error(), "mine.toml:3:1: models.teacher.adapter: "+filepath.Join(adapter, "adapter_model.safetensors")+": tensor base_model.model.model.layers.0.mlp.up_proj.lora_B.weight: found shape [68 2], accepted: [64 2]") {
		t.Errorf("an adapter of a wider model: %v", err)
	}
	// One that plays a seat has to read what the seat reads.
	r, err := recipe.Parse("mine.toml", "base = \"nim-tiny\"\n[models.other]\npath = '"+found.Dir+"'\n[[stage]]\nname = \"rl\"\n[stage.seats]\nsecond = \"other\"\n", nil)
	must(t, err)
	if _, err = cast.Plan(r, "", dev.Caps()); !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), "mine.toml:7:1: stage.rl.seats.second: id ") || !strings.Contains(err.Error(), "accepted: a model with the same tokens") {
		t.Errorf("a player with other tokens: %v", err)
	}
	// A policy with more words than the model of the folder.
	if err := trainText(t, dev, t.TempDir(), fromFolder(found.Dir), false, "task.settings.max_total=60"); err == nil || !strings.Contains(err.Error(), "in the policy, and model teacher has only the ids 0 to") {
		t.Errorf("a smaller vocabulary: %v", err)
	}
}
