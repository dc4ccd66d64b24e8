package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/verify"
)

// besideText is a recipe in which a reward model learns in a stage of its own, and then beside the policy, where another
// model learns from the completions, too.
const besideText = `[model]
family = "qwen3"
layers = 1
width = 8
heads = 1
mlp = 8
[models.rm]
copy = "policy"
head = true
[models.other]
copy = "policy"
[task]
name = "chain_sum"
settings = {terms = 2, max_number = 9}
[[stage]]
name = "pairs"
kind = "make"
[[stage.make]]
rows = "pairs"
each = "pair"
row = {prompt = "{question}", chosen = "{best}", rejected = "{worst}"}
[[stage]]
name = "rm"
kind = "preference"
trains = "rm"
batch_size = 4
optimizer = {lr = 0.01, warmup_steps = 0}
algorithm = {preset = "bradley_terry"}
[[stage.source]]
rows = "pairs"
[[stage]]
name = "rl"
kind = "rl"
prompts_per_step = 2
group_size = 3
reward = "random"
[stage.learn.rm]
kind = "preference"
rows = "pairs"
batch_size = 4
optimizer = {lr = 0.01, warmup_steps = 0}
algorithm = {preset = "bradley_terry"}
[stage.learn.other]
` + besideMethod

// besideMethod is what the other model learns by.
const besideMethod = `algorithm = {preset = "", loss = "s = sum(logp - ref); seq_mean(-(reward*log_sigmoid(s) + (1 - reward)*log_sigmoid(-s)))"}
optimizer = {lr = 0.01, warmup_steps = 0}
`

// ownText is besideText with a stage in which the other model learns alone.
var ownText = strings.Replace(besideText, "[[stage]]\nname = \"rl\"\n", `[[stage]]
name = "own"
kind = "rl"
trains = "other"
prompts_per_step = 2
group_size = 3
updates_per_rollout = 1
reward = "random"
`+besideMethod+"[[stage]]\nname = \"rl\"\n", 1)

