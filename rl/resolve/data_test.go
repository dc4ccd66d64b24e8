package resolve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/recipe"
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

// load loads a recipe and opens what it names.
func load(name string, overrides ...string) (*Opened, error) {
	r, err := recipe.Load(name, overrides)
	if err != nil {
		return nil, err
	}
	return Open(r, nil)
}

// sameAgain checks that the text of a complete recipe opens to the same one.
func sameAgain(t *testing.T, o *Opened) {
	t.Helper()
	text := o.Recipe.Resolved()
	r, err := recipe.Parse("resolved.toml", text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := Open(r, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := again.Recipe.Resolved(); got != text {
		t.Fatalf("another recipe:\n%s\nafter\n%s", got, text)
	}
}

// TestData: a task may be a file beside the recipe. The resolved text finds it from
// anywhere, and notices when it has changed.
func TestData(t *testing.T) {
	name := writeData(t, withData, sums())
	o, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	r := o.Recipe
	file := filepath.Join(filepath.Dir(name), "sums.jsonl")
	if r.Task.Data != filepath.ToSlash(file) || len(r.Task.SHA256) != 64 || r.Task.EvalProblems != 3 || r.Stages[0].EvalProblems != 3 {
		t.Errorf("task %+v", r.Task)
	}
	t.Chdir(t.TempDir())
	sameAgain(t, o)

	if same, err := load(name, "task.data="+file); err != nil || same.Recipe.Task.Data != r.Task.Data {
		t.Errorf("an override with the same file: %v, %v", same, err)
	}
	all, err := load(name, "task.eval_problems=90", "stage.rl.eval_problems=80")
	if err != nil || all.Recipe.Task.EvalProblems < 3 || all.Recipe.Task.EvalProblems > 20 || all.Recipe.Stages[0].EvalProblems != all.Recipe.Task.EvalProblems {
		t.Errorf("more problems than are held out: %+v, %v", all.Recipe.Task, err)
	}
	if rows, err := all.Source.HeldOut(90); err != nil || len(rows) != all.Recipe.Task.EvalProblems {
		t.Errorf("%d held-out problems, %v; the recipe says %d", len(rows), err, all.Recipe.Task.EvalProblems)
	}
	_, err = load("countdown-short", "model.path=x", "task.verifier=number", "task.data="+file)
	if err == nil || strings.Contains(err.Error(), "task.name") || !strings.Contains(err.Error(), "stage.warm-up.max_tokens is missing: the rows of task.data have no fixed length") {
		t.Errorf("a preset with a warm-up on a file: %v", err)
	}

	if err := os.WriteFile(file, []byte(sums()+"\n"+sums()), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := recipe.Parse("resolved.toml", r.Resolved(), nil)
	if err != nil {
		t.Fatalf("a recipe is plain data, whatever its files are: %v", err)
	}
	before, _, _ := strings.Cut(r.Resolved(), "sha256 = ")
	place := fmt.Sprintf("resolved.toml:%d:1: ", strings.Count(before, "\n")+1)
	if _, err := Open(changed, nil); !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), place+"task.sha256: "+r.Task.Data+" has changed: ") {
		t.Errorf("after a change of the file: %v", err)
	}
}

func TestDataErrors(t *testing.T) {
	for _, c := range []struct{ old, new, data, want string }{
		{"sums.jsonl", "none.jsonl", "", "FILE:4:1: task.data: open "},
		{`"sums.jsonl"`, `"."`, "", ""},
		{`"sums.jsonl"`, `"r.toml"`, "", `the extension ".toml" is not that of a data file; accepted: .csv`},
		{"eval_problems = 3", `split = "extra"`, "", `sums.jsonl has no split "extra"; it has train`},
		{"eval_problems = 3", `eval_split = "test"`, "", `sums.jsonl has no split "test"; it has train`},
		{"eval_problems = 3", `prompt = "problem"`, "", `sums.jsonl: line 1: prompt: there is no column "problem"; the row has answer, prompt`},
		{"eval_problems = 3", `prompt_template = "{prompt"`, "", `prompt_template: the brace at byte 1 names no column`},
		{"eval_problems = 3", `answer_pattern = "####"`, "", `sums.jsonl: line 1: answer_pattern "####" is not in the column answer`},
		{"eval_problems = 3", `columns = {tests = "units"}`, "", `sums.jsonl: line 1: columns.tests: there is no column "units"; the row has answer, prompt`},
		{"eval_problems = 3", `columns = {tests = 3}`, "", "task.columns.tests is 3; accepted: the name of a column"},
		{"eval_problems = 3", "[[task.source]]", "", "FILE:4:1: task.data cannot be set together with task.source: remove one of them"},
		{"data = \"sums.jsonl\"", "source = [{share = 1}]", "", "task.source.0 has no data: give the file or folder of the source"},
		{"data = \"sums.jsonl\"", `source = [{data = "sums.jsonl"}, {data = "none.jsonl"}]`, "", "FILE:4:1: task.source: open "},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a","answer":"1"}` + "\n\n[]", "sums.jsonl: line 3: found a list; accepted: a JSON object with the columns as keys"},
		{"sums.jsonl", "sums.jsonl", `{"answer":"1"}`, `sums.jsonl: line 1: the line has no "question" (or "prompt", or "messages")`},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"` + "\xff" + `"}`, "sums.jsonl: line 1: not UTF-8 text"},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a","verifier":"math"}`, `line 1: the line's verifier is "math", but the task's is "number"`},
		{"sums.jsonl", "sums.jsonl", " ", "sums.jsonl has no rows"},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a"}`, "sums.jsonl: line 1: the verifier number cannot judge this line: the row's answer: "},
		{"sums.jsonl", "sums.jsonl", `{"prompt":"a","answer":"1"}`, "has 1 problem to train on and 0 that are held out"},
		{"verifier = \"number\"\n", "", "", "FILE:5:1: task.options needs task.verifier, which is missing"},
		{"verifier = \"number\"\noptions = {extract = \"last_line\"}\n", "", `{"prompt":"a","answer":"It is so, and it is not."}`, `FILE:3:2: task.verifier: no verifier is named, which judges the completions, and none fits answers such as "It is so, and it is not."`},
		{`"number"`, `"nmber"`, "", `task.verifier = "nmber" is not known; did you mean number?`},
		{"extract", "extrakt", "", `FILE:6:1: task.options: verifier "number": unknown key extrakt; did you mean extract?`},
		{"eval_problems = 3", `name = "countdown"`, "", "FILE:7:1: task.name cannot be set together with task.data: remove one of them"},
		{"eval_problems = 3", "[task.settings]", "", "FILE:7:7: task.settings cannot be set together with task.data: remove one of them"},
		{"data = \"sums.jsonl\"\n", "name = \"countdown\"\n", "", "FILE:5:1: task.verifier cannot be set together with task.name: remove one of them"},
		{"eval_problems = 3", `sha256 = "12"`, "", `sums.jsonl has changed: its SHA-256 is `},
		{"max_prompt_tokens = 20\n", "", "", "task.max_prompt_tokens is missing"},
	} {
		data := c.data
		if data == "" {
			data = sums()
		}
		name := writeData(t, strings.Replace(withData, c.old, c.new, 1), data)
		_, err := load(name)
		if c.want == "" && err == nil {
			continue
		}
		if want := strings.Replace(c.want, "FILE", name, 1); c.want == "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", c.new, err, want)
		}
	}
}

