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
