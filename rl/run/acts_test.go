package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/settings"
	"github.com/rlzero/rlzero/rl/tasks"
)

// setByTest are keys of an rl stage that TestActs sets itself, so that a step takes a moment,
// or that act later than in the second step.
var setByTest = []string{
	"name", "kind", "skip", "steps", "prompts_per_step", "group_size", "max_sampled_tokens", "checkpoint_every",
	"eval_every", "eval_problems", "sample_every", "token_every", "optimizer.lr", "optimizer.warmup_steps",
	"sampling.max_completion_tokens", "second_chance.replace",
	"verifier", // acts through the reward that names it
}

const (
	ratioIsOne = "one update of a rollout has the ratio 1: the clipped ratio has the gradient of the log-prob"
	rareRatio  = "a ratio beyond 3 does not come in two steps"
	allBelow   = "no advantage is above 0"
	groupsOf4  = "the rates of groups of 4 are multiples of a quarter"
	oneToken   = "an answer of the test's task is one token, which has no beginning to give"
	later      = "it acts after the tenth step"
	noneSolved = "two steps solve none of the hardest problems: no advantage differs from 0"
	noWords    = "the tiny model writes no words: rewards are equal"
)

// doesNotAct says why a key of a recipe makes no difference here.
var doesNotAct = map[string]string{
	"rloo algorithm.policy":                      ratioIsOne,
	"reinforce-moving-baseline algorithm.policy": ratioIsOne,
	"refalign algorithm.policy":                  ratioIsOne,
	"dler algorithm.dual_cap":                    rareRatio,
	"dler algorithm.policy":                      rareRatio,
	"da-dler algorithm.dual_cap":                 rareRatio,
	"da-dler algorithm.policy":                   rareRatio,
	"negative-only algorithm.clip_high":          allBelow,
	"nsr algorithm.clip_high":                    allBelow,
	"balanced-filtering algorithm.rate_low":      groupsOf4,
	"one-shot-rlvr algorithm.clip_high":          ratioIsOne,
	"parallel-r1 algorithm.clip_high":            ratioIsOne,
	"bleuberi algorithm.clip_high":               ratioIsOne,
	"laser-d algorithm.state.easy":               "no group of the second step is right that often",
	"remix replay.max_age":                       "two steps make no group that old",
	"remix replay.size":                          "two steps do not fill the store",
	"empo algorithm.keep":                        groupsOf4,
	"rubicon algorithm.keep":                     "graded rewards leave no group uniform",
	"rlcr algorithm.keep":                        noWords,
	"rlcr algorithm.clip_high":                   noWords,
	"reasoning-patterns algorithm.clip_high":     noWords,
	"drive algorithm.clip_high":                  noneSolved,
	"crew-dpo algorithm.keep":                    "a group without a pair has no loss in any case",
	"ssrl algorithm.clip_high":                   ratioIsOne,
	"ghpo second_chance":                         oneToken,
	"ghpo numbers.prefix_share":                  oneToken,
	"sparkle second_chance":                      oneToken,
	"sparkle numbers.prefix_share":               oneToken,
	"rlpr algorithm.keep":                        later,
	"rlpr algorithm.state.spread":                later,
}

// manyPrompts are recipes whose parts wait for what few groups show.
var manyPrompts = map[string]int{"laser-d": 32, "self-rewarded-efficiency": 32, "adcl": 32, "ampo": 32}

// easyTask is one that a tiny model learns the form of in a moment, and solves now and then. It
// stands in for the task of every recipe.
const easyTask = `task={name = "chain_sum", eval_problems = 1, eval_samples = 1, max_prompt_tokens = 24, settings = {terms = 4, max_number = 2, max_total = 4, careless = 0.1}}`

// TestActs takes two steps of every recipe of a published system, with a tiny model that knows
// the form of answers and is right now and then. It then puts back, one at a time, the keys of
// its stages and the parts and numbers of its method that differ from the recipe that it
// begins from: the weights must differ, or the key does nothing. Without RLZERO_LONG that is
// done with a third of the recipes, by name.
func TestActs(t *testing.T) {
	dev, err := gpu.Open("ref")
	must(t, err)
	defer dev.Close()
	start := warmModel(t, dev)
	for _, p := range presets.All() {
		if p.Field == "" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			a := acting{t, dev, p.Name, nil}
			full, err := recipe.Load(p.Name, nil)
			must(t, err)
			if !slices.ContainsFunc(full.Stages, func(st recipe.Stage) bool { return st.Kind == recipe.KindRL }) {
				t.Skip("it learns from rows of its own, which the task of this test does not have")
			}
			a.prepare(full, start)
			want := a.weights()
			if !gputest.Long() && crc32.ChecksumIEEE([]byte(p.Name))%3 != 0 {
				return
			}
			for _, change := range a.changes(full) {
				if why := doesNotAct[p.Name+" "+change.key]; why != "" {
					continue
				}
				if slices.ContainsFunc(change.sets, func(set string) bool {
					return !bytes.Equal(want, a.weights(append([]string{set}, change.beside...)...))
				}) {
					continue
				}
				t.Errorf("%s does nothing: with %s the weights are the same", change.key, strings.Join(change.sets, " or "))
			}
		})
	}
}

