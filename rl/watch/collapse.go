package watch

import (
	"fmt"
	"math"
	"slices"
)

// lostShare is how much of its best accuracy a policy must lose before it falls apart:
// far more than the scatter of ten steps, which is under a tenth on the presets.
const lostShare = 0.3

// fallsApart: accuracy is far below what it was, and another sign of collapse comes with it. What it
// was is the evaluation before the stage, from the fifth step on; after twenty steps it is also the best ten steps.
func fallsApart(h *history) (facts, bool) {
	for _, fell := range []func(*history) (seen string, window int, ok bool){belowStart, heldOutFell, belowBest} {
		seen, window, ok := fell(h)
		if !ok {
			continue
		}
		if against, ok := collapses(h, window); ok {
			return facts{seen, against}, true
		}
	}
	return facts{}, false
}

// soon is how many steps are enough where each of them tells the same.
const soon = 4

// belowStart: each of the last steps has lost half of what the policy came with, as the evaluation
// before the stage has it and as the stage's first step has it, whose problems are those of training;
// and by chance so much is not lost.
func belowStart(h *history) (seen string, window int, ok bool) {
	v, came := h.steps["rollout/right_share"], cameWith(h)
	if len(v) <= soon {
		return "", 0, false
	}
	last := v[len(v)-soon:]
	if now := over(last).mean; slices.Max(last) > came/2 || came-now <= 3*scatter(h, came) {
		return "", 0, false
	}
	return fmt.Sprintf("accuracy on training prompts is %s in the last %d steps, and was %s on held-out problems before the stage", share(over(last).mean), soon, share(h.start.pass)), soon, true
}

// cameWith is the accuracy that the policy came to the stage with; 0: nothing says what it was.
func cameWith(h *history) float64 {
	v := h.steps["rollout/right_share"]
	if h.start == nil || len(v) == 0 {
		return 0
	}
	return min(h.start.pass, v[0])
}

// sinking: the policy falls apart, or the stage is young and its newest step looks like it.
func sinking(h *history) bool {
	v := h.steps["rollout/right_share"]
	if came := cameWith(h); came > 0 && len(v) <= 2*soon && v[len(v)-1] <= came/2 {
		return true
	}
	_, apart := fallsApart(h)
	return apart
}

// scatter is the standard error of a share of the completions of the last steps. Those of one problem
// are alike: so many of them count as one here, which is more than most groups have.
func scatter(h *history, share float64) float64 {
	const alike = 16
	tokens, ok := h.last("rollout/tokens", soon)
	length, ok2 := h.last("rollout/length_mean", soon)
	if !ok || !ok2 {
		return math.Inf(1)
	}
	return math.Sqrt(share * (1 - share) * alike / (soon * tokens.mean / length.mean))
}

// heldOutFell: the newest evaluation of the stage lies below the one before it, interval and all.
func heldOutFell(h *history) (seen string, window int, ok bool) {
	if h.start == nil || len(h.evals) <= h.first+1 {
		return "", 0, false
	}
	now := h.evals[len(h.evals)-1]
	if !(now.high <= (1-lostShare)*h.start.low) {
		return "", 0, false
	}
	return fmt.Sprintf("held-out accuracy is %s, and was %s before the stage", share(now.pass), share(h.start.pass)), soon, true
}

// belowBest: the last ten steps have lost a part of the best ten before them.
func belowBest(h *history) (seen string, steps int, ok bool) {
	now, ok := h.last("rollout/right_share", window)
	best, ok2 := h.tops["rollout/right_share"]
	if !ok || !ok2 || !best.above(now) || now.mean > (1-lostShare)*best.mean {
		return "", 0, false
	}
	return fmt.Sprintf("accuracy on training prompts fell from %s to %s, %.0f standard errors", share(best.mean), share(now.mean), best.errors(now)), window, true
}

// collapses says what else shows that the policy has collapsed within the last steps. Where they are
// few, they are held against the stage's first step.
func collapses(h *history, steps int) (string, bool) {
	for _, c := range []struct{ name, says string }{
		{"groups/uniform_share", "groups of equal rewards rose"},
		{"policy/entropy", "entropy rose"},
		{"rollout/truncated_share", "truncated completions rose"},
	} {
		after, ok := h.last(c.name, steps)
		before, ok2 := h.begin(c.name, steps)
		if v := h.steps[c.name]; steps == soon && len(v) > soon {
			before, ok2 = span{mean: v[0]}, true
		}
		if ok && ok2 && after.above(before) {
			return fmt.Sprintf("%s from %s to %s", c.says, figure(before.mean), figure(after.mean)), true
		}
	}
	return "", false
}

// causes are what makes a policy collapse, the likeliest first: the reward where it rose or has nothing
// to do with the verdicts, else the learning rate, then that nothing holds the policy where it began.
func causes(h *history) string {
	rate := "the learning rate: begin again with a tenth of it"
	if lr := h.steps["optim/lr"]; len(lr) > 0 {
		far, says := moved(h)
		rate = fmt.Sprintf("the learning rate, %s%s: begin again with --set stage.%s.optimizer.lr=%.2g", figure(slices.Max(lr)), says, h.stage, slices.Max(lr)/max(10, far))
	}
	hold := fmt.Sprintf("nothing holds the policy near its start: --set stage.%s.algorithm.penalty=kl_k3 adds a KL term", h.stage)
	if kl := h.steps["policy/kl_ref"]; len(kl) > 0 {
		hold = fmt.Sprintf("the KL term is too weak (policy/kl_ref is %s nats per token): raise its weight", figure(kl[len(kl)-1]))
	}
	reward := "the reward: rlzero audit RUN shows what it pays for"
	order := []string{rate, hold, reward}
	if misled(h) {
		order = []string{reward, rate, hold}
	}
	return fmt.Sprintf("The likeliest cause is %s. If that is not it: %s. Then: %s", order[0], order[1], order[2])
}

// farUpdate is how far the updates of a step move a policy at most where nothing is wrong, in nats per
// token: where PPO stops a step early in Spinning Up (target_kl,
// https://spinningup.openai.com/en/latest/algorithms/ppo.html).
const farUpdate = 0.01

// moved is how many times farther than that the updates of a step have moved the policy, and says so
// where it is more.
func moved(h *history) (times float64, says string) {
	kl := h.steps["policy/update_kl"]
	if len(kl) == 0 || slices.Max(kl) <= farUpdate {
		return 1, ""
	}
	return slices.Max(kl) / farUpdate, fmt.Sprintf(" (the updates of a step moved the policy by up to %s nats per token)", figure(slices.Max(kl)))
}

// misled says whether the reward leads away from the task: it has nothing to do with the verdicts, or
// it has risen while accuracy fell.
func misled(h *history) bool {
	if v := h.steps["reward/verdict_correlation"]; len(v) > 0 && over(v).mean < unrelated {
		return true
	}
	v := h.steps["reward/mean"]
	return len(v) > soon && over(v[len(v)-soon:]).above(span{mean: v[0]})
}
