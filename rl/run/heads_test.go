package run

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
)

// scoredRun is a run that trains a reward model on what it draws, and then pays by it.
const scoredRun = `
[models.rm]
copy = "policy"
head = true
[[stage]]
name = "warm-up"
[[stage]]
name = "rm"
kind = "rl"
trains = "rm"
steps = 3
prompts_per_step = 4
group_size = 4
reward = "random"
eval_every = 0
eval_problems = 4
checkpoint_every = 1
[stage.algorithm]
preset = "bradley_terry"
pair = "scored_group"
keep = "group_std(reward) > 0"
[stage.optimizer]
lr = 1e-3
warmup_steps = 0
[[stage]]
name = "rl"
reward = "rm + 0.5*truncated"
[stage.algorithm.metrics]
"my/same" = "step_mean(last(rm) + 0.5*truncated == reward)"
"my/each" = "step_token_mean(rm == last(rm))"
`

// probedRun is scoredRun with a model that has the reward model's weights and a new head, which learns beside the
// policy while the weights stay.
var probedRun = strings.Replace(scoredRun, "\n[models.rm]", "\n[models.probe]\nweights = \"rm\"\nhead = true\n[models.rm]", 1) + `"my/probe" = "step_max(abs(last(probe)))"
[stage.learn.probe]
algorithm = {preset = "pointwise", policy = "square(last(score) - reward)"}
optimizer = {lr = 0.0, value_lr = 1e-2, warmup_steps = 0}
`

// TestFreshHead: the weights of a model that is made of one with a head are those of that one, and its head begins at
// 0 and learns of its own. A run that is killed comes to the same bytes.
func TestFreshHead(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes")
	}
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, probedRun, false))
	all := checkpointDirs(t, dir)
	file := func(dir, name string) string {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		must(t, err)
		return string(data)
	}
	last, before := all[len(all)-1], all[len(all)-2]
	if file(last, recipe.MemberWeights("probe")) != file(last, recipe.MemberWeights("rm")) {
		t.Error("the weights are not those of the model that it is made of")
	}
	if head := file(last, recipe.MemberHead("probe")); head == file(before, recipe.MemberHead("probe")) || head == file(last, recipe.MemberHead("rm")) {
		t.Error("the head does not learn, or is that of the other model")
	}
	if file(last, recipe.MemberHead("rm")) != file(before, recipe.MemberHead("rm")) {
		t.Error("the head of the other model learns")
	}
	for i, row := range metricRows(t, dir, "my/probe") {
		if (row["my/probe"] == 0.0) != (i == 0) {
			t.Errorf("step %d: the new head says %v at most", i+1, row["my/probe"])
		}
	}
	want, cut := runFiles(t, dir), copyRun(t, dir)
	for _, c := range checkpointDirs(t, cut)[len(all)-2:] {
		must(t, os.RemoveAll(c))
	}
	must(t, trainText(t, dev, cut, probedRun, true))
	sameRun(t, runFiles(t, cut), want)
}

