package recipe

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withModels is a recipe whose second stage learns from a teacher, which the first one trains.
const withModels = `base = "chain-sum-tiny"
[models.teacher]
copy = "policy"
[[stage]]
name = "warm-up"
trains = "teacher"
[[stage]]
name = "rl"
[stage.algorithm]
preset = "grpo"
penalty = "0.1*square(logp - teacher)/2"
`

// TestModels: a recipe names models, and is the same when it is written and read again. What uses a
// model follows from the text.
func TestModels(t *testing.T) {
	r, err := Parse("mine.toml", withModels+"[models.far]\npath = \"there\"\nadapter = \"beside\"\ndtype = \"q8_0\"\n[models.ref]\ncopy = \"policy\"\nrenew = 5\n",
		[]string{"stage.rl.reward=task + score_of(row.answer, prompt, far)", "stage.rl.algorithm.metrics={\"my/x\" = \"step_token_mean(old - ref)\"}"})
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	folder, err := filepath.Abs("there")
	if err != nil {
		t.Fatal(err)
	}
	far := r.Models["far"]
	if far.Path != filepath.ToSlash(folder) || !filepath.IsAbs(filepath.FromSlash(far.Adapter)) || far.Dtype != "q8_0" || far.KVDtype != "auto" {
		t.Errorf("%+v", far)
	}
	if got := r.ModelNames(); !slices.Equal(got, []string{"far", "ref", "teacher"}) {
		t.Error(got)
	}
	for name, want := range map[string]struct {
		first   int
		trained bool
		asks    []bool // by stage
	}{"far": {1, false, []bool{false, true}}, "ref": {1, false, []bool{false, true}}, "teacher": {0, true, []bool{false, true}}, "nobody": {2, false, []bool{false, false}}} {
		if got := r.FirstUse(name); got != want.first || r.Trained(name) != want.trained {
			t.Errorf("%s: first used by stage %d, trained %t", name, got, r.Trained(name))
		}
		for i := range r.Stages {
			if got := r.Stages[i].Asks(name); got != want.asks[i] {
				t.Errorf("stage %d asks %s: %t", i, name, got)
			}
		}
	}
	method, err := r.Stages[1].Compiled()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"teacher/kl": true, "teacher/logp": true, "far/kl": false, "ref/kl": false, "my/x": true} {
		if got := slices.Contains(method.Metrics(), name); got != want {
			t.Errorf("metric %s: %t", name, got)
		}
	}
	if plain, err := Load("chain-sum-tiny", nil); err != nil || strings.Contains(plain.Resolved(), "models") || strings.Contains(plain.Resolved(), "trains") {
		t.Errorf("a recipe without models names them: %v", err)
	}
}

// TestModelsOverridden: an override of a path stands in place of a copy, and a table that says what
// its model is in place of that of the base.
func TestModelsOverridden(t *testing.T) {
	r, err := Parse("mine.toml", strings.Replace(withModels, "trains = \"teacher\"\n", "", 1)+"[models.slow]\ncopy = \"policy\"\nfollow = 0.1\n",
		[]string{"models.teacher.path=there", "models.slow.path=here", "stage.rl.algorithm.penalty=0*(teacher + slow)"})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Models["slow"]; filepath.Base(m.Path) != "here" || m.Copy != "" || m.Follow != 0 {
		t.Errorf("%+v", m)
	}
}

// TestFilteredBy: a stage that is left out filters by nobody, so that a model which learns is made by the next that does.
func TestFilteredBy(t *testing.T) {
	const text = "base = \"chain-sum-tiny\"\n[models.lag]\ncopy = \"policy\"\n[[stage]]\nname = \"first\"\nkind = \"rl\"\nsteps = 1\nsampling = {top_k = 3, filter_by = \"lag\"}\n[[stage]]\nname = \"rl\"\nsampling = {top_k = 3, filter_by = \"lag\"}\n"
	for set, first := range map[string]int{"stage.first.skip=false": 0, "stage.first.skip=true": 1} {
		r, err := Parse("mine.toml", text, []string{set})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Stages, func(st Stage) bool { return st.Name == "first" })
		if got := r.FirstUse("lag"); got != at+first || !r.Uses("lag") {
			t.Errorf("%s: first used by stage %d, want %d", set, got, at+first)
		}
	}
}

