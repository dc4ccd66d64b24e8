package recipe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// worldText is a recipe with a program of others; task and world are what stands in their tables.
func worldText(task, world, stage string) string {
	return `[model]
path = "start"
[task]
max_prompt_tokens = 99
` + task + `
[task.world]
` + world + `
[[stage]]
kind = "rl"
sampling = {max_completion_tokens = 9}
` + stage
}

// TestWorld: a program of others is read with its keys, and what is wrong with it is refused with its place,
// what was found and what is accepted.
func TestWorld(t *testing.T) {
	const episode, command = "episode = {tokens = 64}", `command = ["python3", "wordle.py"]`
	for _, x := range []struct{ task, world, stage, want string }{
		{episode, command, "", ""},
		{episode + "\ndata = \"rows.jsonl\"", command, "", ""},
		{episode, command + "\n" + `facts = ["left"]`, `reward = "task + sum(turn.left)"`, ""},
		{episode, command, `reward = "task + sum(turn.left)"`, "reads turn.left, which task wordle.py does not tell of a turn"},
		{"", command, "", `task.episode.tokens is missing: what the program of a world answers has no fixed length`},
		{episode, `comand = ["x"]`, "", `r.toml:7:1: unknown key task.world.comand; did you mean command?`},
		{episode, `env = ["A"]`, "", `r.toml:6:7: task.world has no command; accepted: the program and its arguments`},
		{episode, `command = "x"`, "", `r.toml:7:1: task.world.command = "x" is a string; accepted: a list`},
		{episode, `command = [""]`, "", `r.toml:7:1: task.world.command has "" as its word 0; accepted: the name of a program`},
		{episode, command + "\n" + `env = ["A=1"]`, "", `task.world.env has "A=1"; accepted: names of variables, such as API_TOKEN, each once`},
		{episode, command + "\n" + `facts = ["left", "left"]`, "", `task.world.facts has "left"; accepted: lower-case letters`},
		{episode, command + "\n" + `facts = ["calls"]`, "", `task.world.facts has "calls", which counts the calls of tools`},
		{episode + "\nname = \"guess\"", command, "", `r.toml:6:1: task.name does not go with [task.world], whose program asks, answers and judges`},
		{episode + "\ndata = \"rows.jsonl\"\nverifier = \"math\"", command, "", `task.verifier does not go with [task.world]`},
		{episode + "\ntool = [{tool = \"calculator\"}]", command, "", `task.tool does not go with [task.world]`},
		{episode + "\nanswer = \"a\"", command, "", `task.answer cannot be set together with task.world`},
		{episode, command, `order = "arrival"`, `= "arrival" does not go with a task that is played in turns`},
		{episode, command, "[[stage]]\nkind = \"sft\"\nmax_tokens = 9", `= "sft" needs demonstrations, which task wordle.py does not have`},
		{episode, command, "curriculum = {settings = {a = \"1\"}}", `curriculum.settings are those of a procedural task; the problems of this recipe are of a program of others`},
		{episode, command, "curriculum = {pool = 9, weight = \"1\"}", `curriculum chooses among the problems of data or of a procedural task`},
	} {
		r, err := Parse("r.toml", worldText(x.task, x.world, x.stage), nil)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (x.want == "") != (err == nil) || !strings.Contains(said, x.want) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s\n%s\n%s:\n%s\nwant %s", x.task, x.world, x.stage, said, x.want)
		}
		if err != nil {
			continue
		}
		if e := r.Task.Episode; e.Turns != defaultTurns || e.Tokens != 64 || e.Clock() != time.Minute || !r.Task.Remembers() || !r.Samples() {
			t.Errorf("%+v", r.Task)
		}
		again, err := Parse("resolved.toml", r.Resolved(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Resolved() != r.Resolved() {
			t.Errorf("resolved:\n%s\nand again:\n%s", r.Resolved(), again.Resolved())
		}
	}
}

// TestWorldWords: words of a command that are files beside the recipe are those, wherever it runs.
func TestWorldWords(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"wordle.py", "python3"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here := filepath.ToSlash(dir)
	for text, want := range map[string][]string{
		`["python3", "wordle.py", "other.py"]`: {"python3", here + "/wordle.py", "other.py"},
		`["./world", "-x"]`:                    {here + "/world", "-x"},
		`["python3", "-m", "wordle"]`:          {"python3", "-m", "wordle"},
	} {
		r, err := Parse(filepath.Join(dir, "r.toml"), worldText("episode = {tokens = 64}", "command = "+text, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.Task.World.Command, want) {
			t.Errorf("%s: %q, want %q", text, r.Task.World.Command, want)
		}
	}
}
