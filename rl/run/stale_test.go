package run

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// small is tiny over four steps, of one update each, with a checkpoint after each.
var small = append(slices.Clone(tiny), "checkpoint.keep=1000", "stage.rl.steps=4", "stage.rl.checkpoint_every=1", "stage.rl.updates_per_rollout=1", "stage.rl.optimizer.lr=0.05",
	"stage.rl.optimizer.warmup_steps=0", "stage.rl.optimizer.clip_norm=0", "stage.rl.token_every=0", "stage.rl.sample_every=0")

// resumed trains on the plain-Go device, and once more: cut after its first step and resumed.
// Both come to the same bytes. It returns the folder.
func resumed(t *testing.T, overrides ...string) string {
	t.Helper()
	dev, err := gpu.Open("ref")
	must(t, err)
	defer dev.Close()
	train := func(dir string, resume bool) {
		t.Helper()
		_, err := Train(t.Context(), Options{Opened: opened(t, shortRecipe(t, slices.Concat(small, overrides)...)), Dir: dir, Resume: resume, Device: dev, Show: &bytes.Buffer{}})
		must(t, err)
	}
	dir := t.TempDir()
	train(dir, false)
	cut := copyRun(t, dir)
	all := checkpointDirs(t, cut)
	for _, c := range all[len(all)-3:] {
		must(t, os.RemoveAll(c))
	}
	train(cut, true)
	sameRun(t, runFiles(t, cut), runFiles(t, dir))
	return dir
}

// weightsOf are the last weights of a run.
func weightsOf(t *testing.T, dir string) string {
	t.Helper()
	all := checkpointDirs(t, dir)
	data, err := os.ReadFile(filepath.Join(all[len(all)-1], "model.safetensors"))
	must(t, err)
	return string(data)
}

// TestGreedy: the fact is the reward of what the policy finds most likely: at a temperature
// near 0 every sample has it, at 1 not.
func TestGreedy(t *testing.T) {
	for temperature, want := range map[string]bool{"1e-6": true, "1": false} {
		_, row := tinyRun(t, "stage.rl.sampling.temperature="+temperature, "stage.rl.reward=tokens + words", "stage.rl.algorithm.advantage=remax",
			`stage.rl.algorithm.metrics={"my/same" = "step_mean(reward == greedy_reward)"}`)
		if got := row["my/same"] == 1.0; got != want {
			t.Errorf("temperature %s: %v of the rewards are those of the greedy completions", temperature, row["my/same"])
		}
		if n, _ := row["rollout/extra_tokens"].(float64); n < 4 {
			t.Errorf("%v tokens for four greedy completions", n)
		}
	}
}

// TestRecord: what the run knows of a prompt is in the checkpoint, and is told as it was
// before the step.
func TestRecord(t *testing.T) {
	dir := resumed(t, `stage.rl.curriculum={pool = 1, weight = "1"}`,
		`stage.rl.algorithm.metrics={"my/seen" = "prompts_max(seen)", "my/solved" = "default(prompts_max(solved), -1)", "my/last" = "default(prompts_max(last_solved), -1)", "my/since" = "default(prompts_max(steps_since), -1)", "my/right" = "step_mean(task)"}`)
	right := []float64{}
	for i, row := range metricRows(t, dir, "my/seen") {
		solved, last, since := -1.0, -1.0, -1.0
		if i > 0 {
			solved, last, since = 0, right[i-1], 1
			for _, x := range right {
				solved += x / float64(i)
			}
		}
		for name, want := range map[string]float64{"my/seen": float64(i), "my/solved": solved, "my/last": last, "my/since": since, "curriculum/open": 1} {
			if row[name] != want {
				t.Errorf("step %d: %s is %v, want %v", i+1, name, row[name], want)
			}
		}
		right = append(right, row["my/right"].(float64))
	}
}

