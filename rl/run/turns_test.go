package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// playedSmall runs a recipe of a task in turns in a folder, made small.
func playedSmall(t *testing.T, name, dir string, resume bool, sets ...string) string {
	t.Helper()
	small := []string{"model.width=16", "model.heads=2", "model.head_dim=8", "model.mlp=24", "task.eval_problems=3", "task.eval_samples=2", "checkpoint.keep=99",
		"stage.warm-up.batch_size=4", "stage.warm-up.hold_steps=4", "stage.warm-up.decay_steps=2", "stage.warm-up.test_every=2", "stage.warm-up.checkpoint_every=3",
		"stage.rl.prompts_per_step=4", "stage.rl.group_size=3", "stage.rl.steps=4", "stage.rl.checkpoint_every=1", "stage.rl.eval_every=2", "stage.rl.eval_problems=2", "stage.rl.token_every=1"}
	r, err := recipe.Load(name, slices.Concat(small, sets))
	if err != nil {
		t.Fatal(err)
	}
	var show bytes.Buffer
	if _, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: resume, Device: first(t), Show: &show}); err != nil {
		t.Fatalf("%v after\n%s", err, show.String())
	}
	return show.String()
}

// TestEpisodesResume: a run over episodes, also with steps that are drawn ahead, a reward and an
// advantage of turns, tools, second chances and a replay, goes on from each of its checkpoints to the same
// bytes; sampler and trainer agree to the bit.
func TestEpisodesResume(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: resumes from every checkpoint")
	}
	for name, sets := range map[string][]string{
		"plain": nil,
		"ahead": {"stage.rl.lag=1", "stage.rl.algorithm.advantage=own*(turn_reward + 0.1*turn.left) - 0.01*turns", "stage.rl.reward=task + 0.01*sum(turn.left)", "stage.rl.algorithm.loss=token_mean(weight*policy + penalty)"},
		"tools": {"task.settings.called=1", "task.settings.turns=3", "task.settings.terms=2", "model.width=32", "model.head_dim=16", "model.mlp=48", "stage.warm-up.batch_size=8", "stage.warm-up.optimizer.lr=0.01", "stage.warm-up.checkpoint_every=70", "stage.warm-up.hold_steps=140", "stage.warm-up.test_every=99", "stage.warm-up.until_valid=0", "stage.rl.algorithm.advantage=own*(reward - group_mean(reward) + 0.1*turn.calls - 0.2*turn.calls_failed)"},
		"tree":  {"stage.rl.tree={rounds = 2, roots = 2, open = 1, width = 2, choose = \"same_mean(turn_reward, node) + leaves\"}", "stage.rl.group_size=6", "stage.rl.algorithm.advantage=own*(same_mean(reward, node) + 0.1*turn_reward)"},
		"sums":  {"task.episode={tokens = 16, summary = {at = 5, ask = \"-\", before = \": \"}}", "stage.rl.reward=task + 0.01*contexts", "stage.rl.algorithm.advantage=own*(turn_reward + 0.1*summary) - 0.01*turns*contexts"},
		"again": {"stage.rl.second_chance={when = \"group_max(reward) < 1\", again = 2, replace = 1}", "stage.rl.replay={store = \"group_mean(reward) < 2\", share = 0.5}"},
	} {
		t.Run(name, func(t *testing.T) {
			base, from := t.TempDir(), "guess-tiny"
			if name == "tools" {
				from = "sums-tiny"
			}
			playedSmall(t, from, base, false, sets...)
			want := runFiles(t, base)
			all := checkpointDirs(t, base)
			for _, keep := range []int{0, 1, len(all) - 2} {
				dir := copyRun(t, base)
				for _, c := range checkpointDirs(t, dir)[keep:] {
					must(t, os.RemoveAll(c))
				}
				if keep == 0 {
					must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
				}
				shown := playedSmall(t, from, dir, true, sets...)
				sameRun(t, runFiles(t, dir), want)
				if t.Failed() {
					t.Fatalf("resumed from checkpoint %d of %d:\n%s", keep, len(all), shown)
				}
			}
			for _, row := range metricRows(t, base, "reward/mean") {
				if name == "ahead" { // later weights learn from it
					continue
				}
				if row["policy/mismatch_kl"] != 0.0 || row["policy/equal"] != row["policy/compared"] || row["policy/compared"] == 0.0 {
					t.Errorf("step %v: policy/mismatch_kl %v, %v of %v log-probs equal", row["step"], row["policy/mismatch_kl"], row["policy/equal"], row["policy/compared"])
				}
				if forks, there := row["rollout/forks"]; there != (name == "tree") || there && forks.(float64) < 1 {
					t.Errorf("step %v: %v forks", row["step"], forks)
				}
				if contexts, there := row["rollout/contexts_mean"]; there != (name == "sums") || there && contexts.(float64) <= 1 {
					t.Errorf("step %v: %v contexts", row["step"], contexts)
				}
				if row["rollout/turns_mean"].(float64) < 1 {
					t.Errorf("step %v: %v turns", row["step"], row["rollout/turns_mean"])
				}
			}
			if calls := loggedEpisodes(t, base); (calls > 0) != (name == "tools") {
				t.Errorf("%d turns call a tool", calls)
			}
		})
	}
}

