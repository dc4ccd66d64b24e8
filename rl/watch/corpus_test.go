package watch

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// alertsOf are the alerts of a stored run.
func alertsOf(t *testing.T, name string) []Alert {
	t.Helper()
	var out []Alert
	w := New(nil)
	err := record.Raw(filepath.Join("testdata", name+".jsonl"), func(_ int, line []byte) error {
		p, err := metrics.Parse(line)
		out = append(out, w.Add(p.Step, p.Stage, p.Values)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHealthyRuns: runs that learn what they are meant to raise nothing above info. The
// figures are of whole runs of the presets, on lavapipe; testdata/README.md says how they
// were made.
func TestHealthyRuns(t *testing.T) {
	for _, name := range []string{
		"countdown-blind-1", "countdown-blind-2", "countdown-blind-3",
		"countdown-blind-raft-1", "countdown-blind-raft-2", "countdown-blind-raft-3",
		"countdown-tiny-1", "countdown-tiny-2", "countdown-tiny-3",
		"countdown-tiny-raft-1", "countdown-tiny-raft-2", "countdown-tiny-raft-3",
		"chain-sum-grpo-1", "chain-sum-grpo-2", "chain-sum-grpo-3",
		"chain-sum-raft-1", "chain-sum-raft-2", "chain-sum-raft-3", "chain-sum-reinforce",
	} {
		for _, a := range alertsOf(t, name) {
			if a.Level != Info {
				t.Errorf("%s, step %d: %s", name, a.Step, a)
			}
		}
	}
}

// TestSickRuns: what is wrong with a run is told within twenty steps of its onset.
func TestSickRuns(t *testing.T) {
	const within = 20
	for _, c := range []struct {
		name  string
		rule  string
		onset int // step of the stage
		why   string
	}{
		{"random", "reward_ignores_verdict", 1, "the rewards are random from the start"},
		{"random", "falls_apart", 9, "accuracy leaves the scatter of the first steps"},
		{"chain-sum-random-1", "reward_ignores_verdict", 1, "the rewards are random from the start"},
		{"chain-sum-random-1", "falls_apart", 18, "accuracy leaves the scatter of the first steps"},
		{"too-fast", "falls_apart", 2, "no completion is right from the second step on"},
		{"too-fast-later", "falls_apart", 6, "accuracy leaves the scatter of the first steps"},
		{"reinforce", "falls_apart", 27, "accuracy falls from 0.28 to 0.12 within six steps and does not come back"},
		{"hackable", "reward_ignores_verdict", 1, "the verifier pays for a last digit, whatever the problem"},
		{"hackable", "reward_without_accuracy", 16, "the reward begins to rise"},
	} {
		at := 0
		for _, a := range alertsOf(t, c.name) {
			if a.Rule == c.rule && at == 0 {
				at = a.Step
			}
		}
		if at < c.onset || at > c.onset+within {
			t.Errorf("%s: %s is raised at step %d (0: never); it begins at step %d: %s", c.name, c.rule, at, c.onset, c.why)
		}
	}
}

// TestCauses: a collapse is told as one, as early as it shows, with its likeliest cause first; what it
// brings with it is not told beside it.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name, cause string
		step        int
	}{
		{"too-fast", "the learning rate, 0.05 (the updates of a step moved the policy by up to 1.84 nats per token): begin again with --set stage.rl.optimizer.lr=0.00027. ", 5},
		{"too-fast-later", "the learning rate, 0.003 (the updates of a step moved the policy by up to 0.033 nats per token): begin again with --set stage.rl.optimizer.lr=0.0003. ", 10},
		{"reinforce", "the learning rate: begin again with a tenth of it. ", 34},
		{"random", "the reward: rlzero audit RUN", 20},
		{"hackable", "the reward: rlzero audit RUN", 20},
	} {
		told := 0
		for _, a := range alertsOf(t, c.name) {
			switch {
			case a.Rule == "falls_apart":
				told++
				if a.Level != Error || a.Step != c.step || !strings.HasPrefix(a.Do, "The likeliest cause is "+c.cause) {
					t.Errorf("%s, step %d, want step %d and %q first: %s", c.name, a.Step, c.step, c.cause, a)
				}
			case strings.HasPrefix(c.name, "too-fast"):
				t.Errorf("%s, step %d: beside the collapse: %s", c.name, a.Step, a)
			}
		}
		if told != 1 {
			t.Errorf("%s: falls_apart is raised %d times", c.name, told)
		}
	}
}