// TestCurriculum: only what an order opens is drawn, more of it from step to step; a weight by
// the record changes what is drawn; settings follow their formula.
func TestCurriculum(t *testing.T) {
	dir := resumed(t, `stage.rl.curriculum={pool = 8, order = "row.target", share = "step/4", weight = "if(seen > 0, 1, 3)"}`)
	seen := map[string]bool{}
	for i, row := range metricRows(t, dir, "curriculum/open") {
		if row["curriculum/open"] != float64(2*(i+1)) {
			t.Errorf("step %d: %v problems are open, want %d", i+1, row["curriculum/open"], 2*(i+1))
		}
	}
	for _, line := range completionLines(t, dir) {
		if seen[line.Prompt] = true; line.Step == 1 && len(seen) > 2 {
			t.Errorf("%d problems in the first step, of which two are open", len(seen))
		}
	}
	if len(seen) < 3 || len(seen) > 8 {
		t.Errorf("%d problems of a pool of 8", len(seen))
	}

	dir = resumed(t, `stage.rl.curriculum.settings={numbers = "if(step <= 2, 2, 3) + (prompt_chance < 0.5)"}`)
	length := map[int]map[int]bool{}
	for _, line := range completionLines(t, dir) {
		if length[line.Step] == nil {
			length[line.Step] = map[int]bool{}
		}
		length[line.Step][len(strings.Fields(line.Prompt))-2] = true
	}
	for step, want := range map[int][2]int{1: {2, 3}, 2: {2, 3}, 3: {3, 4}, 4: {3, 4}} {
		for n := range length[step] {
			if n < want[0] || n > want[1] {
				t.Errorf("step %d has a problem with %d numbers, want %v", step, n, want)
			}
		}
	}
	if len(length[1])+len(length[2]) < 3 {
		t.Error("the numbers of a step do not differ: prompt_chance shows nothing")
	}
}

// TestBest: the best policy gives the greedy answers, and the policy takes its place when a test says so;
// both go on after a kill as without one.
func TestBest(t *testing.T) {
	for level, want := range map[string]bool{"0.9": true, "1e-12": false} {
		dir := resumed(t, "stage.rl.reward=mean_logprob", "stage.rl.algorithm.advantage=remax", "stage.rl.best={every = 1, problems = 16, level = "+level+"}",
			`stage.rl.algorithm.metrics={"my/base" = "prompts_mean(greedy_reward)"}`)
		replaced := false
		bases := map[any]bool{}
		for _, row := range metricRows(t, dir, "best/gain") {
			replaced = replaced || row["best/replaced"] == 1.0
			bases[row["my/base"]] = true
			if row["best/replaced"] == 1.0 && row["best/gain"].(float64) <= 0 {
				t.Errorf("replaced with a gain of %v", row["best/gain"])
			}
		}
		if replaced != want || want && len(bases) == 1 {
			t.Errorf("level %s: replaced %v, the baselines are %v", level, replaced, bases)
		}
	}
}

// TestTeachers: what a teacher knows of settings, and what a value head says of prompts, goes on after
// a kill as without one.
func TestTeachers(t *testing.T) {
	dir := resumed(t, `stage.rl.curriculum.teacher={space = {numbers = [2, 4]}, refit = 2}`, "task.max_prompt_tokens=8")
	fits := 0
	for _, row := range metricRows(t, dir, "curriculum/gaussians") {
		if row["curriculum/gaussians"] != 0.0 {
			fits++
		}
	}
	if fits == 0 {
		t.Error("no step draws from a fit")
	}
	dir = resumed(t, `stage.rl.curriculum={candidates = 3, order = "abs(prompt_value - 0.5)"}`, "stage.rl.optimizer.value_lr=0.01",
		"stage.rl.algorithm.loss=token_mean(policy) + token_mean(square(value - reward))")
	chosen := 0
	for _, row := range metricRows(t, dir, "curriculum/order_all") {
		if row["curriculum/order_drawn"].(float64) < row["curriculum/order_all"].(float64) {
			chosen++
		}
	}
	if chosen == 0 {
		t.Error("the order chooses nothing")
	}
}

