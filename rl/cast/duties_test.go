package cast

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/memory"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/algebra"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestWants: what a recipe needs follows from its text alone, a model that nothing reads is
// not there, and the plan has room for each that is.
func TestWants(t *testing.T) {
	policy := want{name: "policy"}
	reference, average := memory.Member{Kind: memory.Reference}, memory.Member{Kind: memory.Average}
	there, err := filepath.Abs("there")
	if err != nil {
		t.Fatal(err)
	}
	written := &sample.Options{Sequences: 64, Context: 300, Prefixes: sample.EveryPage}
	ofFolder := &recipe.Member{Path: filepath.ToSlash(there), Dtype: "auto", KVDtype: "auto", Resident: "auto"}
	for _, c := range []struct {
		about, stage string
		want         []want
		use          memory.Use
	}{
		{"no model but the policy", ``, []want{policy}, memory.Use{}},
		{"a reference", `
[stage.algorithm]
preset = "grpo_kl"`, []want{policy, {name: "ref", facts: []string{"ref"}}}, memory.Use{Members: []memory.Member{reference}}},
		{"a stage that is skipped", `skip = true
[stage.algorithm]
preset = "grpo_kl"`, []want{policy}, memory.Use{}},
		{"a value head, before the updates and within them", `
[stage.algorithm]
preset = "ppo"
pay = "if(final, reward, 0)"`, []want{{name: "policy", facts: []string{"old_value", "value"}, head: true}}, memory.Use{ValueHead: true}},
		{"a head that is asked about prompts", `
curriculum = {candidates = 2, order = "prompt_value"}
[stage.algorithm]
preset = "grpo"
loss = "token_mean(policy) + token_mean(square(value - reward))"`,
			[]want{{name: "policy", facts: []string{"value", "prompt_value"}, head: true}}, memory.Use{ValueHead: true}},
		{"a best policy", `
best = {every = 2}
[stage.algorithm]
preset = "grpo"
advantage = "remax"`, []want{policy, {name: "best", draws: true}}, memory.Use{Members: []memory.Member{{Kind: memory.Best}}}},
		{"a head and a reference", `
[stage.algorithm]
preset = "ppo"
pay = "if(final, reward, 0) - 0.01*(old - ref)"`,
			[]want{{name: "policy", facts: []string{"old_value", "value"}, head: true}, {name: "ref", facts: []string{"ref"}}}, memory.Use{ValueHead: true, Members: []memory.Member{reference}}},
		{"a fact of two models", `
[stage.algorithm]
preset = "grpo"
weight = "1 + 0*mismatched"`,
			[]want{{name: "policy", facts: []string{"mismatched"}}, {name: "ref", facts: []string{"mismatched"}}}, memory.Use{Members: []memory.Member{reference}}},
		{"hidden states", `
curriculum = {candidates = 2, order = "angle(ref, 2)"}
[stage.algorithm]
preset = "grpo"
segments = "lines"
penalty = "last(net(policy, 1)) + 0*mean(toward(ref, 2))"`,
			[]want{{name: "policy", facts: []string{"net(policy, 1)"}}, {name: "ref", facts: []string{"toward(ref, 2)", "angle(ref, 2)"}}}, memory.Use{Members: []memory.Member{reference}}},
		{"texts of a reward", `reward = "score_of(row.answer, completion, policy) - score_of(row.answer, prompt, ema)"`,
			[]want{{name: "policy", texts: true}, {name: "ema", texts: true}}, memory.Use{Members: []memory.Member{average}}},
		{"likenesses of texts", `reward = "similarity(completion, row.answer, ref) - group_similarity(completion, prompt, policy)"`,
			[]want{{name: "policy", texts: true}, {name: "ref", texts: true}}, memory.Use{Members: []memory.Member{reference}}},
		{"all", `reward = "exp(mean_score_of(row.answer, completion, ref))"
[stage.algorithm]
preset = "ppo"
pay = "if(final, reward, 0) - 0.01*(old - ema)"`,
			[]want{{name: "policy", facts: []string{"old_value", "value"}, head: true}, {name: "ref", texts: true}, {name: "ema", facts: []string{"ema"}}},
			memory.Use{ValueHead: true, Members: []memory.Member{reference, average}}},
		{"a teacher of a folder and a copy that is renewed", `
[stage.algorithm]
preset = "grpo"
penalty = "0.1*square(logp - teacher)/2 + 0*past"
[models.teacher]
path = "there"
[models.past]
copy = "policy"
renew = 2`, []want{policy, {name: "past", spec: &recipe.Member{Copy: "policy", Renew: 2}, facts: []string{"past"}}, {name: "teacher", spec: ofFolder, facts: []string{"teacher"}}},
			memory.Use{Members: []memory.Member{{Kind: memory.Reference, Name: "model past"}, {Kind: memory.Folder, Name: "model teacher"}}}},
		{"a moving average that a reward asks", `reward = "exp(mean_score_of(row.answer, completion, slow))"
[models.slow]
copy = "policy"
follow = 0.1`, []want{policy, {name: "slow", spec: &recipe.Member{Copy: "policy", Follow: 0.1}, texts: true}},
			memory.Use{Members: []memory.Member{{Kind: memory.Average, Name: "model slow"}}}},
		{"a reference of a folder", `
[stage.algorithm]
preset = "grpo_kl"
[models.ref]
path = "there"`, []want{policy, {name: "ref", spec: ofFolder, facts: []string{"ref"}}}, memory.Use{Members: []memory.Member{{Kind: memory.Folder, Name: "model ref"}}}},
		{"a model of another shape, which a stage trains and formulas read", `
[stage.algorithm]
preset = "grpo"
penalty = "0*teacher"
[models.teacher]
family = "llama"
layers = 1
width = 8
heads = 2
mlp = 8
[[stage]]
name = "warm-up"
trains = "teacher"
optimizer = {rule = "sgd"}`, []want{policy, {name: "teacher", spec: &recipe.Member{Shape: recipe.Shape{Family: "llama", Layers: 1, Width: 8, Heads: 2, KVHeads: 2, HeadDim: 4, MLP: 8, RopeTheta: 1e4, NormEps: 1e-6, InitStd: 0.02, TieEmbeddings: true}}, facts: []string{"teacher"}, learns: true, optimized: []learn.Rule{learn.SGD}}},
			memory.Use{Members: []memory.Member{{Kind: memory.Novice, Name: "model teacher", Learns: &memory.Learning{Optimizes: []learn.Rule{learn.SGD}}}}}},
		{"a teacher that the run trains", `trains = "teacher"
[[stage]]
name = "more"
kind = "rl"
[stage.algorithm]
preset = "grpo"
penalty = "0.1*square(logp - teacher)/2"
[models.teacher]
copy = "policy"`, []want{policy, {name: "teacher", spec: &recipe.Member{Copy: "policy"}, facts: []string{"teacher"}, learns: true, from: 1}},
			memory.Use{Members: []memory.Member{{Kind: memory.Average, Name: "model teacher"}}}},
		{"models of formulas, and what they name", `trains = "total"
[[stage]]
name = "look"
kind = "eval"
trains = "moved"
[[stage]]
name = "last"
kind = "eval"
[models.total]
logits = "policy + 0.5*(far - moved)"
[models.moved]
weights = "policy + 0.5*(far - policy)"
[models.far]
path = "there"`, []want{policy, {name: "far", spec: ofFolder, summed: true},
			{name: "moved", spec: &recipe.Member{Weights: "policy + 0.5*(far - policy)"}, learns: true, from: 1, made: []ingredient{{name: "policy"}, {"far", *ofFolder}}, summed: true},
			{name: "total", spec: &recipe.Member{Logits: "policy + 0.5*(far - moved)"}, draws: true, learns: true, from: 1, terms: []algebra.Term{{Model: "policy", Factor: 1}, {Model: "far", Factor: 0.5}, {Model: "moved", Factor: -0.5}}}},
			memory.Use{Summed: true, Members: []memory.Member{{Kind: memory.Folder, Name: "model far", Summed: true}, {Kind: memory.Average, Name: "model moved", Summed: true}}}},
		{"a sum that is read alone, and nobody draws by", `[stage.algorithm]
preset = "grpo"
penalty = "0.1*square(logp - total)/2"
[models.total]
logits = "policy + 0.5*far"
[models.far]
path = "there"`, []want{policy, {name: "far", spec: ofFolder, summed: true},
			{name: "total", spec: &recipe.Member{Logits: "policy + 0.5*far"}, facts: []string{"total"}, terms: []algebra.Term{{Model: "policy", Factor: 1}, {Model: "far", Factor: 0.5}}}},
			memory.Use{Members: []memory.Member{{Kind: memory.Folder, Name: "model far", Summed: true}}}},
		{"judges that write, read and are the policy", `reward = "a + b + c"
[[stage.verifier]]
name = "a"
verifier = "judge"
options = {model = "past", source = "{completion}", read = "[0-9]", votes = 3, temperature = 1.0, context = 300}
[[stage.verifier]]
name = "b"
verifier = "judge"
options = {model = "reader", source = "{completion}", read = {yes = 1, no = 0}}
[[stage.verifier]]
name = "c"
verifier = "judge"
options = {model = "policy", allow_self = true, source = "{completion}", read = "[0-9]"}
[models.past]
copy = "policy"
[models.reader]
path = "there"`, []want{{name: "policy", judges: true}, {name: "past", spec: &recipe.Member{Copy: "policy"}, judges: true, writes: written}, {name: "reader", spec: ofFolder, judges: true}},
			memory.Use{Members: []memory.Member{{Kind: memory.Reference, Name: "model past", Engine: written}, {Kind: memory.Folder, Name: "model reader"}}}},
	} {
		r, err := recipe.Parse("literal", "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\n"+c.stage, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.about, err)
		}
		got := wants(r)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.about, got, c.want)
		}
		var use memory.Use
		for _, w := range got {
			blueprint{}.roleOf(w).count(&use, blueprint{}, w)
		}
		if !reflect.DeepEqual(use, c.use) {
			t.Errorf("%s: the plan counts %+v, want %+v", c.about, use, c.use)
		}
	}
}

