package recipe

import (
	"errors"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
)

// toolText is a recipe of rows with a tool; tool is what stands in its table.
func toolText(task, tool string) string {
	return `[model]
path = "start"
[task]
data = "rows.jsonl"
verifier = "math"
max_prompt_tokens = 99
` + task + `
[[task.tool]]
` + tool + `
[[stage]]
kind = "rl"
sampling = {max_completion_tokens = 9}
`
}

// TestTools: the tools of a task are read with their settings, and what is wrong with them is refused with
// its place, what was found and what is accepted.
func TestTools(t *testing.T) {
	const episode = "episode = {tokens = 64}"
	for _, x := range []struct{ task, tool, want string }{
		{episode, `tool = "calculator"`, ""},
		{episode, "tool = \"calculator\"\noptions = {digits = 9}\n[[task.tool]]\ntool = \"calculator\"\nname = \"exact\"", ""},
		{episode, `tool = "search"` + "\n" + `options = {data = "docs", show = 2}`, ""},
		{episode, `tool = "calculater"`, `r.toml:9:1: task.tool.0.tool = "calculater" is not known; did you mean calculator? (rlzero tools lists them all)`},
		{episode, `name = "x"`, `r.toml:8:8: task.tool.x has no tool; accepted: mcp = the command of a server, or tool = one of ask, blocks, browse, calculator`},
		{episode, `tool = "calculator"` + "\n" + `opts = {}`, `r.toml:10:1: unknown key task.tool.0.opts; known here: tool, name, mcp`},
		{episode, `tool = "calculator"` + "\n" + `options = {digit = 7}`, `unknown key task.tool.0.options.digit; did you mean digits?`},
		{episode, `tool = "calculator"` + "\n" + `options = {digits = 0}`, `task.tool.0.options.digits = 0 is out of range; accepted: a whole number from 1 to 400`},
		{episode, `tool = "calculator"` + "\n" + `options = 7`, `task.tool.0.options = 7 is a whole number; accepted: a table`},
		{episode, `tool = "calculator"` + "\n" + `name = "a b"`, `r.toml:10:1: task.tool.a b.name = "a b" is not accepted; accepted: letters, digits and _`},
		{episode, "tool = \"calculator\"\n[[task.tool]]\ntool = \"calculator\"", `r.toml:10:8: two tools are called "calculator"`},
		{episode, `tool = "search"`, `task.tool.0.options.data = "" and row = ""; accepted: one of them`},
		{episode, `tool = "calculator"` + "\n" + `shown = "{id}"`, `task.tool.0.shown needs a task with demonstrations, which rows.jsonl does not have`},
		{episode, `tool = "ask"`, `options.model is missing; accepted: policy, or a model of [models] with path or family`},
		{episode, "tool = \"ask\"\noptions = {model = \"policy\"}", ""},
		{episode, "tool = \"ask\"\noptions = {model = \"polici\"}", `r.toml:10:12: task.tool.0.options.model = "polici": there is no such model; did you mean policy?`},
		{episode, "tool = \"ask\"\noptions = {model = \"policy\", max_tokens = 512}", `max_tokens = 512 leaves a question no room; accepted: less than context = 512`},
		{episode, "tool = \"ask\"\noptions = {model = \"past\"}\n[models.past]\ncopy = \"policy\"", `options.model = "past": evaluations before and after every stage ask it too`},
		{episode, "tool = \"ask\"\noptions = {model = \"past\"}\n[models.past]\npath = \"other\"\nhead = true", `options.model = "past": a model with a head scores, and does not answer`},
		{episode, "tool = \"ask\"\noptions = {model = \"past\"}\n[models.past]\nurl = \"127.0.0.1:1\"", `options.model = "past": a model behind an address answers judges alone; accepted: policy, or a model of [models] with path or family`},
		{episode, "tool = \"ask\"\noptions = {model = \"past\"}\n[models.past]\npath = \"other\"", ""},
		{episode, "tool = \"blocks\"\noptions = {model = \"past\"}\n[models.past]\npath = \"other\"", ""},
		{episode, "tool = \"blocks\"\noptions = {model = \"past\"}\n[models.past]\ncopy = \"policy\"", `options.model = "past": evaluations before and after every stage ask it too`},
		{episode, "tool = \"blocks\"\noptions = {model = \"policy\"}", `task.tool.0.options.model = "policy": the policy picks the blocks, and another model writes them`},
		{"calls = \"tags\"\n" + episode, "tool = \"blocks\"\noptions = {model = \"past\"}\n[models.past]\npath = \"other\"", `task.calls does not go with blocks, which takes whole turns: leave it out`},
		{episode, `tool = "blocks"`, `options.model is missing; accepted: a model of [models] that writes`},
		{episode, "tool = \"blocks\"\noptions = {model = \"past\"}\n[[task.tool]]\ntool = \"calculator\"\n[models.past]\npath = \"other\"", `task.tool: the tool blocks takes whole turns, and none is left for another tool; accepted: blocks alone`},
		{"", `tool = "calculator"`, `task.episode.tokens is missing: what tools answer has no fixed length`},
		{episode + "\ncalls = \"tag\"", `tool = "calculator"`, `r.toml:8:1: task.calls = "tag" is not known; did you mean tags?`},
		{episode, "tool = \"files\"\n[[task.tool]]\ntool = \"files\"\nname = \"more\"", `tools files and more both leave what they did to the column "files" of a row`},
		{episode, "tool = \"files\"\n[[task.tool]]\ntool = \"files\"\nname = \"more\"\noptions = {row = \"more\"}", ""},
		{episode + "\nmax_calls = 17", `tool = "calculator"`, `task.max_calls = 17 is out of range`},
		{episode, `mcp = ["node", "server.js"]` + "\n" + `only = ["read-file"]`, ""},
		{episode, "mcp = [\"a\"]\n[[task.tool]]\nmcp = [\"b\"]\neffects = true", ""},
		{episode, "mcp = []", `r.toml:9:1: task.tool.0.mcp is empty; accepted: the program of the server and its arguments`},
		{episode, "mcp = \"node\"", `r.toml:9:1: task.tool.0.mcp = "node" is a string; accepted: a list`},
		{episode, "mcp = [\"a\"]\nname = \"b\"", `r.toml:10:1: task.tool.b.name does not go with mcp, whose server says what its tools are`},
		{episode, "mcp = [\"a\"]\ntool = \"search\"", `r.toml:10:1: task.tool.0.tool does not go with mcp`},
		{episode, "mcp = [\"a\"]\nenv = [\"a b\"]", `task.tool.0.env has "a b"; accepted: names of variables`},
		{episode, "mcp = [\"a\"]\nlisted = \"[7]\"", `task.tool.0.listed: the list of tools: json`},
		{episode, "tool = \"calculator\"\nonly = [\"a\"]", `r.toml:10:1: task.tool.0.only goes with mcp, the command of a server`},
	} {
		r, err := Parse("r.toml", toolText(x.task, x.tool), nil)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (x.want == "") != (err == nil) || !strings.Contains(said, x.want) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s\n%s:\n%s\nwant %s", x.task, x.tool, said, x.want)
		}
		if err != nil {
			continue
		}
		if seconds := map[bool]float64{true: 60}[strings.HasPrefix(x.tool, "mcp")]; r.Task.Episode.Seconds != seconds || r.Task.Remembers() != (seconds > 0) {
			t.Errorf("%s: %v seconds for a turn", x.tool, r.Task.Episode.Seconds)
		}
		again, err := Parse("again.toml", r.Resolved(), nil)
		if err != nil || again.Resolved() != r.Resolved() || !r.Task.Played() {
			t.Errorf("%v:\n%s", err, r.Resolved())
		}
	}
	for set, want := range map[string]string{
		"task.calls=tags":                  "task.calls goes with tools, of which the task has none: add [[task.tool]]",
		"task.reply_bytes=99":              "task.reply_bytes goes with tools",
		"task.tool=7":                      "task.tool = 7 is a whole number; accepted: tables headed [[task.tool]]",
		`task.tool=[{tool="calculator"}]`:  "task.tool does not go with task guess, which is played in turns",
		"stage.rl.reward=sum(turn.lost)":   "",
		"stage.rl.reward=sum(turn.called)": "which task guess does not tell of a turn",
	} {
		_, err := Load("guess-tiny", []string{set})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (want == "") != (err == nil) || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", set, said, want)
		}
	}
	for set, want := range map[string]string{
		"stage.rl.reward=task - 0.1*sum(turn.calls_failed)":                            "",
		"stage.rl.reward=task - 0.1*sum(turn.lost)":                                    "stage.rl.reward reads turn.lost, which task chain_sum does not tell of a turn; accepted: turn.calls, turn.calls_failed",
		"stage.rl.second_chance={when = \"group_max(reward) < 1\", rows = \"answer\"}": "does not go with a task that is played in turns",
		"task.tool.0.options.digits=3":                                                 "",
		"stage.rl.truth=task - 0.1*sum(turn.lost)":                                     "stage.rl.truth reads turn.lost, which task chain_sum does not tell of a turn",
		"task.episode.turns=1":                                                         "task.episode.turns = 1 leaves no turn for the answer after the calls of demonstrations; accepted: at least 2",
	} {
		_, err := Load("calculator-tiny", []string{set})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (want == "") != (err == nil) || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", set, said, want)
		}
	}
}

