package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestSeatsResume: self-play, with the turns of both seats learned, and play against a copy of the policy as it was some
// steps ago, also with steps that are drawn ahead, go on from their checkpoints to the same bytes; sampler and trainer
// agree to the bit in every seat.
func TestSeatsResume(t *testing.T) {
	warm := []string{"model.width=32", "model.head_dim=16", "model.mlp=48", "stage.warm-up.batch_size=8", "stage.warm-up.optimizer.lr=0.01", "stage.warm-up.checkpoint_every=70", "stage.warm-up.hold_steps=100", "stage.warm-up.test_every=99"}
	past := []string{`models.past={copy = "policy", renew = 2}`, "stage.rl.seats.second=past", "stage.rl.reward=random"}
	for name, sets := range map[string][]string{
		"self":  {"stage.rl.algorithm.advantage=own*(reward - group_mean(reward)) + 0.1*if(row.seat == \"first\", reward - b, b)", "stage.rl.algorithm.state={b = {start = 0.5, by = \"row.seat\", next = \"0.9*b + 0.1*step_mean(reward)\"}}", "stage.rl.reward=brief = if(tokens < 4, 1, 0); task + 0.1*brief + 0.1*random"},
		"past":  past,
		"ahead": append([]string{"stage.rl.lag=1"}, past...),
		"pool": {`models={past = {copy = "policy", renew = 4}, older = {copy = "policy", renew = 4, renew_first = 2}}`, `stage.rl.seats.second=["past", "older", "best"]`,
			`stage.rl.algorithm.state={b = {start = 0.5, by = "row.against", next = "0.9*b + 0.1*step_mean(reward)"}}`, "stage.rl.algorithm.advantage=reward - b", "stage.rl.reward=task + 0.1*random"},
		"random": {"stage.rl.seats.first=random", "stage.rl.reward=task + sum(turn_reward)"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "past" {
				t.Skip("-short: trains and resumes several times")
			}
			sets := slices.Concat(warm, sets)
			base := t.TempDir()
			playedSmall(t, "nim-tiny", base, false, sets...)
			want, all := runFiles(t, base), checkpointDirs(t, base)
			for _, keep := range []int{len(all) - 3, len(all) - 2} {
				dir := copyRun(t, base)
				for _, c := range checkpointDirs(t, dir)[keep:] {
					must(t, os.RemoveAll(c))
				}
				shown := playedSmall(t, "nim-tiny", dir, true, sets...)
				sameRun(t, runFiles(t, dir), want)
				if t.Failed() {
					t.Fatalf("resumed from checkpoint %d of %d:\n%s", keep, len(all), shown)
				}
			}
			seats, against := map[string]int{}, map[string]bool{}
			must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(n int, c record.Completion) error {
				seats[c.Seat]++
				against[c.Against] = true
				own, others := 0, 0
				for _, turn := range c.Turns {
					switch turn.By {
					case record.ByPolicy:
						own += turn.Tokens
					case record.ByWorld:
					default:
						if others++; turn.By == c.Seat || turn.Tokens > 0 {
							t.Errorf("line %d: %+v", n, turn)
						}
					}
				}
				if c.Game < 1 || c.Game > 12 || own != c.Tokens || c.Seat == "second" && (others == 0 || c.Prompt == c.PromptID) {
					t.Errorf("line %d: %+v", n, c)
				}
				return nil
			}))
			if (seats["second"] > 0) != (name == "self" || name == "random") || (seats["first"] > 0) != (name != "random") || seats[""] > 0 {
				t.Errorf("completions of %v", seats)
			}
			if pool := name == "pool"; against[""] == pool || against["older"] != pool {
				t.Errorf("against %v", against)
			}
			for _, row := range metricRows(t, base, "reward/mean") {
				if name != "ahead" && (row["policy/mismatch_kl"] != 0.0 || row["policy/equal"] != row["policy/compared"] || row["policy/compared"] == 0.0) {
					t.Errorf("step %v: %v of %v log-probs equal", row["step"], row["policy/equal"], row["policy/compared"])
				}
				for seat := range seats {
					if _, there := row["seat/reward/"+seat]; !there {
						t.Errorf("step %v says nothing of seat %s", row["step"], seat)
					}
				}
			}
		})
	}
}
