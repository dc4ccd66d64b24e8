package recipe

import (
	"strings"
	"testing"
)

// TestCompletions: the completions of a step are shared by a formula of a prompt, with a bound that
// has a default; memory is planned for the largest group.
func TestCompletions(t *testing.T) {
	const text = "base = \"chain-sum-tiny\"\n[[stage]]\nname = \"rl\"\n"
	r, err := Parse("mine.toml", text+"curriculum = {completions = \"1 + prompt_chance\"}", nil)
	if err != nil {
		t.Fatal(err)
	}
	sameAgain(t, r)
	if st := &r.Stages[1]; st.Curriculum.CompletionsMost != 32 || st.LargestGroup() != 32 || r.Stages[0].LargestGroup() != 0 {
		t.Errorf("at most %d, the largest group has %d", st.Curriculum.CompletionsMost, st.LargestGroup())
	}
	if _, err := Parse("mine.toml", text+"curriculum = {candidates = 2, order = \"prompt_chance\"}", nil); err != nil {
		t.Errorf("a formula that reads prompt_chance alone: %v", err)
	}
	if plain, err := Load("chain-sum-tiny", nil); err != nil || plain.Stages[1].LargestGroup() != 8 || strings.Contains(plain.Resolved(), "completions_most") {
		t.Errorf("a recipe without a formula: %v", err)
	}
	for _, c := range []struct{ stage, want string }{
		{`curriculum = {completions = "A"}`, "stage.rl.curriculum.completions: column 1: there is no A"},
		{`curriculum = {completions = "reward"}`, "stage.rl.curriculum.completions: column 1: unknown name reward"},
		{`curriculum = {completions = "tokens"}`, "stage.rl.curriculum.completions"},
		{`curriculum = {completions = "1", completions_most = 7}`, "mine.toml:4:34: stage.rl.curriculum.completions_most = 7 is out of range; accepted: at least group_size = 8, which is the mean"},
		{`curriculum = {completions_most = 7}`, "stage.rl.curriculum.completions_most goes with completions"},
		{"group_size = 1\ncurriculum = {completions = \"1\"}\nalgorithm = {preset = \"reinforce\"}", "needs a group_size of at least 2, which each prompt gets; found 1"},
		{"refill = {tries = 2}\ncurriculum = {completions = \"1\"}", "does not go with refill.tries, which draws other prompts in place of some"},
		{"second_chance = {when = \"group_max(reward) == 0\", again = 2}\ncurriculum = {completions = \"1\"}", "does not go with second_chance.when"},
		{"replay = {store = \"true\"}\ncurriculum = {completions = \"1\"}", "does not go with replay.store"},
		{"lag = 1\norder = \"arrival\"\ncurriculum = {completions = \"1\"}", "does not go with order = \"arrival\""},
	} {
		if _, err := Parse("mine.toml", text+c.stage+"\n", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.stage, err, c.want)
		}
	}
	if _, err := Parse("mine.toml", "base = \"guess-tiny\"\n[[stage]]\nname = \"rl\"\ncurriculum = {completions = \"1\"}", nil); err == nil || !strings.Contains(err.Error(), "does not go with a task that is played in turns") {
		t.Errorf("episodes: %v", err)
	}
}