// TestPosedHead: what the head of a model says of a prompt before anything is sampled is what a loss of the model then
// reads as the value of the first token.
func TestPosedHead(t *testing.T) {
	dir := resumed(t, `models.critic={copy = "policy", head = true}`, `stage.rl.curriculum={candidates = 2, order = "critic"}`,
		`stage.rl.learn.critic={optimizer = {lr = 0.05, warmup_steps = 0}, algorithm = {preset = "pointwise", policy = "sum(value, position == 1)"}}`)
	// Two products of 16 terms and a bias in float32. After three updates at a rate of 0.05 no number of the head, and no
	// gain of the last norm less 1, is beyond 0.15, so that the terms add up to 4*0.15*4*1.15 at most (Cauchy and Schwarz).
	const bound = 2 * (16 + 2) * 0x1p-24 * (4*0.15*4*1.15 + 0.15)
	chosen := 0
	for i, row := range metricRows(t, dir, "curriculum/order_all") {
		drawn, loss := row["curriculum/order_drawn"].(float64), row["critic/loss"].(float64)
		if math.Abs(drawn-loss) > bound {
			t.Errorf("step %d: the curriculum reads %g of the prompts, and the loss %g", i+1, drawn, loss)
		}
		if drawn < row["curriculum/order_all"].(float64) {
			chosen++
		}
	}
	if chosen == 0 {
		t.Error("the order chooses nothing")
	}
}

// TestBlocks: a list is used from its easiest problem on, of which fresh passes tell; a run that is resumed within a
// block goes on in it. With a lag the policy of an earlier step sorts.
func TestBlocks(t *testing.T) {
	for _, lag := range []string{"0", "1"} {
		dir := resumed(t, `stage.rl.curriculum={pool = 13, block = 2, probe = 3, order = "-probed"}`, "stage.rl.lag="+lag, "stage.rl.reward=tokens")
		seen := map[string]int{}
		for _, line := range completionLines(t, dir) {
			seen[line.Prompt] = line.Step
		}
		if len(seen) != 12 { // three steps of four problems, and the list begins anew
			t.Errorf("lag %s: %d of 13 problems in four steps of four", lag, len(seen))
		}
		for i, row := range metricRows(t, dir, "rollout/tokens") {
			_, probed := row["curriculum/probed"]
			extra, _ := row["rollout/extra_tokens"].(float64)
			if want := i != 1; probed != want || (extra > 0) != want { // before steps 1, 3 and 4
				t.Errorf("lag %s, step %d: a fresh pass %v with %v tokens", lag, i+1, probed, extra)
			}
		}
	}
}

// TestNumbers: numbers of a stage follow their formulas.
func TestNumbers(t *testing.T) {
	dir := resumed(t, `stage.rl.numbers={lr = "0.01*step", group_size = "if(step <= 2, 2, 4)", prompts_per_step = "floor(linear(2, 4, 1, steps))", max_completion_tokens = "3*step"}`,
		`stage.rl.algorithm.metrics={"my/groups" = "prompts_count(true)", "my/size" = "prompts_max(group_size)", "my/longest" = "step_max(tokens)"}`)
	for i, row := range metricRows(t, dir, "my/groups") {
		step := float64(i + 1)
		for name, want := range map[string]float64{"optim/lr": 0.01 * step, "my/groups": []float64{2, 2, 3, 4}[i], "my/size": []float64{2, 2, 4, 4}[i]} {
			if row[name] != want {
				t.Errorf("step %v: %s is %v, want %v", step, name, row[name], want)
			}
		}
		if most := row["my/longest"].(float64); most > 3*step {
			t.Errorf("step %v: a completion of %v tokens, at most %v are accepted", step, most, 3*step)
		}
	}
}

// stale are metrics of what is not sampled afresh. In a step's only update the trainer's
// log-probs are those of the step's beginning, of every row.
const stale = `stage.rl.algorithm.metrics={"my/gap" = "update_token_max(abs(logp - start))", "my/stale" = "default(step_token_max(abs(start - old), age > 0), 0)", "my/other" = "step_token_max(abs(start - old), age == 0)", "my/foreign" = "step_count(foreign)", "my/hinted" = "step_count(hinted)", "my/fresh" = "step_count(fresh)", "my/age" = "step_max(age)", "my/share" = "step_max(hint_share)", "my/shares" = "step_mean(hint_share)"}`

