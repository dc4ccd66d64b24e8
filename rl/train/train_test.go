package train

import (
	"math"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

var nan = math.NaN()

// sampled is a completion of one group with a verdict and terms of its reward.
func sampled(v verify.Verdict, stop rollout.Stop, ids []int, terms ...reward.Term) Completion {
	g := &rollout.Group{
		Segments: []rollout.Segment{{Parent: -1, IDs: []int{9}}, {Author: rollout.Policy, IDs: ids, Stop: stop}},
		Paths:    []rollout.Path{{Leaf: 1, Verdicts: []verify.Verdict{v}}},
	}
	return Completion{From: g, View: g.View(0), Score: reward.Score{Reward: v.Score, Terms: terms}}
}

// TestRolloutMetrics: figures of a step by hand; what has no score is left out of each.
func TestRolloutMetrics(t *testing.T) {
	cs := []Completion{
		sampled(verify.Accept("1", "", ""), rollout.EOS, []int{1, 2, 3}, reward.Term{Name: "task", Value: 1}, reward.Term{Name: "form", Value: nan}, reward.Term{Name: "long", Value: 0}),
		sampled(verify.Reject("2", "", ""), rollout.Length, []int{1, 2, 3, 4, 5}, reward.Term{Name: "task", Value: 0.5}, reward.Term{Name: "form", Value: 1}, reward.Term{Name: "long", Value: 1}),
		sampled(verify.Abstain("no reference"), rollout.EOS, []int{1}, reward.Term{Name: "task", Value: nan}, reward.Term{Name: "form", Value: nan}, reward.Term{Name: "long", Value: 1}),
	}
	written := sampled(verify.Accept("1", "", ""), rollout.EOS, []int{1}, reward.Term{Name: "task.valid", Value: 1}, reward.Term{Name: "task", Value: 0})
	written.Origin.Seat = recipe.ProposerSeat // paid by a reward of its own
	with := rolloutMetrics(append(slices.Clone(cs), written), nil)
	for _, name := range []string{"reward/term/task", "reward/term/form", "reward/term/long"} {
		if got, want := with[name], rolloutMetrics(cs, nil)[name]; got != want {
			t.Errorf("%s is %v beside a written problem, want %v", name, got, want)
		}
	}
	if _, there := with["reward/term/task.valid"]; there {
		t.Error("the reward of written problems is shown as that of the stage")
	}
	for name, want := range map[string]float64{
		"rollout/tokens": 9, "rollout/length_mean": 3, "rollout/truncated_share": 1.0 / 3, "rollout/right_share": 0.5,
		"reward/term/task": 0.75, "reward/term/form": 1, "reward/term/long": 2.0 / 3,
	} {
		if got := rolloutMetrics(cs, nil)[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestUnscored: reasons are counted, and of two as common the one that got there first is told.
func TestUnscored(t *testing.T) {
	var cs []Completion
	for _, why := range []string{"a", "", "b", "b", "a"} {
		c := Completion{Score: reward.Score{Reward: nan, NotScored: why}}
		if why == "" {
			c.Score.Reward = 1
		}
		cs = append(cs, c)
	}
	if u := unscoredOf(cs); u.count != 4 || u.why["a"] != 2 || u.why["b"] != 2 || u.commonest != "b" {
		t.Errorf("%+v", u)
	}
}

// TestRate: the rate rises, is held, and falls from the end of the hold.
func TestRate(t *testing.T) {
	s := imitationOf(10, 4, 0.5)
	for step, want := range map[int]float64{0: 0.5, 1: 1, 7: 1} {
		if got := s.rate(step); got != want {
			t.Errorf("held, step %d: rate %v, want %v", step, got, want)
		}
	}
	s.holdEnd = 6
	if s.Steps() != 10 {
		t.Errorf("%d steps, want 10", s.Steps())
	}
	for step, want := range map[int]float64{6: 1, 8: 0.75, 10: 0.5} {
		if got := s.rate(step); got != want {
			t.Errorf("falling, step %d: rate %v, want %v", step, got, want)
		}
	}
}

func imitationOf(hold, decay int, final float64) *imitation {
	st := &recipe.Stage{Kind: recipe.KindSFT, SFT: recipe.SFT{HoldSteps: hold, DecaySteps: decay, FinalLRShare: final}}
	st.Optimizer.WarmupSteps = 2
	return &imitation{rowStage: rowStage{learner: learner{facts: &facts{stage: st}}}, holdEnd: -1}
}
