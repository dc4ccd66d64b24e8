package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/watch"
)

// sickRow is a step whose rewards ignore the verdicts.
func sickRow(step int) event {
	return event{Kind: stepped, Stage: "rl", At: train.Position{Step: step, Total: step}, Event: &train.Event{Metrics: map[string]float64{
		"reward/verdict_correlation": 0.01 * float64(step%3), "reward/group_std": 0.5,
	}}}
}

// TestAlertsAfterResume: wherever a run is cut, alerts.jsonl comes to the same bytes, and
// an alert is shown once.
func TestAlertsAfterResume(t *testing.T) {
	const steps = 25
	var want string
	for cut := range steps {
		disk := store.NewMem()
		l, _ := openedLogs(t, disk)
		var show strings.Builder
		observe := func() *alerts { return &alerts{watch.New(nil), l.alerts, newDisplay(&show, false), "runs/a"} }
		a := observe()
		for step := 1; step <= steps; step++ {
			if step == cut {
				a = observe()
				rows := strings.SplitAfter(logged(t, disk, "metrics.jsonl"), "\n")
				for _, line := range slices.DeleteFunc(rows, func(s string) bool { return s == "" }) {
					p, err := metrics.Parse([]byte(line))
					must(t, err)
					a.recall(p)
				}
			}
			must(t, l.on(sickRow(step)))
			must(t, a.on(sickRow(step)))
		}
		got := logged(t, disk, "alerts.jsonl")
		if cut == 0 {
			want = got
		}
		if got != want || strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, `{"step":10,"stage":"rl","rule":"reward_ignores_verdict","level":"warning","seen":"`) {
			t.Errorf("cut at %d: alerts.jsonl holds\n%s, want\n%s", cut, got, want)
		}
		if !strings.Contains(show.String(), "run rlzero audit runs/a\n") {
			t.Errorf("cut at %d: the command that is shown names no run: %s", cut, show.String())
		}
		if n := strings.Count(show.String(), "! step 10: warning: reward_ignores_verdict: "); n != 1 {
			t.Errorf("cut at %d: the alert is shown %d times", cut, n)
		}
	}
}
