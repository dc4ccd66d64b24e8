package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// judgedRun has all kinds of judges: a head that the run trains, probabilities of answers, written answers
// with votes, steps, pairs, and a tournament.
const judgedRun = `
[models.rm]
copy = "policy"
head = true
[models.past]
copy = "policy"
[[stage]]
name = "warm-up"
[[stage]]
name = "rm"
kind = "rl"
trains = "rm"
steps = 2
prompts_per_step = 4
group_size = 4
reward = "random"
eval_every = 0
eval_problems = 4
[stage.algorithm]
preset = "pointwise"
[stage.optimizer]
lr = 1e-3
warmup_steps = 0
[[stage]]
name = "rl"
reward = "liked + liked.raw + says + better + arena"
truth = "task"
lag = 1
max_not_scored = 1
checkpoint_every = 1
[stage.algorithm]
advantage = "group_zscore(reward) + good.step/8"
[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "past", shows = "steps", steps = "[+=]", prompt = "step.txt", read = {1 = 1, 2 = 0}}
[[stage.verifier]]
name = "liked"
verifier = "judge"
options = {model = "rm", read = "head"}
[[stage.verifier]]
name = "says"
verifier = "judge"
options = {model = "past", prompt = "q.txt", read = {1 = 1, 2 = 0}}
[[stage.verifier]]
name = "said"
verifier = "judge"
options = {model = "past", prompt = "said.txt", read = "[0-9]", between = [0, 9], votes = 3, temperature = 1.0, max_tokens = 12}
[[stage.verifier]]
name = "better"
verifier = "judge"
options = {model = "past", shows = "pairs", against = "anchor", prompt = "pair.txt", read = {1 = 1, 2 = 0}}
[[stage.verifier]]
name = "arena"
verifier = "judge"
options = {model = "past", shows = "pairs", against = "bracket", prompt = "pair.txt", read = {1 = 1, 2 = 0}}
`