// TestHeadLearns: a copy with a head learns to score in a stage of its own, while the policy and its
// weights stay as they are, and each checkpoint has both under their own names. Then a reward is what it
// says after the last token, which is also what the fact of its name says of that token. A run that is
// killed comes to the same bytes. Written as a folder it says the same in another run.
func TestHeadLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, scoredRun, false))
	file := func(step int, name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", step), filepath.FromSlash(name)))
		must(t, err)
		return data
	}
	const warm, taught = 5 + 3, 5 + 3 + 3 // the last steps of the warm-up, and of the reward model
	head := func(step int) *hf.Head {
		data := file(step, recipe.MemberHead("rm"))
		ts, err := hf.ReadTensors("head", bytes.NewReader(data), int64(len(data)))
		must(t, err)
		h, err := hf.ReadHead(ts, 32)
		must(t, err)
		return h
	}
	for step := warm + 1; step <= taught; step++ { // checkpoints of the stage itself, and the one at its end
		if weight, _ := head(step).Linear(); !slices.ContainsFunc(weight, func(x float32) bool { return x != 0 }) {
			t.Errorf("step %d: the head has not learned", step)
		}
		if !bytes.Equal(file(step, hf.WeightsFile), file(warm, hf.WeightsFile)) {
			t.Errorf("step %d: the policy has changed while the reward model learned", step)
		}
		if bytes.Equal(file(step, recipe.MemberWeights("rm")), file(step-1, recipe.MemberWeights("rm"))) {
			t.Errorf("step %d: the reward model has not learned", step)
		}
		if !bytes.Equal(file(step, "trainer/value.safetensors"), file(warm, "trainer/value.safetensors")) {
			t.Errorf("step %d: the policy's own head has changed while the reward model learned", step)
		}
	}
	if before, _ := head(warm).Linear(); slices.ContainsFunc(before, func(x float32) bool { return x != 0 }) {
		t.Errorf("the head begins as %v", before)
	}
	if !bytes.Equal(file(taught+4, recipe.MemberWeights("rm")), file(taught, recipe.MemberWeights("rm"))) {
		t.Error("the reward model has changed while the policy learned")
	}
	rows := metricRows(t, dir, "my/same")
	if len(rows) != 4 {
		t.Fatalf("%d steps", len(rows))
	}
	for _, row := range rows {
		if row["my/same"] != 1.0 || row["my/each"] == 1.0 || row["reward/mean"] == 0.0 {
			t.Errorf("step %v: %v of the rewards are what the fact says, %v of the tokens have the last one's score, %v is paid", row["step"], row["my/same"], row["my/each"], row["reward/mean"])
		}
	}
	if rows := metricRows(t, dir, "preference/one_of_n"); len(rows) != 3 {
		t.Errorf("%d steps measured how often the best score is a right one's", len(rows))
	}
	want, all := runFiles(t, dir), checkpointDirs(t, dir)
	for _, keep := range []int{len(all) - 6, len(all) - 2} { // in the stage of the reward model, and after it
		again := copyRun(t, dir)
		for _, c := range checkpointDirs(t, again)[keep:] {
			must(t, os.RemoveAll(c))
		}
		must(t, trainText(t, dev, again, scoredRun, true))
		sameRun(t, runFiles(t, again), want)
	}

	// A folder of its own.
	found, err := store.FindModel(dir, store.TakeLast)
	must(t, err)
	f, err := hf.ReadFolder(found.Dir)
	must(t, err)
	must(t, f.Tensors.Close())
	f.Tensors, err = hf.OpenTensorFile(filepath.Join(found.Dir, filepath.FromSlash(recipe.MemberWeights("rm"))))
	must(t, err)
	defer f.Tensors.Close()
	f.Head = head(taught + 4)
	small, tensors, err := f.Files(gguf.F32)
	must(t, err)
	folder := filepath.Join(t.TempDir(), "rm")
	must(t, store.WriteFolder(store.OS(), folder, hf.Contents(small, hf.WeightsFile, tensors)))
	text := "[models.rm]\npath = '" + folder + "'\nhead = true\n[[stage]]\nname = \"rl\"\nreward = \"rm\"\n"
	other := t.TempDir()
	must(t, trainText(t, dev, other, text, false))
	ids := []int{4, 7, 3, 9, 12, 5, 2, 8}
	views := []rollout.View{{IDs: ids, Spans: []rollout.Span{{From: 3, To: 8}}, Temperature: 1}, {IDs: ids[:6], Spans: []rollout.Span{{From: 2, To: 6}}, Temperature: 0.5}}
	said := map[string][][]float64{}
	for _, run := range []string{dir, other} {
		r, err := recipe.Load(filepath.Join(run, recipe.File), nil)
		must(t, err)
		c, err := cast.Open(r, "", dev)
		must(t, err)
		defer c.Close()
		if run == dir {
			for _, k := range c.Keepers() {
				must(t, k.Load(found.Dir))
			}
		}
		said[run], err = c.Supply("rm", views)
		must(t, err)
		ends, err := c.HeadOf("rm", views)
		must(t, err)
		for i, row := range said[run] {
			if len(row) != views[i].Spans[0].To-views[i].Spans[0].From || row[len(row)-1] != ends[i] {
				t.Errorf("view %d: %v by token, %v at the end", i, row, ends[i])
			}
		}
	}
	if !slices.EqualFunc(said[dir], said[other], slices.Equal) {
		t.Errorf("the run's own says %v, its folder %v", said[dir], said[other])
	}
	for about, c := range map[string]struct{ text, want, hint string }{
		"a folder without a head": {strings.Replace(text, folder, found.Dir, 1), "has no head (architectures: ", "name the folder of a reward model"},
		"a label":                 {strings.Replace(text, "head = true", "head = true\nlabel = \"good\"", 1), `there is no label "good"; the head has 1 (LABEL_0)`, `label = "LABEL_0"`},
		"a head that is not said": {strings.Replace(text, "head = true\n", "", 1), "models.rm] is used by nothing: no formula reads rm", "read it in a formula"},
	} {
		err := trainText(t, dev, t.TempDir(), c.text, false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "mine.toml:") || !strings.Contains(strings.Join(hint.All(err), " "), c.hint) {
			t.Errorf("%s: %v (%v), want %q and %q", about, err, hint.All(err), c.want, c.hint)
		}
	}
}

