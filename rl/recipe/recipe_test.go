package recipe

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/recipe/internal/schedule"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world/tools"
	_ "github.com/rlzero/rlzero/verify/instruct"
	"github.com/rlzero/rlzero/verify/judge"
	_ "github.com/rlzero/rlzero/verify/program" // its verifiers, which recipes name
)

// TestPresets: every preset loads, is short up to what it expects, says what it is, and its resolved
// text loads to the same recipe.
func TestPresets(t *testing.T) {
	for _, p := range presets.All() {
		r, err := Load(p.Name, nil)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		does, _, _ := strings.Cut(p.Text, "\n[[expect]]")
		if n := strings.Count(does, "\n"); n > 60 {
			t.Errorf("%s has %d lines, at most 60 are allowed", p.Name, n)
		}
		if r.Name != p.Name || r.About == "" || r.About != p.About || !strings.HasPrefix(p.Text, "# ") {
			t.Errorf("%s: name %q, about %q, begins %q", p.Name, r.Name, r.About, p.Text[:2])
		}
		sameAgain(t, r)
	}
}

// sameAgain checks that the resolved text gives the same recipe.
func sameAgain(t *testing.T, r *Recipe) {
	t.Helper()
	again, err := Parse("resolved.toml", r.Resolved(), nil)
	if err != nil {
		t.Fatalf("%s: %v\n%s", r.Name, err, r.Resolved())
	}
	one, other := *r, *again
	one.origin, other.origin = nil, nil
	for _, r := range []*Recipe{&one, &other} {
		r.Model.LoRA.Modules = append([]string{}, r.Model.LoRA.Modules...)
	}
	for i := range one.Stages {
		listsGiven(&one.Stages[i])
		listsGiven(&other.Stages[i])
	}
	if !reflect.DeepEqual(one, other) {
		t.Fatalf("%s: another recipe after\n%s\n%+v\n%+v", r.Name, r.Resolved(), one, other)
	}
}

// listsGiven makes lists that are absent empty ones, as they are after reading.
func listsGiven(s *Stage) {
	s.Verifiers, s.Make, s.Sources = append([]reward.Verifier{}, s.Verifiers...), append([]Making{}, s.Make...), append([]rowSource{}, s.Sources...)
}

// TestResolvedSaysEverything: each key that a recipe may have is in some
// resolved text, so a value is never a matter of the program's version.
func TestResolvedSaysEverything(t *testing.T) {
	verifiers := []reward.Verifier{{Verifier: "regex"}, {Source: "pass"}}
	candidates, taught, crowned, sft := Stage{Kind: KindRL}, Stage{Kind: KindRL}, Stage{Kind: KindRL}, Stage{Kind: KindSFT}
	crowned.Best.Every, crowned.Trains, crowned.Truth, crowned.Curriculum.Block = 4, "twin", "task", 2
	crowned.SecondChance.Entries = "0.5"
	crowned.Seats = map[string]any{"second": "twin"}
	crowned.Propose, sft.Propose = Propose{Say: "x"}, Propose{Say: "x"}
	crowned.Learn = map[string]Learning{"twin": {Kind: KindRL}, PolicyModel: {Kind: KindSFT, second: true}}
	candidates.Curriculum.Completions, taught.Tree.Rounds = "1", 1
	candidates.Curriculum.Candidates, taught.Curriculum.Teacher.Space = 2, map[string]any{"numbers": []any{2.0, 4.0}}
	models := map[string]Member{"new": {Shape: Shape{Family: "x"}}, "teacher": {Path: "x"}, "twin": {Copy: "policy"}, "mean": {Weights: "policy"}, "sum": {Logits: "policy + twin"}, "far": {URL: "127.0.0.1:1"}}
	r := Recipe{Models: models, Task: Task{Settings: &tasks.Countdown{}}, Expect: []Expectation{{}}, Stages: []Stage{sft, {Kind: KindRL, RL: RL{Verifiers: verifiers}, Make: []Making{{}}, Sources: []rowSource{{}}}, candidates, taught, crowned, {Kind: KindEval}}}
	calculator, _ := tools.Lookup("calculator")
	inTurns, err := tasks.New("guess")
	if err != nil {
		t.Fatal(err)
	}
	text := r.Resolved() + (&Recipe{Task: Task{Data: "x.jsonl"}}).Resolved() + (&Recipe{Task: Task{Settings: inTurns}}).Resolved() + (&Recipe{Task: Task{Data: "x.jsonl", Tools: []Tool{{Options: calculator.Options()}}}}).Resolved() + (&Recipe{Task: Task{Data: "x.jsonl", Tools: []Tool{{MCP: []string{"x"}}}}}).Resolved() + (&Recipe{Task: Task{World: World{Command: []string{"x"}}}}).Resolved()
	var check func(v reflect.Value)
	check = func(v reflect.Value) {
		for _, f := range settings.Fields(v.Interface()) {
			if f.Key == "NAME" { // stands for whatever a method has
				continue
			}
			if !regexp.MustCompile(`(?m)^(` + f.Key + ` = |\[.*\b` + f.Key + `[\].])`).MatchString(text) {
				t.Errorf("%s.%s is not in the resolved text", v.Type(), f.Key)
			}
			if inner := reflect.ValueOf(f.Value()); inner.Kind() == reflect.Struct {
				check(inner)
			}
		}
	}
	check(reflect.ValueOf(Recipe{}))
	check(reflect.ValueOf(Stage{}))
	check(reflect.ValueOf(tasks.Countdown{}))
	check(reflect.ValueOf(reward.Verifier{}))
	check(reflect.ValueOf(Expectation{}))
	check(reflect.ValueOf(Member{}))
	check(reflect.ValueOf(Learning{}))
	check(reflect.ValueOf(Tool{}))
	check(reflect.ValueOf(Making{}))
	check(reflect.ValueOf(rowSource{}))
}