// TestJudged: judges of all kinds pay a policy; a run that is killed comes to the same bytes, judgements
// among them; equal questions have equal answers, whatever the cache and the batch.
func TestJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains, and resumes twice")
	}
	prompts := t.TempDir()
	for name, text := range map[string]string{"q.txt": "{question}{completion}", "pair.txt": "{question}{a}+{b}", "said.txt": "{completion}{question}", "step.txt": "{question}{before}{step}"} {
		must(t, os.WriteFile(filepath.Join(prompts, name), []byte(text), 0o600))
	}
	text := strings.NewReplacer(`"q.txt"`, "'"+filepath.Join(prompts, "q.txt")+"'", `"pair.txt"`, "'"+filepath.Join(prompts, "pair.txt")+"'", `"said.txt"`, "'"+filepath.Join(prompts, "said.txt")+"'", `"step.txt"`, "'"+filepath.Join(prompts, "step.txt")+"'").Replace(judgedRun)
	dev, dir := tester(t), t.TempDir()
	longer := []string{"stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=10"} // so that completions are text that the words of the task can write
	must(t, trainText(t, dev, dir, text, false, longer...))
	judgements, answers, unread := linesOf(t, filepath.Join(dir, record.JudgementsFile)), map[string]string{}, 0
	if receipt, err := os.ReadFile(filepath.Join(dir, "receipt.json")); err != nil || !strings.Contains(string(receipt), `"judgements.jsonl"`) {
		t.Errorf("the receipt has no hash of %s, %v", record.JudgementsFile, err)
	}
	asked := map[any]int{}
	for _, line := range judgements {
		asked[line["verifier"]]++
		key, said := fmt.Sprint(line["verifier"], line["question"], line["text"]), fmt.Sprint(line["reading"], line["raw"], line["mass"])
		if before, known := answers[key]; known && before != said {
			t.Errorf("%s: %s, and %s", key, before, said)
		}
		answers[key] = said
		if line["reading"] == nil {
			unread++
			if line["why"] == nil || line["verifier"] != "said" {
				t.Errorf("unread: %v", line)
			}
		}
	}
	rl := metricRows(t, dir, "reward/truth")
	n := 0
	for _, row := range rl {
		n += len(slices.DeleteFunc(linesOf(t, filepath.Join(dir, record.CompletionsFile)), func(line map[string]any) bool { return line["step"] != row["step"] }))
		if _, there := row["judge/unread/said"]; !there || row["judge/unread/says"] != 0.0 || row["reward/gap"] == nil {
			t.Errorf("step %v: %v", row["step"], row)
		}
	}
	if asked["liked"] != n || asked["says"] < n/2 || asked["said"]%3 != 0 || asked["better"] == 0 || asked["arena"] <= asked["better"] || unread == 0 || len(rl) == 0 {
		t.Errorf("%d completions: %v, %d unread", n, asked, unread)
	}
	unpaid := 0
	for _, line := range linesOf(t, filepath.Join(dir, record.CompletionsFile)) {
		terms, _ := line["terms"].(map[string]any)
		if line["stage"] != "rl" {
			continue
		}
		if line["truth"] != terms["task"] {
			t.Errorf("the truth of %v is %v", line["completion"], line["truth"])
		}
		if terms["said"] == nil { // never 0
			unpaid++
		}
	}
	if unpaid == 0 || unpaid == n {
		t.Errorf("%d of %d are not scored", unpaid, n)
	}
	want, all := runFiles(t, dir), checkpointDirs(t, dir)
	for _, keep := range []int{len(all) - 3, len(all) - 2} {
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[keep:] {
			must(t, os.RemoveAll(c))
		}
		must(t, trainText(t, dev, again, text, true, longer...))
		sameRun(t, runFiles(t, again), want)
	}

	// rlzero judge asks the same again.
	loaded, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	must(t, err)
	last, err := store.FindModel(dir, store.TakeLast)
	must(t, err)
	reports, err := eval.Judges(t.Context(), eval.JudgeOptions{Opened: opened(t, loaded), Device: dev, Checkpoint: last.Dir, Run: dir, Most: 1000, Examples: 3})
	must(t, err)
	for i, name := range []string{"good", "liked", "says", "said", "better", "arena"} {
		r := reports[i]
		byTokens := name == "liked" // it has no prompt, so that it was shown tokens, which one step of the stage recorded
		stored := asked[name]
		if byTokens {
			stored -= r.Text
		}
		if r.Name != name || r.Completions != n || r.Stored != stored || r.Stored == 0 || r.Reproduced != r.Stored || (r.Unread > 0) != (name == "said") || (r.Text > 0) != byTokens {
			t.Errorf("%s: %d of %d answers are as they were, of %d that were recorded about %d completions, %d of them as text; %d unread", name, r.Reproduced, r.Stored, asked[name], r.Completions, r.Text, r.Unread)
		}
		if name == "said" && (len(r.Examples) != 3 || r.Examples[0].Why == "" || !strings.Contains(r.Table(true), r.Examples[0].Why)) {
			t.Errorf("examples: %+v", r.Examples)
		}
	}

	// The last ones are whole groups, so that these questions are those of the run too.
	reports, err = eval.Judges(t.Context(), eval.JudgeOptions{Opened: opened(t, loaded), Device: dev, Checkpoint: last.Dir, Run: dir, Most: n - 1})
	must(t, err)
	for _, r := range reports {
		if r.Completions >= n-1 || r.Completions == 0 || r.Reproduced != r.Stored {
			t.Errorf("%s: %d of %d answers about the last %d completions of %d are as they were", r.Name, r.Reproduced, r.Stored, r.Completions, n)
		}
	}

	// By hand: in batches of several sizes, all together, and without a memory.
	c, err := cast.Open(loaded, "", dev)
	must(t, err)
	defer c.Close()
	for _, k := range c.Keepers() {
		must(t, k.Load(last.Dir))
	}
	var each, whole []rollout.Group // of a completion, and as they were drawn
	for _, line := range linesOf(t, filepath.Join(dir, record.CompletionsFile)) {
		if line["stage"] != "rl" {
			continue
		}
		path := rollout.Path{Text: line["completion"].(string)}
		each = append(each, rollout.Group{Problem: verify.Problem{Question: line["prompt"].(string)}, Paths: []rollout.Path{path}})
		if line["sample"] == 0.0 {
			whole = append(whole, rollout.Group{Problem: each[len(each)-1].Problem})
		}
		whole[len(whole)-1].Paths = append(whole[len(whole)-1].Paths, path)
	}
	for _, j := range loaded.Judges() {
		groups := each
		if j.Shows == judge.Pairs {
			groups = whole
		}
		together := &panel.Panel{Models: c.Judge, Seed: loaded.Seed}
		all, err := together.Judge(t.Context(), j.Judge, groups)
		must(t, err)
		again, err := together.Judge(t.Context(), j.Judge, groups)
		must(t, err)
		if counts := together.Take(); counts.Cached != counts.Questions/2 || counts.Cached == 0 {
			t.Errorf("%s: %+v", j.Name, counts)
		}
		for _, size := range []int{1, 7, len(groups)} {
			forgetful := &panel.Panel{Models: c.Judge, Seed: loaded.Seed, Off: true}
			for from := 0; from < len(groups); from += size {
				some, err := forgetful.Judge(t.Context(), j.Judge, groups[from:min(from+size, len(groups))])
				must(t, err)
				for i := range some {
					if !slices.EqualFunc(some[i], all[from+i], sameVerdict) || !slices.EqualFunc(again[from+i], all[from+i], sameVerdict) || len(some[i]) != len(groups[from+i].Paths) {
						t.Errorf("%s of %q: %v among %d, %v among all", j.Name, groups[from+i].Paths[0].Text, some[i], size, all[from+i])
					}
				}
			}
			if counts := forgetful.Take(); counts.Cached != 0 {
				t.Errorf("%s without a memory: %+v", j.Name, counts)
			}
		}
	}
}