// TestLabelUnsaid: of a head with several labels a recipe says which one is read, by a name that the head has.
func TestLabelUnsaid(t *testing.T) {
	dev, from := tester(t), t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "stage.rl.skip=true", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1")...)
	found, err := store.FindModel(from, "")
	must(t, err)
	f, err := hf.ReadFolder(found.Dir)
	must(t, err)
	defer f.Tensors.Close()
	small, tensors, err := f.Files(gguf.F32)
	must(t, err)
	small["config.json"] = bytes.Replace(small["config.json"], []byte("ForCausalLM"), []byte("ForSequenceClassification"), 1)
	tensors = slices.DeleteFunc(tensors, func(n hf.NamedTensor) bool { return n.Name == hf.HeadName })
	rows := []float32{}
	for range 2 {
		rows = append(rows, make([]float32, f.Config.Width)...)
	}
	tensors = append(tensors, hf.NamedTensor{Name: "score.weight", Shape: []int{2, f.Config.Width}, Data: func() ([]float32, error) { return rows, nil }})
	folder := filepath.Join(t.TempDir(), "rm")
	must(t, store.WriteFolder(store.OS(), folder, hf.Contents(small, hf.WeightsFile, tensors)))
	text := "[models.rm]\npath = '" + folder + "'\nhead = true\n[[stage]]\nname = \"rl\"\nreward = \"rm\"\n"
	for about, c := range map[string]struct{ more, want string }{
		"none":    {"", "no label is chosen; the head has 2 (LABEL_0, LABEL_1)"},
		"another": {"label = \"good\"\n", `there is no label "good"; the head has 2 (LABEL_0, LABEL_1)`},
	} {
		err := trainText(t, dev, t.TempDir(), strings.Replace(text, "[[stage]]", c.more+"[[stage]]", 1), false)
		if err == nil || !strings.Contains(err.Error(), "mine.toml:3:1: models.rm.path: "+c.want) || !slices.Contains(hint.All(err), `label = "LABEL_1"`) {
			t.Errorf("%s: %v (%q), want %q", about, err, hint.All(err), c.want)
		}
	}
	must(t, trainText(t, dev, t.TempDir(), strings.Replace(text, "[[stage]]", "label = \"LABEL_1\"\n[[stage]]", 1), false, "stage.warm-up.skip=true", "stage.rl.steps=1", "stage.rl.eval_every=0"))
}

// pairsText is a recipe whose reward model learns from pairs and then pays the policy.
const pairsText = `model.path = %q
[models.rm]
copy = "policy"
head = true
[checkpoint]
keep = 100
[task]
data = "rows.jsonl"
columns = {chosen = "answer", rejected = "wrong"}
verifier = "exact"
max_prompt_tokens = 64
eval_problems = 4
[[stage]]
name = "rm"
kind = "preference"
trains = "rm"
steps = 8
batch_size = 4
max_tokens = 64
test_every = 4
checkpoint_every = 4
[stage.algorithm]
preset = "bradley_terry"
[stage.optimizer]
lr = 1e-3
warmup_steps = 0
[[stage]]
kind = "rl"
steps = 2
prompts_per_step = 2
group_size = 2
reward = "rm"
eval_every = 0
sampling = {max_completion_tokens = 4}
[stage.algorithm.metrics]
"my/same" = "step_mean(last(rm) == reward)"
`