// TestToolsOfRecipe: a task of one answer with a tool of its recipe is imitated, drawn, judged, evaluated
// and logged in turns, and resumed to the same bytes.
func TestToolsOfRecipe(t *testing.T) {
	sets := []string{"task.tool.0.shown_share=1", "stage.warm-up.optimizer.lr=0.01", "stage.rl.steps=2", "stage.rl.reward=task - 0.1*sum(turn.calls_failed)"}
	steps := "30"
	if testing.Short() {
		steps = "4"
	}
	sets = append(sets, "stage.warm-up.hold_steps="+steps, "stage.warm-up.test_every=99")
	base := t.TempDir()
	playedSmall(t, "calculator-tiny", base, false, sets...)
	loggedEpisodes(t, base)
	must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(n int, c record.Completion) error {
		if c.NotScored != "" {
			t.Errorf("line %d is not scored: %s", n, c.NotScored)
		}
		return nil
	}))
	dir := copyRun(t, base)
	for _, c := range checkpointDirs(t, dir)[len(checkpointDirs(t, dir))-2:] {
		must(t, os.RemoveAll(c))
	}
	playedSmall(t, "calculator-tiny", dir, true, sets...)
	sameRun(t, runFiles(t, dir), runFiles(t, base))
}

// loggedEpisodes holds the lines of episodes against each other: what was said in turns, and the
// tokens that were learned from, which are those of the policy. calls is how many turns called a tool.
func loggedEpisodes(t *testing.T, dir string) (calls int) {
	t.Helper()
	var said []record.Completion
	must(t, record.Each(filepath.Join(dir, record.CompletionsFile), func(_ int, l record.Completion) error { said = append(said, l); return nil }))
	n := 0
	must(t, record.Each(filepath.Join(dir, record.TokensFile), func(_ int, l record.Tokens) error {
		c := said[n]
		n++
		own, read, last := 0, 0, ""
		var texts []string
		for _, turn := range c.Turns {
			if turn.By == record.ByPolicy {
				if turn.Facts["calls"] > turn.Facts["calls_failed"] {
					calls++
				}
				wrong := 0.0
				for _, made := range turn.Calls {
					if made.Failed {
						wrong++
					}
				}
				if float64(len(turn.Calls)) != turn.Facts["calls"] || wrong != turn.Facts["calls_failed"] {
					t.Errorf("step %d, group %d, sample %d: calls %+v, facts %v", c.Step, c.Group, c.Sample, turn.Calls, turn.Facts)
				}
				own, read, last = own+turn.Tokens, read+turn.Read, turn.Text
				texts = append(texts, turn.Text)
			}
		}
		for _, r := range l.Read {
			read -= len(r.IDs)
		}
		if own != c.Tokens || own != len(l.IDs) || read != 0 || len(l.Read) != len(texts)-1 || last != c.Text || !strings.Contains(strings.Join(l.Text, ""), texts[0]) {
			t.Errorf("step %d, group %d, sample %d: %+v, tokens %+v", c.Step, c.Group, c.Sample, c.Turns, l)
		}
		return nil
	}))
	if n == 0 || n != len(said) {
		t.Errorf("%d completions, %d lines of tokens", len(said), n)
	}
	return calls
}