// TestSecondChance: each way replaces completions of groups that nothing solves, start is
// what the policy makes of them, old what sampled them, and something else is learnt than without.
func TestSecondChance(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains fourteen times")
	}
	without := resumed(t)
	weights := map[string]string{"none": weightsOf(t, without)}
	for name, c := range map[string]struct {
		set             string
		foreign, hinted float64 // of the 16 completions
		share           float64
	}{
		"again":        {`again = 1.5, replace = 2`, 0, 0, 0},
		"show":         {`show = "{target} {question}"`, 0, 4, 1},
		"show, to old": {`show = "{target} {question}"`, 0, 4, 1},
		"entries":      {`show = "{numbers} {question}", entries = "1 - sample", between = " ", replace = 0`, 0, 4, 1},
		"some entries": {`show = "{numbers} {question}", entries = "0.5*(1 - sample)", between = " ", replace = 0`, 0, 4, 0.5},
		"descending":   {`show = "{numbers} {question}", entries = "1 - sample/(group_size - 1)", between = " ", replace = 0`, 0, 12, 1}, // 2, 1, 1 and 0 of 2
		"train_hint":   {`show = "{target} {question}", train_hint = true`, 0, 4, 1},
		"prefix":       {`prefix = "answer", prefix_share = 0.6, replace = 0`, 0, 16, 0.6},
		"rows":         {`rows = "answer"`, 4, 0, 0},
		"the last":     {`rows = "answer", last = true`, 4, 0, 0},
		"the best":     {`rows = "question, answer", choose = "reward"`, 4, 0, 0},
		"the worst":    {`rows = "question, answer", choose = "-reward"`, 4, 0, 0},
		"both":         {`rows = "question, answer", replace = 3`, 8, 0, 0},
		"no condition": {`rows = "answer", when = "group_max(task) > 1"`, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			set := c.set
			ratio := "exp(log_ratio)"
			if name == "show, to old" {
				ratio = "exp(logp - old)"
			}
			if name != "no condition" {
				set += `, when = "group_max(task) < 1"`
			}
			dir := resumed(t, "task.max_prompt_tokens=12", stale, "stage.rl.second_chance={"+set+"}", "stage.rl.reward=random + 2*task", "stage.rl.algorithm.ratio="+ratio)
			rows := metricRows(t, dir, "my/gap")
			for _, row := range rows {
				fresh := 16 - c.foreign - c.hinted
				if name == "again" {
					fresh = 8
				}
				for metric, want := range map[string]float64{"my/gap": 0, "my/foreign": c.foreign, "my/hinted": c.hinted, "my/fresh": fresh, "my/share": c.share, "policy/mismatch_kl": 0} {
					if got := row[metric]; got != want && !(metric == "policy/mismatch_kl" && fresh == 0) {
						t.Errorf("step %v: %s is %v, want %v", row["step"], metric, got, want)
					}
				}
				if reprompted := strings.HasPrefix(set, "show") && name != "train_hint"; row["my/other"].(float64) > 0 != reprompted {
					t.Errorf("step %v: start is up to %v from old", row["step"], row["my/other"])
				}
				if mean := row["my/shares"]; name == "descending" && mean != 0.5 {
					t.Errorf("step %v: a completion is shown %v of the entries on average, want 0.5", row["step"], mean)
				}
				if row["policy/equal"] != row["policy/compared"] {
					t.Errorf("step %v: %v of %v log-probs are equal", row["step"], row["policy/equal"], row["policy/compared"])
				}
			}
			right := 0
			for _, line := range completionLines(t, dir) {
				if line.Verdict == "right" {
					right++
				}
			}
			if (name == "rows" || name == "the best" || name == "both") && right != 16 || name == "the worst" && right > 0 {
				t.Errorf("%d right completions, want one of each of 16 groups, or none of the worst", right)
			}
			weights[name] = weightsOf(t, dir)
		})
	}
	for a, x := range weights {
		for b, y := range weights {
			if a < b && x == y && !(a == "no condition" && b == "none") && !(a == "rows" && b == "the best") {
				t.Errorf("%s and %s come to the same weights", a, b)
			}
		}
	}
}