// TestRoundTrip: random recipes, written and read, are the same.
func TestRoundTrip(t *testing.T) {
	seed := uint64(1)
	r := rand.New(rand.NewPCG(seed, 0))
	names := slices.DeleteFunc(algo.MethodNames(), func(name string) bool { return !trains(t, name) })
	for range 100 {
		examples := presets.All()
		base, err := Load(examples[r.IntN(len(examples))].Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		base.Name = "x" + strings.NewReplacer("/", "", `\`, "").Replace(randomText(r)) // part of a folder's name
		base.About = randomText(r)
		if slices.ContainsFunc(base.Expect, func(e Expectation) bool { return strings.HasPrefix(e.Metric, "my/") }) {
			base.Expect = nil // its metric is one of a method that is replaced
		}
		if base.Models != nil { // methods that do not read them take the place of those that do
			withoutModels(t, base)
		}
		for i := range base.Stages {
			s := &base.Stages[i]
			if s.Kind == KindPreference && s.Learner() != PolicyModel { // of whose heads there is none now
				m, err := algo.LoadMethod("dpo")
				if err != nil {
					t.Fatal(err)
				}
				a, err := m.Compile(s.facts())
				if err != nil {
					t.Fatal(err)
				}
				s.Algorithm = Algorithm{Preset: m.Name}
				s.Algorithm.write(a.Resolved())
			}
			s.models, s.Learn, s.Trains = nil, nil, stageDefaults(s.Kind).Trains
			s.Verifiers = slices.DeleteFunc(slices.Clone(s.Verifiers), func(v reward.Verifier) bool { return v.Verifier == judge.Name }) // which ask them
			scramble(r, s, s.Kind)
			if s.Learns() {
				scramble(r, &s.Optimizer, s.Kind)
				s.Optimizer.rule = stageDefaults(s.Kind).Optimizer.rule // whose keys go together
				s.Optimizer.Rule, s.Optimizer.Betas[1] = "amsgrad", r.Float64()
			}
			s.Name = fmt.Sprintf("s-%d", i)
			s.Skip = s.Skip && len(s.Make) == 0 // whose rows others may draw
			if s.SFT.Show == "" {
				s.SFT.ShowShare = stageDefaults(s.Kind).ShowShare
			}
			if s.Kind == KindMake {
				s.GroupSize++ // pairs are of at least two
			}
			if s.Kind == KindRL {
				m, err := algo.LoadMethod(names[r.IntN(len(names))])
				if err != nil {
					t.Fatal(err)
				}
				a, err := m.With(nil, map[string]string{"penalty": fmt.Sprintf("%v*k2", r.Float64())}, nil).Compile(s.facts())
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Algorithm.State) > 0 { // which the others may read
					s.Curriculum, s.Numbers, s.Replay.Store, s.SecondChance = stageDefaults(KindRL).Curriculum, stageNumbers{}, "", stageDefaults(KindRL).SecondChance
					for k := range s.Make {
						s.Make[k].Where = ""
					}
				}
				if !slices.Contains(a.Needs(), "greedy_reward") {
					s.Best = stageDefaults(KindRL).Best
				} else { // of a prompt of the task
					s.Propose = stageDefaults(KindRL).Propose
				}
				if strings.Contains(s.Curriculum.Order, "prompt_value") && !slices.Contains(a.Needs(), "value") {
					s.Curriculum = stageDefaults(KindRL).Curriculum
				}
				s.Algorithm = Algorithm{Preset: m.Name, Metrics: map[string]any{"my/x": "step_mean(tokens) + 0.5"}}
				s.Algorithm.write(a.Resolved())
				if !slices.Contains(a.Needs(), "value") {
					s.Optimizer.ValueLR = 0
				}
				scramble(r, &s.Sampling, s.Kind)
				if s.Curriculum.Block > 0 { // a list fills a step
					s.Curriculum.Pool = max(s.Curriculum.Pool, s.PromptsPerStep)
				}
				s.GroupSize++                       // estimators compare at least two
				s.Tree = stageDefaults(KindRL).Tree // which says how large groups are, and has formulas of its own
				if s.Order = "drawn"; s.Lag > 0 && !s.played && !s.Proposes() && s.Refill.Tries+len(s.SecondChance.When+s.Replay.Store)+len(s.Make)+len(s.Sources) == 0 && !slices.Contains(a.Needs(), "greedy_reward") {
					s.Order = "arrival"
				}
				s.UpdatesPerRollout = 1 + r.IntN(s.PromptsPerStep)
				s.EvalProblems = 1 + r.IntN(base.Task.EvalProblems)
				// Formulas of the example have the example's bounds.
				s.Numbers.MaxCompletionTokens, s.Numbers.GroupSize, s.Numbers.PromptsPerStep = "", "", ""
				s.SecondChance.Replace = min(s.SecondChance.Replace, s.GroupSize)
			}
		}
		if r.IntN(2) == 0 {
			base.Model = Model{Path: filepath.ToSlash(t.TempDir()) + "/" + randomText(r), Dtype: "bf16", KVDtype: "f32", LoRA: lora{Rank: r.IntN(3), Alpha: 1 + r.Float64(), Modules: []string{"q_proj"}}}
		}
		sameAgain(t, base)
	}
}

// withoutModels takes the models out of a recipe, with the rows that they are asked about.
func withoutModels(t *testing.T, r *Recipe) {
	t.Helper()
	asked, made := r.ModelNames(), map[string]bool{}
	for i := range r.Stages {
		s := &r.Stages[i]
		makes, err := s.Makes()
		if err != nil {
			t.Fatal(err)
		}
		s.Make = nil
		for _, m := range makes {
			if !slices.ContainsFunc(append(m.needs(), m.By), func(name string) bool { return slices.Contains(asked, name) }) {
				s.Make, made[m.Rows] = append(s.Make, m.Making), true
			}
		}
		s.Sources = slices.DeleteFunc(s.Sources, func(from rowSource) bool { return !made[from.Rows] })
		s.Sampling.FilterBy = ""
		if slices.ContainsFunc(asked, func(name string) bool { return strings.Contains(s.Curriculum.Order, name) }) {
			s.Curriculum = stageDefaults(KindRL).Curriculum
		}
	}
	r.Stages = slices.DeleteFunc(r.Stages, func(s Stage) bool {
		return s.Kind == KindMake && s.Make == nil || s.Kind == KindPreference && !r.Task.FromData() && !s.OfRows()
	})
	r.Models = nil
	if r.Task.Blocks() { // the problems have one answer then
		r.Task.Tools, r.Task.Episode = nil, Episode{History: HistoryAppend}
		for i := range r.Stages {
			r.Stages[i].played = false
		}
	}
	for _, asked := range r.Task.asked() { // tools can ask the policy, and a world can do without
		var of, by any = r.Task.Settings, ""
		if asked.key[1] == "tool" {
			i, err := strconv.Atoi(asked.key[2])
			if err != nil {
				t.Fatal(err)
			}
			of, by = r.Task.Tools[i].Options, PolicyModel
		}
		if err := settings.Set(of, asked.key[len(asked.key)-1], fmt.Sprintf("%q", by)); err != nil {
			t.Fatal(err)
		}
		for i := range r.Stages { // nobody writes
			r.Stages[i].Curriculum.Settings = maps.Clone(r.Stages[i].Curriculum.Settings)
			delete(r.Stages[i].Curriculum.Settings, "written")
		}
	}
}

// trains says whether a recipe can name a method.
func trains(t *testing.T, name string) bool {
	t.Helper()
	m, err := algo.LoadMethod(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.Trains()
}

// scramble gives every number, word and flag of a table another accepted value.
func scramble(r *rand.Rand, table any, kind string) {
	for _, f := range settings.Fields(table) {
		if !f.In(kind) || f.Key == "kind" {
			continue
		}
		text := ""
		switch {
		case f.Type() == "boolean":
			text = fmt.Sprint(r.IntN(2) == 0)
		case f.Choice != nil:
			text = f.Choice[r.IntN(len(f.Choice))]
		case f.Type() == "whole number":
			text = fmt.Sprint(int(math.Pow(10, 6*math.Pow(r.Float64(), 3))))
		case f.Type() == "number":
			text = fmt.Sprint(math.Pow(10, 4*r.Float64()-3))
		default:
			continue
		}
		_ = settings.Set(table, f.Key, text) // one that is not accepted changes nothing
	}
}

func randomText(r *rand.Rand) string {
	alphabet := []rune("ab \"\\\n\t\x00\x7f\r'#=[]é世😀")
	out := []rune{'x'}
	for range r.IntN(12) {
		out = append(out, alphabet[r.IntN(len(alphabet))])
	}
	return string(out)
}

func TestOverrides(t *testing.T) {
	r, err := Load("countdown-tiny", []string{
		"seed=7", "name=other", "stage.rl.steps = 3", "stage.0.optimizer.lr=0.5", "stage.warm-up.skip=true", "task.settings.aimed=0.25",
		"stage.rl.algorithm.preset=raft++", "stage.rl.sampling.top_p=0.5", "stage.rl.optimizer.betas=[0.5, 0.75]", `about="a=b"`,
	})
	if err != nil {
		t.Fatal(err)
	}
	warm, rl := r.Stages[0], r.Stages[1]
	if r.Seed != 7 || r.Name != "other" || r.About != "a=b" || !warm.Skip || warm.Optimizer.LR != 0.5 || rl.Steps != 3 ||
		rl.Sampling.TopP != 0.5 || rl.Optimizer.Betas != [2]float64{0.5, 0.75} || r.Task.Settings.(*tasks.Countdown).Aimed != 0.25 {
		t.Errorf("not applied: %+v", r)
	}
	want := map[string]any{"clip_low": 0.2, "clip_high": 0.28, "loss": "token_mean(weight*policy + penalty)", // the file's
		"keep": "reward > 0", "advantage": "reward", "policy": "ppo_clip", "weight": "1", "penalty": "0",
		"ppo_clip": "-min(ratio*A, clip(ratio, 1 - clip_low, 1 + clip_high)*A)", "ratio": "exp(log_ratio)", "log_ratio": "logp - start"}
	if !reflect.DeepEqual(rl.Algorithm.Values, want) {
		t.Errorf("algorithm %+v, want %+v", rl.Algorithm.Values, want)
	}
	sameAgain(t, r)
}

// example is a recipe whose lines stay where they are.
const example = `about = "two stages"
seed = 1

[model]
family = "qwen3"
layers = 2
width = 96
heads = 3
head_dim = 32
mlp = 256
rope_theta = 100.0
init_std = 0.1

[task]
name = "countdown"
eval_problems = 100
[task.settings]
numbers = 4
aimed = 0.3

[[stage]]
name = "warm-up"
kind = "sft"
batch_size = 32
[stage.optimizer]
lr = 3e-3

[[stage]]
name = "rl"
kind = "rl"
group_size = 8
prompts_per_step = 32
updates_per_rollout = 2
eval_problems = 50
[stage.algorithm]
preset = "grpo"
clip_high = 0.28
loss = "token_mean(weight*policy)"
[stage.optimizer]
lr = 3e-4 # of AdamW
warmup_steps = 5
`

// faults are mistakes in the example: its text old replaced by new, and what is said.
var faults = []struct{ name, old, new, want string }{
	{"top key", "seed = 1", "sede = 1", "FILE:2:1: unknown key sede; did you mean seed?"},
	{"renamed key", "mlp = 256", "mlp_width = 256", "FILE:4:2: [model] has no mlp: a model from random weights needs it. For a model that exists, give path\nFILE:10:1: unknown key model.mlp_width; did you mean width?"},
	{"table", "[stage.algorithm]", "[stage.algoritm]", "FILE:35:8: unknown key stage.rl.algoritm; did you mean algorithm?"},
	{"key of the first of two stages", "batch_size = 32", "batchsize = 32", "FILE:24:1: unknown key stage.warm-up.batchsize; did you mean batch_size?"},
	{"key that both stages have", "lr = 3e-3", "lr = true", "FILE:26:1: stage.warm-up.optimizer.lr = true is a boolean; accepted: a number from 0 to 10"},
	{"the same in the second", "lr = 3e-4", `lr = "3e-4"`, `FILE:40:1: stage.rl.optimizer.lr = "3e-4" is a string; accepted: a number from 0 to 10`},
	{"setting", "aimed = 0.3", "aim = 0.3", "FILE:19:1: unknown key task.settings.aim; did you mean aimed?"},
	{"algorithm key", "clip_high = 0.28", "clip_hi = 0.28", "FILE:37:1: stage.rl.algorithm.clip_hi: no formula in force reads this parameter; did you mean clip_high? (those that are read: clip_high, clip_low, std_eps)"},
	{"fraction", "group_size = 8", "group_size = 8.5", "FILE:31:1: stage.rl.group_size = 8.5 is a number with a fraction; accepted: a whole number from 1 to 65536"},
	{"range", "group_size = 8", "group_size = 0", "FILE:31:1: stage.rl.group_size = 0 is out of range; accepted: a whole number from 1 to 65536"},
	{"open range", "rope_theta = 100.0", "rope_theta = 0.0", "FILE:11:1: model.rope_theta = 0.0 is out of range; accepted: a number, above 0 and at most 1e12"},
	{"not a number", "init_std = 0.1", "init_std = nan", "FILE:12:1: model.init_std = nan is out of range; accepted: a number, above 0 and at most 10"},
	{"task's range", "numbers = 4", "numbers = 0", "FILE:18:1: task.settings.numbers = 0 is out of range; accepted: a whole number from 2 to 8"},
	{"wrong kind's key", "batch_size = 32", "group_size = 32", "FILE:24:1: stage.warm-up.group_size goes with kind = \"rl\" or \"make\"; this table has kind = \"sft\""},
	{"kind", `kind = "sft"`, `kind = "sfd"`, `FILE:23:1: stage.warm-up.kind = "sfd" is not known; did you mean sft? (accepted: sft, preference, rl, make, eval)`},
	{"no kind", `kind = "sft"`, ``, "FILE:21:3: stage 0 has no kind; accepted: sft, preference, rl, make, eval"},
	{"preset", `preset = "grpo"`, `preset = "gpro"`, `FILE:36:1: stage.rl.algorithm.preset = "gpro" is not known; did you mean grpo? (accepted: ` + strings.Join(algo.MethodNames(), ", ") + ")"},
	{"preset of another trainer", `preset = "grpo"`, `preset = "aot"`, `FILE:36:1: stage.rl.algorithm.preset: there is no preset aot: AOT sorts the margins of the batch, which no formula does; the preset dpo looks at each pair`},
	{"task", `name = "countdown"`, `name = "countdwn"`, `FILE:15:1: task.name = "countdwn" is not known; did you mean countdown? (rlzero tasks lists them all)`},
	{"formula", "token_mean(weight*policy)", "token_mean(weight*polcy)", "FILE:38:1: stage.rl.algorithm.loss: column 19: unknown name polcy; did you mean policy?"},
	{"formula of the preset", "clip_high = 0.28", "dynamic = \"reward\"\nkeep = \"dynamic\"", "FILE:38:1: stage.rl.algorithm.keep: a number where a condition is wanted; write a comparison, such as group_std(reward) > 0"},
	{"formula that nothing reads", "clip_high = 0.28", "polcy = \"reinforce\"", "FILE:37:1: stage.rl.algorithm.polcy would do nothing: no formula in force reads it; did you mean policy?"},
	{"rate of what is not there", "lr = 3e-4", "value_lr = 1e-3", "FILE:40:1: stage.rl.optimizer.value_lr = 0.001 would do nothing: no formula in force reads value, so there is no value head"},
	{"level", "token_mean(weight*policy)", "weight*policy", "FILE:38:1: stage.rl.algorithm.loss: one value for each token where one value for the run is wanted; write token_mean(...) or another normaliser around it"},
	{"a filter that looks at all groups", "[stage.algorithm]", "refill = {tries = 2}\n[stage.algorithm]\nkeep = \"group_mean(reward) > step_mean(reward)\"", "FILE:35:11: stage.rl.refill.tries = 2 does not go with the method's keep, which has to judge each group by itself: keep: column 22: step_mean is taken over several groups"},
	{"a curriculum that knows what comes later", "[stage.algorithm]", "curriculum = {pool = 9, weight = \"group_size\"}\n[stage.algorithm]", "FILE:35:25: stage.rl.curriculum.weight reads group_size, which is known after sampling"},
	{"a curriculum's name", "[stage.algorithm]", "curriculum = {pool = 9, weight = \"sene\"}\n[stage.algorithm]", "FILE:35:25: stage.rl.curriculum.weight: column 1: unknown name sene; did you mean seen?"},
	{"a best policy that nothing reads", "[stage.algorithm]", "best = {every = 4}\n[stage.algorithm]", "FILE:35:9: stage.rl.best.every = 4 would do nothing: no formula in force reads greedy_reward"},
	{"a best policy without a test", "clip_high = 0.28", "advantage = \"remax\"\n[stage.best]\nproblems = 9", "stage.rl.best does nothing without every: the steps between two tests, such as every = 10"},
	{"candidates without an order", "[stage.algorithm]", "curriculum = {candidates = 4}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.candidates goes with order, which says which of them come first"},
	{"candidates and a share", "[stage.algorithm]", "curriculum = {candidates = 4, order = \"row.level\", share = \"0.5\"}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.candidates draws new problems in every step: it does not go with weight, share or arms"},
	{"candidates and a pool", "[stage.algorithm]", "curriculum = {candidates = 4, order = \"row.level\", pool = 9}\n[stage.algorithm]", "stage.rl.curriculum.pool is a list of problems; candidates draws new ones in every step: remove one of them"},
	{"a block without an order", "[stage.algorithm]", "curriculum = {block = 4, pool = 99}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block goes with order, by which a fresh pass sorts the problems"},
	{"a block and a share", "[stage.algorithm]", "curriculum = {block = 4, pool = 99, order = \"-probed\", share = \"0.5\"}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block uses each problem of a list in its turn: it does not go with weight, share, arms or candidates"},
	{"a block and refills", "[stage.algorithm]", "curriculum = {block = 4, pool = 99, order = \"-probed\"}\nrefill.tries = 2\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block does not go with refill.tries, which draws other prompts in place of some"},
	{"a block and a replay", "[stage.algorithm]", "curriculum = {block = 4, pool = 99, order = \"-probed\"}\nreplay = {store = \"group_std(reward) > 0\"}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block does not go with replay.share, whose groups stand in place of some prompts"},
	{"a block and made rows", "[stage.algorithm]", "curriculum = {block = 4, pool = 99, order = \"-probed\"}\nsource = [{rows = \"failed\"}]\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block does not go with [[stage.source]], whose rows stand in place of some prompts"},
	{"a block and a number of prompts", "[stage.algorithm]", "curriculum = {block = 4, pool = 99, order = \"-probed\"}\nnumbers = {prompts_per_step = \"2\"}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.block does not go with numbers.prompts_per_step, which takes fewer of them in some steps"},
	{"a list that fills no step", "[stage.algorithm]", "curriculum = {block = 4, pool = 3, order = \"-probed\"}\n[stage.algorithm]", "FILE:35:26: stage.rl.curriculum.pool = 3 fills no step; accepted: at least prompts_per_step = "},
	{"a fresh pass without blocks", "[stage.algorithm]", "curriculum = {candidates = 4, order = \"row.level\", probe = 2}\n[stage.algorithm]", "curriculum.probe"},
	{"what no fresh pass found", "[stage.algorithm]", "curriculum = {pool = 99, weight = \"probed\"}\n[stage.algorithm]", "FILE:35:26: stage.rl.curriculum.weight reads probed, but nothing is drawn of problems before they are chosen; accepted: with curriculum.block"},
	{"value of prompts that nothing trains", "[stage.algorithm]", "curriculum = {candidates = 4, order = \"prompt_value\"}\n[stage.algorithm]", "FILE:35:31: stage.rl.curriculum.order reads prompt_value, but no loss of the stage reads value, so that nothing trains the value head"},
	{"a teacher without a space", "[stage.algorithm]", "curriculum.teacher = {refit = 9}\n[stage.algorithm]", "stage.rl.curriculum.teacher has no space: the settings of the task that it draws"},
	{"a teacher of no setting", "[stage.algorithm]", "curriculum.teacher = {space = {nubmers = [2, 3]}}\n[stage.algorithm]", "unknown key stage.rl.curriculum.teacher.space.nubmers; did you mean numbers?"},
	{"a teacher's ends", "[stage.algorithm]", "curriculum.teacher = {space = {numbers = [4, 2]}}\n[stage.algorithm]", "stage.rl.curriculum.teacher.space.numbers is not accepted; accepted: a list of two numbers, the smaller one first, such as [2, 4]"},
	{"a teacher's longer prompts", "[stage.algorithm]", "curriculum.teacher = {space = {numbers = [2, 5]}}\n[stage.algorithm]", "stage.rl.curriculum.teacher.space: prompts of "},
	{"a teacher and settings", "[stage.algorithm]", "curriculum = {settings = {numbers = \"3\"}, teacher = {space = {numbers = [2, 3]}}}\n[stage.algorithm]", "stage.rl.curriculum.teacher makes new problems in every step: it does not go with weight, order, arms, pool, candidates or settings"},
	{"order without a share", "[stage.algorithm]", "curriculum = {pool = 9, order = \"row.level\"}\n[stage.algorithm]", "stage.rl.curriculum.share and order go together"},
	{"share of each prompt", "[stage.algorithm]", "curriculum = {pool = 9, order = \"row.level\", share = \"row.level\"}\n[stage.algorithm]", "FILE:35:46: stage.rl.curriculum.share: one value for each group where one for the run is wanted"},
	{"no pool", "[stage.algorithm]", "curriculum = {weight = \"1\"}\n[stage.algorithm]", "stage.rl.curriculum.pool is missing: a procedural task has no list of problems"},
	{"pool alone", "[stage.algorithm]", "curriculum = {pool = 3}\n[stage.algorithm]", "FILE:35:15: stage.rl.curriculum.pool goes with weight, order or arms"},
	{"arms of no row", "[stage.algorithm]", "curriculum = {pool = 3, arms = \"category\"}\n[stage.algorithm]", "FILE:35:25: stage.rl.curriculum.arms = \"category\" is not accepted; accepted: a member of the rows, such as row.category"},
	{"settings and weights", "[stage.algorithm]", "curriculum = {pool = 3, weight = \"1\", settings = {numbers = \"3\"}}\n[stage.algorithm]", "FILE:35:39: stage.rl.curriculum.settings make new problems in every step: they do not go with weight"},
	{"setting that is not there", "[stage.algorithm]", "curriculum = {settings = {nubmers = \"3\"}}\n[stage.algorithm]", "FILE:35:27: unknown key stage.rl.curriculum.settings.nubmers; did you mean numbers?"},
	{"setting of a problem", "[stage.algorithm]", "curriculum = {settings = {numbers = \"seen\"}}\n[stage.algorithm]", "FILE:35:27: stage.rl.curriculum.settings.numbers reads seen, which belongs to a problem, but the problem does not exist yet"},
	{"settings with longer prompts", "[stage.algorithm]", "curriculum = {settings = {numbers = \"if(step > 50, 5, 4)\"}}\n[stage.algorithm]", "prompts of "},
	{"settings with longer prompts now and then", "[stage.algorithm]", "curriculum = {settings = {numbers = \"4 + (prompt_chance > 0.9)\"}}\n[stage.algorithm]", "prompts of "},
	{"settings with other tokens", "[stage.algorithm]", "curriculum = {settings = {max_number = \"if(step > 50, 40, 22)\", max_total = \"80\"}}\n[stage.algorithm]", "the problems have the token \""},
	{"setting out of range", "[stage.algorithm]", "curriculum = {settings = {numbers = \"if(step > 50, 9, 3)\"}}\n[stage.algorithm]", "numbers = 9 is out of range; accepted: a whole number from 2 to 8"},
	{"number of each prompt", "[stage.algorithm]", "numbers = {lr = \"seen\"}\n[stage.algorithm]", "FILE:35:12: stage.rl.numbers.lr: one value for each group where one for the run is wanted"},
	{"number out of range", "[stage.algorithm]", "numbers = {temperature = \"2 - step\"}\n[stage.algorithm]", "stage.rl in step 2: numbers.temperature = 0.0 is out of range; accepted: a number, above 0 and at most 100"},
	{"number above its largest", "[stage.algorithm]", "numbers = {group_size = \"8*step\"}\n[stage.algorithm]", "numbers.group_size is 16; accepted: at most group_size = 8, which is its upper bound"},
	{"a group of one by a formula", "[stage.algorithm]", "numbers = {group_size = \"9 - 8*step\"}\n[stage.algorithm]", "stage.rl in step 1: numbers.group_size is 1; accepted: at least 2, since the advantage compares"},
	{"number that is not whole", "[stage.algorithm]", "numbers = {group_size = \"8/step\"}\n[stage.algorithm]", "numbers.group_size is 1.6; accepted: a whole number from 1 to 65536"},
	{"unknown number", "[stage.algorithm]", "numbers = {lrr = \"1\"}\n[stage.algorithm]", "FILE:35:12: unknown key stage.rl.numbers.lrr; did you mean lr?"},
	{"table of a stage at the top", "[[stage]]\nname = \"warm-up\"", "[sampling]\ntop_k = 3\n[[stage]]\nname = \"warm-up\"", "FILE:21:2: sampling belongs to a stage: write [stage.sampling] below a [[stage]]"},
	{"key of a stage at the top", "seed = 1", "seed = 1\nsteps = 3", "FILE:3:1: steps belongs to a stage: write steps = ... below a [[stage]]"},
	{"no kind beside other stages", "kind = \"rl\"", "", "stage 1 has no kind; accepted: sft, preference, rl, make, eval; one that changes a stage of base has its name: warm-up"},
	{"a fact in place of a formula", "clip_high = 0.28", "clip_high = 0.28\nreward = \"2*task\"", "FILE:38:1: stage.rl.algorithm.reward: reward is a fact (the stage's reward; of rows of data 1 for a better or good completion and 0 for a worse or bad one), which no formula can replace; choose another name"},
	{"text without quotes", "preset = \"grpo\"", "preset = grpo", "FILE:36:10: expected value but found \"grpo\" instead; text stands in quotes"},
	{"no gradient", "clip_high = 0.28", "policy = \"grpo\"", "FILE:38:1: stage.rl.algorithm.loss: the loss reads none of logp, entropy, uniform_logp and value, so it has no gradient; write one that does, such as policy = \"reinforce\""},
	{"a curriculum by the reward", "[stage.algorithm]", "curriculum = {pool = 9, weight = \"reward\"}\n[stage.algorithm]", "FILE:35:25: stage.rl.curriculum.weight: column 1: unknown name reward; known before sampling: step, steps, progress, chance, states and, of a prompt, row.NAME"},
	{"share of hints without a hint", "batch_size = 32", "show_share = 0.5", "FILE:24:1: stage.warm-up.show_share = 0.5 would do nothing without show: add show, such as show = \"{answer} {question}\", or leave show_share out"},
	{"second chance without a way", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) == 0\"}\n[stage.algorithm]", "FILE:35:18: stage.rl.second_chance.when goes with one of show, prefix, rows and again; found 0 of them"},
	{"second chance without a condition", "[stage.algorithm]", "second_chance = {again = 1.2}\n[stage.algorithm]", "FILE:35:18: stage.rl.second_chance.again goes with when"},
	{"second chance of completions", "[stage.algorithm]", "second_chance = {when = \"reward == 0\", again = 1.2}\n[stage.algorithm]", "FILE:35:18: stage.rl.second_chance.when: one value for each completion where one for each group is wanted"},
	{"second chance over groups", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) < step_max(reward)\", again = 1.2}\n[stage.algorithm]", "stage.rl.second_chance.when: it has to judge each group by itself: "},
	{"entries without a text", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) == 0\", again = 1.2, entries = \"0.5\"}\n[stage.algorithm]", "stage.rl.second_chance.entries goes with show, whose lists have the entries"},
	{"what stands between no entries", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) == 0\", show = \"{question}\", between = \">\"}\n[stage.algorithm]", "stage.rl.second_chance.between goes with entries"},
	{"entries of tokens", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) == 0\", show = \"{question}\", entries = \"old\"}\n[stage.algorithm]", "stage.rl.second_chance.entries: one value for each token where one for each completion is wanted"},
	{"more chances than completions", "[stage.algorithm]", "second_chance = {when = \"group_max(reward) == 0\", again = 1.2, replace = 9}\n[stage.algorithm]", "stage.rl.second_chance.replace = 9 is out of range; accepted: at most group_size = 8, or 0 for all"},
	{"store by numbers", "[stage.algorithm]", "replay = {store = \"group_std(reward)\"}\n[stage.algorithm]", "FILE:35:11: stage.rl.replay.store: a number where a condition is wanted"},
	{"stale rows that no key asks for", "clip_high = 0.28", "weight = \"if(foreign, 0, 1)\"", "stage.rl.algorithm reads foreign (a file has it; its old is start; with [stage.second_chance], [stage.replay] or lag"},
	{"fact that nothing supplies", "clip_high = 0.28", "advantage = \"reward - mean(collision)\"", "stage.rl.algorithm reads collision (sum of the squared probabilities when the token was drawn; exp(old) has the same mean over draws, so that otb trains with otb_weight = \"1 - exp(old)\"; no stage supplies it yet)"},
	{"metric's name", "clip_high = 0.28", "metrics = {\"long\" = \"step_max(tokens)\"}", "FILE:37:13: stage.rl.algorithm.metrics.long: the name of a metric is not accepted; accepted: my/ and lower-case letters"},
	{"metric's level", "clip_high = 0.28", "metrics = {\"my/long\" = \"tokens\"}", "stage.rl.algorithm.metrics.my/long: one value for each completion where one value for the run is wanted"},
	{"nan", "clip_high = 0.28", "clip_high = nan", "FILE:37:1: stage.rl.algorithm.clip_high = nan is not accepted; accepted: a number, inf, -inf"},
	{"list", "clip_high = 0.28", "clip_high = [0.28]", "FILE:37:1: stage.rl.algorithm.clip_high = [...] is a list of 1 values; accepted: a number, or text in quotes"},
	{"path and dimensions", "[model]", "[model]\npath = \"a\"", "FILE:6:1: model.family cannot be set together with model.path = \"a\", whose config.json has it: remove one of them"},
	{"table without a place", "[task.settings]", "[tasks.settings]", "FILE:17:2: unknown key tasks; did you mean task?"},
	{"settings that do not go together", "numbers = 4", "max_number = 800", "FILE:17:7: task.settings.max_total = 45 is out of range; accepted: at least max_number = 800"},
	{"no problems left", "numbers = 4", "max_number = 1\nmax_total = 1", "FILE:17:7: task.settings: these settings leave no training problems or no held-out problems"},
	{"number for a table", "[task.settings]", "settings = 3\n[checkpoint]", "FILE:17:1: task.settings = 3 is a whole number; accepted: a table [task.settings]"},
	{"list for a number", "group_size = 8", "group_size = [8]", "FILE:31:1: stage.rl.group_size = [...] is a list of 1 values; accepted: a whole number from 1 to 65536"},
	{"date", "seed = 1", "seed = 2026-01-01", "is a date or time; accepted: a whole number from 0 to 9223372036854775807"},
	{"one stage table", "[[stage]]\nname = \"warm-up\"", "[stage]\nname = \"warm-up\"", "FILE:28:3: "},
	{"head size", "head_dim = 32", "head_dim = 31", "FILE:9:1: model.head_dim = 31; accepted: an even number from 2"},
	{"blocks that are to learn", "layers = 2", "layers = 2\ndtype = \"q8_0\"", "FILE:7:1: model.dtype = \"q8_0\" keeps matrices in blocks, which no update can change, and model.lora.rank is 0; accepted: an adapter that is trained in their place (model.lora.rank above 0), or f32, bf16\nhint: --set model.lora.rank=16"},
	{"smaller blocks that are to learn", "layers = 2", "layers = 2\ndtype = \"q4_0\"\nlora = {alpha = 8}", "FILE:7:1: model.dtype = \"q4_0\" keeps matrices in blocks"},
	{"heads", "head_dim = 32", "kv_heads = 2", "FILE:9:1: model.kv_heads = 2 does not divide model.heads = 3"},
	{"list", "warmup_steps = 5", "betas = [0.9]", "FILE:41:1: stage.rl.optimizer.betas = [...] is a list of 1 values; accepted: a list of 2 values"},
	{"value for a table", "[stage.algorithm]", "algorithm = \"grpo\"\n[stage.sampling]", "FILE:35:1: stage.rl.algorithm = \"grpo\" is a string; accepted: a table [stage.algorithm]"},
	{"more problems than there are", "eval_problems = 50", "eval_problems = 101", "FILE:34:1: stage.rl.eval_problems = 101 is out of range; accepted: at most task.eval_problems = 100"},
	{"more updates than prompts", "updates_per_rollout = 2", "updates_per_rollout = 33", "FILE:33:1: stage.rl.updates_per_rollout = 33 is out of range; accepted: at most prompts_per_step = 32, since each update takes whole groups"},
	{"arrival without a lag", "updates_per_rollout = 2", "updates_per_rollout = 2\norder = \"arrival\"", "FILE:34:1: stage.rl.order = \"arrival\" needs a lag of 1 or more: with lag = 0 a step can learn from no groups but its own"},
	{"arrival with a refill", "[stage.algorithm]", "order = \"arrival\"\nlag = 1\nrefill = {tries = 2}\n[stage.algorithm]", "FILE:35:1: stage.rl.order = \"arrival\" does not go with [stage.refill]: accepted with order = \"drawn\""},
	{"a group of one", "group_size = 8", "group_size = 1", "FILE:31:1: stage.rl.group_size = 1 is out of range; accepted: at least 2, since the advantage compares the completions of one prompt: a single one has the advantage 0"},
	{"equal names", `name = "rl"`, `name = "warm-up"`, `FILE:29:1: two stages are called "warm-up": give each a name = "..." of its own`},
	{"number as a name", `name = "rl"`, `name = "1"`, `FILE:29:1: stage name "1" is not accepted; accepted: letters, digits, - and _, but not just a number`},
	{"syntax", "layers = 2", "layers = = 2", "FILE:6:10: "},
	{"key twice", "layers = 2", "layers = 2\nlayers = 3", "FILE:7:12: "},
	{"not text", "seed", "\xff", "is not UTF-8 text"},
}

// TestErrors: what is wrong is named with its place, what was found and what is
// accepted.
func TestErrors(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(example, c.old, c.new, 1)
			if text == example {
				t.Fatalf("%q is not in the example", c.old)
			}
			file := filepath.Join(t.TempDir(), "recipe.toml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(file, nil)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("error %v", err)
			}
			got := strings.Join(append([]string{err.Error()}, hint.All(err)...), "\nhint: ")
			if want := strings.ReplaceAll(c.want, "FILE", file); !strings.Contains(got, want) {
				t.Errorf("got\n%v\nwant\n%s", got, want)
			}
		})
	}
}

// TestAllErrorsAtOnce: one reading of the message is enough to mend a recipe.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := Parse("r.toml", "sed = 1\n[model]\npath = 3\n[task]\nname = \"countdown\"\neval_samples = 0\n[[stage]]\nkind = \"rl\"\nstep = 3\n", nil)
	want := "invalid recipe: r.toml:1:1: unknown key sed; did you mean seed?\n" +
		"r.toml:3:1: model.path = 3 is a whole number; accepted: text in quotes\n" +
		"r.toml:6:1: task.eval_samples = 0 is out of range; accepted: a whole number from 1 to 4096\n" +
		"r.toml:9:1: unknown key stage.rl.step; did you mean steps?"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestOverrideErrors(t *testing.T) {
	for set, want := range map[string]string{
		"stage.rl.stps=3":     "--set stage.rl.stps=3: unknown key stage.rl.stps; did you mean steps?",
		"stage.rl.steps=many": `--set stage.rl.steps=many: stage.rl.steps = "many" is a string; accepted: a whole number from 1 to 1000000000`,
		// The sum of two lengths is a number of steps too.
		"stage.warm-up.hold_steps=9223372036854775807": "stage.warm-up.hold_steps = 9223372036854775807 is out of range; accepted: a whole number from 1 to 1000000000",
		"stage.lr.steps=3":         `--set stage.lr.steps=3: there is no stage "lr"; did you mean rl? (accepted: warm-up, rl, or an index from 0)`,
		"stage.2.steps=3":          "accepted: warm-up, rl, or an index from 0",
		"stage.rl=3":               "stage is a list of tables: write stage.NAME.KEY, such as stage.rl.steps",
		"seed.x=1":                 "--set seed.x=1: seed is a value and has no keys",
		"nothing":                  "--set nothing: write PATH=VALUE, such as seed=2 or stage.rl.steps=10",
		"=3":                       "write PATH=VALUE",
		"task.settings.numbers=99": "--set task.settings.numbers=99: task.settings.numbers = 99 is out of range; accepted: a whole number from 2 to 8",
		"stage.rl.steps=3\nseed=4": "accepted: a whole number",
	} {
		_, err := Load("countdown-tiny", []string{set})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s: got %v, want %s", set, err, want)
		}
	}
}

// TestSharedStart: a run from another one's model needs only its path.
func TestSharedStart(t *testing.T) {
	r, err := Load("countdown-tiny", []string{"model.dtype=bf16", "model.lora.rank=8", "model.path=runs/first", "stage.warm-up.skip=true"})
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Path != filepath.ToSlash(here)+"/runs/first" || r.Model.Dtype != "bf16" || r.Model.KVDtype != "f32" || r.Model.LoRA.Rank != 8 || r.Model.Family != "" || !r.Stages[0].Skip {
		t.Errorf("%+v", r)
	}
	sameAgain(t, r)
}

func TestUnknownRecipe(t *testing.T) {
	if _, err := Load("countdown-tinny", nil); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "did you mean countdown-tiny?") {
		t.Errorf("preset: %v", err)
	}
	if _, err := Load("no/such.toml", nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no/such.toml") {
		t.Errorf("file: %v", err)
	}
}

// TestLearningRate: ramp, hold and fall by hand, and never 0.
func TestLearningRate(t *testing.T) {
	for _, c := range []struct {
		schedule string
		want     []float64 // steps 0..5 of six, two of warm-up
	}{
		{`"constant"`, []float64{.5, 1, 1, 1, 1, 1}},
		{`"linear"`, []float64{.5, 1, .8, .6, .4, .2}},
		{`"linear", floor = 0.5`, []float64{.5, 1, .9, .8, .7, .6}},
		{`"cosine"`, []float64{.5, 1, cosine(.2), cosine(.4), cosine(.6), cosine(.8)}},
		{`"cosine", cycles = 1`, []float64{.5, 1, cosine(.4), cosine(.8), cosine(1.2), cosine(1.6)}},
		{`"cosine_restarts", cycles = 2.5`, []float64{.5, 1, cosine(.5), 1, cosine(.5), 1}},
		{`"polynomial", power = 2`, []float64{.5, 1, .64, .36, .16, .04}},
		{`"inverse_sqrt", timescale = 1`, []float64{.5, 1, math.Sqrt(1. / 2), math.Sqrt(1. / 3), .5, math.Sqrt(1. / 5)}},
		{`"inverse_sqrt"`, []float64{.5, 1, math.Sqrt(2. / 3), math.Sqrt(2. / 4), math.Sqrt(2. / 5), math.Sqrt(2. / 6)}},
		{`"wsd", decay_steps = 2`, []float64{.5, 1, 1, 1, 1, .5}},
		{`"wsd", decay_steps = 4, floor = 0.2, decay_shape = "1-sqrt", warmup_shape = "cosine"`, []float64{.6, 1, 1, .6, 1 - .8*math.Sqrt(.5), 1 - .8*math.Sqrt(.75)}},
	} {
		r, err := Load("countdown-tiny", []string{"stage.rl.steps=6", "stage.rl.optimizer={lr = 2, warmup_steps = 2, schedule = " + c.schedule + "}"})
		if err != nil {
			t.Errorf("%s: %v", c.schedule, err)
			continue
		}
		s := r.Stages[len(r.Stages)-1]
		for step, want := range c.want {
			// A handful of roundings of numbers of at most 2.
			if got := s.LearningRate(step); math.Abs(got-2*want) > 16*0x1p-52 {
				t.Errorf("%s step %d: %v, want %v", c.schedule, step, got, 2*want)
			}
		}
	}
}

// TestScheduleKeys: every schedule can be written, and a key that would do nothing is refused.
func TestScheduleKeys(t *testing.T) {
	kinds := 0
	for _, f := range settings.Fields(Optimizer{}) {
		if f.Key != "schedule" {
			continue
		}
		for _, kind := range f.Choice {
			kinds++
			s := schedule.Schedule{Kind: kind, Steps: 6, DecaySteps: 2}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
		}
	}
	if kinds != 7 {
		t.Errorf("%d schedules", kinds)
	}
	for set, want := range map[string]string{
		`schedule = "constant", floor = 0.1`:               `optimizer.floor = 0.1 would do nothing: it goes with schedule = linear, cosine, cosine_restarts, polynomial, wsd, and schedule is "constant"`,
		`schedule = "linear", cycles = 2`:                  "optimizer.cycles = 2.0 would do nothing",
		`schedule = "cosine", power = 2`:                   "optimizer.power = 2.0 would do nothing",
		`schedule = "wsd", decay_steps = 1, timescale = 2`: "optimizer.timescale = 2.0 would do nothing",
		`schedule = "linear", decay_shape = "cosine"`:      `optimizer.decay_shape = "cosine" would do nothing`,
		`schedule = "wsd"`:                                 "optimizer.decay_steps = 0 is out of range; accepted: 1 to steps - warmup_steps = 4",
		`schedule = "wsd", decay_steps = 5`:                "optimizer.decay_steps = 5 is out of range",
		`schedule = "wds"`:                                 "schedule",
	} {
		_, err := Load("countdown-tiny", []string{"stage.rl.steps=6", "stage.rl.optimizer={warmup_steps = 2, " + set + "}"})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}

// TestOptimizerRules: a key of another rule than the one in force is refused.
func TestOptimizerRules(t *testing.T) {
	for set, want := range map[string]string{
		`rule = "sgd", momentum = 0.9, nesterov = true`: "",
		`rule = "amsgrad", betas = [0.9, 0.95]`:         "",
		`rule = "adam", clip_by = "largest"`:            "",
		`rule = "sgd", eps = 1e-6`:                      `optimizer.eps = 1e-06 would do nothing: it goes with rule = adamw, adam, amsgrad, and rule is "sgd"`,
		`momentum = 0.9`:                                `optimizer.momentum = 0.9 would do nothing: it goes with rule = sgd, and rule is "adamw"`,
		`rule = "sgd", nesterov = true`:                 "nesterov = true needs momentum above 0 and dampening 0; they are 0 and 0",
		`rule = "sgd", dampening = 0.1`:                 "dampening = 0.1 would do nothing: momentum is 0",
		`rule = "muon"`:                                 "rule",
		`clip_by = "l3"`:                                "clip_by",
	} {
		for _, stage := range []string{"warm-up", "rl"} {
			_, err := Load("countdown-tiny", []string{"stage." + stage + ".optimizer={" + set + "}"})
			if want == "" && err != nil || want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s of %s: %v, want %s", set, stage, err, want)
			}
		}
	}
}

func cosine(done float64) float64 { return (1 + math.Cos(math.Pi*done)) / 2 }

// FuzzParse: no text crashes the parser, and what it accepts resolves to itself.
func FuzzParse(f *testing.F) {
	if testing.Short() {
		f.Skip("-short: every preset; TestPresets has them")
	}
	for _, p := range presets.All() {
		f.Add(p.Text, "stage.rl.steps=3")
	}
	f.Add("[0.0] \n[[stage]]\nkind=\"rl\"", "seed=3")
	f.Add("stage = [{kind = \"rl\"}, 3]", "stage.0.steps=1")
	f.Add("[[stage]]\na = '''\n[[stage]]\n'''\n[[stage]]\nkind = 1", "model=3")
	f.Fuzz(func(t *testing.T, text, set string) {
		if r, err := Parse("f.toml", text, []string{set}); err == nil {
			sameAgain(t, r)
		} else if !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	})
}