// TestTaskJudged: a judge of the task gives a completion the same verdict in rlzero eval as in training.
func TestTaskJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model that ends its answers")
	}
	run, dev := t.TempDir(), tester(t)
	trainIn(t, run, false, append(slices.Clone(quiet), "stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=10", "stage.rl.skip=true")...)
	found, err := store.FindModel(run, "")
	must(t, err)
	start := found.Dir
	file := filepath.Join(t.TempDir(), "recipe.toml")
	must(t, os.WriteFile(filepath.Join(filepath.Dir(file), "rows.jsonl"), sums(), 0o600))
	must(t, os.WriteFile(file, fmt.Appendf(nil, `model.path = %[1]q
[models.grader]
path = %[1]q
[task]
data = "rows.jsonl"
verifier = "judge"
options = {model = "grader", source = "{question}{completion}", read = {1 = 1, 2 = 0}}
max_prompt_tokens = 16
eval_problems = 4
[[stage]]
kind = "rl"
sampling.max_completion_tokens = 16
`, start), 0o600))
	m, err := cast.OpenModel(dev, start, "", "", "")
	must(t, err)
	defer m.Close()
	report, err := eval.Model(t.Context(), m, eval.Options{Subject: eval.Subject{Task: file}, Problems: 4, N: 4, K: []int{1}, Params: rollout.Params{Temperature: 1, MaxTokens: 16}})
	must(t, err)

	r, err := recipe.Load(file, nil)
	must(t, err)
	o := opened(t, r)
	c, err := cast.Open(r, start, dev)
	must(t, err)
	defer c.Close()
	renderer, err := prompts.NewRenderer(c.Policy.Model.Tokenizer, c.Policy.Model.Config.EOS, resolve.Style(r))
	must(t, err)
	collector, err := train.NewCollector(o, c, renderer, nil)
	must(t, err)
	readings := map[float64]bool{}
	for _, g := range report.Groups {
		again := g
		again.Paths = slices.Clone(g.Paths)
		for i := range again.Paths {
			again.Paths[i].Verdicts = nil
		}
		must(t, collector.Judge(t.Context(), []rollout.Group{again}))
		for i, p := range again.Paths {
			if now, want := p.Verdict(), g.Paths[i].Verdict(); !sameVerdict(now, want) || want.Verdict == verify.NotScored {
				t.Errorf("%q: %+v in training, %+v in rlzero eval", p.Text, now, want)
			}
			readings[p.Verdict().Score] = true
		}
	}
	if len(report.Groups) != 4 || len(readings) < 6 {
		t.Errorf("%d problems, with readings %v", len(report.Groups), readings)
	}
}

// sameVerdict says whether two verdicts and what was said for them are equal to the bit.
func sameVerdict(a, b verify.Verdict) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// TestFooled: a judge that pays an attack as much as a right answer ends a run before its first step, and
// without a limit it begins untested.
func TestFooled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.txt")
	must(t, os.WriteFile(file, []byte("{question}{completion}"), 0o600))
	const text = "[models.past]\ncopy = \"policy\"\n[[stage]]\nname = \"warm-up\"\nskip = true\n[[stage]]\nname = \"rl\"\nsteps = 1\nreward = \"says\"\n[[stage.verifier]]\nname = \"says\"\nverifier = \"judge\"\n"
	options := func(most string) string {
		return text + "options = {model = \"past\", prompt = '" + file + "', read = {1 = 1, 2 = 0}, max_fooled = " + most + "}\n"
	}
	dev, dir := tester(t), t.TempDir()
	err := trainText(t, dev, dir, options("0.2"), false)
	if err == nil || !strings.Contains(err.Error(), "verifier says pays \"") || !strings.Contains(err.Error(), "of what it pays a right answer (the attack ") || !strings.Contains(err.Error(), "; max_fooled is 0.2") {
		t.Errorf("%v", err)
	}
	if lines := linesOf(t, filepath.Join(dir, record.CompletionsFile)); len(lines) > 0 {
		t.Errorf("the run drew %v", lines)
	}
	must(t, trainText(t, dev, t.TempDir(), options("1"), false))
}