// pairRows is a file of forty pairs of a right and a wrong answer.
func pairRows(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"question":"say %[1]d","answer":"%[1]d","wrong":"no"}`+"\n", i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	return data
}

// TestPairs: a reward model learns from the pairs of a file which answer is better, by comparing the two
// and by each alone, also of held-out pairs, and begins with no opinion; then it pays.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a chat model")
	}
	start, data := chatModel(t), pairRows(t)
	for preset, margins := range map[string]bool{"bradley_terry": true, "pointwise": false} {
		t.Run(preset, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			_, err := chatRun(t, dir, start, data, strings.Replace(pairsText, "bradley_terry", preset, 1), false)
			must(t, err)
			all := metricRows(t, dir, "preference/accuracy")
			first, last := all[0], all[len(all)-1]
			if len(all) != 8 || math.Abs(first["policy/loss"].(float64)-math.Ln2) > 1e-15 || margins && first["preference/margin"] != 0.0 {
				t.Errorf("%d steps; the first: %v", len(all), first)
			}
			if margin, _ := last["eval/preference_margin"].(float64); last["eval/preference_accuracy"] != 1.0 || margins && margin <= 0 || last["policy/loss"].(float64) >= math.Ln2 {
				t.Errorf("the last step: %v", last)
			}
			for _, row := range metricRows(t, dir, "my/same") {
				if row["my/same"] != 1.0 || row["reward/mean"] == 0.0 {
					t.Errorf("step %v: %v", row["step"], row)
				}
			}
		})
	}
}

// TestRewardModel: a run may do nothing but train a reward model on the pairs of a file, whole or as an adapter. Its policy
// stays what it was, it comes to the same bytes from each of its checkpoints, and it can be made longer.
func TestRewardModel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes a chat model")
	}
	start, data := chatModel(t), pairRows(t)
	text, _, _ := strings.Cut(pairsText, "[[stage]]\nkind = \"rl\"")
	text = strings.NewReplacer("verifier = \"exact\"\nmax_prompt_tokens = 64\n", "", "warmup_steps = 0", "warmup_steps = 0\nschedule = \"constant\"").Replace(text)
	for name, lora := range map[string]string{"whole": "", "adapter": "[model.lora]\nrank = 2\n"} {
		t.Run(name, func(t *testing.T) {
			text := text + lora
			base := filepath.Join(t.TempDir(), "run")
			_, err := chatRun(t, base, start, data, text, false)
			must(t, err)
			all := metricRows(t, base, "preference/accuracy")
			if last := all[len(all)-1]; len(all) != 8 || last["eval/preference_accuracy"] != 1.0 {
				t.Errorf("%d steps; the last: %v", len(all), last)
			}
			want, at := runFiles(t, base), checkpointDirs(t, base)
			same := func(name string) bool {
				var first []byte
				for _, c := range at {
					got, err := os.ReadFile(filepath.Join(c, filepath.FromSlash(name)))
					must(t, err)
					if first == nil {
						first = got
					}
					if !bytes.Equal(got, first) {
						return false
					}
				}
				return true
			}
			for _, name := range []string{recipe.MemberWeights("rm"), recipe.MemberHead("rm")} {
				if same(name) {
					t.Errorf("%s has not changed", name)
				}
			}
			if policy := map[string]string{"whole": hf.WeightsFile, "adapter": "adapter_model.safetensors"}[name]; !same(policy) {
				t.Error("the policy has changed")
			}
			for keep := range len(at) {
				dir := copyRun(t, base)
				for _, c := range checkpointDirs(t, dir)[keep:] {
					must(t, os.RemoveAll(c))
				}
				if keep == 0 { // killed before there was one
					must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
				}
				_, err := chatRun(t, dir, start, data, text, true)
				must(t, err)
				sameRun(t, runFiles(t, dir), want)
			}
			longer, whole := strings.Replace(text, "steps = 8", "steps = 10", 1), filepath.Join(t.TempDir(), "run")
			for dir, resume := range map[string]bool{base: true, whole: false} {
				_, err = chatRun(t, dir, start, data, longer, resume)
				must(t, err)
			}
			end := func(dir, name string) string {
				all := checkpointDirs(t, dir)
				got, err := os.ReadFile(filepath.Join(all[len(all)-1], filepath.FromSlash(name)))
				must(t, err)
				return string(got)
			}
			for _, name := range []string{recipe.MemberWeights("rm"), recipe.MemberHead("rm")} {
				if end(base, name) != end(whole, name) {
					t.Errorf("%s of a run that was made longer is not that of one of the full length", name)
				}
			}
		})
	}
}

// TestStepRows: a head learns from rows with steps which steps are right, also of held-out rows, and then
// pays each token; rows without steps have nothing for it.
func TestStepRows(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a chat model")
	}
	start, data := chatModel(t), filepath.Join(t.TempDir(), "rows.jsonl")
	var rows, pairs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"question":"say %[1]d","answer":"%[1]d","completions":["%[1]d","no"],"labels":[true,false]}`+"\n", i)
		fmt.Fprintf(&pairs, `{"question":"say %[1]d","answer":"%[1]d","wrong":"no"}`+"\n", i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	text := strings.NewReplacer(`columns = {chosen = "answer", rejected = "wrong"}`, `columns = {steps = "completions"}`, `preset = "bradley_terry"`, `preset = "step_labels"`,
		`"my/same" = "step_mean(last(rm) == reward)"`, `"my/same" = "step_token_mean(rm == rm)"`).Replace(pairsText)
	dir := filepath.Join(t.TempDir(), "run")
	_, err := chatRun(t, dir, start, data, text, false)
	must(t, err)
	all := metricRows(t, dir, "preference/accuracy")
	first, last := all[0], all[len(all)-1]
	if len(all) != 8 || math.Abs(first["policy/loss"].(float64)-math.Ln2) > 1e-15 || first["preference/accuracy"] != 0.5 {
		t.Errorf("%d steps; the first: %v", len(all), first)
	}
	if last["eval/preference_accuracy"] != 1.0 || last["policy/loss"].(float64) >= math.Ln2 {
		t.Errorf("the last step: %v", last)
	}
	must(t, os.WriteFile(data, []byte(pairs.String()), 0o644))
	text = strings.Replace(pairsText, `preset = "bradley_terry"`, `preset = "step_labels"`, 1)
	if _, err := chatRun(t, filepath.Join(t.TempDir(), "run"), start, data, text, false); err == nil || !strings.Contains(err.Error(), "the row has no steps with labels, which the loss reads") {
		t.Errorf("rows without steps: %v", err)
	}
}

