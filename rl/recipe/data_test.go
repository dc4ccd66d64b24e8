package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const withData = `[model]
path = "some-folder"
[task]
data = "sums.jsonl"
verifier = "number"
options = {extract = "last_line"}
eval_problems = 3
max_prompt_tokens = 20
[[stage]]
kind = "rl"
[stage.sampling]
max_completion_tokens = 9
`

// sums are rows of which some are held out.
func sums() string {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "{\"prompt\":\"%d+1=\",\"answer\":\"%d\"}\n", i, i+1)
	}
	return lines.String()
}

func writeData(t *testing.T, recipe, data string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"r.toml": recipe, "sums.jsonl": data} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "r.toml")
}

// TestData: a task may be a file beside the recipe. The resolved text finds it from
// anywhere, and notices when it has changed.
func TestData(t *testing.T) {
	name := writeData(t, withData, sums())
	r, err := Load(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(name), "sums.jsonl")
	if r.Task.Data != filepath.ToSlash(file) || len(r.Task.SHA256) != 64 || r.Task.EvalProblems != 3 || r.Stages[0].EvalProblems != 3 {
		t.Errorf("task %+v", r.Task)
	}
	t.Chdir(t.TempDir())
	sameAgain(t, r)

	if fewer, err := Load(name, []string{"task.data=" + file}); err != nil || fewer.Task.Data != r.Task.Data {
		t.Errorf("an override with the same file: %v, %v", fewer, err)
	}
	all, err := Parse(name, strings.Replace(withData, "eval_problems = 3\n", "", 1), nil)
	if err != nil || all.Task.EvalProblems < 1 || all.Task.EvalProblems > 20 {
		t.Errorf("without eval_problems: %+v, %v", all, err)
	}
	_, err = Load("countdown-short", []string{"model.path=x", "task.verifier=number", "task.data=" + file})
	if err == nil || strings.Contains(err.Error(), "task.name") || !strings.Contains(err.Error(), "does not go with task "+file+", which has no demonstrations") {
		t.Errorf("a preset with a warm-up on a file: %v", err)
	}

	if err := os.WriteFile(file, []byte(sums()+"\n"+sums()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("resolved.toml", r.Resolved(), nil); err == nil || !strings.Contains(err.Error(), "it has changed") {
		t.Errorf("after a change of the file: %v", err)
	}
}

func TestDataErrors(t *testing.T) {
	for _, c := range []struct{ old, new, data, want string }{
		{"sums.jsonl", "none.jsonl", "", "FILE:4:1: task.data: open "},
		{`"sums.jsonl"`, `"."`, "", "is a folder; accepted: a regular file"},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a"}` + "\n\n[]", "sums.jsonl: line 3: a task row is a JSON object: "},
		{"sums.jsonl", "sums.jsonl", `{"answer":"1"}`, `sums.jsonl: line 1: the line has no "question" (or "prompt")`},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"` + "\xff" + `"}`, "sums.jsonl: line 1: not UTF-8 text"},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a","verifier":"math"}`, `line 1: the line's verifier is "math", the task's "number"`},
		{"sums.jsonl", "sums.jsonl", " ", "sums.jsonl has no rows"},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a"}`, "has 1 problems to train on and 0 that are held out"},
		{"verifier = \"number\"\n", "", "", "FILE:3:2: task.verifier is missing"},
		{`"number"`, `"nmber"`, "", `task.verifier = "nmber" is not known; did you mean number?`},
		{"extract", "extrakt", "", `FILE:6:1: task.options: verifier "number": option: unknown field "extrakt"`},
		{"eval_problems = 3", "eval_problems = 90", "", "FILE:7:1: task.eval_problems = 90 is out of range; accepted: at most "},
		{"eval_problems = 3", `name = "countdown"`, "", "FILE:7:1: task.name does not go with task.data: remove one of them"},
		{"eval_problems = 3", "[task.settings]", "", "FILE:7:7: task.settings does not go with task.data: remove one of them"},
		{"data = \"sums.jsonl\"\n", "name = \"countdown\"\n", "", "FILE:5:1: task.verifier does not go with task.name: remove one of them"},
		{"eval_problems = 3", `sha256 = "12"`, "", `FILE:7:1: task.sha256 = "12", but that of `},
		{"max_prompt_tokens = 20\n", "", "", "task.max_prompt_tokens is missing"},
	} {
		data := c.data
		if data == "" {
			data = sums()
		}
		name := writeData(t, strings.Replace(withData, c.old, c.new, 1), data)
		_, err := Load(name, nil)
		if want := strings.Replace(c.want, "FILE", name, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", c.new, err, want)
		}
	}
}