// TestEntriesWithLag: a step that waits to be learned from has each group with a second chance twice, as drawn and as
// merged, however many of its completions were shown entries; a run that is resumed with it comes to the same.
func TestEntriesWithLag(t *testing.T) {
	dir := resumed(t, "task.max_prompt_tokens=12", "stage.rl.lag=1", "stage.rl.reward=random",
		`stage.rl.second_chance={show = "{numbers} {question}", entries = "1 - sample/(group_size - 1)", between = " ", replace = 0, when = "true"}`)
	all := checkpointDirs(t, dir)
	text, err := os.ReadFile(filepath.Join(all[1], "trainer", "steps.json"))
	must(t, err)
	var steps []struct{ Groups, Replaced []json.RawMessage }
	must(t, json.Unmarshal(text, &steps))
	for _, s := range steps {
		if len(s.Groups) != 8 || len(s.Replaced) != 12 {
			t.Errorf("%d groups and %d replaced completions wait, want 4 groups twice and 12", len(s.Groups), len(s.Replaced))
		}
	}
	if len(steps) == 0 {
		t.Error("no step waits: the test shows nothing")
	}
}

// TestHintedIsNotStored: a group some of whose completions were shown a hint is not stored for a
// replay, since what its old says depends on a prompt that is not trained; without a hint the same
// groups are.
func TestHintedIsNotStored(t *testing.T) {
	for when, stores := range map[string]bool{"group_max(task) < 1": false, "group_max(task) > 1": true} {
		dir := resumed(t, "task.max_prompt_tokens=12", "stage.rl.reward=random", `stage.rl.second_chance={show = "{target} {question}", when = "`+when+`"}`,
			`stage.rl.replay={store = "group_std(reward) > 0", share = 0.5, max_age = 2, size = 3}`,
			`stage.rl.algorithm.metrics={"my/hinted" = "step_count(hinted)", "my/replayed" = "step_count(replayed)"}`)
		hinted, replayed, stored := 0.0, 0.0, 0.0
		for _, row := range metricRows(t, dir, "my/hinted") {
			hinted += row["my/hinted"].(float64)
			replayed += row["my/replayed"].(float64)
			stored += row["rollout/stored_groups"].(float64)
		}
		if stored > 0 != stores || replayed > 0 != stores || hinted > 0 == stores {
			t.Errorf("hints where %s: %v hinted completions, %v replayed ones, %v stored groups over the steps", when, hinted, replayed, stored)
		}
	}
}

// TestReplay: stored groups take part in later steps with their own old, start is what the
// policy makes of them now, their advantages stay, and something else is learnt.
func TestReplay(t *testing.T) {
	const advantages = `stage.rl.algorithm.advantage=step*(reward - group_mean(reward))`
	measured := strings.TrimSuffix(stale, "}") + `, "my/again" = "default(step_max(abs(A - step*(reward - group_mean(reward))), replayed), 0)", "my/anew" = "step_max(abs(A - step*(reward - group_mean(reward))), fresh)"}`
	sets := []string{measured, advantages, `stage.rl.replay={store = "group_std(reward) > 0", share = 0.5, max_age = 2, size = 3}`}
	dir := resumed(t, sets...)
	replayed := 0.0
	for i, row := range metricRows(t, dir, "my/gap") {
		n := row["rollout/replayed_groups"].(float64)
		replayed += n
		if row["my/gap"] != 0.0 || row["my/other"] != 0.0 {
			t.Errorf("step %d: start is %v from the policy, and %v from old where it was just sampled", i+1, row["my/gap"], row["my/other"])
		}
		if stale := row["my/stale"].(float64); stale > 0 != (n > 0) {
			t.Errorf("step %d: start is up to %v from old in %v replayed groups", i+1, stale, n)
		}
		if again := row["my/again"].(float64); row["my/anew"] != 0.0 || again > 0 != (n > 0) {
			t.Errorf("step %d: advantages of replayed groups are %v from those of this step, of others %v", i+1, again, row["my/anew"])
		}
		if row["my/fresh"] != 16-4*n || row["my/age"].(float64) > 2 || row["rollout/stored_groups"].(float64) > 3 {
			t.Errorf("step %d: %v replayed groups, %v", i+1, n, row)
		}
	}
	if replayed == 0 {
		t.Error("nothing was replayed: the test shows nothing")
	}
	if weightsOf(t, dir) == weightsOf(t, resumed(t, advantages)) {
		t.Error("the replay changes nothing")
	}
}