// TestFound: what a recipe does not say of its data is found, told in a line, and part of the
// complete recipe, which needs no search and says nothing more.
func TestFound(t *testing.T) {
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "{\"problem\":\"%d+1=\",\"solution\":\"%d\"}\n", i, i+1)
	}
	text := strings.Replace(withData, "verifier = \"number\"\noptions = {extract = \"last_line\"}\n", "", 1)
	name := writeData(t, text, rows.String())
	o, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	const found = `found in the data: task.prompt = "problem", task.answer = "solution", task.verifier = "number", as the answers are numbers; --set changes it`
	if !slices.Equal(o.Notes, []string{found}) {
		t.Errorf("found %q, want %q", o.Notes, found)
	}
	if task := o.Recipe.Task; task.Prompt != "problem" || task.Answer != "solution" || task.Verifier != "number" || task.Columns.Columns != nil {
		t.Errorf("%+v", task)
	}
	sameAgain(t, o)
	given, err := load(name, "task.answer=problem", "task.verifier=exact")
	if err != nil || given.Recipe.Task.Answer != "problem" || given.Recipe.Task.Verifier != "exact" || given.Notes[0] != `found in the data: task.prompt = "problem"; --set changes it` {
		t.Errorf("what is said: %+v, %v", given, err)
	}
	two := strings.Replace(text, `data = "sums.jsonl"`, `source = [{data = "sums.jsonl"}, {data = "sums.jsonl", answer = "solution", prompt = "problem"}]`, 1)
	o, err = load(writeData(t, two, rows.String()))
	if err != nil {
		t.Fatal(err)
	}
	if s := o.Recipe.Task.Sources; s[0].Prompt != "problem" || s[0].Answer != "solution" || !strings.HasPrefix(o.Notes[0], `found in the data: task.source.0.prompt = "problem", task.source.0.answer = "solution", task.verifier`) {
		t.Errorf("two data sets: %+v, %q", s, o.Notes)
	}
	sameAgain(t, o)
}

