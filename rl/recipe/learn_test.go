package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/formula"
)

// besideText is a recipe in which a reward model learns on pairs of the step's completions, a second model on the
// completions, and the policy on demonstrations beside its rewards.
const besideText = beforeHead + `[[stage]]
name = "rl"
reward = "rm"
updates_per_rollout = 2
[[stage.make]]
rows = "pairs"
each = "pair"
row = {prompt = "{question}", chosen = "{best}", rejected = "{worst}"}
[stage.learn.rm]
kind = "preference"
rows = "pairs"
newest = true
max_tokens = 64
first = true
every = 2
algorithm = {preset = "bradley_terry"}
optimizer = {lr = 3e-4}
[stage.learn.policy]
kind = "sft"
weight = 0.1
batch_size = 4
[stage.learn.grader]
algorithm = {preset = "", loss = "s = sum(logp - ref); seq_mean(-(right(task)*log_sigmoid(s) + (1 - right(task))*log_sigmoid(-s)))"}
[models.grader]
copy = "policy"
`

// TestLearn: a recipe says who learns beside its policy, by what and from what, and is the same when it is written and
// read again.
func TestLearn(t *testing.T) {
	r, err := Parse("mine.toml", besideText, []string{"stage.rl.learn.rm.optimizer.lr=2e-4"})
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	ls := r.Stages[1].Learners()
	if len(ls) != 3 || ls[0].Trains != "grader" || ls[1].Trains != PolicyModel || ls[2].Trains != "rm" {
		t.Fatalf("%+v", ls)
	}
	grader, policy, rm := ls[0], ls[1], ls[2]
	if grader.Kind != KindRL || grader.Every != 1 || grader.First || grader.Optimizer.LR != 1e-6 || grader.Steps != r.Stages[1].Steps || grader.UpdatesPerRollout != 1 {
		t.Errorf("grader: %+v", grader)
	}
	if policy.Weight != 0.1 || policy.Kind != KindSFT || policy.Sources != nil || policy.SFT.BatchSize != 4 {
		t.Errorf("policy: %+v", policy)
	}
	if rm.Every != 2 || !rm.First || rm.Optimizer.LR != 2e-4 || len(rm.Sources) != 1 || !rm.Sources[0].Newest || !rm.OfRows() || !rm.Scores() || r.Stages[1].Scores() {
		t.Errorf("rm: %+v", rm)
	}
	if !r.Trained("rm") || !r.Trained("grader") || r.FirstUse("grader") != 1 || !slices.Contains(r.Stages[1].Facts(), "ref") || slices.Contains(r.Stages[1].Facts(), "score") {
		t.Errorf("the stage reads %v", r.Stages[1].Facts())
	}
	plain, err := Load("chain-sum-tiny", nil)
	if err != nil || strings.Contains(plain.Resolved(), "learn.") {
		t.Errorf("a recipe without learners names them: %v", err)
	}
}

