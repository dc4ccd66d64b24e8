package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/train"
)

// composed are the overrides of a smallRun with a reward of several parts, one of
// them by a script that abstains now and then.
var composed = append(slices.Clone(smallRun),
	`stage.rl.verifier=[{name = "form", verifier = "regex", options = {pattern = '.*[0-9].*'}}, {name = "mine", source = "`+
		`def reward(row, completion):\n    if len(completion) % 5 == 0:\n        return None, 'a multiple of five'\n    return len(completion) % 3\n", range = [0, 2]}]`,
	"stage.rl.reward=brief = shortest_right(form > 0.5); task + 0.5*form + 0.25*mine + 0.1*brief + 0.01*group_rank(tokens) + linear(0, 1, 1, 4)*random")

// completionLines are the lines of completions.jsonl.
func completionLines(t *testing.T, dir string) []record.Completion {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "completions.jsonl"))
	must(t, err)
	var lines []record.Completion
	for raw := range strings.Lines(string(data)) {
		var line record.Completion
		must(t, json.Unmarshal([]byte(raw), &line))
		lines = append(lines, line)
	}
	return lines
}

// TestComposedReward: the terms of a reward are logged, add up to it, and have
// their means in the metrics; what a script does not score is left out. The run
// is the same however many judge side by side.
func TestComposedReward(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains several times")
	}
	base := t.TempDir()
	trainIn(t, base, false, composed...)
	sums, counts, unscored := map[string]float64{}, map[string]float64{}, map[int]float64{}
	for _, line := range completionLines(t, base) {
		mine, form := line.Terms["mine"], line.Terms["form"]
		if len(line.Terms) != 4 || form == nil || line.Terms["brief"] == nil || line.Terms["task"] == nil {
			t.Fatalf("terms %v", line.Terms)
		}
		if (mine == nil) != (line.Reward == nil) || (mine == nil) != (line.NotScored == "mine: a multiple of five") || (mine == nil) != (line.Advantage == nil) {
			t.Errorf("completion %q: %+v", line.Text, line)
		}
		if mine == nil {
			unscored[line.Step]++
			continue
		}
		if want := float64(len(line.Text) % 3); *mine != want {
			t.Errorf("completion %q: mine is %v, want %v", line.Text, *mine, want)
		}
		least := *line.Terms["task"] + 0.5**form + 0.25**mine + 0.1**line.Terms["brief"]
		if *line.Reward < least || *line.Reward > least+1.01+0x1p-40 {
			t.Errorf("completion %q: reward %v of terms %v", line.Text, *line.Reward, least)
		}
		key := fmt.Sprint(line.Step)
		sums[key] += *mine
		counts[key]++
	}
	if len(unscored) == 0 {
		t.Error("every completion was scored: the test shows nothing")
	}
	rows := metricRows(t, base, "reward/term/mine")
	if len(rows) != 4 {
		t.Fatalf("%d rows have the term", len(rows))
	}
	for _, row := range rows {
		step := fmt.Sprint(row["step"])
		if got, want := row["reward/term/mine"].(float64), sums[step]/counts[step]; math.Abs(got-want) > 64*0x1p-52 {
			t.Errorf("step %s: mean of mine is %v, want %v", step, got, want)
		}
		if row["rollout/not_scored"] != unscored[int(row["step"].(float64))] {
			t.Errorf("step %s: rollout/not_scored is %v, want %v", step, row["rollout/not_scored"], unscored[int(row["step"].(float64))])
		}
	}
	want := runFiles(t, base)
	for _, procs := range []int{1, 8} {
		before := runtime.GOMAXPROCS(procs)
		dir := t.TempDir()
		trainIn(t, dir, false, composed...)
		runtime.GOMAXPROCS(before)
		sameRun(t, runFiles(t, dir), want)
	}
	t.Run("again from its own recipe", func(t *testing.T) {
		r, err := recipe.Load(filepath.Join(base, "recipe.toml"), nil)
		must(t, err)
		dir := t.TempDir()
		_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Device: tester(t), Show: io.Discard})
		must(t, err)
		sameRun(t, runFiles(t, dir), want)
	})
}

