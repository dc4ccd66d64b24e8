package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/audit"
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

// judgedRun has judges of most kinds: a head that the run trains, probabilities of answers, written answers
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

// TestJudged: judges of these kinds pay a policy; a run that is killed comes to the same bytes, judgements
// among them, and one with a worker to the same judgements; equal questions have equal answers, whatever the cache and the batch.
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
	helped := t.TempDir()
	must(t, trainWith(t, Options{Dir: helped, Device: dev, Workers: oneWorker(t)}, text, longer...))
	for _, name := range []string{record.JudgementsFile, record.CompletionsFile, record.MetricsFile} {
		if got := runFiles(t, helped)[name]; got != want[name] {
			t.Errorf("with a worker %s differs%s", name, firstDifference(got, want[name]))
		}
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

	for _, on := range []gpu.Device{dev, first(t)} {
		askedAlike(t, on, loaded, "", dir, last.Dir)
	}
}

// askedAlike asks the judges of a run's stage rl about its completions, by the models of a checkpoint: a verdict is the
// same among all, from memory, in batches of several sizes, and without a memory.
func askedAlike(t *testing.T, dev gpu.Device, r *recipe.Recipe, folder, dir, checkpoint string) {
	t.Helper()
	c, err := cast.Open(r, folder, dev)
	must(t, err)
	defer c.Close()
	for _, k := range c.Keepers() {
		must(t, k.Load(checkpoint))
	}
	again, err := audit.NewRedraw(dir, r, opened(t, r).Source)
	must(t, err)
	var each, whole []rollout.Group // of a completion, and as they were drawn
	for _, line := range completionLines(t, dir) {
		if line.Stage != "rl" {
			continue
		}
		row, _, err := again.Row(line)
		must(t, err)
		path := rollout.Path{Text: line.Text}
		each = append(each, rollout.Group{Problem: row, Paths: []rollout.Path{path}})
		if line.Sample == 0 {
			whole = append(whole, rollout.Group{Problem: row})
		}
		whole[len(whole)-1].Paths = append(whole[len(whole)-1].Paths, path)
	}
	for _, j := range r.Judges() {
		groups := each
		if j.Shows == judge.Pairs || j.Shows == judge.Group {
			groups = whole
		}
		together := &panel.Panel{Models: c.Judge, Seed: r.Seed}
		all, err := together.Judge(t.Context(), j.Judge, groups)
		must(t, err)
		again, err := together.Judge(t.Context(), j.Judge, groups)
		must(t, err)
		if counts := together.Take(); counts.Cached != counts.Questions/2 || counts.Cached == 0 {
			t.Errorf("%s: %+v", j.Name, counts)
		}
		for _, size := range []int{1, 7, 64} {
			forgetful := &panel.Panel{Models: c.Judge, Seed: r.Seed, Off: true}
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

// listedRun has the kinds that judgedRun lacks: items of a row, each completion of a prompt against each other one, all of
// them in an order, and answers that a verifier reads. The policy, whose copy judges, learns to write three numbers in
// some order.
const listedRun = `model.path = %q
checkpoint.keep = 10
[models.past]
copy = "policy"
[task]
data = "rows.jsonl"
verifier = "exact"
max_prompt_tokens = 64
eval_problems = 4
eval_samples = 1
[[stage]]
name = "warm-up"
kind = "sft"
batch_size = 8
max_tokens = 64
test_every = 1000
hold_steps = 80
decay_steps = 10
optimizer = {lr = 3e-3}
[[stage]]
name = "rl"
kind = "rl"
steps = 4
prompts_per_step = 3
group_size = 3
max_not_scored = 1
eval_every = 0
checkpoint_every = 1
reward = "listed + met + near"
sampling.max_completion_tokens = 8
[stage.algorithm]
advantage = "reward - group_mean(reward)"
[[stage.verifier]]
name = "listed"
verifier = "judge"
options = {model = "past", shows = "items", items = "asks", source = "{completion}: {item}?", read = {1 = 1, 2 = 0}, context = 80}
[[stage.verifier]]
name = "met"
verifier = "judge"
options = {model = "past", shows = "pairs", source = "{a} or {b}?", read = {1 = 1, 2 = 0}, context = 80}
[[stage.verifier]]
name = "near"
verifier = "judge"
options = {model = "past", source = "{question}: {completion}?", read = "edit_similarity", votes = 2, temperature = 1.0, max_tokens = 7, context = 80}
[[stage.verifier]]
name = "order"
verifier = "judge"
options = {model = "past", shows = "group", source = "{list}", read = "[123] [123] [123]", temperature = 1.0, max_tokens = 8, context = 120}
`

// TestJudgedLists: judges of lists, of every pair and by a verifier pay a policy, and say the same in a run that is
// killed, in rlzero judge, and by hand on another device. Completions without a readable answer have no part in
// the mean of their group.
func TestJudgedLists(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains, and resumes")
	}
	start, data, dir := chatModel(t), filepath.Join(t.TempDir(), "rows.jsonl"), filepath.Join(t.TempDir(), "run")
	var rows strings.Builder
	orders := []string{"1 2 3", "1 3 2", "2 1 3", "2 3 1", "3 1 2", "3 2 1"}
	for i := range 64 {
		order := orders[i%len(orders)]
		fmt.Fprintf(&rows, `{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"%[2]s"}],"answer":"%[2]s","asks":["one",{"ask":"two","points":3}]}`+"\n", i, order)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o600))
	_, err := chatRun(t, dir, start, data, listedRun, false)
	must(t, err)
	asked, read := map[any]int{}, map[any]int{}
	for _, line := range linesOf(t, filepath.Join(dir, record.JudgementsFile)) {
		asked[line["verifier"]]++
		if line["reading"] != nil {
			read[line["verifier"]]++
		}
	}
	lines := completionLines(t, dir)
	n, pairs, mixed := len(lines), 0, 0
	for group := range slices.Chunk(lines, 3) {
		sum, scored := 0.0, 0
		for i, line := range group {
			for _, other := range group[i+1:] {
				if other.Text != line.Text {
					pairs++
				}
			}
			if line.Reward != nil {
				sum, scored = sum+*line.Reward, scored+1
			}
		}
		if 0 < scored && scored < len(group) {
			mixed++
		}
		for _, line := range group {
			switch near := line.Terms["near"]; {
			case near == nil && line.Reward == nil && line.Advantage == nil && strings.HasPrefix(line.NotScored, "near: "):
			case near == nil || line.Reward == nil || line.Advantage == nil:
				t.Errorf("%+v", line)
			default:
				// Sums of three numbers below 4 and what is made of them round five times, by 2^-50 at most, here and there.
				if want := *line.Reward - sum/float64(scored); math.Abs(*line.Advantage-want) > 10*0x1p-50 {
					t.Errorf("%q of a group with %d scores: the advantage is %v, want %v", line.Text, scored, *line.Advantage, want)
				}
			}
		}
	}
	if asked["listed"] != 2*n || asked["met"] != 2*pairs || asked["near"] != 2*n || asked["order"] != n || pairs == 0 || mixed == 0 || read["order"] == 0 || read["near"] == asked["near"] || n != 36 {
		t.Errorf("%d completions with %d pairs: asked %v, read %v; %d groups are scored in part", n, pairs, asked, read, mixed)
	}
	cut, all := copyRun(t, dir), checkpointDirs(t, dir)
	must(t, os.RemoveAll(checkpointDirs(t, cut)[len(all)-1]))
	_, err = chatRun(t, cut, start, data, listedRun, true)
	must(t, err)
	sameRun(t, runFiles(t, cut), runFiles(t, dir))

	loaded, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	must(t, err)
	last := all[len(all)-1]
	reports, err := eval.Judges(t.Context(), eval.JudgeOptions{Opened: opened(t, loaded), Device: tester(t), Folder: start, Checkpoint: last, Run: dir, Most: 1000})
	must(t, err)
	for _, r := range reports {
		if r.Completions != n || r.Stored != asked[r.Name] || r.Reproduced != r.Stored || r.Answers-r.Unread != read[r.Name] {
			t.Errorf("%s: %d of %d answers about %d completions are as they were, %d of %d are unread", r.Name, r.Reproduced, r.Stored, r.Completions, r.Unread, r.Answers)
		}
	}
	for _, dev := range []gpu.Device{tester(t), first(t)} {
		askedAlike(t, dev, loaded, start, dir, last)
	}
}

// taskJudges are the options of judges that a task may have, by what they read, and whether they draw answers.
var taskJudges = []struct {
	about, options string
	draws          bool
}{
	{"probabilities", `source = "{question}{completion}", read = {1 = 1, 2 = 0}`, false},
	{"items", `shows = "items", items = "asks", source = "{question}{completion}:{item}", read = {1 = 1, 2 = 0}`, false},
	{"steps", `shows = "steps", steps = "[+=]", source = "{question}{before}{step}", read = {1 = 1, 2 = 0}`, false},
	{"a head", `read = "head"`, false},
	{"a pattern", `source = "{completion}:{question}", read = "[0-9]", between = [0, 9], votes = 3, temperature = 1.0, max_tokens = 12`, true},
	{"a verifier", `source = "{completion}:{question}", read = "edit_similarity", votes = 3, temperature = 1.0, max_tokens = 12`, true},
}

// TestTaskJudged: a judge of the task gives a completion the same verdict in rlzero eval as in training, whatever it reads.
func TestTaskJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model that ends its answers")
	}
	run := t.TempDir()
	trainIn(t, run, false, append(slices.Clone(quiet), "stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=10", "stage.rl.skip=true")...)
	found, err := store.FindModel(run, "")
	must(t, err)
	rows := bytes.ReplaceAll(sums(), []byte(`"answer":`), []byte(`"asks":["1",{"ask":"2","points":3}],"answer":`))
	heads := headed(t, found.Dir)
	for _, dev := range []gpu.Device{tester(t), first(t)} {
		for _, c := range taskJudges {
			t.Run(gputest.Name(dev)+" "+c.about, func(t *testing.T) {
				grader := fmt.Sprintf("path = %q\n", found.Dir)
				if strings.Contains(c.options, `"head"`) {
					grader = fmt.Sprintf("path = %q\nhead = true\n", heads)
				}
				file := filepath.Join(t.TempDir(), "recipe.toml")
				must(t, os.WriteFile(filepath.Join(filepath.Dir(file), "rows.jsonl"), rows, 0o600))
				must(t, os.WriteFile(file, fmt.Appendf(nil, `model.path = %q
[models.grader]
%s
[task]
data = "rows.jsonl"
verifier = "judge"
options = {model = "grader", %s}
max_prompt_tokens = 16
eval_problems = 4
[[stage]]
kind = "rl"
sampling.max_completion_tokens = 16
`, found.Dir, grader, c.options), 0o600))
				taskJudged(t, dev, found.Dir, file, c.draws)
			})
		}
	}
}