// TestRefusedRows: a row that is refused names the flag that takes it, and the flag does.
func TestRefusedRows(t *testing.T) {
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "{\"id\":\"%d\",\"the_task\":\"What is %d+1?\",\"result\":\"%d\",\"info\":{\"note\":\"none\"}}\n", i, i, i+1)
	}
	name := writeData(t, withData, rows.String())
	var sets []string
	for _, want := range []string{"task.prompt=the_task", "task.answer=result", ""} {
		_, err := load(name, sets...)
		if want == "" {
			if err != nil {
				t.Errorf("with %q: %v", sets, err)
			}
			continue
		}
		flag := "to take another column: --set " + want
		if err == nil || !slices.Contains(hint.All(err), flag) {
			t.Fatalf("with %q: %v, hints %q, want %q", sets, err, hint.All(err), flag)
		}
		sets = append(sets, want)
	}
	_, err := load(name, "task.prompt=the_task", "task.answer=info.nte")
	if flag := "to take another column: --set task.answer=info.note"; err == nil || !slices.Contains(hint.All(err), flag) {
		t.Errorf("%v, hints %q, want %q", err, hint.All(err), flag)
	}
}

// TestDoubtfulRows: answers that the verifier of a recipe reads as times and dates are told once,
// with what would compare them as texts.
func TestDoubtfulRows(t *testing.T) {
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, "{\"question\":\"When, %d?\",\"answer\":\"08:%02d\"}\n", i, i)
	}
	name := writeData(t, strings.Replace(withData, `options = {extract = "last_line"}`, "", 1), rows.String())
	for verifier, want := range map[string]string{"math": "60 of 60 rows (lines 1, 2, 3, 4, 5, ...): the answer 08:00 reads as a time: it is compared part by part, not as arithmetic; --set task.verifier=exact compares the texts", "squad_exact": ""} {
		o, err := load(name, "task.verifier="+verifier)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Join(o.Notes, "\n"); (want == "") != (told == "") || !strings.HasSuffix(told, want) {
			t.Errorf("%s: notes %q, want %q", verifier, o.Notes, want)
		}
	}
}

// TestExactIsTold: a recipe that leaves to exact how it compares is told once; one that says it, or
// was opened before, is not.
func TestExactIsTold(t *testing.T) {
	name := writeData(t, strings.Replace(withData, `options = {extract = "last_line"}`, "", 1), sums())
	for _, c := range []struct {
		set  []string
		want bool
	}{{[]string{"task.verifier=exact"}, true}, {[]string{"task.verifier=exact", "task.options.normalize=squad"}, false}, {[]string{"task.verifier=squad_exact"}, false}} {
		o, err := load(name, c.set...)
		if err != nil {
			t.Fatal(err)
		}
		told := func(o *Opened) bool {
			return strings.Contains(strings.Join(o.Notes, "\n"), "--set task.verifier=squad_exact")
		}
		if told(o) != c.want {
			t.Errorf("%q: notes %q", c.set, o.Notes)
		}
		r, err := recipe.Parse("resolved.toml", o.Recipe.Resolved(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Open(r, nil); err != nil || told(again) {
			t.Errorf("%q, opened again: notes %q, %v", c.set, again.Notes, err)
		}
	}
}

// TestLeakIsRefused: a file that has a held-out problem among its training prompts is
// refused, unless the recipe accepts it.
func TestLeakIsRefused(t *testing.T) {
	var lines []string
	for i := range 80 {
		lines = append(lines, fmt.Sprintf(`{"question":"%d + 1?","answer":"%d"}`, i, i+1), fmt.Sprintf(`{"question":"%d  +  1?","answer":"%d"}`, i, i+1))
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, allowed := range []bool{false, true} {
		r, err := recipe.Parse("leak.toml", leakRecipe(file, allowed), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(r, nil)
		if allowed != (err == nil) || !allowed && !strings.Contains(err.Error(), "a held-out problem is among the training prompts") {
			t.Errorf("allow_leaks = %v: %v", allowed, err)
		}
		if hints := hint.All(err); !allowed && !slices.Equal(hints, []string{"remove one of the two, or accept it with task.allow_leaks = true"}) {
			t.Errorf("hints %q", hints)
		}
	}
}

func leakRecipe(file string, allowed bool) string {
	text := strings.Replace(withData, `"sums.jsonl"`, fmt.Sprintf("%q\nallow_leaks = %v", filepath.ToSlash(file), allowed), 1)
	return strings.Replace(text, `options = {extract = "last_line"}`, "", 1)
}
