package train

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// judged are completions of two groups of two, with texts, rewards and scores.
func judged(texts [4]string, rewards, scores [4]float64) []Completion {
	groups := make([]rollout.Group, 2)
	var cs []Completion
	for i, text := range texts {
		g := &groups[i/2]
		g.Paths = append(g.Paths, rollout.Path{Text: text, Verdicts: []verify.Verdict{{Score: scores[i]}}})
		cs = append(cs, Completion{From: g, Group: i / 2, Sample: i % 2, Score: reward.Score{Reward: rewards[i]}})
	}
	return cs
}

func TestRewardHints(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		texts           [4]string
		rewards, scores [4]float64
		want            metrics.Row
	}{
		"follows":   {[4]string{"1+2", "x", "y", "30+4"}, [4]float64{1, 0, 0, 1}, [4]float64{1, 0, 0, 1}, metrics.Row{"reward/verdict_correlation": 1, "reward/template_share": 1}},
		"unrelated": {[4]string{"1", "a", "b", "B"}, [4]float64{1, 0, 1, 0}, [4]float64{1, 0, 0, 1}, metrics.Row{"reward/verdict_correlation": 0, "reward/template_share": 0.5}},
		"opposite":  {[4]string{"1", "2", "3", "4"}, [4]float64{2, 2, 0, 0}, [4]float64{0, 0, 1, 1}, metrics.Row{"reward/verdict_correlation": -1, "reward/template_share": 1}},
		"equal":     {[4]string{"1", "2", "3", "4"}, [4]float64{1, 1, 1, 1}, [4]float64{0, 0, 1, 1}, metrics.Row{}},
		// dx = (1/3, 1/3, -2/3), dy = (2/3, -1/3, -1/3): 1/3 over sqrt(2/3 · 2/3).
		"not scored": {[4]string{"1", "2", "3", "4"}, [4]float64{1, 1, 0, nan}, [4]float64{1, 0, 0, 1}, metrics.Row{"reward/verdict_correlation": 0.5, "reward/template_share": 1}},
	} {
		got := metrics.Row{}
		rewardHints(judged(c.texts, c.rewards, c.scores), got)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for k, want := range c.want {
			if math.Abs(got[k]-want) > 8*0x1p-53 { // the roundings of two sums of four terms of at most 1, each
				t.Errorf("%s: %s is %v, want %v", name, k, got[k], want)
			}
		}
	}
}

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"20-13=7+7=14-4=10": "0-0=0+0=0-0=0",
		"Tom Smith has 12":  "A A has 0",
		"iPhone 3.5":        "iPhone 0.0",
		"":                  "",
		"Ünder ü":           "A ü",
		"A1B":               "A0A",
	} {
		if got := template(text); got != want {
			t.Errorf("%q has the template %q, want %q", text, got, want)
		}
	}
}