// TestTooFewScored: a run whose verifier fails stops before it learns from what
// is left, with a checkpoint, and says what the commonest reason was.
func TestTooFewScored(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains several times")
	}
	script := func(body string) []string {
		return append(slices.Clone(smallRun), "stage.rl.reward=flaky",
			`stage.rl.verifier=[{name = "flaky", starlark = "flaky.star", source = "def reward(row, completion):\n    `+body+`\n"}]`)
	}
	for _, c := range []struct {
		name, body string
		sets       []string
		want       string
	}{
		{"the script fails", "fail('no table')", nil,
			"20 of the 20 completions in step 1 of stage rl have no score, but max_not_scored is 0.5; the reason of 20 of them: flaky: flaky.star:2: fail: no table"},
		{"nothing is left, whatever the share", "return None", []string{"stage.rl.max_not_scored=1"}, "20 of them: flaky: flaky.star says None"},
		{"one is too many", "return None if len(completion) % 2 == 0 else 1", []string{"stage.rl.max_not_scored=0"}, "of the 20 completions in step "},
		{"the recipe leaves everything out", "return 1", []string{"stage.rl.reward=unscored"}, "20 of them: left out by the recipe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := shortRecipe(t, append(script(c.body), c.sets...)...)
			_, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Device: tester(t), Show: io.Discard})
			if !errors.Is(err, train.ErrNotScored) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %s", err, c.want)
			}
			all := checkpointDirs(t, dir)
			done := len(metricRows(t, dir, "reward/mean"))
			if name := fmt.Sprintf("step-%06d", 8+done); filepath.Base(all[len(all)-1]) != name {
				t.Errorf("the newest checkpoint is %s, want %s", all[len(all)-1], name)
			}
			lines := completionLines(t, dir)
			if len(lines) != 20*(done+1) || lines[len(lines)-1].Step != 8+done+1 {
				t.Errorf("%d completions are logged after %d steps", len(lines), done)
			}
			// Resumed, it stops again, and no line stands there twice.
			_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: true, Device: tester(t), Show: io.Discard})
			if again := completionLines(t, dir); !errors.Is(err, train.ErrNotScored) || len(again) != len(lines) {
				t.Errorf("resumed: %v, %d lines, want %d", err, len(again), len(lines))
			}
		})
	}
	t.Run("what the recipe leaves out does not count", func(t *testing.T) {
		sets := append(slices.Clone(smallRun), "stage.rl.max_not_scored=0", "stage.rl.reward=if(tokens > 5 and random < 1, unscored, random)")
		dir := t.TempDir()
		trainIn(t, dir, false, sets...)
		left := 0
		for _, line := range completionLines(t, dir) {
			if line.NotScored == reward.LeftOut && line.Reward == nil {
				left++
			}
		}
		if left == 0 {
			t.Error("nothing was left out: the test shows nothing")
		}
	})
}

// TestRewardOne: with equal rewards the whole stage leaves every weight as the
// warm-up made it, bit by bit.
func TestRewardOne(t *testing.T) {
	r, err := recipe.Load("countdown-one", []string{
		"task.eval_problems=4", "task.eval_samples=2", "stage.warm-up.hold_steps=4", "stage.warm-up.decay_steps=2", "stage.rl.steps=3",
		"stage.rl.prompts_per_step=4", "stage.rl.eval_problems=4", "stage.rl.checkpoint_every=1", "checkpoint.keep=100",
	})
	must(t, err)
	dir := t.TempDir()
	_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Device: tester(t), Show: io.Discard})
	must(t, err)
	weights := func(step int) []byte {
		data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", step), "model.safetensors"))
		must(t, err)
		return data
	}
	for _, row := range metricRows(t, dir, "reward/mean") {
		if row["reward/mean"] != 1.0 || row["policy/grad_norm"] != 0.0 || row["optim/updates"] != 2.0 {
			t.Errorf("step %v: reward %v, gradient %v, updates %v", row["step"], row["reward/mean"], row["policy/grad_norm"], row["optim/updates"])
		}
	}
	for step := 7; step <= 9; step++ {
		if !bytes.Equal(weights(step), weights(6)) {
			t.Errorf("step %d changed the weights", step)
		}
	}
}