// filtered is a stage whose filters act on the distribution of a model, with more settings of its sampling after a comma,
// and the table of a model teacher.
func filtered(by string, of ...string) string {
	name, more, found := strings.Cut(by, ", ")
	if found {
		more = ", " + more
	}
	return "[models.teacher]\n" + strings.Join(append(of, "copy = \"policy\"")[:1], "") + "\n[[stage]]\nname = \"rl\"\nsampling = {filter_by = \"" + name + "\"" + more + "}\n"
}

// TestModelFaults: what is wrong with a model is told with its place, what was found and what is
// accepted.
func TestModelFaults(t *testing.T) {
	const reads = "[[stage]]\nname = \"rl\"\n[stage.algorithm]\npreset = \"grpo\"\npenalty = \"0.1*square(logp - teacher)/2\"\n"
	const head, teacher = "base = \"chain-sum-tiny\"\n", "[models.teacher]\ncopy = \"policy\"\n"
	const fresh = "[models.teacher]\nfamily = \"llama\"\nlayers = 1\nwidth = 8\nheads = 2\nmlp = 8\n"
	for _, c := range []struct{ about, text, want string }{
		{"an unknown name", head + reads, "mine.toml:6:1: stage.rl.algorithm.penalty: column 19: unknown name teacher"},
		{"one that is nearly right", head + teacher + strings.Replace(reads, "teacher", "techer", 1), "did you mean teacher?"},
		{"a reserved name", head + "[models.policy]\ncopy = \"policy\"\n", "mine.toml:2:9: [models.policy]: the name is that of the model of [model]"},
		{"the name of an average", head + "[models.ema]\ncopy = \"policy\"\nfollow = 0.1\n", "mine.toml:2:9: [models.ema]: the name is that of the average whose share ema_decay of a stage says"},
		{"the name of a fact", head + "[models.entropy]\ncopy = \"policy\"\n", "the name is reserved: it is a fact; choose another one, such as teacher"},
		{"the name of a fact of rewards", head + "[models.words]\ncopy = \"policy\"\n", "the name is reserved: it is a fact of rewards"},
		{"the name of a function", head + "[models.mean]\ncopy = \"policy\"\n", "the name is reserved: it is a function"},
		{"the name of a formula", head + "[models.k2]\ncopy = \"policy\"\n", "the name is reserved: it is a named formula, or a number of one"},
		{"the name of a number", head + "[models.clip_high]\ncopy = \"policy\"\n", "the name is reserved: it is"},
		{"the name of metrics", head + "[models.optim]\ncopy = \"policy\"\n", "the name is reserved: it is where metrics such as optim/"},
		{"no name", head + "[models.Teacher]\ncopy = \"policy\"\n", "the name is not accepted; accepted: lower-case letters, digits and _, such as teacher"},
		{"the name of a verifier", head + teacher + "[[stage]]\nname = \"rl\"\n[[stage.verifier]]\nname = \"teacher\"\nverifier = \"format\"\n", "which is a model of [models]: give one of them another name"},
		{"no table", head + "models = 3\n", "mine.toml:2:1: models = 3 is a whole number; accepted: a table"},
		{"no table of its own", head + "models = {teacher = 3}\n", "models.teacher = 3 is a whole number; accepted: a table [models.teacher]"},
		{"an unknown key", head + "[models.teacher]\npth = \"x\"\n", "mine.toml:3:1: unknown key models.teacher.pth; did you mean path?"},
		{"nothing", head + "[models.teacher]\ndtype = \"bf16\"\n" + reads, "[models.teacher] says nothing of the model; accepted: path = \"FOLDER\", a model that exists, or copy = \"policy\""},
		{"a new model with a part of its dimensions", head + "[models.teacher]\nfamily = \"llama\"\nwidth = 8\n" + reads, "mine.toml:2:9: [models.teacher] has no layers, heads, mlp: a model from random weights needs it"},
		{"a new model of heads that do not divide", head + strings.Replace(fresh, "heads = 2", "heads = 2\nkv_heads = 3", 1) + reads, "models.teacher.kv_heads = 3 does not divide models.teacher.heads = 2"},
		{"a new model whose stage is left out", head + fresh + reads + "[[stage]]\nname = \"warm-up\"\ntrains = \"teacher\"\nskip = true\n", "models.teacher.family: no stage trains teacher, or it is left out, and its weights are random"},
		{"a new model that nobody trains", head + fresh + reads, "mine.toml:3:1: models.teacher.family: no stage trains teacher, or it is left out, and its weights are random"},
		{"a new model that learns from rewards", head + fresh + "[[stage]]\nname = \"rl\"\ntrains = \"teacher\"\n[[stage]]\nname = \"last\"\nkind = \"eval\"\n", "a model from random weights, of a shape of its own, learns in stages of kind sft alone"},
		{"a new model that learns beside the policy", head + fresh + reads + "[stage.learn.teacher]\nkind = \"sft\"\n", "stage.rl.learn.teacher: a model from random weights, of a shape of its own, learns in a stage of its own"},
		{"a new model with a head", head + fresh + "head = true\n" + reads, "models.teacher.head does not go with family"},
		{"a new model with a copy's key", head + fresh + "renew = 2\n" + reads, "models.teacher.renew cannot be set together with models.teacher.family"},
		{"a new model in a formula over weights", head + fresh + "[models.sum]\nweights = \"policy + teacher\"\n", "unknown name teacher"},
		{"a reference from random weights", head + strings.Replace(fresh, "teacher", "ref", 1) + reads, "models.ref.family: the reference is the policy of before"},
		{"both", head + "[models.teacher]\npath = \"x\"\ncopy = \"policy\"\n" + reads, "mine.toml:4:1: models.teacher.copy cannot be set together with models.teacher.path"},
		{"keys of the other", head + "[models.teacher]\npath = \"x\"\nrenew = 3\n" + reads, "mine.toml:4:1: models.teacher.renew cannot be set together with models.teacher.path"},
		{"a copy in a storage", head + teacher + "dtype = \"bf16\"\n" + reads, "mine.toml:4:1: models.teacher.dtype cannot be set together with models.teacher.copy"},
		{"copies in a circle", head + "[models.a]\ncopy = \"b\"\n[models.b]\ncopy = \"a\"\n", "mine.toml:3:1: models.a.copy = \"b\": a copies b, which copies a; accepted: policy, or a model that learns beside it"},
		{"a copy that stays and moves", head + teacher + "renew = 2\nfollow = 0.5\n" + reads, "mine.toml:4:1: models.teacher.renew = 2 does not go with follow = 0.5"},
		{"a prompt of the reference", head + "[models.ref]\ncopy = \"policy\"\nprompt = \"{question}\"\n", "mine.toml:4:1: models.ref.prompt: the reference reads the policy's prompts"},
		{"a prompt, and texts", head + teacher + "prompt = \"{question}\"\n[[stage]]\nname = \"rl\"\nreward = \"score_of('7', prompt, teacher)\"\n", "mine.toml:4:1: models.teacher.prompt: the reward of stage rl asks teacher about texts"},
		{"a prompt, and rows", head + teacher + "prompt = \"{question}\"\n[[stage]]\nname = \"warm-up\"\n[stage.algorithm]\npreset = \"sft\"\nweight = \"exp(teacher)\"\n", "models.teacher.prompt: stage warm-up is of kind sft, whose rows have prompts of their own"},
		{"two kinds", head + teacher + "weights = \"policy\"\n" + reads, "mine.toml:4:1: models.teacher.weights cannot be set together with models.teacher.copy"},
		{"a formula over nobody", head + "[models.teacher]\nweights = \"policy + 0.5*(a - policy)\"\n" + reads, "mine.toml:3:1: models.teacher.weights: column 15: unknown name a; accepted: policy; a model with weights is none of them"},
		{"a formula over two that are nobody", head + "[models.teacher]\nweights = \"a + b\"\n" + reads, "mine.toml:3:1: models.teacher.weights: column 5: unknown name b; accepted: policy"},
		{"a formula that ends early", head + "[models.teacher]\nweights = \"policy + \"\n" + reads, "mine.toml:3:1: models.teacher.weights: column 10: expected a value"},
		{"a formula over itself", head + "[models.teacher]\nweights = \"policy + teacher\"\n" + reads, "models.teacher.weights: column 10: unknown name teacher"},
		{"a formula over many rows", head + "[models.teacher]\nweights = \"policy - mean(policy)\"\n" + reads, "mine.toml:3:1: models.teacher.weights: column 10: mean is taken over several rows; accepted: arithmetic on each element, and slerp(a, b, t)"},
		{"a number out of range", head + "[models.teacher]\nweights = \"slerp(policy, policy, 3)\"\n" + reads, "models.teacher.weights: slerp(policy, policy, 3): found 3 for t, accepted: 0 to 1"},
		{"a formula over what is always the policy", head + "[models.teacher]\nweights = \"0.5*policy + 0.5*twin\"\n[models.twin]\ncopy = \"policy\"\n" + reads, "mine.toml:3:1: models.teacher.weights: twin is a copy that no stage trains or measures, so it is the policy whenever a stage begins"},
		{"a formula without models", head + "[models.teacher]\nweights = \"0.5\"\n" + reads, "mine.toml:3:1: models.teacher.weights: the formula names no model; accepted: arithmetic over models"},
		{"a sum and a head", head + "[models.teacher]\nlogits = \"policy\"\nhead = true\n" + reads, "mine.toml:4:1: models.teacher.head: a sum of logits has no head; accepted: a model with path, copy or weights"},
		{"a formula whose head nothing trains", head + "[models.teacher]\nweights = \"policy\"\nhead = true\n" + reads, "reads the head of teacher, and no stage before it trains that: the head is all zeros"},
		{"a formula that follows", head + "[models.teacher]\nweights = \"policy\"\nfollow = 0.5\n" + reads, "mine.toml:4:1: models.teacher.follow cannot be set together with models.teacher.weights"},
		{"a formula beside an adapter", head + "[model.lora]\nrank = 3\n[models.teacher]\nweights = \"policy\"\n" + reads, "mine.toml:5:1: models.teacher.weights: the formula is over whole models, but the run trains an adapter (model.lora.rank = 3); accepted: model.lora.rank = 0"},
		{"a prompt, and hidden states", head + teacher + "prompt = \"{question}\"\n[[stage]]\nname = \"rl\"\n[stage.algorithm]\npreset = \"grpo\"\npenalty = \"last(net(teacher, 1))\"\n", "mine.toml:4:1: models.teacher.prompt: formulas of stage rl read hidden states of teacher"},
		{"hidden states of a sum, in a reward", head + "[models.both]\nlogits = \"policy + 0.5*teacher\"\n" + teacher + "[[stage]]\nname = \"rl\"\nreward = \"similarity(completion, prompt, both)\"\n", "models.both.logits: formulas of stage rl read hidden states of both, and a sum of logits has none"},
		{"hidden states of nobody", head + strings.Replace(reads, "square(logp - teacher)/2", "angle(techer, 1)", 1), "mine.toml:6:1: stage.rl.algorithm.penalty: column 11: angle(model, layer) takes one of the names policy, ref, ema as model"},
		{"a layer that is no number", head + strings.Replace(reads, "square(logp - teacher)/2", "last(net(ref, 0))", 1), "mine.toml:6:1: stage.rl.algorithm.penalty: column 19: net(model, layer) takes a whole number from 1 to 1000 or last, written out, as layer"},
		{"segments of their own path", head + "[[stage]]\nname = \"rl\"\n[stage.algorithm]\nsegments = \"way(ref, 1) > 2\"\n", "mine.toml:5:1: stage.rl.algorithm.segments"},
		{"a path of rows", head + "[[stage]]\nname = \"warm-up\"\n[stage.algorithm]\npreset = \"sft\"\nweight = \"last(net(ref, 1))\"\n", "which this stage does not supply"},
		{"a product of logits", head + "[models.teacher]\nlogits = \"policy*policy\"\n" + reads, "mine.toml:3:1: models.teacher.logits: column 7: * multiplies what is no number; accepted: a sum of models with factors, such as policy + 0.5*(tuned - small)"},
		{"a function of logits", head + "[models.teacher]\nlogits = \"0.5*max(policy, 0)\"\n" + reads, "models.teacher.logits: column 5: max is no sum; accepted: a sum of models with factors"},
		{"a number beside logits", head + "[models.teacher]\nlogits = \"policy + 3\"\n" + reads, "models.teacher.logits: column 8: found 3 beside the sum; accepted: a sum"},
		{"logits that come to nothing", head + "[models.twin]\ncopy = \"policy\"\n[models.teacher]\nlogits = \"policy + twin - twin\"\n" + reads, "models.teacher.logits: column 15: the factor of twin is 0"},
		{"logits of nobody", head + "[models.teacher]\nlogits = \"policy + a\"\n" + reads, "mine.toml:3:1: models.teacher.logits: column 10: unknown name a; accepted: policy; a model with logits is none of them"},
		{"logits of completions", head + "[models.teacher]\nlogits = \"policy + position\"\n" + reads, "models.teacher.logits: position tells of completions, and is no model"},
		{"logits of the policy alone", head + "[models.teacher]\nlogits = \"2*policy\"\n" + reads, "models.teacher.logits: the formula names the policy alone; accepted: a sum with another model"},
		{"logits and a head", head + "[models.teacher]\nlogits = \"policy + rm\"\n[models.rm]\ncopy = \"policy\"\nhead = true\n" + reads, "models.teacher.logits: rm has a head, and says nothing of the next token"},
		{"logits and a prompt", head + "[models.teacher]\nlogits = \"policy + a\"\nprompt = \"{question}\"\n[models.a]\ncopy = \"policy\"\n" + reads, "mine.toml:4:1: models.teacher.prompt does not go with logits: a sum reads the policy's prompts"},
		{"logits of one with a prompt", head + "[models.teacher]\nlogits = \"policy + a\"\n[models.a]\ncopy = \"policy\"\nprompt = \"{question}\"\n" + reads, "mine.toml:3:1: models.teacher.logits: a has a prompt of its own, and a sum is of one text"},
		{"a sum that cannot learn", head + "[models.mixed]\nlogits = \"a + a\"\n[models.a]\ncopy = \"policy\"\n[[stage]]\nname = \"warm-up\"\ntrains = \"mixed\"\n", "mine.toml:8:1: stage.warm-up.trains = \"mixed\": the policy is not in its formula, and nobody else in it learns"},
		{"a sum beside its reference", head + "[models.mixed]\nlogits = \"policy + a\"\n[models.a]\ncopy = \"policy\"\n[[stage]]\nname = \"rl\"\ntrains = \"mixed\"\n[stage.algorithm]\npreset = \"grpo\"\npenalty = \"0.1*square(logp - ref)/2\"\n", "its formulas read ref or ema, which are of the policy alone"},
		{"a sum of who learns", head + "[models.mixed]\nlogits = \"a + b\"\n[models.a]\ncopy = \"policy\"\n[models.b]\ncopy = \"policy\"\n[[stage]]\nname = \"first\"\nkind = \"rl\"\ntrains = \"a\"\n[stage.algorithm]\npreset = \"grpo\"\npenalty = \"0.1*square(logp - mixed)/2\"\n[[stage]]\nname = \"warm-up\"\n", "mine.toml:11:1: stage.first.trains = \"a\": it asks mixed, a sum that policy or a is in, and each stands in the other's place while a learns; accepted: sums of other models"},
		{"a metric of a sum of the policy", head + "[models.mixed]\nlogits = \"policy + b\"\n[models.a]\ncopy = \"policy\"\n[models.b]\ncopy = \"policy\"\n[[stage]]\nname = \"first\"\nkind = \"rl\"\ntrains = \"a\"\n[stage.algorithm.metrics]\n\"my/same\" = \"step_token_mean(mixed == old)\"\n[[stage]]\nname = \"warm-up\"\n", "mine.toml:11:1: stage.first.trains = \"a\": it asks mixed, a sum that policy or a is in, and each stands in the other's place while a learns; accepted: sums of other models"},
		{"a text for a sum of the policy", head + "[models.mixed]\nlogits = \"policy + b\"\n[models.a]\ncopy = \"policy\"\n[models.b]\ncopy = \"policy\"\n[[stage]]\nname = \"first\"\nkind = \"rl\"\ntrains = \"a\"\nreward = \"score_of('7', prompt, mixed)\"\n[[stage]]\nname = \"warm-up\"\n", "mine.toml:11:1: stage.first.trains = \"a\": it asks mixed, a sum that policy or a is in, and each stands in the other's place while a learns; accepted: sums of other models"},
		{"a sum that judges", head + "[models.mixed]\nlogits = \"policy + a\"\n[models.a]\ncopy = \"policy\"\n[[stage]]\nname = \"rl\"\nreward = \"good\"\n[[stage.verifier]]\nname = \"good\"\nverifier = \"judge\"\noptions = {model = \"mixed\", read = {yes = 1, no = 0}}\n", "it is a sum of logits, and a judge is one model"},
		{"a filter by nobody", head + filtered("techer, top_p = 0.9"), "mine.toml:6:13: stage.rl.sampling.filter_by = \"techer\": there is no [models.techer]; did you mean teacher?"},
		{"a filter by the policy", head + filtered("policy, top_p = 0.9"), "the filters act on the distribution of the model that draws where filter_by is left out"},
		{"a filter by the reference", head + filtered("ref, top_p = 0.9"), "the reference is asked for log-probs; give a model that filters a name of its own"},
		{"a filter that is off", head + filtered("teacher"), "no filter is on, so that it would do nothing"},
		{"a filter by a sum", head + filtered("teacher, top_k = 3", "logits = \"policy + a\"\n[models.a]\ncopy = \"policy\""), "it is a sum of logits, and one model filters"},
		{"a filter by a head", head + filtered("teacher, top_k = 3", "copy = \"policy\"\nhead = true"), "a model with a head says nothing of the next token"},
		{"a filter with a prompt", head + filtered("teacher, min_p = 0.1", "copy = \"policy\"\nprompt = \"{question}\""), "who filters reads what the policy reads; take prompt out of [models.teacher]"},
		{"a filter by an endpoint", head + filtered("teacher, min_p = 0.1", "url = \"127.0.0.1:8080\""), "a model behind an address answers judges alone"},
		{"a filter by who learns", head + strings.Replace(filtered("teacher, top_p = 0.9"), "[[stage]]", "[[stage]]\ntrains = \"teacher\"", 1) + "[[stage]]\nname = \"warm-up\"\n", "the stage trains it, so that it draws itself"},
		{"one that nothing uses", head + teacher, "mine.toml:2:9: [models.teacher] is used by nothing: no formula reads teacher, no reward asks it, no verifier judges by it, no tool asks it, no filter of sampling acts on what it says, and no stage trains it"},
		{"an unknown learner", head + teacher + reads + "[[stage]]\nname = \"warm-up\"\ntrains = \"techer\"\n", "mine.toml:11:1: stage.warm-up.trains = \"techer\": there is no [models.techer]; did you mean teacher?"},
		{"a learner of a folder", head + "[models.teacher]\npath = \"x\"\n" + reads + "[[stage]]\nname = \"warm-up\"\ntrains = \"teacher\"\n", "a model of a folder is never trained; accepted: policy, or a model with copy = \"policy\""},
		{"a copy that never moves", head + teacher + "follow = 0.5\n[[stage]]\nname = \"warm-up\"\n[stage.algorithm]\npreset = \"sft\"\nweight = \"exp(teacher)\"\n", "mine.toml:4:1: models.teacher.follow = 0.5 would do nothing: a copy follows in stages of kind rl"},
		{"a learner that is made again", head + teacher + "renew = 3\n" + reads + "[[stage]]\nname = \"warm-up\"\ntrains = \"teacher\"\n", "a copy with renew or follow is made of the policy again and again"},
		{"a learner that is read", head + teacher + reads + "[[stage]]\nname = \"more\"\nkind = \"rl\"\n[[stage]]\nname = \"rl\"\ntrains = \"teacher\"\n", "its formulas read teacher, but that is who learns"},
		{"a learner with the policy's head", head + teacher + reads + "[[stage]]\nname = \"more\"\nkind = \"rl\"\ntrains = \"teacher\"\n[stage.algorithm]\npreset = \"ppo\"\n[[stage]]\nname = \"last\"\nkind = \"eval\"\n", "its formulas read the value head, which is the policy's"},
		{"a run without a policy in the end", head + teacher + strings.Replace(reads, "[stage.algorithm]", "steps = 3\n[stage.algorithm]", 1) + "[[stage]]\nname = \"more\"\nkind = \"rl\"\ntrains = \"teacher\"\n", "stage.more.trains = \"teacher\", but a run ends with its policy"},
	} {
		_, err := Parse("mine.toml", c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.about, err, c.want)
		}
	}
}

