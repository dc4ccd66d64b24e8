package recipe

import (
	"strings"
	"testing"
)

// TestCourseOfDemonstrations: a stage of kind sft changes settings of its task, and nothing else of a
// curriculum, which would need completions.
func TestCourseOfDemonstrations(t *testing.T) {
	parse := func(line, task string) (*Recipe, error) {
		return Parse("mine.toml", "base = \"chain-sum-tiny\"\n"+task+"[[stage]]\nname = \"warm-up\"\n"+line, nil)
	}
	r, err := parse(`curriculum.settings = {terms = "2 + floor(min(3*progress, 2))"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("recipe.toml", r.Resolved(), nil)
	if err != nil || again.Resolved() != r.Resolved() || !strings.Contains(r.Resolved(), `terms = "2 + floor(min(3*progress, 2))"`) {
		t.Errorf("the resolved recipe is read as another: %v", err)
	}
	plain, err := parse("", "")
	if err != nil || strings.Count(plain.Resolved(), "[stage.curriculum]") != 1 { // of the rl stage
		t.Errorf("a stage without settings has a curriculum: %v", err)
	}
	for _, c := range []struct{ line, task, says string }{
		{`curriculum.weight = "1"`, "", "stage.warm-up.curriculum.weight"},
		{`curriculum.teacher.space = {terms = [2, 4]}`, "", "stage.warm-up.curriculum.teacher"},
		{`curriculum.settings = {term = "2"}`, "", "unknown key stage.warm-up.curriculum.settings.term; did you mean terms?"},
		{`curriculum.settings = {terms = "solved"}`, "", "mine.toml:4:24: stage.warm-up.curriculum.settings.terms reads solved, which a stage of kind sft does not have; accepted: step, steps, progress, chance, prompt_chance"},
		{`curriculum.settings = {terms = "row.level"}`, "", "stage.warm-up.curriculum.settings.terms reads row.level, which a stage of kind sft does not have"},
		{`curriculum.settings = {terms = "2*progress"}`, "", "stage.warm-up.curriculum.settings in step 1"},
		{`curriculum.settings = {terms = "step"}`, "", "out of range"},
		{`curriculum.settings = {terms = true}`, "", "a formula in quotes"},
		{"max_tokens = 64\ncurriculum.settings = {terms = \"2\"}", "[task]\ndata = \"rows.jsonl\"\nverifier = \"exact\"\n", "are those of a procedural task; the problems of this recipe are data"},
	} {
		if _, err := parse(c.line, c.task); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}