// TestHeadPrompt: a head learns and scores after its own prompt. The policy's prompt, written out, gives the same head;
// another one gives another, and the reward is then what the fact of its name says too.
func TestHeadPrompt(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains three times")
	}
	dev := tester(t)
	heads := map[string][]byte{}
	for _, prompt := range []string{"", "{question}", "{answer} {question}"} {
		dir, text := t.TempDir(), scoredRun
		if prompt != "" {
			text = strings.Replace(text, "head = true\n", "head = true\nprompt = \""+prompt+"\"\n", 1)
		}
		must(t, trainText(t, dev, dir, text, false, "task.max_prompt_tokens=40"))
		data, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%06d", 5+3+3), filepath.FromSlash(recipe.MemberHead("rm"))))
		must(t, err)
		heads[prompt] = data
		if alerts, err := os.ReadFile(filepath.Join(dir, record.AlertsFile)); err != nil || bytes.Contains(alerts, []byte(`"bits"`)) {
			t.Errorf("prompt %q: %v, alerts %s", prompt, err, alerts)
		}
		for _, row := range metricRows(t, dir, "my/same") {
			if row["my/same"] != 1.0 {
				t.Errorf("prompt %q, step %v: %v of the rewards are what the fact says", prompt, row["step"], row["my/same"])
			}
		}
	}
	if !bytes.Equal(heads[""], heads["{question}"]) {
		t.Error("the policy's prompt, written out, gives another head")
	}
	if bytes.Equal(heads[""], heads["{answer} {question}"]) {
		t.Error("a prompt of its own changes nothing of what a head learns")
	}
}

// TestLongHeadPrompt: a prompt that leaves no room for it is refused before a head learns after it.
func TestLongHeadPrompt(t *testing.T) {
	text := strings.Replace(scoredRun, "head = true", "head = true\nprompt = \"{question} {question} {question}\"", 1)
	err := trainText(t, tester(t), t.TempDir(), text, false)
	if err == nil || !strings.Contains(err.Error(), "models.rm.prompt: problem ") || !strings.Contains(err.Error(), "a head learns after ") || !strings.Contains(strings.Join(hint.All(err), " "), "--set task.max_prompt_tokens=") {
		t.Errorf("%v (%v)", err, hint.All(err))
	}
}