// taskJudged holds the verdicts of the judge of a task in rlzero eval against those in training.
func taskJudged(t *testing.T, dev gpu.Device, start, file string, draws bool) {
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
			now, want := p.Verdict(), g.Paths[i].Verdict()
			if !sameVerdict(now, want) || want.Verdict == verify.NotScored && !draws {
				t.Errorf("%q: %+v in training, %+v in rlzero eval", p.Text, now, want)
			}
			if now.Verdict != verify.NotScored && now.Opinions != nil {
				readings[now.Score] = true
			}
		}
	}
	if len(report.Groups) != 4 || len(readings) < 6 && !draws || len(readings) < 2 {
		t.Errorf("%d problems, with readings %v", len(report.Groups), readings)
	}
}

// headed is a folder with the model of another one, and a head that scores.
func headed(t *testing.T, folder string) string {
	t.Helper()
	f, err := hf.ReadFolder(folder)
	must(t, err)
	defer f.Tensors.Close()
	weight := make([]float32, f.Config.Width)
	for i := range weight {
		weight[i] = float32(i%3-1) / 4
	}
	f.Head = hf.NewHead(weight, 0)
	small, tensors, err := f.Files(gguf.F32)
	must(t, err)
	dir := filepath.Join(t.TempDir(), "headed")
	must(t, store.WriteFolder(store.OS(), dir, hf.Contents(small, hf.WeightsFile, tensors)))
	return dir
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
