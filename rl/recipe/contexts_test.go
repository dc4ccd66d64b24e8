package recipe

import (
	"strings"
	"testing"
)

// TestContexts: where a context begins anew, what does not go with it is refused where it stands, and a resolved
// recipe says the same.
func TestContexts(t *testing.T) {
	const episode = `task.episode={tokens = 20, summary = {at = 9, ask = "-"}}`
	for _, x := range []struct {
		from string
		sets []string
		want string // "": it is accepted
	}{
		{"guess-tiny", []string{episode}, "stage.rl.algorithm reads turn.lost, which a summary of task.episode.summary does not have: advantage: column 18: * needs a value of turn.lost"},
		{"guess-tiny", []string{episode, "stage.rl.algorithm.advantage=token_whiten(-own*if(summary, 0, turn.lost))", "stage.rl.reward=task - 0.1*sum(turn.lost) + 0.1*count(summary)"}, ""},
		{"guess-tiny", []string{episode, "stage.rl.algorithm.advantage=own*default(turn.lost, 0)", "stage.rl.reward=task - last(turn.left)", `stage.rl.algorithm.metrics={"my/left" = "step_mean(mean(turn.left))"}`}, ""},
		{"guess-tiny", []string{`task.episode.history="template"`}, ""},
		{"guess-tiny", []string{episode, `stage.rl.reward=task - 0.1*contexts`, `stage.rl.algorithm.advantage=own*if(summary, 1, turn_reward)`}, ""},
		{"guess-tiny", []string{`task.episode.history="whole"`}, `task.episode.history = "whole"`},
		{"guess-tiny", []string{`task.episode.summary={ask = "-"}`}, "task.episode.summary.at is missing"},
		{"guess-tiny", []string{`task.episode.summary={at = 9}`}, "task.episode.summary.ask is missing"},
		{"guess-tiny", []string{`task.episode={tokens = 9, summary = {at = 9, ask = "-"}}`}, "summary.at = 9 leaves no room for a summary in a context of task.episode.tokens = 9"},
		{"guess-tiny", []string{episode, `task.episode.history="template"`}, `does not go with history = "template"`},
		{"guess-tiny", []string{episode, `stage.rl.tree={rounds = 1, roots = 2, open = 1, width = 2}`, "stage.rl.group_size=4"}, "stage.rl.tree does not go with contexts that begin anew"},
		{"guess-tiny", []string{episode, `stage.rl.algorithm.metrics={"my/norm" = "step_mean(gradient_norm)"}`}, "reads gradient_norm, which is of one sequence and does not go with contexts"},
		{"guess-tiny", []string{episode, `stage.rl.second_chance={when = "group_max(reward) < 1", show = "{question} It is {answer}."}`}, `stage.rl.second_chance.show = "{question} It is {answer}." does not go with contexts that begin anew (task.episode.summary, or task.episode.history = "template"): what it shows would be forgotten there; accepted: again`},
		{"nim-tiny", []string{`task.episode={tokens = 20, summary = {at = 9, ask = "-"}}`}, "seats does not go with contexts that begin anew"},
	} {
		r, err := Load(x.from, x.sets)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (x.want == "") != (err == nil) || !strings.Contains(said, x.want) {
			t.Errorf("%s %s:\n%s\nwant %s", x.from, x.sets, said, x.want)
		}
		if err != nil {
			continue
		}
		again, err := Parse("resolved.toml", r.Resolved(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Resolved() != r.Resolved() || !again.Task.Episode.Restarts() {
			t.Errorf("resolved:\n%s\nand again:\n%s", r.Resolved(), again.Resolved())
		}
	}
}
