package recipe

import (
	"strings"
	"testing"
)

const wordy = `seed = 1
[model]
path = "some-folder"
[task]
name = "gcd"
max_prompt_tokens = 200
[task.settings]
max_value = 500

[[stage]]
kind = "rl"
[stage.sampling]
max_completion_tokens = 64
`

// TestTaskWithoutDemonstrations: a task without demonstrations and a vocabulary can be
// trained on from a model that exists, with lengths that the recipe gives.
func TestTaskWithoutDemonstrations(t *testing.T) {
	r, err := Parse("r.toml", wordy, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Task.Demonstrator() != nil || r.Task.MaxPromptTokens != 200 || r.MaxCompletion(&r.Stages[0]) != 64 {
		t.Errorf("task %+v", r.Task)
	}
	text := r.Resolved()
	if !strings.Contains(text, "[task.settings]\nmin_numbers = 2\nmax_numbers = 2\nmin_value = 1\nmax_value = 500\n") {
		t.Errorf("the settings are not written out:\n%s", text)
	}
	sameAgain(t, r)
	for _, c := range []struct{ old, new, want string }{
		{"max_prompt_tokens = 200\n", "", "r.toml:5:1: task.max_prompt_tokens is missing: the prompts of task gcd have no fixed length"},
		{"max_completion_tokens = 64\n", "", "stage.rl.sampling.max_completion_tokens is missing: the answers of task gcd have no fixed length"},
		{`path = "some-folder"`, "family = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8", "r.toml:2:2: model.path is missing: task gcd has no vocabulary for a model from random weights"},
		{`kind = "rl"`, "kind = \"sft\"\n[[stage]]\nkind = \"rl\"", `r.toml:11:1: stage.sft.kind = "sft" needs demonstrations, which task gcd does not have: leave the stage out, use one of the tasks chain_sum, composition, countdown, countdown_search, critic, forms, grid, guess, library, mixture, nim, program, repair, rewrite, rooms, shop, sums, table, tictactoe, trace, or give rows with task.data`},
		{"kind = \"rl\"\n[stage.sampling]\nmax_completion_tokens = 64", `kind = "eval"`, "the recipe of a task such as gcd needs a stage of kind rl with sampling.max_completion_tokens"},
		{"max_value = 500", "max_value = 1", "task.settings.max_value = 1 is out of range; accepted: a whole number from 2 to 1000000"},
		{"max_value = 500", "min_value = 50\nmax_value = 40", "task.settings.max_value = 40 is out of range; accepted: a whole number from 2 to 1000000, not below min_value = 50"},
	} {
		text := strings.Replace(wordy, c.old, c.new, 1)
		if text == wordy {
			t.Fatalf("%q is not in the recipe", c.old)
		}
		if _, err := Parse("r.toml", text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
	if _, err := Parse("r.toml", strings.Replace(example, "eval_problems = 100", "eval_problems = 100\nmax_prompt_tokens = 3", 1), nil); err == nil ||
		!strings.Contains(err.Error(), "task.max_prompt_tokens = 3 is out of range; accepted: at least 7, the length of the prompts of task countdown") {
		t.Errorf("prompts too short for a demonstrator: %v", err)
	}
}

// TestHintsOfRows: rows of data are imitated as they are.
func TestHintsOfRows(t *testing.T) {
	_, err := Parse("r.toml", "model.path = \"start\"\ntask.data = \"x\"\n[[stage]]\nkind = \"sft\"\nmax_tokens = 9\nshow = \"{answer} {question}\"\n", nil)
	if want := "r.toml:6:1: stage.sft.show is for demonstrations of a task, but rows of task.data are imitated as they are: put the hint into the rows"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