// TestLearnRefused: what cannot learn beside the policy is refused at its place, with what is accepted.
func TestLearnRefused(t *testing.T) {
	const stage = beforeHead + "[[stage]]\nname = \"rl\"\nreward = \"rm\"\n"
	const pairs = "[[stage.make]]\nrows = \"pairs\"\neach = \"pair\"\nrow = {prompt = \"{question}\", chosen = \"{best}\", rejected = \"{worst}\"}\n"
	const onPairs = "kind = \"preference\"\nalgorithm = {preset = \"bradley_terry\"}\n"
	const learns = stage + pairs + "[stage.learn.rm]\nrows = \"pairs\"\n" + onPairs
	for _, c := range []struct{ text, want string }{
		{stage + pairs + "[stage.learn.rn]\nrows = \"pairs\"\n" + onPairs, `mine.toml:14:14: stage.rl.learn.rn: there is no [models.rn]; did you mean rm?`},
		{stage + pairs + "[stage.learn.other]\nkind = \"sft\"\n", "there is no [models.other]"},
		{stage + "[stage.learn.rm]\nrows = \"pairs\"\n" + onPairs, `stage.rl.learn.rm.rows = "pairs": no stage makes such rows`},
		{stage + pairs + "[stage.learn.rm]\nrows = \"pears\"\n" + onPairs, `stage.rl.learn.rm.rows = "pears": no stage makes such rows; did you mean pairs?`},
		{stage + "[stage.learn.rm]\n" + onPairs, "needs rows with chosen and rejected, which task chain_sum does not have"},
		{stage + "[stage.learn.policy]\nweight = 0.1\n", `stage.rl.learn.policy has kind = "rl", but what the policy learns from completions is the method of the stage; accepted: kind = "sft" or "preference"`},
		{learns + "weight = 2\n", "stage.rl.learn.rm.weight does not go with another model, whose loss has an update of its own"},
		{learns + "[stage.learn.policy]\nkind = \"sft\"\noptimizer = {lr = 1}\n", "stage.rl.learn.policy.optimizer does not go with a second loss of the policy"},
		{learns + "[stage.learn.policy]\nkind = \"sft\"\nfirst = true\n", "stage.rl.learn.policy.first does not go with a second loss of the policy"},
		{strings.Replace(learns, "head = true\n", "head = true\nprompt = \"{question}\"\n", 1), "mine.toml:5:1: models.rm.prompt: the head learns in stage rl by kind preference, whose rows have prompts of their own"},
		{learns + "kinds = \"sft\"\n", "unknown key stage.rl.learn.rm.kinds"},
		{learns + "every = 0\n", "stage.rl.learn.rm.every = 0 is out of range; accepted: a whole number from 1 to 1000000000"},
		{learns + "max_tokens = 0\n", "stage.rl.learn.rm.max_tokens is missing: rows have no fixed length"},
		{stage + "[stage.learn.rm]\nbatch_size = 8\n", `stage.rl.learn.rm.batch_size goes with kind = "sft" or "preference"; this table has kind = "rl"`},
		{strings.Replace(learns, "head = true\n", "head = true\nfollow = 0.1\n", 1), "models.rm.follow does not go with head = true"},
		{learns + "[models.m]\npath = \"x\"\n[stage.learn.m]\nkind = \"sft\"\n", "stage.rl.learn.m: a model of a folder is never trained; accepted: a model with copy"},
		{learns + "[models.m]\ncopy = \"policy\"\nrenew = 3\n[stage.learn.m]\nkind = \"sft\"\n", "stage.rl.learn.m: a copy with renew or follow is made of the policy again and again"},
		{learns + "[models.ref]\ncopy = \"policy\"\n[stage.learn.ref]\nkind = \"sft\"\n", "stage.rl.learn.ref: ref is what the stage began with"},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nalgorithm = {preset = \"\", loss = \"seq_mean(sum(logp - m))\"}\n", "its formulas read m, but that is who learns: write logp"},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nalgorithm = {preset = \"\", loss = \"seq_mean(sum(logp - old_value))\"}\n", "its formulas read old_value, which is the policy's"},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nalgorithm = {preset = \"\", loss = \"seq_mean(sum(logp - value))\"}\n", "stage.rl.learn.m: its loss reads value, but it has no head"},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nalgorithm = {preset = \"\", good = \"reward\", loss = \"seq_mean(sum(logp*influence(good)))\"}\n", "its formulas read influence, own_influence or gradient_norm, which are of the policy's gradients"},
		{learns + "[stage.learn.policy]\nkind = \"sft\"\nbatch_size = 1\n[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nkind = \"sft\"\nmax_tokens = -1\n", "stage.rl.learn.m.max_tokens = -1 is out of range"},
		{strings.Replace(learns, "reward = \"rm\"\n", "updates_per_rollout = 2\n", 1) + "[stage.learn.policy]\nkind = \"sft\"\nbatch_size = 1\n", "batch_size = 1 is out of range; accepted: at least updates_per_rollout = 2"},
		{strings.Replace(learns, "reward = \"rm\"\n", "trains = \"m\"\n", 1) + "[models.m]\ncopy = \"policy\"\n[[stage]]\nname = \"end\"\nkind = \"eval\"\n", `stage.rl.learn goes with trains = "policy"; here m has the place of the policy`},
		{strings.Replace(stage, "reward = \"rm\"\n", "order = \"arrival\"\nlag = 1\n", 1) + "[stage.learn.policy]\nkind = \"sft\"\n", `stage.rl.learn does not go with order = "arrival"`},
		{strings.Replace(stage, "name = \"rl\"\nreward = \"rm\"\n", "name = \"more\"\nkind = \"sft\"\n", 1) + "[stage.learn.rm]\n", `learn goes with kind = "rl"`},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nreward = \"truth\"\nalgorithm = {preset = \"\", loss = \"seq_mean(-reward*sum(logp))\"}\n", "mine.toml:20:14: stage.rl.learn.m: reward = \"truth\", but the stage has no truth"},
		{learns + "updates = 2\n", `stage.rl.learn.rm.updates goes with kind = "rl"`},
		{learns + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nreplayed = true\nalgorithm = {preset = \"\", loss = \"seq_mean(-reward*sum(logp))\"}\n", "stage.rl.learn.m: replayed = true, but the stage stores no groups"},
		{strings.Replace(learns, "reward = \"rm\"\n", "truth = \"task\"\nreplay = {store = \"true\"}\n", 1) + "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\nreplayed = true\nreward = \"truth\"\nalgorithm = {preset = \"\", loss = \"seq_mean(-reward*sum(logp))\"}\n", `stage.rl.learn.m: replayed = true does not go with reward = "truth"`},
		{learns + "[models.m]\ncopy = \"rm\"\n[stage.learn.m]\nalgorithm = {preset = \"\", loss = \"seq_mean(-reward*sum(logp))\"}\n", "stage.rl.learn.m: it is a copy of rm, which learns; accepted: a model with copy = \"policy\""},
		{strings.Replace(learns, "reward = \"rm\"\n", "", 1) + "[models.m]\ncopy = \"policy\"\nhead = true\n[stage.learn.m]\nalgorithm = {preset = \"\", loss = \"seq_mean(last(square(score - m.value)))\"}\n", "its formulas read m.value, but that is who learns: write value"},
		{stage + "learn = 3\n", "tables [stage.learn.NAME]"},
		{beforeHead + "[[stage]]\nname = \"rl\"\nreward = \"rm\"\n[stage.learn.policy]\nkind = \"sft\"\n", "no stage before it trains that: the head is all zeros"},
		{learns + "[models.second]\ncopy = \"policy\"\n", "the name is where the metrics of a second loss of the policy are"},
		{learns + "[stage.learn.policy]\nkind = \"sft\"\nalgorithm = {preset = \"\", loss = \"seq_mean(sum(logp - rew))\"}\n", "stage.rl.learn.policy.algorithm.loss: "},
	} {
		_, err := Parse("mine.toml", c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v\nhas not %q", strings.TrimPrefix(c.text, beforeHead), err, c.want)
		}
	}
}