// TestAskedPlays: a model that a tool asks writes in the phase of the policy's sampler, which its turns do not have to
// wait for, so it cannot leave; one that judges alone has a phase of its own.
func TestAskedPlays(t *testing.T) {
	sets := []string{`task.tool=[{tool = "ask", name = "c", options = {model = "expert", context = 40, max_tokens = 3}}]`, `models.expert={path = "there"}`}
	r, err := recipe.Load("calculator-tiny", sets)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := model.NewScratch(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cast{scratch: scratch}
	for _, w := range wants(r) {
		if w.name == "expert" {
			if c.writing(w) != scratch.Phase(memory.Sampling) || w.mayLeave() {
				t.Errorf("who is asked has a phase of its own: %+v", w)
			}
			w.plays = false
			if c.writing(w) == scratch.Phase(memory.Sampling) || !w.mayLeave() {
				t.Errorf("who writes at other times samples beside the policy: %+v", w)
			}
			return
		}
	}
	t.Error("nobody is asked")
}

// TestDutiesNamed: each fact is supplied once, by members that there are roles for.
func TestDutiesNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range duties {
		if seen[d.fact] {
			t.Errorf("%s is supplied twice", d.fact)
		}
		seen[d.fact] = true
		for _, name := range []string{d.member, d.less} {
			if name != "" && !slices.ContainsFunc(roles, func(r role) bool { return r.name == name }) {
				t.Errorf("%s is asked of %s, for which there is no role", d.fact, name)
			}
		}
	}
}