// followedRun is a run in which a critic learns beside the policy, from a store too, and a slow copy follows it.
const followedRun = `
[models.critic]
copy = "policy"
head = true
[models.slow]
copy = "critic"
head = true
follow = 0.25
[[stage]]
name = "warm-up"
[[stage]]
name = "rl"
steps = 3
reward = "random"
checkpoint_every = 1
replay = {store = "true", share = 0.5, max_age = 100}
[stage.algorithm]
loss = "token_mean(weight*policy + penalty, fresh)"
penalty = "0*slow"
[stage.algorithm.metrics]
"my/before" = "step_token_mean(critic.value == previous(critic), position > 1)"
"my/apart" = "step_token_mean(slow == critic)"
[stage.learn.critic]
first = true
replayed = true
algorithm = {preset = "", loss = "token_mean(square(score - reward)) + token_mean(square(value - slow.value - reward), fresh)"}
optimizer = {lr = 1e-3, value_lr = 1e-2, warmup_steps = 0}
`

// TestFollowedCritic: a slow copy of a critic moves its share of the way to it at each update, weights and head; what a
// head says before a token is what it says after the one before it. The critic learns from stored groups too. A run that
// is killed comes to the same bytes, and several updates of a step are others than one.
func TestFollowedCritic(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes several times")
	}
	for name, more := range map[string][]string{"whole": nil, "adapter": {"model.dtype=q8_0", "model.lora.rank=3"}} {
		t.Run(name, func(t *testing.T) { followsCritic(t, more) })
	}
}

func followsCritic(t *testing.T, sets []string) {
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, followedRun, false, sets...))
	all := checkpointDirs(t, dir)
	numbers := func(dir, name string) map[string][]float32 {
		ts, err := hf.OpenTensorFile(filepath.Join(dir, filepath.FromSlash(name)))
		must(t, err)
		defer ts.Close()
		out := map[string][]float32{}
		for _, tensor := range ts.Names() {
			out[tensor], err = ts.Read(tensor)
			must(t, err)
		}
		return out
	}
	for k := len(all) - 2; k < len(all); k++ { // the steps after the first
		for _, file := range []func(string) string{recipe.MemberWeights, recipe.MemberHead} {
			before, after, critic := numbers(all[k-1], file("slow")), numbers(all[k], file("slow")), numbers(all[k], file("critic"))
			moved := false
			for name, x := range before {
				for i := range x {
					from, to, got := float64(x[i]), float64(critic[name][i]), float64(after[name][i])
					// Each of three operations rounds by 2^-24 of what is not above |from| + |to|.
					if want := from + 0.25*(to-from); math.Abs(got-want) > 3*math.Ldexp(math.Abs(from)+math.Abs(to), -24) {
						t.Fatalf("%s of %s[%d] went from %v to %v, and the critic is at %v", file("slow"), name, i, from, got, to)
					}
					moved = moved || from != got
				}
			}
			if !moved {
				t.Errorf("%s has not moved", file("slow"))
			}
		}
	}
	rows := metricRows(t, dir, "my/before")
	tokens := rows[0]["critic/tokens"].(float64)
	for step, row := range rows {
		if row["my/before"] != 1.0 || row["my/apart"].(float64) == 1 {
			t.Errorf("step %d: %v, %v", step+1, row["my/before"], row["my/apart"])
		}
		if stored := row["rollout/replayed_groups"].(float64); (stored > 0) != (step > 0) || row["critic/tokens"].(float64) < tokens/2 {
			t.Errorf("step %d: %v groups of the store, and the critic learns from %v tokens", step+1, stored, row["critic/tokens"])
		}
	}
	want, again := runFiles(t, dir), copyRun(t, dir)
	for _, c := range checkpointDirs(t, again)[len(all)-2:] {
		must(t, os.RemoveAll(c))
	}
	must(t, trainText(t, dev, again, followedRun, true, sets...))
	sameRun(t, runFiles(t, again), want)
	more := t.TempDir()
	must(t, trainText(t, dev, more, followedRun, false, slices.Concat(sets, []string{"stage.rl.learn.critic.updates=2"})...))
	if metricRows(t, more, "my/before")[0]["critic/loss"] == rows[0]["critic/loss"] {
		t.Error("a second update of a step changes nothing")
	}
}
