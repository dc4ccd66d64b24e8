package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
)

// drawnRun is a run of a warm-up and three RL steps, each with a checkpoint.
func drawnRun(t *testing.T, sets ...string) string {
	t.Helper()
	return drawnBy(t, "base = '"+preset+"'\n", sets...)
}

// drawnBy is such a run of a recipe over the preset.
func drawnBy(t *testing.T, text string, sets ...string) string {
	t.Helper()
	r, err := recipe.Parse("drawn.toml", text, slices.Concat(brief, sets, []string{
		"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64",
		"stage.warm-up.batch_size=6", "stage.warm-up.hold_steps=5", "stage.warm-up.test_every=2", "stage.warm-up.decay_steps=3",
		"stage.rl.steps=3", "stage.rl.checkpoint_every=1", "stage.rl.sampling.temperature=0.8", "stage.rl.sampling.top_p=0.95",
	}))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := resolve.Open(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := run.Train(t.Context(), run.Options{Opened: opened, Dir: dir, Device: gputest.Devices(t)[0], Show: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func draws(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Draws(t.Context(), dir, gputest.Devices(t)[0], Options{Show: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edit replaces the first match of a pattern in a file and returns what puts it back.
func edit(t *testing.T, file, pattern, with string) (restore func()) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(pattern).FindIndex(old)
	if at == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(old[:at[0]]) + with + string(old[at[1]:]))
	return func() { write(string(old)) }
}

// TestDrawsLagged: with a lag, the weights of a checkpoint are held against the step that they
// drew, and the first weights of the stage against all steps that they drew.
func TestDrawsLagged(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	r := draws(t, drawnRun(t, "stage.rl.lag=1", "stage.rl.algorithm.weight=tis"))
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
		if c.Name == "step 11" && !strings.HasSuffix(c.Detail, "weights of step-000009") {
			t.Errorf("step 11: %s", c.Detail)
		}
	}
	if want := []string{"this device", "step 9", "step 10", "evaluation after warm-up", "step 11", "evaluation after rl"}; !r.OK || !slices.Equal(names, want) {
		t.Errorf("checks %q, want %q", names, want)
	}
}

// TestDrawsArrived: groups that came as they were drawn are held against the weights that the
// schedule names, and a schedule that names others is found.
func TestDrawsArrived(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	dir := drawnRun(t, "stage.rl.lag=1", "stage.rl.algorithm.weight=tis", "stage.rl.order=arrival")
	r := draws(t, dir)
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	if want := []string{"this device", "prompts of step 9", "prompts of step 10", "evaluation after warm-up", "prompts of step 11", "evaluation after rl"}; !r.OK || !slices.Equal(names, want) {
		t.Errorf("checks %q, want %q", names, want)
	}
	// A run that stops because too little was scored has that after its last step.
	log := filepath.Join(dir, "completions.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(bytes.TrimSpace(text), []byte("\n"))
	refused := regexp.MustCompile(`"step":\d+`).ReplaceAll(all[len(all)-1], []byte(`"step":12`))
	if err := os.WriteFile(log, slices.Concat(text, refused, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := draws(t, dir); !r.OK || len(r.Checks) != len(names) {
		t.Errorf("with what was refused: %+v", r.Checks)
	}
	edit(t, filepath.Join(dir, "schedule.jsonl"), `"prompt":0`, `"prompt":9`)
	if r := draws(t, dir); r.OK || r.failed() != 1 || r.Checks[0].Name != "prompts of step 9" {
		t.Errorf("%+v", r.Checks)
	}
}

// TestDraws: what a run recorded is what is drawn again: the steps of all checkpoints,
// and the evaluations after both stages. What was changed in a log is named with its
// line, and a damaged checkpoint is left out.
func TestDraws(t *testing.T) {
	dir := drawnRun(t)
	r := draws(t, dir)
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	want := []string{"this device", "step 9", "evaluation after warm-up", "step 10", "step 11", "evaluation after rl"}
	if !r.OK || !slices.Equal(names, want) {
		t.Errorf("checks %q, want %q", names, want)
	}
	if d := r.Checks[1].Detail; !strings.HasPrefix(d, "16 completions, ") || !strings.HasSuffix(d, " tokens: all as recorded, drawn again with the weights of step-000008") {
		t.Errorf("step 9: %s", d)
	}

	completions, evaluations := filepath.Join(dir, "completions.jsonl"), filepath.Join(dir, "evaluations.jsonl")
	for _, c := range []struct{ file, pattern, with, check, found string }{
		{completions, `"completion":"[^"]*"`, `"completion":"1"`, "step 9", "completions.jsonl, line 1: token "},
		{completions, `"tokens":\d+`, `"tokens":999`, "step 9", "completions.jsonl, line 1: 999 tokens are recorded, "},
		{completions, `"stop":"[^"]*"`, `"stop":"stop"`, "step 9", `completions.jsonl, line 1: the end differs: "stop" is recorded, `},
		{completions, `(?s)"sample":0(.*?"sample":)1`, `"sample":1${1}0`, "step 9", "completions.jsonl, line 1: token "},
		{evaluations, `"completion":"[^"]*"`, `"completion":"1"`, "evaluation after warm-up", "evaluations.jsonl, line 1: token "},
	} {
		with := c.with
		if strings.Contains(with, "$") {
			old, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			re := regexp.MustCompile(c.pattern)
			with = string(re.Expand(nil, []byte(with), old, re.FindSubmatchIndex(old)))
		}
		restore := edit(t, c.file, c.pattern, with)
		r := draws(t, dir)
		if first := r.Checks[0]; r.OK || r.failed() != 1 || first.Name != c.check || !strings.Contains(first.Detail, c.found) || first.Advice == "" {
			t.Errorf("%s for %s: %d failed, the first: %+v", c.with, c.pattern, r.failed(), first)
		}
		restore()
	}

	restore := edit(t, filepath.Join(dir, "checkpoints", "step-000009", "model.safetensors"), `(?s)..$`, "xx")
	if r := draws(t, dir); !r.OK || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0], "step-000009, as the checkpoint is damaged") {
		t.Errorf("a damaged checkpoint: %+v", r)
	}
	restore()

	best := filepath.Join(dir, "best")
	if err := os.RemoveAll(best); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(best, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "checkpoints", "step-000009"), filepath.Join(best, "step-000009")); err != nil {
		t.Fatal(err)
	}
	r = draws(t, dir)
	if names = nil; !r.OK {
		t.Errorf("with the best model: %+v", r)
	}
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if c.Name == "step 10" && !strings.HasSuffix(c.Detail, "weights of the best model, that of step 9") {
			t.Errorf("step 10: %s", c.Detail)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("with the best model, checks %q, want %q", names, want)
	}
	edit(t, filepath.Join(best, "step-000009", "model.safetensors"), `(?s)..$`, "xx")
	if r := draws(t, dir); !r.OK || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0], "completions drawn with the best model: ") {
		t.Errorf("a damaged best model: %+v", r)
	}
}

// TestDrawsAdapter: checkpoints of a run that trains an adapter hold it alone.
func TestDrawsAdapter(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	if r := draws(t, drawnRun(t, "model.lora.rank=4", "model.dtype=bf16")); !r.OK || len(r.Checks) != 6 {
		t.Errorf("%+v", r)
	}
}

// TestDrawsTrained: what a model beside the policy drew while a stage trained it is drawn again with its
// weights, and what the policy drew before and after with the policy's.
func TestDrawsTrained(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	const text = "base = '" + preset + `'
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
eval_every = 0
checkpoint_every = 1
optimizer = {lr = 0.03, warmup_steps = 0}
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - teacher)/2"
`
	for kind, more := range map[string][]string{"whole": nil, "adapter": {"model.lora.rank=4", "model.dtype=bf16"}} {
		var names []string
		for _, c := range draws(t, drawnBy(t, text, append(more, "checkpoint.keep=1000")...)).Checks {
			names = append(names, c.Name)
			if !c.OK {
				t.Errorf("%s: %s: %s", kind, c.Name, c.Detail)
			}
		}
		want := []string{"this device", "step 9", "evaluation after warm-up", "step 10", "step 11", "evaluation after teach", "step 12", "step 13", "evaluation after rl"}
		if !slices.Equal(names, want) {
			t.Errorf("%s: checks %q, want %q", kind, names, want)
		}
	}
}

// TestDrawsBesideNew: while a model of another shape learns, the policy draws what is evaluated.
func TestDrawsBesideNew(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	text := "base = '" + preset + `'
[models.writer]
family = "llama"
layers = 1
width = 24
heads = 2
mlp = 32
[[stage]]
name = "warm-up"
trains = "writer"
[[stage]]
name = "rl"
[stage.algorithm]
penalty = "0.05*square(logp - writer)/2"
`
	after := 0
	for _, c := range draws(t, drawnBy(t, text)).Checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
		if c.Name == "evaluation after warm-up" {
			after++
		}
	}
	if after != 1 {
		t.Errorf("%d evaluations after the stage of the other model were checked", after)
	}
}

// TestDrawsOther: weights other than the run's draw other completions.
func TestDrawsOther(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a run of its own; TestDraws does too")
	}
	dir := drawnRun(t)
	seed := edit(t, filepath.Join(dir, recipe.File), `(?m)^seed = \d+`, "seed = 77")
	if r := draws(t, dir); r.failed() != 5 {
		t.Errorf("with another seed %d checks failed: %+v", r.failed(), r)
	}
	seed()
	if err := os.RemoveAll(filepath.Join(dir, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "checkpoints"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Draws(t.Context(), dir, gputest.Devices(t)[0], Options{Show: io.Discard})
	if !errors.Is(err, lines.ErrInput) || len(hint.All(err)) != 1 {
		t.Errorf("a run without checkpoints: %v", err)
	}
}

// TestDrawsOfConversations: prompts that a chat template wrote are written again, those
// of messages from the log alone.
func TestDrawsOfConversations(t *testing.T) {
	start, at := t.TempDir(), t.TempDir()
	for _, name := range []string{"models/qwen3_tied_f32/config.json", "models/qwen3_tied_f32/model.safetensors", "chat/tokenizer.json", "chat/tokenizer_config.json", "chat/chat_template.jinja"} {
		data, err := os.ReadFile(filepath.Join(fixtures.Root(t), "testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(start, filepath.Base(name)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"messages":[{"role":"user","content":"count"},{"role":"assistant","content":"%d"},{"role":"user","content":"and %d"}],"answer":"%d"}`+"\n", i, i, i)
	}
	data := filepath.Join(at, "rows.jsonl")
	if err := os.WriteFile(data, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := recipe.Parse(filepath.Join(at, "r.toml"), fmt.Sprintf(`model.path = %q
[task]
data = "rows.jsonl"
verifier = "number"
system = "Count."
max_prompt_tokens = 96
eval_problems = 2
eval_samples = 1
[[stage]]
kind = "rl"
steps = 2
prompts_per_step = 2
group_size = 2
checkpoint_every = 1
optimizer.lr = 0.0
sampling.max_completion_tokens = 5
`, filepath.ToSlash(start)), nil)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := resolve.Open(rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := run.Train(t.Context(), run.Options{Opened: opened, Dir: dir, Device: gputest.Devices(t)[0], Show: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	r := draws(t, dir)
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
	}
	// No checkpoint has the weights that the run began with, but the best model, as nothing was better.
	if want := []string{"this device", "step 1", "evaluation before rl", "step 2", "evaluation after rl"}; !r.OK || !slices.Equal(names, want) {
		t.Errorf("checks %q, want %q: %+v", names, want, r)
	}
	log := filepath.Join(dir, "completions.jsonl")
	text, err := os.ReadFile(log)
	if err == nil {
		err = os.WriteFile(log, bytes.ReplaceAll(text, []byte(`"content":"count"`), []byte(`"content":"other"`)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := draws(t, dir); r.OK {
		t.Error("another conversation draws the same completion")
	}
}

// playedRun is a run of a small recipe of a task in turns.
func playedRun(t *testing.T, sets ...string) string {
	t.Helper()
	return playedOf(t, "guess-tiny", sets...)
}

// playedOf is such a run of a recipe.
func playedOf(t *testing.T, name string, sets ...string) string {
	t.Helper()
	r, err := recipe.Load(name, append([]string{
		"model.width=16", "model.heads=2", "model.head_dim=8", "model.mlp=24", "model.init_std=0.6", "task.eval_problems=3", "task.eval_samples=2",
		"stage.warm-up.batch_size=4", "stage.warm-up.hold_steps=3", "stage.warm-up.decay_steps=2", "stage.warm-up.test_every=3",
		"stage.rl.prompts_per_step=2", "stage.rl.group_size=3", "stage.rl.steps=2", "stage.rl.checkpoint_every=1", "stage.rl.eval_problems=2", "stage.rl.sampling.temperature=0.8",
	}, sets...))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := resolve.Open(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := run.Train(t.Context(), run.Options{Opened: opened, Dir: dir, Device: gputest.Devices(t)[0], Show: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDrawsOfTrees: completions that go on from others are drawn again after what they go on from.
func TestDrawsOfTrees(t *testing.T) {
	played := playedRun(t, "stage.rl.tree.rounds=2", "stage.rl.tree.roots=2", "stage.rl.tree.open=1", "stage.rl.tree.width=2", "stage.rl.tree.distinct=true", "stage.rl.group_size=6")
	if all := draws(t, played); !all.OK {
		t.Fatalf("of turns: %+v", all)
	}
	defer edit(t, filepath.Join(played, "completions.jsonl"), `"branch":\{"number":0,"after"`, `"branch":{"number":1,"after"`)()
	if all := draws(t, played); all.OK || !strings.Contains(all.Checks[0].Detail, "line 3: turn ") {
		t.Errorf("a turn of another branch: %+v", all.Checks[0])
	}
	dir := drawnRun(t, "stage.rl.tree.rounds=2", "stage.rl.tree.roots=2", "stage.rl.tree.open=1", "stage.rl.tree.width=2", "stage.rl.tree.distinct=true", "stage.rl.tree.at=old_entropy > 0.2", "stage.rl.group_size=6")
	if all := draws(t, dir); !all.OK {
		t.Fatalf("%+v", all)
	}
	file := filepath.Join(dir, "completions.jsonl")
	var most []int // all tokens but the first
	for id := range 64 {
		most = append(most, id+1)
	}
	for _, c := range []struct{ pattern, with, found string }{
		{`"branch":\{"number":0,"after"`, `"branch":{"number":1,"after"`, "line 3: token "},
		{`"branch":\{"number":0,"after":[0-9]+`, `"branch":{"number":0,"after":99`, "line 3: it goes on from a completion that is not there"},
		{`"without":\[[0-9,]+\]`, `"without":[` + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(most)), ","), "[]") + "]", "line 3: token "},
	} {
		restore := edit(t, file, c.pattern, c.with)
		if r := draws(t, dir); r.OK || r.failed() != 1 || !strings.Contains(r.Checks[0].Detail, c.found) {
			t.Errorf("%s for %s: %+v", c.with, c.pattern, r.Checks)
		}
		restore()
	}
}

// TestDrawsOfEpisodes: the turns of episodes are drawn again after what was read between them, and a
// changed turn or reply is found at its turn.
func TestDrawsOfEpisodes(t *testing.T) {
	dir := playedRun(t)
	all := draws(t, dir)
	if !all.OK || len(all.Checks) != 5 {
		t.Fatalf("%+v", all)
	}
	file := filepath.Join(dir, "completions.jsonl")
	for _, c := range []struct{ pattern, with, found string }{
		{`"by":"policy","text":"[^"]*"`, `"by":"policy","text":"77 77 77"`, "line 1: turn 1: token "},
		{`"by":"world","text":"[^"]*"`, `"by":"world","text":"99"`, "line 1: turn "},
		{`"tokens":2,"read"`, `"tokens":1,"read"`, ": turn 1: 1 tokens are recorded, 2 drawn"},
	} {
		restore := edit(t, file, c.pattern, c.with)
		if r := draws(t, dir); r.OK || r.failed() != 1 || !strings.Contains(r.Checks[0].Detail, c.found) {
			t.Errorf("%s for %s: %+v", c.with, c.pattern, r.Checks)
		}
		restore()
	}
}

// TestDrawsOfContexts: turns whose context began anew are drawn again after what was read there, also summaries.
func TestDrawsOfContexts(t *testing.T) {
	dir := playedRun(t, `task.episode={tokens = 26, summary = {at = 4, ask = "-", before = ": "}}`, "stage.rl.sampling.max_completion_tokens=3", `stage.rl.algorithm={preset = "grpo"}`)
	if all := draws(t, dir); !all.OK || len(all.Checks) != 5 {
		t.Fatalf("%+v", all)
	}
	file := filepath.Join(dir, "completions.jsonl")
	edit(t, file, `"by":"policy","text":"[^"]*","tokens":[0-9]+,"read":[0-9]+,"summary":true`, `"by":"policy","text":"77 77 77","tokens":3,"read":6,"summary":true`)
	if r := draws(t, dir); r.OK || r.failed() != 1 || !strings.Contains(r.Checks[0].Detail, "line 1: turn 2: ") {
		t.Errorf("%+v", r.Checks)
	}
}

// TestDrawsOfProposals: problems that the policy wrote are drawn again, and what it made of them.
func TestDrawsOfProposals(t *testing.T) {
	for name, sets := range proposals {
		dir := playedOf(t, name, sets...)
		all := draws(t, dir)
		if !all.OK || !slices.ContainsFunc(all.Checks, func(c Check) bool { return strings.HasPrefix(c.Name, "problems written in step ") }) {
			t.Fatalf("%s: %+v", name, all)
		}
		defer edit(t, filepath.Join(dir, "completions.jsonl"), `"prompt":">`, `"prompt":"+`)()
		if r := draws(t, dir); r.OK {
			t.Errorf("%s, another prompt: %+v", name, r.Checks)
		}
	}
}

// proposals are small runs in which the policy writes problems.
var proposals = map[string][]string{
	"chain-sum-tiny": {"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", "model.init_std=0.1", "task.max_prompt_tokens=10", "stage.warm-up.optimizer.lr=0.01", "stage.warm-up.batch_size=8", "stage.warm-up.hold_steps=60", "stage.warm-up.until_valid=1", "stage.rl.updates_per_rollout=1",
		`stage.warm-up.propose={say = ">{question}"}`, `stage.rl.propose={say = ">{question}", count = 6}`},
}

// TestDrawsOfSeats: what the policy played in a seat is drawn again, in the stream of the seat and of the game,
// whoever played the others.
func TestDrawsOfSeats(t *testing.T) {
	warm := []string{"model.width=32", "model.head_dim=16", "model.mlp=48", "model.init_std=0.1", "stage.warm-up.optimizer.lr=0.01", "stage.warm-up.batch_size=8", "stage.warm-up.hold_steps=100", "stage.warm-up.until_valid=1"}
	for _, second := range []string{"policy", "random"} {
		dir := playedOf(t, "nim-tiny", append(warm, "stage.rl.seats.second="+second)...)
		if all := draws(t, dir); !all.OK {
			t.Fatalf("against %s: %+v", second, all)
		}
		file := filepath.Join(dir, "completions.jsonl")
		for _, c := range []struct{ pattern, with string }{{`"seat":"first"`, `"seat":"second"`}, {`"game":1`, `"game":2`}} {
			restore := edit(t, file, c.pattern, c.with)
			if r := draws(t, dir); r.OK || !strings.Contains(r.Checks[0].Detail, "line 1: turn ") {
				t.Errorf("%s for %s: %+v", c.with, c.pattern, r.Checks)
			}
			restore()
		}
	}
}