// warmModel is the checkpoint of a tiny model that knows answers of several lengths, half of
// them right.
func warmModel(t *testing.T, dev gpu.Device) string {
	t.Helper()
	train := func(r *recipe.Recipe, err error) string {
		must(t, err)
		sum, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: t.TempDir(), Device: dev, Show: &bytes.Buffer{}})
		must(t, err)
		return sum.Checkpoint
	}
	words := train(recipe.Load("chain-sum-tiny", []string{easyTask, "model.layers=1", "model.width=24", "model.heads=1", "model.head_dim=24", "model.mlp=48",
		"stage.rl.skip=true", "stage.warm-up.batch_size=1", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1", "stage.warm-up.checkpoint_every=0"}))
	easy, err := recipe.Load("chain-sum-tiny", []string{easyTask})
	must(t, err)
	family := easy.Task.Demonstrator()
	var rows strings.Builder
	draw := random.At(1, random.Stream(random.Draw, 0), 0)
	for range 512 {
		row := family.Draw(draw, tasks.Train)
		working, err := family.Demonstration(draw, row)
		must(t, err)
		working = working[4*draw.Between(0, 3):] // without the first steps
		line, err := json.Marshal(map[string]string{"question": row.Question, "completion": working})
		must(t, err)
		rows.Write(append(line, '\n'))
	}
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	return train(recipe.Parse("warm.toml", "[model]\npath = "+strconv.Quote(words)+"\n[task]\ndata = "+strconv.Quote(data)+`
[[stage]]
kind = "sft"
batch_size = 16
max_tokens = 40
hold_steps = 250
decay_steps = 20
test_every = 1000
checkpoint_every = 0
optimizer = {lr = 1e-2}
`, nil))
}

// acting is a recipe that is made small.
type acting struct {
	t    *testing.T
	dev  gpu.Device
	name string
	sets []string
}

// prepare makes the recipe small: two steps of every rl stage, no imitation.
func (a *acting) prepare(full *recipe.Recipe, start string) {
	a.sets = []string{easyTask, "model={path = " + strconv.Quote(start) + "}"}
	for i, st := range full.Stages {
		at := fmt.Sprintf("stage.%d.", i)
		if st.Kind != recipe.KindRL {
			a.sets = append(a.sets, at+"skip=true")
			continue
		}
		if st.Curriculum.Pool > 0 {
			a.sets = append(a.sets, at+"curriculum.pool=48") // the task has 54
		}
		a.sets = append(a.sets, at+"steps=2", fmt.Sprintf("%sprompts_per_step=%d", at, max(8, manyPrompts[a.name])), fmt.Sprintf("%sgroup_size=%d", at, min(4, st.GroupSize)), fmt.Sprintf("%ssecond_chance.replace=%d", at, min(2, st.SecondChance.Replace)), fmt.Sprintf("%supdates_per_rollout=%d", at, min(4, st.UpdatesPerRollout)),
			at+"eval_every=0", at+"eval_problems=1", at+"sample_every=0", at+"token_every=0", at+"checkpoint_every=0", at+"sampling.max_completion_tokens=14", at+"optimizer.lr=1e-2", at+"optimizer.warmup_steps=0")
	}
}

// weights are those after the run, with further overrides.
func (a *acting) weights(sets ...string) []byte {
	a.t.Helper()
	r, err := recipe.Load(a.name, slices.Concat(a.sets, sets))
	must(a.t, err)
	sum, err := Train(a.t.Context(), Options{Opened: opened(a.t, r), Dir: a.t.TempDir(), Device: a.dev, Show: &bytes.Buffer{}})
	must(a.t, err)
	weights, err := os.ReadFile(filepath.Join(sum.Checkpoint, "model.safetensors"))
	must(a.t, err)
	return weights
}

// change puts one thing back.
type change struct {
	key    string   // of the stage, such as algorithm.keep
	sets   []string // overrides, one of which has to act
	beside []string // what goes back with it
}

// changes lists what differs from the base, stage by stage. A stage that the base does not
// have is held against its stage rl.
func (a *acting) changes(full *recipe.Recipe) []change {
	a.t.Helper()
	p, _ := presets.Find(a.name)
	text, err := settings.Parse(a.name, p.Text)
	must(a.t, err)
	base, err := recipe.Load(text.Tree()["base"].(string), nil)
	must(a.t, err)
	own, below := stageTrees(a.t, full), stageTrees(a.t, base)
	var all []change
	for i, st := range own {
		if st["kind"] != recipe.KindRL {
			continue
		}
		j := slices.IndexFunc(below, func(b map[string]any) bool { return b["name"] == st["name"] })
		if j < 0 {
			j = slices.IndexFunc(below, func(b map[string]any) bool { return b["kind"] == recipe.KindRL })
		}
		at := fmt.Sprintf("stage.%d", i)
		method := below[j]["algorithm"].(map[string]any)
		for _, c := range a.keys(at, "", st, below[j]) {
			if !a.loads(c.sets[0]) { // the method reads what the key gives
				c.beside = []string{at + ".algorithm=" + tomlOf(method)}
			}
			all = append(all, c)
		}
		all = append(all, a.method(at+".algorithm", st["algorithm"].(map[string]any), method)...)
	}
	return all
}

// stageTrees are the stages of a recipe as the tables of its resolved text.
func stageTrees(t *testing.T, r *recipe.Recipe) []map[string]any {
	t.Helper()
	text, err := settings.Parse(r.Name, r.Resolved())
	must(t, err)
	return settings.Tables(text.Tree()["stage"])
}

// keys are the keys of a table that differ, the method's excepted.
func (a *acting) keys(at, inside string, own, base map[string]any) []change {
	var all []change
	for _, key := range slices.Sorted(maps.Keys(own)) {
		name := strings.TrimPrefix(inside+"."+key, ".")
		if name == "algorithm" || slices.Contains(setByTest, name) || fmt.Sprint(own[key]) == fmt.Sprint(base[key]) {
			continue
		}
		table, is := own[key].(map[string]any)
		under, was := base[key].(map[string]any)
		if is && was {
			one := a.keys(at, name, table, under)
			if !slices.ContainsFunc(one, func(c change) bool { return !a.loads(c.sets[0]) }) {
				all = append(all, one...)
				continue
			} // keys that need each other go back together
		}
		all = append(all, change{key: name, sets: []string{at + "." + name + "=" + tomlOf(base[key])}})
	}
	return all
}

// loads tells whether the recipe is accepted with one more override.
func (a *acting) loads(set string) bool {
	r, err := recipe.Load(a.name, append(slices.Clone(a.sets), set))
	if err == nil {
		_, err = resolve.Open(r)
	}
	return err == nil
}

// partDefaults are the parts that mean something to the trainer, and what they are where a
// method does not say.
var partDefaults = map[string]string{"keep": "true", "advantage": "", "policy": "", "weight": "1", "penalty": "0", "loss": "token_mean(weight*policy + penalty)"}

// method puts back parts, numbers and states of a method. Where a part does not go with the
// rest, as with a loss of its own kind, the whole method is put back once.
func (a *acting) method(at string, own, base map[string]any) []change {
	var all []change
	whole := false
	for _, part := range slices.Sorted(maps.Keys(partDefaults)) {
		mine, its := textOr(own[part], partDefaults[part]), textOr(base[part], partDefaults[part])
		if mine == its {
			continue
		}
		if mine == "" { // the loss does without it
			whole = true
			continue
		}
		c := change{key: "algorithm." + part, sets: []string{at + "." + part + "=" + its}}
		if !a.loads(c.sets[0]) {
			whole = true
			continue
		}
		all = append(all, c)
	}
	if whole && a.loads(at+"="+tomlOf(base)) {
		all = append(all, change{key: "algorithm", sets: []string{at + "=" + tomlOf(base)}})
	}
	defaults := map[string]float64{}
	for _, p := range algo.Library() {
		maps.Copy(defaults, p.Parameters)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value, number := own[name].(float64)
		its, known := base[name].(float64)
		if !known {
			its, known = defaults[name]
		}
		if number && known && value != its { // the numbers of formulas of its own have nothing to go back to
			// Where two bounds are too near to tell apart in two steps, the number has to act at 0.
			key := at + "." + name + "="
			all = append(all, change{key: "algorithm." + name, sets: []string{key + tomlOf(its), key + "0.0"}})
		}
	}
	states, _ := own["state"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(states)) { // it stays as it is
		all = append(all, change{key: "algorithm.state." + name, sets: []string{at + ".state." + name + ".next=" + tomlOf(name)}})
	}
	return all
}

func textOr(value any, fallback string) string {
	if text, ok := value.(string); ok {
		return text
	}
	return fallback
}

// tomlOf is a value as TOML.
func tomlOf(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".eni") {
			text += ".0"
		}
		return text
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, tomlOf(x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]any:
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, strconv.Quote(key)+" = "+tomlOf(v[key]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return fmt.Sprint(value)
}