// spoken is a member that says the same of each token, and keeps what it is told.
type spoken struct {
	stats seq.Stats
	told  *[]string
	name  string
}

func (s *spoken) tell(what string) { *s.told = append(*s.told, s.name+" "+what) }

func (s *spoken) score(views []rollout.View) ([]seq.Stats, error) {
	s.tell(fmt.Sprintf("score %d", len(views)))
	out := make([]seq.Stats, len(views))
	for i := range out {
		out[i] = s.stats
	}
	return out, nil
}
func (s *spoken) states(views []rollout.View, layer int, do func(int, [][]float32) error) error {
	s.tell(fmt.Sprintf("states %d of layer %d", len(views), layer))
	for i, v := range views {
		var states [][]float32
		for _, id := range v.IDs[v.Spans[0].From:v.Spans[0].To] {
			states = append(states, []float32{float32(id), 1})
		}
		if err := do(i, states); err != nil {
			return err
		}
	}
	return nil
}
func (s *spoken) begin() error { s.tell("begin"); return nil }
func (s *spoken) close()       { s.tell("close") }

// kept is one with state, and moved one that follows the policy.
type (
	kept  struct{ *spoken }
	moved struct{ kept }
)

func (k kept) Save() (map[string]func(io.Writer) error, error) { return nil, nil }
func (k kept) Load(string) error                               { return nil }
func (m moved) follow(who string, share float64) error {
	m.tell(fmt.Sprintf("follow %s %g", who, share))
	return nil
}