// slowText is a recipe in which a copy follows a model that learns beside the policy.
const slowText = beforeHead + `[[stage]]
name = "rl"
replay = {store = "true"}
[stage.learn.rm]
first = true
replayed = true
updates = 3
algorithm = {preset = "", loss = "seq_mean(square(last(score) - reward - 0.9*last(slow.value)))"}
[stage.algorithm]
penalty = "0.01*rm"
[models.slow]
copy = "rm"
head = true
follow = 0.1
`

// TestCopyOf: a copy of a model that learns beside the policy is asked for as that is, and refused where there is none to
// copy.
func TestCopyOf(t *testing.T) {
	r, err := Parse("mine.toml", slowText, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	l := r.Stages[1].Learners()[0]
	if l.Updates != 3 || !l.Stored || !slices.ContainsFunc(l.facts(), func(f formula.Fact) bool { return f.Name == "replayed" }) || !r.Stages[1].Asks("slow") || r.Models["slow"].CopyOf() != "rm" || r.FirstUse("rm") != 1 {
		t.Errorf("%+v", l)
	}
	for _, c := range []struct{ about, from, to, want string }{
		{"of nobody", "copy = \"rm\"", "copy = \"rn\"", "models.slow.copy = \"rn\": there is no [models.rn]; did you mean rm?"},
		{"of a folder", "[models.slow]\ncopy = \"rm\"", "[models.m]\npath = \"x\"\n[models.slow]\ncopy = \"m\"", "models.slow.copy = \"m\": m cannot learn beside the policy"},
		{"of itself", "copy = \"rm\"", "copy = \"slow\"", "models.slow.copy = \"slow\": slow copies slow; accepted: policy, or a model that learns beside it"},
		{"without a head to copy", "[models.slow]\ncopy = \"rm\"", "[models.m]\ncopy = \"policy\"\n[stage.learn.m]\n[models.slow]\ncopy = \"m\"", "the copy has a head, and m has none"},
		{"after another prompt", "follow = 0.1", "follow = 0.1\nprompt = \"{question}\"", "prompt is not that of rm, which learns after its own"},
		{"of one that does not learn", "[models.slow]\ncopy = \"rm\"", "[models.m]\ncopy = \"policy\"\nhead = true\n[models.slow]\ncopy = \"m\"", "models.slow.copy = \"m\": no stage lets m learn beside the policy"},
		{"of one that a stage trains", "[[stage]]\nname = \"rl\"", "[[stage]]\nname = \"early\"\nkind = \"rl\"\ntrains = \"rm\"\n[stage.algorithm]\npreset = \"bradley_terry\"\npair = \"scored_group\"\n[[stage]]\nname = \"rl\"", "models.slow.copy = \"rm\": stage early trains rm; accepted: a model that learns beside the policy alone"},
		{"of one that does not learn a head", `loss = "seq_mean(square(last(score) - reward - 0.9*last(slow.value)))"`, `loss = "-seq_mean(reward*sum(logp)*last(slow.value))"`, "give it a table [stage.learn.rm] with a loss that reads score or value"},
		{"the reference", "[models.slow]\ncopy = \"rm\"\nhead = true", "[models.ref]\ncopy = \"rm\"", "the reference is of the policy; give a copy of another model a name of its own"},
		{"in a formula over models", "[models.slow]", "[models.m]\nweights = \"policy + slow\"\n[models.slow]", "unknown name slow"},
	} {
		text := strings.Replace(slowText, c.from, c.to, 1)
		if text == slowText {
			t.Fatalf("%s: there is no %q", c.about, c.from)
		}
		if _, err := Parse("mine.toml", text, nil); err == nil || !strings.Contains(err.Error()+strings.Join(hint.All(err), "; "), c.want) {
			t.Errorf("%s: %v\nwant %s", c.about, err, c.want)
		}
	}
}