// TestEveryExample runs two steps of each stage of every preset that is an example; TestActs
// has the others. Sampler and trainer agree to the bit in each of them. Those that need a model and data get a small one and rows of either kind.
func TestEveryExample(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains by each example; TestGolden does by one")
	}
	for _, p := range presets.All() {
		if p.Field != "" {
			continue
		}
		name := p.Name
		t.Run(name, func(t *testing.T) {
			full, err := recipe.Load(name, nil)
			must(t, err)
			sets := []string{"task.eval_problems=2", "task.eval_samples=2"}
			if full.Model.Path != "" {
				data := filepath.Join(t.TempDir(), "rows.jsonl")
				var rows strings.Builder
				for i := range 64 {
					row := `{"messages":[{"role":"user","content":"say %[1]d"},{"role":"assistant","content":"%[1]d"}],"answer":"%[1]d","chosen":"%[1]d","rejected":"no","instruction_id_list":["punctuation:no_comma"],"kwargs":[{}]}` + "\n"
					fmt.Fprintf(&rows, row, i)
				}
				must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
				sets = append(sets, "model.path="+chatModel(t), "task.data="+data)
				if hf.Dtype(full.Model.Dtype).Blocked() {
					sets = append(sets, "model.dtype=f32") // the small model's widths are no whole blocks
				}
			} else {
				sets = append(sets, "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64")
			}
			steps := 0
			for _, st := range full.Stages {
				at := "stage." + st.Name + "."
				switch st.Kind {
				case recipe.KindSFT:
					sets = append(sets, at+"batch_size=4", at+"hold_steps=1", at+"decay_steps=1")
					if full.Model.Path != "" {
						sets = append(sets, at+"max_tokens=500")
					}
				case recipe.KindPreference:
					sets = append(sets, at+"batch_size=4", at+"steps=2", at+"max_tokens=500")
				case recipe.KindMake: // random weights solve nothing, and of equal rewards there are no pairs
					sets = append(sets, at+"steps=2", at+"reward=random", at+"sampling.max_completion_tokens=4")
				case recipe.KindRL:
					sets = append(sets, at+"steps=2", at+"prompts_per_step=2", at+"eval_problems=2", at+"group_size=4")
					steps = 2
					if name == "countdown-dpo" { // random weights solve nothing, and of equal rewards there are no pairs
						sets = append(sets, at+"reward=random")
					}
					if full.Model.Path != "" {
						sets = append(sets, at+"sampling.max_completion_tokens=4", "task.max_prompt_tokens=500")
					}
				}
			}
			r, err := recipe.Load(name, sets)
			must(t, err)
			dir := t.TempDir()
			_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Device: tester(t), Show: io.Discard})
			must(t, err)
			learned := slices.DeleteFunc(metricRows(t, dir, "reward/mean"), func(row map[string]any) bool { return row["optim/lr"] == nil }) // which made rows
			if n := len(learned); n != steps {
				t.Errorf("%d steps of reinforcement learning, want %d", n, steps)
			}
			total := 0.0 // of what a lag has made old nothing is compared
			for _, row := range learned {
				compared, _ := row["policy/compared"].(float64)
				if total += compared; compared > 0 && (row["policy/equal"] != compared || row["policy/mismatch_kl"] != 0.0) {
					t.Errorf("sampler and trainer differ: %v", row)
				}
			}
			if steps > 0 && total == 0 {
				t.Error("no log-prob of the sampler was compared with the trainer's")
			}
		})
	}
}
