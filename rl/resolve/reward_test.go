package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shaped = `[model]
path = "some-folder"
[task]
name = "countdown"

[[stage]]
kind = "rl"
name = "first"
[[stage.verifier]]
name = "form"
verifier = "format"

[[stage]]
kind = "rl"
reward = """
brief = shortest_right(right(task));  # a part
if(right(form), task + 0.1*brief, -1) + mine
"""
max_not_scored = 0.25

[[stage.verifier]]
name = "form"
verifier = "format"
options = {pattern = '[\d+=" -]*', "tags" = []}

[[stage.verifier]]
name = "mine"
starlark = "mine.star"
range = [-1.0, 2]
[stage.optimizer]
lr = 3e-4
`

const mine = "def reward(row, completion):\n\tif '\"\"\"' in completion: # \\ and \"\"\n\t\treturn 2\n\treturn -0.5, \"no\"\n"

// writeShaped writes a recipe and its script and returns the recipe's file.
func writeShaped(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"r.toml": text, "mine.star": mine} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "r.toml")
}

// TestReward: a composed reward is read with its verifiers and its script, and
// the resolved text holds all of it.
func TestReward(t *testing.T) {
	file := writeShaped(t, strings.Replace(shaped, `, "tags" = []`, "", 1))
	o, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	r := o.Recipe
	st := r.Stages[1]
	if len(st.Verifiers) != 2 || st.Verifiers[1].Source != mine || st.Verifiers[1].Starlark != "mine.star" || st.Verifiers[1].Range != [2]float64{-1, 2} || st.MaxNotScored != 0.25 {
		t.Errorf("stage %+v", st.RL)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(file), "mine.star")); err != nil {
		t.Fatal(err)
	}
	sameAgain(t, o)
	if text := r.Resolved(); !strings.Contains(text, "\n\treturn -0.5, \"no\"\n") {
		t.Errorf("the script is not readable in\n%s", text)
	}
}

// TestRewardErrors: what is wrong with a reward is told with the place of its
// key and the column in the formula.
func TestRewardErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"task + 0.1*brief", "tsk + 0.1*brief", `FILE:15:1: stage.rl.reward: line 2, column 17: unknown name tsk; did you mean task?`},
		{"shortest_right(", "shortest_rigth(", "column 9: unknown function shortest_rigth; did you mean shortest_right?"},
		{"right(form)", "form", "FILE:15:1: stage.rl.reward: line 2, column 4: if(condition, x, y) takes a condition here, found a number; write a comparison, such as right(form)"},
		{"\", \"tags\" = []", "", ""},
		{`[\d+=" -]*`, "(", "FILE:24:1: stage.rl.verifier.form.options: verifier \"format\": option pattern: error parsing regexp: missing closing ): `(`"},
		{`options = {pattern`, `options = {patern`, `FILE:24:1: stage.rl.verifier.form.options: verifier "format": unknown key patern; did you mean pattern?`},
		{`options = {pattern = '[\d+=" -]*'}`, `options = {pattern = 2026-01-01}`, `FILE:24:1: stage.rl.verifier.form.options holds a date or time`},
		{"name = \"mine\"", "name = \"tokens\"", `FILE:27:1: stage.rl.verifier.tokens.name: name = "tokens" is a fact; choose another one`},
		{"name = \"mine\"", "nam = \"mine\"", "FILE:27:1: unknown key stage.rl.verifier.1.nam; did you mean name?"},
		{"starlark = \"mine.star\"\nrange = [-1.0, 2]", "verifier = \"regx\"", `FILE:28:1: stage.rl.verifier.mine.verifier: verifier = "regx" is not known; did you mean regex?`},
		{"mine.star", "none.star", "FILE:28:1: stage.rl.verifier.mine.starlark: "},
		{"range = [-1.0, 2]", "range = [2, 1]", "range = [2, 1]; accepted: two finite numbers, the first below the second"},
		{"range = [-1.0, 2]", "options = {a = 1}", "FILE:29:1: stage.rl.verifier.mine.options: options go with verifier, not with starlark"},
		{"max_not_scored = 0.25", "max_not_scored = 25", "FILE:19:1: stage.rl.max_not_scored = 25 is out of range; accepted: a number from 0 to 1"},
		{"starlark = \"mine.star\"", "source = \"def reward(row):\\n  return 1\"", "mine.star has no function reward(row, completion)"},
	} {
		text := strings.Replace(strings.Replace(shaped, `, "tags" = []`, "", 1), c.old, c.new, 1)
		file := writeShaped(t, text)
		_, err := load(file)
		if c.want == "" {
			continue
		}
		if want := strings.ReplaceAll(c.want, "FILE", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q for %q: got\n%v\nwant\n%s", c.new, c.old, err, want)
		}
	}
}

// TestRewardOverrides: the words that stood for a reward before still do, and a
// whole expression can be set.
func TestRewardOverrides(t *testing.T) {
	for _, expression := range []string{"task", "random", "one", "task + 0.1*ended", "if(right(task), 1, -1)"} {
		o, err := load("countdown-short", "stage.rl.reward="+expression)
		if err != nil || o.Recipe.Stages[1].Reward != expression {
			t.Errorf("%s: %v", expression, err)
		}
	}
	set := `stage.rl.verifier=[{name = "form", verifier = "format"}]`
	o, err := load("countdown-short", set, "stage.rl.reward=form")
	if err != nil || len(o.Recipe.Stages[1].Verifiers) != 1 {
		t.Fatalf("%v", err)
	}
	sameAgain(t, o)
	if _, err := load("countdown-short", "stage.rl.reward=tusk"); err == nil || !strings.Contains(err.Error(), "--set stage.rl.reward=tusk: stage.rl.reward: column 1: unknown name tusk; did you mean task?") {
		t.Errorf("%v", err)
	}
}

// TestValuesOfTheReward: a method reads what the reward of its stage names, and nothing else.
func TestValuesOfTheReward(t *testing.T) {
	for reading, want := range map[string]string{"reward.brief": "", "reward.form": "", "reward.task": "",
		"reward.breif": "stage.rl.algorithm: it reads reward.breif, but the reward names no such value; accepted: reward.NAME with task, form, mine, brief"} {
		_, err := load(writeShaped(t, strings.Replace(shaped, `, "tags" = []`, "", 1)), "stage.1.algorithm.preset=grpo", "stage.1.algorithm.advantage="+reading, "stage.1.algorithm.loss=token_mean(weight*policy)", "stage.0.algorithm.preset=grpo")
		if got := errText(err); want == "" && strings.Contains(got, "reads") || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %s", reading, err, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