// opened are the parts of a recipe on the reference device, with ten made pairs.
func opened(t *testing.T, dev gpu.Device, text string, sets ...string) Parts {
	t.Helper()
	r, err := recipe.Parse("r.toml", text, sets)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cast.Open(r, "", dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p := partsOf(t, r, c)
	if p.Collector, err = NewCollector(&resolve.Opened{Recipe: r, Source: p.Source}, c, p.Prompts, nil); err != nil {
		t.Fatal(err)
	}
	p.Rows = NewRows(r, p.Prompts, p.HeldOut)
	for i := range 10 {
		p.Rows.keep("pairs", madePair(t, p.Prompts, i))
	}
	return p
}

func madePair(t *testing.T, renderer *prompts.Renderer, i int) verify.Problem {
	t.Helper()
	row := map[string]json.RawMessage{"prompt": fmt.Appendf(nil, `"%d+%d="`, i, i%3), "chosen": fmt.Appendf(nil, `"%d"`, i+i%3), "rejected": fmt.Appendf(nil, `"%d"`, i+1+i%3)}
	made, err := renderer.MadeRow(fmt.Sprint("pairs/", i+1), row, prompts.Limits{Choice: 64})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// kept is a file of a checkpoint of the models.
func kept(t *testing.T, c *cast.Cast, name string) []byte {
	t.Helper()
	for _, k := range c.Keepers() {
		files, err := k.Save()
		if err != nil {
			t.Fatal(err)
		}
		if write := files[name]; write != nil {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
	}
	t.Fatal("no file " + name)
	return nil
}

// learned is the update of a stage from completions.
func learned(t *testing.T, s *reinforcement, drawn Drawn, at Position) *Event {
	t.Helper()
	l := s.learner
	drawn.stage, drawn.At = l.stage, at
	a, err := (&asker{l.facts, &replay{}}).ask(drawn)
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.value(a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.begin(&v)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.finish()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBesideOwnStage: what a model learns beside the policy, and beside another one that learns, has the bits of what
// it learns from the same rows in a stage of its own, and leaves policy and base as they are. So do adapters.
func TestBesideOwnStage(t *testing.T) {
	devices := []gpu.Device{refdev.New()}
	if !testing.Short() {
		devices = append(devices, gputest.Devices(t)[0])
	}
	for _, dev := range devices {
		for _, sets := range besideSets {
			t.Run(gputest.Name(dev)+" "+strings.Join(sets, " "), func(t *testing.T) { besideOwnStage(t, dev, sets) })
		}
	}
}

// besideSets are changes of besideText: none, adapters, those over blocks of 32, and what changes how work is cut.
var besideSets = [][]string{
	nil,
	{"model.lora.rank=2"},
	{"model.lora.rank=2", "model.dtype=q8_0", "model.width=32", "model.mlp=32"},
	{"micro_batch_tokens=40", "recompute_activations=true"},
}

func besideOwnStage(t *testing.T, dev gpu.Device, sets []string) {
	alone, beside := opened(t, dev, besideText, sets...), opened(t, dev, besideText, sets...)
	for _, p := range []Parts{alone, beside} {
		if err := p.Cast.Begin(p.Recipe, 1); err != nil {
			t.Fatal(err)
		}
	}
	own, err := newRowStage(alone, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := beside.Cast.Begin(beside.Recipe, 2); err != nil {
		t.Fatal(err)
	}
	s, err := New(beside, 2)
	if err != nil {
		t.Fatal(err)
	}
	others := s.(*reinforcement).besides
	other, rm := others[0], others[1]
	drawn := drawnBy(t, beside, s.(*reinforcement).learner.facts)
	before, untouched := kept(t, beside.Cast, recipe.MemberWeights("rm")), kept(t, beside.Cast, "trainer/policy.json")
	weights, err := beside.Cast.Policy.Weights()
	if err != nil {
		t.Fatal(err)
	}
	alone.Cast.Policy.Scores(true)
	apart := opened(t, dev, ownText, sets...)
	if err := apart.Cast.Begin(apart.Recipe, 2); err != nil {
		t.Fatal(err)
	}
	ownStage, err := New(apart, 2)
	if err != nil {
		t.Fatal(err)
	}
	started := kept(t, beside.Cast, recipe.MemberWeights("other"))
	// A stage of kind rl takes its groups in a random order, and their sum in another order has other roundings.
	inTurn := func(step int) bool {
		return slices.IsSorted(random.At(apart.Recipe.Seed, random.Stream(random.Order, 2), uint64(step)).Shuffled(2))
	}
	for step, made := 0, 0; made < 3; step++ {
		if !inTurn(step) {
			continue
		}
		made++
		cs, err := rm.examples(Position{Step: step})
		if err != nil {
			t.Fatal(err)
		}
		at := Position{Step: step}
		_, one, err := own.learn(at, slices.Clone(cs), rm.stage.LearningRate(step))
		if err != nil {
			t.Fatal(err)
		}
		a := Asked{Drawn: drawn, Now: atOnce(drawn.Completions)}
		a.At = at
		if err := other.learn(&a); err != nil {
			t.Fatal(err)
		}
		if err := rm.learn(&a); err != nil {
			t.Fatal(err)
		}
		e := learned(t, ownStage.(*reinforcement), drawn, at)
		if m := e.Metrics; m["optim/updates"] != 1 || m["policy/grad_norm"] != other.found["other/grad_norm"] || m["policy/loss"] != other.found["other/loss"] {
			t.Errorf("step %d: the other one in a stage of its own %v, beside the policy %v", step, m, other.found)
		}
		if one.norm == 0 || one.norm != rm.found["rm/grad_norm"] || one.loss != rm.found["rm/loss"] || other.found["other/grad_norm"] == 0 {
			t.Errorf("step %d: %+v, beside the policy %v, %v", step, one, rm.found, other.found)
		}
	}
	if err := alone.Cast.Begin(alone.Recipe, 2); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{recipe.MemberWeights("rm"), recipe.MemberHead("rm")} {
		if now := kept(t, beside.Cast, file); !bytes.Equal(now, kept(t, alone.Cast, file)) || bytes.Equal(now, before) {
			t.Errorf("%s has other bits than in a stage of its own, or has not changed", file)
		}
	}
	if err := apart.Cast.Begin(apart.Recipe, 3); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{recipe.MemberWeights("other"), "model.safetensors"} {
		if !bytes.Equal(kept(t, beside.Cast, name), kept(t, apart.Cast, name)) {
			t.Errorf("%s has other bits than where the other one learns in a stage of its own", name)
		}
	}
	if bytes.Equal(started, kept(t, beside.Cast, recipe.MemberWeights("other"))) {
		t.Error("the other one has not learned")
	}
	after, err := beside.Cast.Policy.Weights()
	if err != nil || !bytes.Equal(after, weights) || !bytes.Equal(untouched, kept(t, beside.Cast, "trainer/policy.json")) {
		t.Errorf("the policy has changed, %v", err)
	}
	if base := "model.safetensors"; !bytes.Equal(kept(t, beside.Cast, base), kept(t, alone.Cast, base)) {
		t.Error("the base has changed")
	}
}

// secondText is a recipe with a second loss of the policy, on demonstrations.
const secondText = `[model]
family = "qwen3"
layers = 1
width = 8
heads = 1
mlp = 8
[task]
name = "chain_sum"
settings = {terms = 2, max_number = 9}
[[stage]]
name = "rl"
kind = "rl"
prompts_per_step = 2
group_size = 3
reward = "random"
optimizer = {rule = "sgd", lr = 1, clip_norm = 0, warmup_steps = 0}
algorithm = {preset = "reinforce"}
[stage.learn.policy]
kind = "sft"
batch_size = 5
weight = 0.25
`

// TestSecondLoss: a second loss of the policy adds its gradient, with its weight, to that of the step. Where the
// step's own is 0, the update has the bits of one from the rows alone, at that share of the rate.
func TestSecondLoss(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	after := func(rows bool, sets ...string) ([]byte, *Event) {
		p := opened(t, dev, secondText, sets...)
		if err := p.Cast.Begin(p.Recipe, 0); err != nil {
			t.Fatal(err)
		}
		s, err := New(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		l := s.(*reinforcement).learner
		if rows {
			cs, err := l.second.examples(Position{})
			if err != nil {
				t.Fatal(err)
			}
			l.second.stage.Optimizer = l.stage.Optimizer
			if _, _, err := l.second.rowStage.learn(Position{}, cs, 0.25); err != nil {
				t.Fatal(err)
			}
			return kept(t, p.Cast, "model.safetensors"), nil
		}
		e := learned(t, s.(*reinforcement), drawnBy(t, p, l.facts), Position{})
		return kept(t, p.Cast, "model.safetensors"), e
	}
	const nothing = "stage.rl.algorithm.advantage=0*reward"
	const written = "stage.rl.algorithm.as_written=true"
	alone, _ := after(true, nothing, written)
	rows, e := after(false, nothing, written)
	if !bytes.Equal(alone, rows) {
		t.Error("beside a loss of 0 the update has other bits than that of the rows alone")
	}
	if m := e.Metrics; m["second/loss"] <= 0 || m["second/tokens"] == 0 || m["policy/grad_norm"] == 0 || m["optim/updates"] != 1 {
		t.Errorf("%v", m)
	}
	both, _ := after(false)
	other, _ := after(false, "stage.rl.learn.policy.weight=0.5")
	if bytes.Equal(both, rows) || bytes.Equal(both, other) {
		t.Error("the step's own loss, or the weight, changes nothing")
	}
	dealt, e := after(false, "stage.rl.updates_per_rollout=2", nothing, written)
	if bytes.Equal(dealt, rows) || e.Metrics["optim/updates"] != 2 || e.Metrics["second/tokens"] == 0 {
		t.Errorf("rows of two updates: %v", e.Metrics)
	}
}

// TestBesideStates: the states of who learns beside a method move once a step, however many updates it makes, and by the
// completions of the step alone.
func TestBesideStates(t *testing.T) {
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	p := opened(t, dev, besideText, "stage.rl.learn.other.updates=3", "stage.rl.learn.other.replayed=true", `stage.rl.replay={store = "true"}`,
		`stage.rl.learn.other.algorithm.state={n = {start = 0, next = "n + step_count(true)"}}`)
	if err := p.Cast.Begin(p.Recipe, 2); err != nil {
		t.Fatal(err)
	}
	s, err := New(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	other := s.(*reinforcement).besides[0]
	drawn := drawnBy(t, p, s.(*reinforcement).learner.facts)
	a := Asked{Drawn: drawn, Replayed: slices.Clone(drawn.Completions), Now: slices.Concat(atOnce(drawn.Completions), atOnce(drawn.Completions))}
	for i := range a.Replayed {
		a.Replayed[i].Group += 2
	}
	if err := other.learn(&a); err != nil {
		t.Fatal(err)
	}
	if n := other.states.Values["n"][""].Value; n != 6 || other.found["other/grad_norm"] == 0 {
		t.Errorf("after a step of 6 completions, and 6 replayed ones, the state is %v; learned %v", n, other.found)
	}
}
