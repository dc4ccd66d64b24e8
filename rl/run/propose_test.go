package run

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// written are small runs in which the policy writes problems: as answers, and as the last turns of episodes that search.
var written = map[string][]string{
	"chain-sum-tiny": {"task.max_prompt_tokens=10", "stage.rl.updates_per_rollout=1", `stage.warm-up.propose={say = ">{question}"}`,
		`stage.rl.propose={say = ">{question}", count = 6, reward = "task.valid*(1 - task) + 0.1*random"}`, "stage.rl.reward=brief = if(tokens < 4, 1, 0); task + 0.1*brief"},
	"library-tiny": {"task.settings.hops=1", "task.settings.things=8", "task.settings.relations=3", "task.settings.noise=1", "task.settings.turns=2", "task.episode.tokens=60",
		`stage.warm-up.propose={say = "{answer}:", share = 0.7}`, `stage.rl.propose={say = "{answer}:", count = 6}`, "stage.rl.lag=1", "stage.rl.reward=task + 0.1*random", "stage.rl.algorithm.advantage=own*if(row.seat == \"proposer\", reward - group_mean(reward), reward - group_mean(reward))"},
}

// TestProposeResumes: a policy that writes problems and solves them goes on from its checkpoints to the same bytes. What
// a problem is paid is what those who solve it come to, and one that the task refuses is 0; sampler and trainer agree to
// the bit on both.
func TestProposeResumes(t *testing.T) {
	for name, sets := range written {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "chain-sum-tiny" {
				t.Skip("-short: trains and resumes several times")
			}
			sets := slices.Concat([]string{"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", "stage.warm-up.batch_size=16", "stage.warm-up.optimizer.lr=0.01", "stage.warm-up.checkpoint_every=400", "stage.warm-up.hold_steps=150", "stage.warm-up.test_every=499", "stage.warm-up.until_valid=1"}, sets)
			base := t.TempDir()
			playedSmall(t, name, base, false, sets...)
			want, all := runFiles(t, base), checkpointDirs(t, base)
			for _, keep := range []int{len(all) - 3, len(all) - 2} {
				dir := copyRun(t, base)
				for _, c := range checkpointDirs(t, dir)[keep:] {
					must(t, os.RemoveAll(c))
				}
				shown := playedSmall(t, name, dir, true, sets...)
				sameRun(t, runFiles(t, dir), want)
				if t.Failed() {
					t.Fatalf("resumed from checkpoint %d of %d:\n%s", keep, len(all), shown)
				}
			}
			type group struct {
				step     int
				question string
			}
			scores, seats, valid := map[group][]float64{}, map[string]int{}, 0
			must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(n int, c record.Completion) error {
				if seats[c.Seat]++; c.Seat == "solver" {
					right := 0.0
					if c.Verdict == "right" {
						right = 1
					}
					scores[group{c.Step, c.Prompt}] = append(scores[group{c.Step, c.Prompt}], right)
				}
				return nil
			}))
			must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(n int, c record.Completion) error {
				if c.Seat != "proposer" {
					return nil
				}
				if c.Verdict == "wrong" {
					if *c.Reward > 0.1 {
						t.Errorf("line %d: what is no problem is paid %v", n, *c.Reward)
					}
					return nil
				}
				valid++
				solved, found := scores[group{c.Step, c.Text}], false
				if name != "chain-sum-tiny" { // others of the step may have the same question, about other documents
					return nil
				}
				for from := 0; from+3 <= len(solved); from += 3 {
					p := (solved[from] + solved[from+1] + solved[from+2]) / 3
					found = found || math.Abs(*c.Reward-(1-p)) < 1e-12 || math.Abs(*c.Reward-(1-p)-0.1) < 1e-12 // sums of three numbers that are 0 or 1, and a coin
				}
				if !found {
					t.Errorf("line %d: %q is paid %v; it is solved %v", n, c.Text, *c.Reward, solved)
				}
				return nil
			}))
			if seats["proposer"] == 0 || seats["solver"] == 0 || seats[""] > 0 || valid == 0 || 3*valid != seats["solver"] {
				t.Errorf("completions of %v, %d problems", seats, valid)
			}
			for _, row := range metricRows(t, base, "reward/mean") {
				if name == "chain-sum-tiny" && (row["policy/mismatch_kl"] != 0.0 || row["policy/equal"] != row["policy/compared"] || row["policy/compared"] == 0.0) {
					t.Errorf("step %v: %v of %v log-probs equal", row["step"], row["policy/equal"], row["policy/compared"])
				}
			}
		})
	}
}