// beforeHead is a recipe with a model that has a head, up to what trains it.
const beforeHead = `base = "chain-sum-tiny"
[models.rm]
copy = "policy"
head = true
[[stage]]
name = "warm-up"
`

// withHead trains a head in one stage and pays by it in the next.
const withHead = beforeHead + `[[stage]]
name = "rm"
kind = "rl"
trains = "rm"
[stage.algorithm]
preset = "bradley_terry"
pair = "scored_group"
[[stage]]
name = "rl"
reward = "rm"
`

// TestHeads: a stage that trains a model with a head reads what the head says now; later rewards read it
// by the model's name. What is wrong is told with its place.
func TestHeads(t *testing.T) {
	r, err := Parse("mine.toml", withHead, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	for i, want := range []struct{ scores, asks bool }{{false, false}, {true, false}, {false, true}} {
		if st := &r.Stages[i]; st.Scores() != want.scores || st.Asks("rm") != want.asks {
			t.Errorf("stage %s: trains a head: %t, asks it: %t", st.Name, st.Scores(), st.Asks("rm"))
		}
	}
	if asks := r.Stages[2].Texts(); len(asks) != 1 || !asks[0].Head || asks[0].Model != "rm" {
		t.Errorf("the reward asks %+v", asks)
	}
	const folder = "copy = \"policy\"\n"
	for _, c := range []struct{ about, from, to, want string }{
		{"nobody trains it", "trains = \"rm\"\n", "", "mine.toml:10:8: stage.rm.algorithm reads score (what the head of the model that learns says after the token, now"},
		{"it is read before", "[[stage]]\nname = \"rm\"", "[[stage]]\nname = \"soon\"\nkind = \"rl\"\nreward = \"rm\"\n[[stage]]\nname = \"rm\"", "mine.toml:4:1: models.rm.head: stage soon reads the head of rm, and no stage before it trains that"},
		{"the loss reads nothing of it", "preset = \"bradley_terry\"\npair = \"scored_group\"\n", "preset = \"grpo\"\n", "models.rm.head: stage rl reads the head of rm, and no stage before it trains that"},
		{"a label of nothing", "head = true\n", "label = \"good\"\n", "models.rm.label cannot be set together with models.rm.copy"},
		{"a label without a head", folder + "head = true\n", "path = \"x\"\nlabel = \"good\"\n", "mine.toml:4:1: models.rm.label = \"good\" would do nothing without head = true"},
		{"an adapter", folder, "path = \"x\"\nadapter = \"y\"\n", "mine.toml:4:1: models.rm.adapter does not go with head = true; accepted: the folder of a whole model with a head"},
		{"a copy that is made again", folder, folder + "renew = 2\n", "mine.toml:4:1: models.rm.renew does not go with head = true"},
		{"a copy that moves", folder, folder + "follow = 0.5\n", "mine.toml:4:1: models.rm.follow does not go with head = true"},
		{"the reference", "[models.rm]", "[models.ref]\n" + folder + "head = true\n[models.rm]", "mine.toml:4:1: models.ref.head: the reference is asked for log-probs"},
		{"the learner by its name", "pair = \"scored_group\"", "loss = \"seq_mean(last(rm) + last(score))\"", "its formulas read rm, but that is who learns: write score for what its head says now"},
		{"a head in the policy's stage", "reward = \"rm\"", "reward = \"rm\"\n[stage.algorithm]\npenalty = \"score\"", "mine.toml:17:8: stage.rl.algorithm reads score"},
		{"no head", "head = true\n", "", "which this stage does not supply"},
		{"a folder that learns", folder, "path = \"x\"\n", "a model of a folder is never trained"},
	} {
		text := strings.Replace(withHead, c.from, c.to, 1)
		if text == withHead {
			t.Fatalf("%s: there is no %q", c.about, c.from)
		}
		if _, err := Parse("mine.toml", text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.about, err, c.want)
		}
	}
}

