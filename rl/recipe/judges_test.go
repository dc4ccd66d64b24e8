package recipe

import (
	"strings"
	"testing"
)

// withJudge pays by a judge that reads probabilities.
const withJudge = `base = "chain-sum-tiny"
[models.past]
copy = "policy"
[[stage]]
name = "rl"
reward = "good"
truth = "task"
[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "past", source = "{question}{completion}", read = {yes = 1, no = 0}}
`

// TestJudges: a judge makes its model one that the stage asks, and its room is that of what it may be
// shown; what is wrong is told with its place, what was found and what is accepted.
func TestJudges(t *testing.T) {
	r, err := Parse("mine.toml", withJudge, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	st := &r.Stages[len(r.Stages)-1]
	if !st.Asks("past") || st.Asks("other") || r.FirstUse("past") != len(r.Stages)-1 {
		t.Errorf("the stage asks past: %t; first in stage %d", st.Asks("past"), r.FirstUse("past"))
	}
	all := r.Judges()
	if len(all) != 1 || all[0].Name != "good" || all[0].Stage != st || all[0].Model != "past" {
		t.Fatalf("%+v", all)
	}
	if got, want := r.JudgeRoom(all[0]), r.Task.MaxPromptTokens+r.MaxDrawn(st)+len("yes"); got != want {
		t.Errorf("room for %d tokens, want %d", got, want)
	}
	steps := strings.Replace(strings.Replace(withJudge, "{completion}", "{before}{step}", 1), "read =", "shows = \"steps\", steps = '=', read =", 1) + "[stage.algorithm]\nadvantage = \"token_whiten(good.step)\"\n"
	if r, err := Parse("mine.toml", steps, nil); err != nil || r.JudgeRoom(r.Judges()[0]) != r.Task.MaxPromptTokens+2*r.MaxDrawn(&r.Stages[len(r.Stages)-1])+len("yes") {
		t.Errorf("steps: %v", err)
	}
	list := strings.Replace(strings.Replace(withJudge, "{completion}", "{list}", 1), "read = {yes = 1, no = 0}", "shows = \"group\", max_tokens = 9, read = \"[0-9, ]+\"", 1)
	if r, err := Parse("mine.toml", list, nil); err != nil {
		t.Error(err)
	} else if st := &r.Stages[len(r.Stages)-1]; st.LargestGroup() != 8 || r.JudgeRoom(r.Judges()[0]) != r.Task.MaxPromptTokens+8*r.MaxDrawn(st)+8*len("[1]\n\n")+9 {
		t.Errorf("a list of %d has room for %d tokens", st.LargestGroup(), r.JudgeRoom(r.Judges()[0]))
	}
	twice := strings.Replace(withJudge, "{completion}", "{completion}{completion}", 1)
	if r, err := Parse("mine.toml", twice, nil); err != nil || r.JudgeRoom(r.Judges()[0]) != r.Task.MaxPromptTokens+2*r.MaxDrawn(&r.Stages[len(r.Stages)-1])+len("yes") {
		t.Errorf("a completion that is shown twice: %v", err)
	}
	if plain, err := Load("chain-sum-tiny", nil); err != nil || strings.Contains(plain.Resolved(), "truth") || len(plain.Judges()) > 0 {
		t.Errorf("a recipe without a truth names it: %v", err)
	}
	const model = `model = "past"`
	for _, c := range []struct{ about, from, to, want string }{
		{"no such model", model, `model = "pats"`, `mine.toml:11:12: stage.rl.verifier.good.options.model = "pats": there is no [models.pats]; did you mean past?`},
		{"the policy", model, `model = "policy"`, `stage.rl.verifier.good.options.model = "policy": the policy would learn from its own verdicts`},
		{"the reference", model, `model = "ref"`, "the reference is asked for log-probs"},
		{"no head", "{yes = 1, no = 0}", `"head"`, `read = "head", but [models.past] has no head`},
		{"a head that is not read", "copy = \"policy\"\n", "path = \"x\"\nhead = true\n", "[models.past] has a head, which read does not read"},
		{"a prompt of the model", "copy = \"policy\"\n", "copy = \"policy\"\nprompt = \"{question}\"\n", "a judge reads what its own prompt shows; take prompt out of [models.past]"},
		{"who learns", "reward = \"good\"\n", "reward = \"good\"\ntrains = \"past\"\n", "who learns in a stage cannot judge there"},
		{"nobody judges by it", "verifier = \"judge\"\noptions = {model = \"past\", source = \"{question}{completion}\", read = {yes = 1, no = 0}}", "verifier = \"format\"", "[models.past] is used by nothing"},
	} {
		text := strings.Replace(withJudge, c.from, c.to, 1)
		if text == withJudge {
			t.Fatalf("%s: there is no %q", c.about, c.from)
		}
		if _, err := Parse("mine.toml", text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.about, err, c.want)
		}
	}
	self := strings.Replace(strings.Replace(withJudge, model, `model = "policy", allow_self = true`, 1), "[models.past]\ncopy = \"policy\"\n", "", 1)
	if r, err := Parse("mine.toml", self, nil); err != nil || len(r.Judges()) != 1 {
		t.Errorf("allow_self: %v", err)
	}
	const task = "model.path = \"x\"\n[models.past]\nMODEL\n[task]\ndata = \"x.jsonl\"\nverifier = \"judge\"\noptions = {model = \"past\", source = \"SOURCE\", read = {yes = 1, no = 0}, shows = \"SHOWS\"}\nmax_prompt_tokens = 8\n[[stage]]\nkind = \"rl\"\nsampling = {max_completion_tokens = 4}\n"
	for _, c := range []struct{ model, source, shows, want string }{
		{`path = "y"`, "{completion}\", max_fooled = 0.3, part = \"", "each", "task.options.max_fooled: attacks are tried before a stage"},
		{`copy = "policy"`, "{completion}", "each", "mine.toml:7:12: task.options.model = \"past\": a judge of the task is asked after every stage, but past changes as the run goes on; accepted: a model with path"},
		{`path = "y"`, "{a}{b}", "pairs", "task.options.shows = \"pairs\": evaluations judge each completion by itself; accepted: each, items, steps"},
		{`path = "y"`, "{completion}", "each", ""},
	} {
		_, err := Parse("mine.toml", strings.NewReplacer("MODEL", c.model, "SOURCE", c.source, "SHOWS", c.shows).Replace(task), nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	played := strings.NewReplacer("MODEL", `path = "y"`, "SOURCE", "{completion}", "SHOWS", "each", "[[stage]]", "episode = {turns = 2, tokens = 64}\n[[task.tool]]\ntool = \"calculator\"\n[[stage]]").Replace(task)
	if _, err := Parse("mine.toml", played, nil); err == nil || !strings.Contains(err.Error(), "mine.toml:6:1: task.verifier = \"judge\": an episode is judged as it is played") {
		t.Errorf("with a tool: %v", err)
	}
}

// TestEndpoints: a judge behind an address of this machine is accepted where it draws its answers, and nothing else of
// it or beyond this machine is, told with its place, what was found and what is accepted.
func TestEndpoints(t *testing.T) {
	const judged = `base = "chain-sum-tiny"
[models.far]
url = "127.0.0.1:8080"
[[stage]]
name = "rl"
reward = "good"
[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "far", source = "{question}{completion}", read = "[0-9]", context = 4096}
`
	for url, address := range map[string]string{"127.0.0.1:8080": "127.0.0.1:8080", "http://localhost:80/": "127.0.0.1:80", "[::1]:65535": "[::1]:65535", "http://127.1.2.3:1": "127.1.2.3:1"} {
		r, err := Parse("mine.toml", strings.Replace(judged, "127.0.0.1:8080", url, 1), nil)
		if err != nil {
			t.Fatal(url, err)
		}
		sameAgain(t, r)
		if m := r.Models["far"]; m.Address() != address || m.Seconds != 60 || !r.Remembers() || !r.Uses("far") {
			t.Errorf("%s: %+v at %s", url, m, m.Address())
		}
	}
	if plain, err := Load("chain-sum-tiny", nil); err != nil || plain.Remembers() {
		t.Errorf("a recipe without a judge has a journal: %v", err)
	}
	const refused = "it is no address of this machine; accepted: \"127.0.0.1:PORT\", \"localhost:PORT\" or \"[::1]:PORT\""
	for _, c := range []struct{ about, from, to, want string }{
		{"another machine", "127.0.0.1:8080", "192.168.0.7:8080", `mine.toml:3:1: models.far.url = "192.168.0.7:8080": ` + refused},
		{"a name", "127.0.0.1:8080", "http://example.com:80", refused},
		{"all addresses", "127.0.0.1:8080", "0.0.0.0:80", refused},
		{"a name that begins alike", "127.0.0.1:8080", "127.0.0.1.example.com:80", refused},
		{"a user", "127.0.0.1:8080", "http://127.0.0.1:80@example.com:80", refused},
		{"a path", "127.0.0.1:8080", "http://127.0.0.1:80/v1", refused},
		{"no port", "127.0.0.1:8080", "127.0.0.1", refused},
		{"encrypted", "127.0.0.1:8080", "https://127.0.0.1:80", "a run asks nobody beyond this machine, and on it without encryption"},
		{"port 0", "127.0.0.1:8080", "127.0.0.1:0", "0 is no part of an address; accepted: bytes from 0 to 255, and a port from 1 to 65535"},
		{"a large port", "127.0.0.1:8080", "127.0.0.1:65536", "65536 is no part of an address"},
		{"a large byte", "127.0.0.1:8080", "127.0.0.256:80", "256 is no part of an address"},
		{"a copy too", "url =", "copy = \"policy\"\nurl =", "models.far.url cannot be set together with models.far.copy"},
		{"storage", "url =", "dtype = \"q8_0\"\nurl =", "models.far.dtype cannot be set together with models.far.url"},
		{"a head", "url =", "head = true\nurl =", "models.far.head does not go with url: the model behind an address writes answers to a judge's questions, and nothing else"},
		{"a prompt", "url =", "prompt = \"{question}\"\nurl =", "models.far.prompt does not go with url"},
		{"the reference", "models.far]", "models.ref]", "the reference is asked for log-probs"},
		{"probabilities", `"[0-9]"`, "{yes = 1, no = 0}", `mine.toml:10:12: stage.rl.verifier.good.options.model = "far": a model behind an address writes answers, and the probabilities of ["no" "yes"] cannot be read`},
		{"its head", `"[0-9]"`, `"head"`, "a model behind an address writes answers, and its head cannot be read"},
		{"no context", ", context = 4096", "", "how long a question may be is not known of a model behind an address"},
		{"log-probs", "reward = \"good\"\n", "reward = \"good\"\nalgorithm = {penalty = \"0.1*square(logp - far)\"}\n", "models.far.url: stage rl has formulas that read log-probs of far, but a model behind an address writes answers of a judge, and nothing else"},
		{"states", "reward = \"good\"\n", "reward = \"good\"\nalgorithm = {advantage = \"own*net(far, 1)\"}\n", "has formulas that read hidden states of far"},
		{"who learns", "reward = \"good\"\n", "reward = \"good\"\nlearn = {far = {algorithm = {preset = \"grpo\"}}}\n", "stage rl trains or measures far"},
		{"a sum", "[[stage]]", "[models.sum]\nlogits = \"policy + 0.1*far\"\n[[stage]]", "unknown name"},
		{"rows", "[[stage.verifier]]", "[[stage.make]]\nrows = \"r\"\nby = \"far\"\nsay = \"{question}\"\nrow = {question = \"{said}\", answer = \"1\"}\n[[stage.verifier]]", "stage rl has rows that far writes"},
		{"nobody judges by it", `verifier = "judge"` + "\n" + `options = {model = "far", source = "{question}{completion}", read = "[0-9]", context = 4096}`, `verifier = "format"`, "[models.far] is used by nothing"},
	} {
		text := strings.Replace(judged, c.from, c.to, 1)
		if text == judged {
			t.Fatalf("%s: there is no %q", c.about, c.from)
		}
		if _, err := Parse("mine.toml", text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.about, err, c.want)
		}
	}
}