// TestMembers: facts are asked of the members that the table of duties names and of no
// others, and each member lives through a run as what it is.
func TestMembers(t *testing.T) {
	var told []string
	says := func(name string, v float32) *spoken {
		return &spoken{seq.Stats{Logprob: []float32{v, 2 * v}, MeanLogprob: []float32{v - 1, v - 1}, Value: []float32{v + 1, v + 1}}, &told, name}
	}
	policy, ref, ema := kept{says("policy", -1)}, says("ref", -4), moved{kept{says("ema", -0.5)}}
	c := &Cast{members: []namedMember{{"policy", policy}, {"ref", ref}, {"ema", ema}}, positions: 8}
	views := []rollout.View{{}}
	for fact, want := range map[string]struct {
		rows  []float64
		asked string
	}{
		"ref":              {[]float64{-4, -8}, "ref score 1"},
		"ema":              {[]float64{-0.5, -1}, "ema score 1"},
		"old_uniform_logp": {[]float64{-2, -2}, "policy score 1"},
		"old_value":        {[]float64{0, 0}, "policy score 1"},
		"value":            {[]float64{0, 0}, "policy score 1"},
		"mismatched":       {[]float64{3, 6}, "policy score 1, ref score 1"},
	} {
		told = nil
		rows, err := c.Supply(fact, views)
		if err != nil || len(rows) != 1 || !slices.Equal(rows[0], want.rows) || strings.Join(told, ", ") != want.asked {
			t.Errorf("%s: %v (%v), asked %q, want %+v", fact, rows, err, told, want)
		}
	}
	told = nil
	scored, err := c.ScoreOf("ema", []Text{{After: []int{1}, IDs: []int{2, 3}}, {IDs: []int{2}, Lack: "no row"}})
	if err != nil || !slices.Equal(scored[0].Logprobs, []float64{-0.5, -1}) || scored[1].Why != "no row" || !slices.Equal(told, []string{"ema score 1"}) {
		t.Errorf("%+v (%v), asked %q", scored, err, told)
	}
	told = nil
	places, err := c.PlaceOf("ref", []Text{{IDs: []int{2, 4}}, {IDs: []int{7}}, {IDs: []int{2, 4}}, {IDs: []int{}}, {IDs: []int{1}, Lack: "no row"}, {IDs: make([]int, 8)}})
	if err != nil || !slices.Equal(told, []string{"ref states 2 of layer 0"}) {
		t.Errorf("%v, asked %q", err, told)
	}
	for i, want := range []reward.Place{{At: []float64{3, 1}}, {At: []float64{7, 1}}, {At: []float64{3, 1}}, {Why: "the text has no tokens"}, {Why: "no row"}, {Why: "the text has 8 tokens; the run has room for 7"}} {
		if !reflect.DeepEqual(places[i], want) {
			t.Errorf("text %d is at %+v, want %+v", i, places[i], want)
		}
	}
	if _, err := c.Supply("taste", views); err == nil || !strings.Contains(err.Error(), `"taste"`) {
		t.Errorf("a fact of no duty: %v", err)
	}
	c.members = c.members[:2]
	if _, err := c.Supply("ema", views); err == nil || !strings.Contains(err.Error(), `"ema"`) {
		t.Errorf("a fact of a member that is not there: %v", err)
	}
	c.members = c.members[:3]
	if keepers := c.Keepers(); !reflect.DeepEqual(keepers, []Keeper{policy, ema}) {
		t.Errorf("keepers %v", keepers)
	}
	told = nil
	if err := c.Begin(&recipe.Recipe{Stages: []recipe.Stage{{Kind: recipe.KindRL}}}, 0); err != nil {
		t.Error(err)
	}
	if err := c.Follow("policy", 0.25); err != nil {
		t.Error(err)
	}
	c.Close()
	if want := []string{"policy begin", "ref begin", "ema begin", "ema follow policy 0.25", "ema close", "ref close", "policy close"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// traded is a member that stages train.
type traded struct{ kept }

func (m traded) made(stage int) error { m.tell(fmt.Sprintf("made %d", stage)); return nil }
func (m traded) trade() error         { m.tell("trade"); return nil }

// TestSeats: a stage begins with the policy where it was opened, or with the model that it trains in
// its place, whoever was there before; a stage that is left out changes nothing. Members are made of
// the policy.
func TestSeats(t *testing.T) {
	var told []string
	teacher := traded{kept{&spoken{told: &told, name: "teacher"}}}
	c := &Cast{members: []namedMember{{"policy", kept{&spoken{told: &told, name: "policy"}}}, {"teacher", teacher}}}
	r := &recipe.Recipe{}
	for _, st := range []recipe.Stage{{Trains: "teacher"}, {}, {Skip: true, Trains: "teacher"}, {Trains: "teacher"}, {Trains: "teacher"}, {Trains: "policy"}} {
		st.Kind = recipe.KindRL
		r.Stages = append(r.Stages, st)
	}
	for stage, want := range map[int]string{
		0: "made 0, trade", 1: "trade, made 1", 3: "made 3, trade", 4: "trade, made 4, trade", 5: "trade, made 5",
	} {
		told = nil
		if err := c.Begin(r, stage); err != nil {
			t.Error(err)
		}
		var seats []string
		for _, what := range told {
			if of, about := strings.CutPrefix(what, "teacher "); about && of != "begin" {
				seats = append(seats, of)
			}
		}
		if got := strings.Join(seats, ", "); got != want {
			t.Errorf("stage %d: %s, want %s", stage, got, want)
		}
		if last := told[len(told)-2:]; !slices.Equal(last, []string{"policy begin", "teacher begin"}) {
			t.Errorf("stage %d ends with %v", stage, last)
		}
	}
}