// TestWorldAsks: a world that asks a model names one that can answer, which is used and has room.
func TestWorldAsks(t *testing.T) {
	for set, want := range map[string]string{
		`task.settings.writer="none"`:                    `task.settings.writer = "none": there is no such model`,
		`task.settings.writer="ref"`:                     `task.settings.writer = "ref": there is no such model; known here: policy, simulator`,
		`models.simulator={copy = "policy"}`:             `task.settings.writer = "simulator": evaluations before and after every stage ask it too`,
		`task.settings.writer=""`:                        `stage.rl.curriculum.settings in step 1: writer is missing`,
		`stage.simulator.skip=true`:                      `models.simulator.family: no stage trains simulator`,
		`task.settings={hops = 2, writer = "simulator"}`: "",
	} {
		r, err := Load("zerosearch", []string{set})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (want == "") != (err == nil) || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", set, said, want)
		}
		if err != nil {
			continue
		}
		if room := r.Task.AskRoom("simulator"); room < 20 || !r.Uses("simulator") || len(r.Writers()) != 1 || r.Writers()[0] != (Writing{"simulator", room}) {
			t.Errorf("%s: room %d, %v", set, room, r.Writers())
		}
	}
}

// TestLeavesVerifier: verifiers of a stage do not see what a tool leaves, and are refused.
func TestLeavesVerifier(t *testing.T) {
	const verifier = "[[stage.verifier]]\nname = \"v\"\nverifier = \"math\"\n"
	for tool, want := range map[string]string{"files": "does not go with tool files", "calculator": ""} {
		_, err := Parse("r.toml", toolText("episode = {tokens = 64}", `tool = "`+tool+`"`)+verifier, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tool, err, want)
		}
	}
}

// TestToolVocabulary: a fresh model has tokens for the tags of its tools.
func TestToolVocabulary(t *testing.T) {
	r, err := Load("calculator-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Task.Vocabulary(), "")
	for _, c := range "</calculator>" + world.Unread {
		if !strings.ContainsRune(all, c) {
			t.Errorf("there is no token %q", c)
		}
	}
}