// TestHeadPrompt: a head with a prompt of its own learns in stages of kind rl, which are not played in turns.
func TestHeadPrompt(t *testing.T) {
	own := strings.Replace(withHead, "head = true\n", "head = true\nprompt = \"{question}\"\n", 1)
	if _, err := Parse("mine.toml", own, nil); err != nil {
		t.Error(err)
	}
	own = strings.Replace(own, "reward = \"rm\"\n", "", 1) // what a stage teaches is checked where no stage asks
	for _, c := range []struct{ from, to, want string }{
		{"kind = \"rl\"\ntrains = \"rm\"\n[stage.algorithm]\npreset = \"bradley_terry\"\npair = \"scored_group\"\n", "kind = \"sft\"\ntrains = \"rm\"\n[stage.algorithm]\npreset = \"sft\"\nloss = \"seq_mean(-last(score))\"\n",
			"mine.toml:5:1: models.rm.prompt: the head learns in stage rm by kind sft, whose rows have prompts of their own; accepted: kind rl"},
		{"chain-sum-tiny", "guess-tiny", "mine.toml:5:1: models.rm.prompt does not go with a task that is played in turns"},
	} {
		if _, err := Parse("mine.toml", strings.Replace(own, c.from, c.to, 1), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.to, err, c.want)
		}
	}
}

// TestLeftOut holds that a recipe may leave out both the stages that train a head and those that read it, as
// comparisons do for the start that their runs share. The first alone stays refused.
func TestLeftOut(t *testing.T) {
	const apart, beside = "cooper", "stage.rl.learn={}"
	if _, err := Load(apart, []string{beside, "stage.rm.skip=true", "stage.rl.skip=true"}); err != nil {
		t.Error(err)
	}
	_, err := Load(apart, []string{beside, "stage.rm.skip=true"})
	if err == nil || !strings.Contains(err.Error(), "stage rl reads the head of rm, and no stage before it trains that") {
		t.Error(err)
	}
}
