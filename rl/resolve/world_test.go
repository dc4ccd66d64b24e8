//go:build unix

package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// TestWorldProblems: a program of others plays its own problems, numbers or rows of data, and what is wrong
// with it is a fault of its key.
func TestWorldProblems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows := "echo '{\"rows\":["
	for i := range 39 {
		rows += "{\"hidden\":" + string(rune('0'+i/10)) + "." + string(rune('0'+i%10)) + "1},"
	}
	rows += "{\"question\":\"40?\"}]}'"
	world := func(more string) string {
		return "echo '{\"protocol\":1,\"name\":\"sh\",\"pure\":true,\"forks\":false,\"at_once\":9" + more + "}'\n" + `while read -r line; do
	id=$(echo "$line" | sed 's/^{"id":"\([0-9]*\)".*/\1/')
	case $line in
	*'"op":"rows","from":0'*) ` + rows + ` ;;
	*'"op":"rows"'*) echo '{}' ;;
	*'"op":"begin"'*) echo "{\"id\":\"$id\",\"messages\":[{\"text\":\"q\"}]}" ;;
	*) echo "{\"id\":\"$id\"}" ;;
	esac
done
`
	}
	write("own.sh", world(`,"rows":true`))
	write("none.sh", world(""))
	data := ""
	for i := range 64 {
		data += `{"hidden":` + string(rune('1'+i/8)) + string(rune('0'+i%8)) + "}\n"
	}
	write("rows.jsonl", data)
	load := func(task, script string) *recipe.Recipe {
		t.Helper()
		r, err := recipe.Parse(filepath.Join(dir, "r.toml"), `[model]
path = "start"
[task]
max_prompt_tokens = 9
eval_problems = 2
episode = {tokens = 9}
`+task+`
[task.world]
command = ["sh", "`+script+`"]
[[stage]]
kind = "rl"
eval_problems = 2
sampling = {max_completion_tokens = 9}
`, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	told := 0
	tell := func(command string) {
		if told++; !strings.HasPrefix(command, "sh "+dir+"/") {
			t.Errorf("told of %s", command)
		}
	}
	for _, x := range []struct {
		task, script, problems string
		all                    int
	}{{"", "own.sh", recipe.ProblemsOwn, 40}, {"", "none.sh", recipe.ProblemsNumbers, 0}, {`data = "rows.jsonl"`, "own.sh", recipe.ProblemsOwn, 64}} {
		o, err := Open(load(x.task, x.script), tell)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		train, heldOut := o.Source.Rows()
		held, err := o.Source.HeldOut(2)
		if err != nil || len(held) != 2 || len(train)+len(heldOut) != x.all {
			t.Errorf("%s: %d rows to train on and %d held out, of which %d, %v", x.script, len(train), len(heldOut), len(held), err)
		}
		own := o.Recipe.Task.World
		if own.Problems != x.problems || !own.Pure || len(own.SHA256) != 64 {
			t.Errorf("%+v", own)
		}
		again, err := Open(o.Recipe, tell)
		if err != nil || again.Recipe.Resolved() != o.Recipe.Resolved() {
			t.Errorf("%s opened again: %v", x.script, err)
		}
		again.Close()
		seen := map[string]bool{}
		for _, row := range append([]verify.Problem{}, held...) {
			seen[row.ID] = true
		}
		if len(seen) != 2 {
			t.Errorf("%s: the problems are %v", x.script, held)
		}
		changed := *o.Recipe
		changed.Task.World.SHA256 = strings.Repeat("0", 64)
		if _, err := Open(&changed, tell); err == nil || !strings.Contains(err.Error(), "task.world.sha256: the program sh ") {
			t.Errorf("%s, changed: %v", x.script, err)
		}
	}
	if told != 9 { // three recipes, each opened three times
		t.Errorf("told %d times of a program", told)
	}
	write("impure.sh", strings.Replace(world(""), `"pure":true`, `"pure":false`, 1))
	o, err := Open(load("", "impure.sh"), tell)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if again, err := OpenAgain(o.Recipe, tell); err != nil || told != 10 { // the second starts nothing
		t.Errorf("told %d times of a program, %v", told, err)
	} else {
		again.Close()
	}
	write("one.sh", strings.Replace(world(""), `"at_once":9`, `"at_once":1`, 1))
	small := load("", "one.sh")
	if _, err := Open(small, nil); err == nil || !strings.Contains(err.Error(), "stage.rl.prompts_per_step: a step plays 256 episodes at once; accepted: at most 64, since the program holds at_once = 1 in a process") {
		t.Errorf("a step that is too large: %v", err)
	}
	small.Stages[0].RL.PromptsPerStep, small.Task.EvalSamples = 1, 64
	if _, err := Open(small, nil); err == nil || !strings.Contains(err.Error(), "task.eval_problems: an evaluation plays 128 episodes at once") {
		t.Errorf("an evaluation that is too large: %v", err)
	}
	small.Task.EvalSamples = 1
	if o, err := Open(small, nil); err != nil {
		t.Error(err)
	} else {
		o.Close()
	}
	for script, want := range map[string]string{
		"echo hello":          `task.world.command: sh ` + dir + `/bad.sh: its first line is "hello": it is not one JSON object`,
		"exit 7":              "the program has ended (exit status 7) before its first line; accepted: {",
		world("") + "\n# x\n": "",
		`echo '{"protocol":1,"name":"sh","pure":true,"forks":false,"at_once":9}'; read line; echo '{"id":"1","error":"no cards"}'; read line`: "tried with problem",
	} {
		write("bad.sh", script)
		o, err := Open(load("", "bad.sh"), nil)
		switch {
		case want == "" && err == nil:
			o.Close()
		case err == nil || want == "" || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}
