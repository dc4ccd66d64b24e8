//go:build unix

package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/world/outside"
)

// scriptedServer is a server of tools in a shell; list is what it lists.
func scriptedServer(list string) string {
	return `while read -r line; do
	id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"sh\",\"version\":\"1\"}}}" ;;
	*'"tools/list"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[` + strings.ReplaceAll(list, `"`, `\"`) + `]}}" ;;
	*'"notifications/'*) ;;
	*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}" ;;
	esac
done
`
}

// TestServers: the tools of a server are those of the recipe, which has their list from then on: a run whose
// server lists others is refused, and one that is repeated needs no server.
func TestServers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool := func(name string) string {
		return `{"name":"` + name + `","description":"D","inputSchema":{"type":"object"}}`
	}
	rows := ""
	for i := range 32 {
		rows += `{"question":"row ` + string(rune('a'+i)) + `","answer":"1"}` + "\n"
	}
	write("rows.jsonl", rows)
	write("server.sh", scriptedServer(tool("read-file")+","+tool("write")))
	open := func(tools string) (*Opened, error) {
		r, err := calling(dir, tools)
		if err != nil {
			return nil, err
		}
		return Open(r, nil)
	}
	const whole = "[[task.tool]]\nmcp = [\"sh\", \"server.sh\"]\n"
	o, err := open(whole + "[[task.tool]]\ntool = \"calculator\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, spec := range o.Recipe.Task.Specs() {
		if names = append(names, spec.Name); o.Tools[i].Spec().Name != spec.Name {
			t.Errorf("tool %d is %s, and in the recipe %s", i, o.Tools[i].Spec().Name, spec.Name)
		}
	}
	if got := strings.Join(names, " "); got != "read_file write calculator" {
		t.Errorf("the tools are %s", got)
	}
	if own := o.Recipe.Task.Tools[0]; !strings.Contains(own.Listed, `"read-file"`) || len(own.SHA256) != 64 || !o.Recipe.Task.Remembers() {
		t.Errorf("%+v", own)
	}
	if e := o.Episodes(new(prompts.Renderer), 0, nil); e.Start != outside.StartClock {
		t.Errorf("the server has %v to start", e.Start)
	}
	resolved, err := recipe.Parse("again.toml", o.Recipe.Resolved(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Open(resolved, nil); err != nil || again.Recipe.Resolved() != o.Recipe.Resolved() {
		t.Errorf("opened again: %v", err)
	}
	for tools, want := range map[string]string{
		whole + "only = [\"write\"]\n" + whole + "only = [\"read-file\"]\n": "",
		whole + whole:                                  `task.tool: two tools are called "read_file"`,
		whole + "only = [\"wirte\"]\n":                 `task.tool.0.mcp: sh ` + dir + `/server.sh: unknown tool of the server "wirte"`,
		"[[task.tool]]\nmcp = [\"no-such-program\"]\n": `"no-such-program" cannot be started`,
		"[[task.tool]]\nmcp = [\"true\"]\n":            "the program has ended (exit status 0)",
	} {
		if _, err := open(tools); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tools, err, want)
		}
	}
	large := *resolved
	large.Stages = slices.Clone(resolved.Stages)
	large.Stages[0].RL.PromptsPerStep = 9
	if _, err := Open(&large, nil); err == nil || !strings.Contains(err.Error(), "stage.rl.prompts_per_step: a step plays 72 episodes at once; accepted: at most 64, since each may have a process of a server of tools") {
		t.Errorf("a step that is too large: %v", err)
	}
	large.Stages[0].RL.PromptsPerStep = resolved.Stages[0].RL.PromptsPerStep
	large.Stages[0].Best.Every, large.Stages[0].Best.Problems = 4, 65
	if _, err := Open(&large, nil); err == nil || !strings.Contains(err.Error(), "stage.rl.best.problems: a contest with the best policy plays 65 episodes at once; accepted: at most 64") {
		t.Errorf("a contest that is too large: %v", err)
	}
	large.Stages, large.Task.EvalSamples = resolved.Stages, 9
	if _, err := Open(&large, nil); err == nil || !strings.Contains(err.Error(), "task.eval_problems: an evaluation plays 72 episodes at once; accepted: at most 64") {
		t.Errorf("an evaluation that is too large: %v", err)
	}
	if again, err := OpenAgain(&large, nil); err != nil || len(again.Tools) != 3 {
		t.Errorf("repeated with an evaluation that is too large for the server, which does not run: %v", err)
	}
	write("server.sh", scriptedServer(tool("read-file")+","+tool("write"))+"# changed\n")
	if _, err := Open(resolved, nil); err == nil || !strings.Contains(err.Error(), "task.tool.0.sha256: the server sh "+dir+"/server.sh has changed: its SHA-256 is ") {
		t.Errorf("a changed server: %v", err)
	}
	other := *resolved
	other.Task.Tools = append([]recipe.Tool{}, resolved.Task.Tools...)
	other.Task.Tools[0].SHA256 = ""
	write("server.sh", scriptedServer(tool("read-file")))
	if _, err := Open(&other, nil); err == nil || !strings.Contains(err.Error(), "lists other tools than the recipe has") {
		t.Errorf("a server with other tools: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "server.sh")); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenAgain(resolved, nil); err != nil || len(again.Tools) != 3 {
		t.Errorf("repeated without the server: %v", err)
	}
}
