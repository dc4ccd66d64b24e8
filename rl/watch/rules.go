package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// rule is a row of the table. holds says whether both of its facts hold.
type rule struct {
	name  string
	level Level
	why   string
	do    string
	holds func(*history) (facts, bool)
}

// facts are what a rule has seen and what it is seen against.
type facts struct{ seen, against string }

// window is how many steps a mean is of: enough for its error to be about a third of
// the scatter of a step.
const window = 10

// rules in the order in which their alerts are told, the worst first.
var rules = []rule{
	{"bits", Error, "sampler and trainer do not compute the same log-probs, so the policy does not learn from what it sampled",
		"Stop the run and check the device and its driver: rlzero doctor", bits},
	{"falls_apart", Error, "the policy is collapsing: accuracy falls, and another sign of collapse comes with it",
		"Begin again with a tenth of the learning rate. If that is not it, hold the policy near its start by a KL term; then look at what the reward pays", fallsApart},
	{"control_learns", Error, "the rewards have nothing to do with the verdicts, yet accuracy rises: something else teaches, or the evaluation leaks",
		"Look for held-out problems among the training prompts, and for a format that earlier training had not finished learning", controlLearns},
	{"reward_ignores_verdict", Warning, "the reward pays for something other than the task",
		"A control run means to do this. In any other run, read the completions that are paid, and run rlzero audit RUN", rewardIgnoresVerdict},
	{"reward_without_accuracy", Warning, "the reward can be earned without solving the task",
		"Read the completions that are paid and wrong, and run rlzero audit RUN", rewardWithoutAccuracy},
	{"truth_falls", Warning, "the reward rises and the truth, which is not paid, falls: the policy has learned to give what the judge, or the model that pays, takes for right",
		"Read the completions that are paid: rlzero judge RUN tells which the judge takes for right. Stop where the truth was highest, teach the judge such answers ([[stage.make]]), or hold the policy near its start by a KL term", truthFalls},
	{"calls_fall", Warning, "the policy calls its tools less and earns less than it did when it called them: it may have forgotten how to use them",
		"Read the completions of the steps with the most calls, and of now: rlzero show RUN. Then lower the learning rate, hold the policy near its start by a KL term, or lower the penalty on calls", callsFall},
	{"right_unlikely", Warning, "the policy finds its right episodes less and less likely, though they are paid: what it learns from wrong ones takes right ones with it, as before the collapses of Search-R1",
		"Lower the learning rate, leave groups with few right episodes out (keep), or hold the policy near its start by a KL term; then look at the entropy: rlzero watch RUN", rightUnlikely},
	{"paid_template", Warning, "different problems are paid for answers of one pattern",
		"Read the completions that are paid, and run rlzero audit RUN", paidTemplate},
	{"entropy_collapse", Warning, "the policy has stopped exploring before it learned, or has lost what it had learned",
		"Lower the learning rate, raise clip_high, or leave out the problems that are always solved", entropyCollapse},
	{"length", Warning, "the length of completions changes, but they earn no more",
		"Put the length into the reward (rlzero formulas explains overlong), or change max_completion_tokens", length},
	{"not_scored", Warning, "completions without a score teach nothing, and the others are a biased sample",
		"Read not_scored in completions.jsonl: the verifier or the data is at fault", notScored},
	{"judge_unread", Warning, "what cannot be read is not scored, and the completions that are left are a biased sample",
		"Read what the judge wrote: rlzero judge RUN --failed. Then mend its prompt or its reading, or let it write longer", judgeUnread},
	{"step_too_big", Warning, "updates move the policy so far that the next rollouts earn less",
		"Lower the learning rate, or make fewer updates per rollout", stepTooBig},
	{"stands_still", Warning, "step after step leaves the weights as they are, while not everything is solved: the run learns nothing",
		lookAtKeep, standsStill},
	{"nothing_to_learn", Warning, "in almost every group all rewards are equal: most of the sampling is wasted",
		"Choose problems of another difficulty, or sample larger groups", nothingToLearn},
	{"converged", Info, "the policy gives the same answers every time and keeps what it has learned: further steps will teach it little",
		"Nothing has to be done. Stop here, or go on with harder problems", converged},
	{"diversity", Info, "the model is right more often, but in fewer ways: it will gain less from more samples",
		"Nothing has to be done. A higher clip_high or an entropy bonus keeps more variety", diversity},
}

// advice is what to do about a rule where the run says more than its row can.
var advice = map[string]func(*history) string{"falls_apart": causes, "stands_still": unmoved}

// What to do about steps without a gradient: in general, and where no completion is right.
const (
	meantIn    = "In a control with a constant reward this is meant. Otherwise "
	lookAtKeep = meantIn + "look at keep and advantage: rlzero show RUN --step N has what was refused and why"
	noneRight  = meantIn + "no completion is right, so that rewards prefer none: read what it writes (rlzero show RUN --step N), then imitate first, allow longer answers, take easier problems, or say in the prompt how to answer"
)

// symptoms are rules about what a collapse brings with it. They are silent while the policy sinks:
// their advice would lead away from the cause.
var symptoms = []string{"entropy_collapse", "length", "step_too_big", "stands_still", "nothing_to_learn"}

// bits: one token that differs is enough.
func bits(h *history) (facts, bool) {
	compared, there := h.row["policy/compared"]
	equal, kl := h.row["policy/equal"], h.row["policy/mismatch_kl"]
	if !there || compared == equal && kl == 0 {
		return facts{}, false
	}
	return facts{fmt.Sprintf("%.0f of %.0f compared tokens differ between sampler and trainer", compared-equal, compared),
		fmt.Sprintf("mismatch_kl is %g and must be 0", kl)}, true
}

// unrelated is a correlation below which a reward does not follow the verdict: it
// would explain less than a twenty-fifth of the reward's variance.
const unrelated = 0.2

func rewardIgnoresVerdict(h *history) (facts, bool) {
	r, ok := h.last("reward/verdict_correlation", window)
	spread, ok2 := h.last("reward/group_std", window)
	if !ok || !ok2 || math.Abs(r.mean) >= unrelated || spread.mean == 0 {
		return facts{}, false
	}
	return facts{fmt.Sprintf("rewards and verdicts have a correlation of %.2f", r.mean),
		fmt.Sprintf("rewards differ within groups by a standard deviation of %s, so they do teach", figure(spread.mean))}, true
}

func controlLearns(h *history) (facts, bool) {
	v := h.steps["reward/verdict_correlation"]
	if len(v) < 2*window || len(h.evals) <= h.first+1 || math.Abs(over(v).mean) >= unrelated {
		return facts{}, false
	}
	before, now := h.evals[h.first], h.evals[len(h.evals)-1]
	if !(now.low > before.high) {
		return facts{}, false
	}
	return facts{fmt.Sprintf("held-out accuracy rose from %s to %s", share(before.pass), share(now.pass)),
		fmt.Sprintf("rewards and verdicts have a correlation of %.2f", over(v).mean)}, true
}

// paid is the reward's rise since the stage began, and what accuracy did meanwhile.
// It holds where the reward rose and accuracy on training prompts did not.
func paid(h *history) (facts, bool) {
	reward, ok := h.last("reward/mean", window)
	first, ok2 := h.begin("reward/mean", window)
	right, ok3 := h.last("rollout/right_share", window)
	before, ok4 := h.begin("rollout/right_share", window)
	if !ok || !ok2 || !ok3 || !ok4 || !reward.above(first) || right.mean > before.mean+math.Hypot(right.err, before.err) {
		return facts{}, false
	}
	if n := len(h.evals); n > h.first+1 && h.evals[n-1].low > h.evals[h.first].high {
		return facts{}, false
	}
	return facts{fmt.Sprintf("the mean reward rose from %s to %s, %.0f standard errors", figure(first.mean), figure(reward.mean), reward.errors(first)),
		fmt.Sprintf("accuracy on training prompts went from %s to %s", share(before.mean), share(right.mean))}, true
}

// A reward is expected to rise a little before accuracy does where it pays for form, so
// the first rule waits until the rise is large against the reward's own scatter.
func rewardWithoutAccuracy(h *history) (facts, bool) {
	f, ok := paid(h)
	reward, _ := h.last("reward/mean", window)
	first, _ := h.begin("reward/mean", window)
	return f, ok && reward.errors(first) > 4
}

func paidTemplate(h *history) (facts, bool) {
	const most = 0.3 // of the paid completions of different problems
	now, ok := h.last("reward/template_share", window)
	before, ok2 := h.begin("reward/template_share", window)
	f, ok3 := paid(h)
	if !ok || !ok2 || !ok3 || now.mean <= most || !now.above(before) {
		return facts{}, false
	}
	f.seen = fmt.Sprintf("one pattern makes up %s of the paid completions of different problems, from %s at first", share(now.mean), share(before.mean))
	return f, true
}

// truthFalls: both against the steps in which the truth was highest. The highest of many means is above
// their mean by chance, so the fall has to be clear.
func truthFalls(h *history) (facts, bool) {
	reward, ok := h.last("reward/mean", window)
	truth, ok2 := h.last("reward/truth", window)
	top, ok3 := h.tops["reward/truth"]
	if !ok || !ok2 || !ok3 || !reward.above(h.then) || truth.mean >= top.mean || truth.errors(top) <= 4 {
		return facts{}, false
	}
	return facts{fmt.Sprintf("the mean reward rose from %s to %s", figure(h.then.mean), figure(reward.mean)),
		fmt.Sprintf("meanwhile the truth fell from %s to %s", figure(top.mean), figure(truth.mean))}, true
}

// callsFall: calls against the steps with the most of them, of which there have to be some, and the reward against
// those with the highest. Both falls have to be clear, as in truthFalls.
func callsFall(h *history) (facts, bool) {
	const left = 0.5 // of the calls
	calls, ok := h.last("rollout/calls_mean", window)
	most, ok2 := h.tops["rollout/calls_mean"]
	reward, ok3 := h.last("reward/mean", window)
	top, ok4 := h.tops["reward/mean"]
	if !ok || !ok2 || !ok3 || !ok4 || most.mean == 0 || calls.mean > left*most.mean || calls.errors(most) <= 4 || reward.mean >= top.mean || reward.errors(top) <= 4 {
		return facts{}, false
	}
	return facts{fmt.Sprintf("calls of an episode fell from %s to %s", figure(most.mean), figure(calls.mean)),
		fmt.Sprintf("the mean reward fell from %s to %s", figure(top.mean), figure(reward.mean))}, true
}

// rightUnlikely: a token of a right episode says twice as much in nats as when they were likeliest, and no more episodes
// are right. So Search-R1 collapses (https://github.com/PeterGriffinJin/Search-R1/issues/186).
func rightUnlikely(h *history) (facts, bool) {
	const times = 2
	now, ok := h.last("rollout/right_logprob", window)
	top, ok2 := h.tops["rollout/right_logprob"]
	right, ok3 := h.last("rollout/right_share", window)
	first, ok4 := h.begin("rollout/right_share", window)
	if !ok || !ok2 || !ok3 || !ok4 || now.mean > times*top.mean || now.errors(top) <= 4 || right.above(first) {
		return facts{}, false
	}
	return facts{fmt.Sprintf("the log-prob of a token of right episodes fell from %s to %s nats", figure(top.mean), figure(now.mean)),
		fmt.Sprintf("the share of right episodes went from %s to %s", share(first.mean), share(right.mean))}, true
}

// alike says whether the policy has stopped exploring, and against what.
func alike(h *history) (facts, bool) {
	const left, uniform, back = 0.2, 0.6, 3 // of the entropy; of the groups; evaluations
	now, ok := h.last("policy/entropy", window)
	before, ok2 := h.begin("policy/entropy", window)
	groups, ok3 := h.last("groups/uniform_share", window)
	n := len(h.evals)
	if !ok || !ok2 || !ok3 || n-h.first <= back || now.mean >= left*before.mean || groups.mean <= uniform {
		return facts{}, false
	}
	then, last := h.evals[n-1-back], h.evals[n-1]
	if last.pass > then.pass {
		return facts{}, false
	}
	return facts{fmt.Sprintf("entropy fell from %s to %s nats, and rewards are equal in %s of the groups", figure(before.mean), figure(now.mean), share(groups.mean)),
		fmt.Sprintf("held-out accuracy is %s, was %s three evaluations ago and %s when the stage began", share(last.pass), share(then.pass), share(h.evals[h.first].pass))}, true
}

// kept says whether held-out accuracy has risen since the stage began, beyond both
// intervals, and is not below that of any evaluation in between by as much.
func kept(h *history) bool {
	n := len(h.evals)
	if n <= h.first+1 {
		return false
	}
	last := h.evals[n-1]
	for _, e := range h.evals[h.first+1 : n-1] {
		if last.high < e.low {
			return false
		}
	}
	return last.low > h.evals[h.first].high
}

// A policy that has learned has little entropy too: the demo ends at 0.04 nats. So the
// warning is for one that has lost its entropy for nothing.
func entropyCollapse(h *history) (facts, bool) {
	f, ok := alike(h)
	return f, ok && !kept(h)
}

func converged(h *history) (facts, bool) {
	if f, ok := alike(h); ok && kept(h) {
		return f, true
	}
	f, ok := wasted(h)
	return f, ok && (kept(h) || solved(h))
}

func length(h *history) (facts, bool) {
	const longer, shorter, cut = 1.5, 0.5, 0.2 // of the first length; of the completions
	now, ok := h.last("rollout/length_mean", window)
	before, ok2 := h.begin("rollout/length_mean", window)
	reward, ok3 := h.last("reward/mean", window)
	first, ok4 := h.begin("reward/mean", window)
	if !ok || !ok2 || !ok3 || !ok4 || reward.above(first) {
		return facts{}, false
	}
	against := fmt.Sprintf("the mean reward went from %s to %s", figure(first.mean), figure(reward.mean))
	if now.mean > longer*before.mean || now.mean < shorter*before.mean {
		return facts{fmt.Sprintf("the mean length went from %.1f to %.1f tokens", before.mean, now.mean), against}, true
	}
	truncated, _ := h.last("rollout/truncated_share", window)
	was, _ := h.begin("rollout/truncated_share", window)
	if truncated.mean <= cut || !truncated.above(was) {
		return facts{}, false
	}
	return facts{fmt.Sprintf("%s of the completions are cut off, from %s at first", share(truncated.mean), share(was.mean)), against}, true
}

func notScored(h *history) (facts, bool) {
	const most, steps = 0.05, 5
	lost, ok := h.last("rollout/not_scored", steps)
	tokens, ok2 := h.last("rollout/tokens", steps)
	mean, ok3 := h.last("rollout/length_mean", steps)
	if !ok || !ok2 || !ok3 {
		return facts{}, false
	}
	all := tokens.mean / mean.mean
	if lost.mean <= most*all {
		return facts{}, false
	}
	return facts{fmt.Sprintf("%s of the completions of the last %d steps are not scored", share(lost.mean/all), steps),
		fmt.Sprintf("that is %.0f of %.0f in a step", lost.mean, all)}, true
}

// judgeUnread tells of the judge with the most answers that cannot be read.
func judgeUnread(h *history) (facts, bool) {
	const most, steps = 0.05, 5
	worst, name := span{}, ""
	for _, metric := range slices.Sorted(maps.Keys(h.row)) {
		if judge, ok := strings.CutPrefix(metric, "judge/unread/"); ok {
			if now, ok := h.last(metric, steps); ok && now.mean > max(most, worst.mean) {
				worst, name = now, judge
			}
		}
	}
	return facts{fmt.Sprintf("%s of the answers to verifier %s cannot be read", share(worst.mean), name),
		fmt.Sprintf("that is the mean of the last %d steps; up to %s are no cause for an alert", steps, share(most))}, name != ""
}

func stepTooBig(h *history) (facts, bool) {
	const clipped, spike, steps = 0.3, 10, 50 // of the tokens; times the median; of which
	norms, now, ok := h.steps["policy/grad_norm"], h.row["policy/grad_norm"], false
	reward, ok2 := h.last("reward/mean", window)
	first, ok3 := h.tops["reward/mean"]
	if !ok2 || !ok3 || !first.above(reward) {
		return facts{}, false
	}
	against := fmt.Sprintf("the mean reward fell from %s to %s", figure(first.mean), figure(reward.mean))
	if _, ok = h.row["policy/grad_norm"]; ok && len(norms) > steps {
		before := slices.Sorted(slices.Values(norms[len(norms)-1-steps : len(norms)-1]))
		if m := before[steps/2]; now > spike*m {
			return facts{fmt.Sprintf("the gradient's norm is %s, %.0f times the median of the last %d steps", figure(now), now/m, steps), against}, true
		}
	}
	if f, ok := h.last("policy/clip_fraction", steps/window); ok && f.mean > clipped {
		return facts{fmt.Sprintf("%s of the tokens are clipped", share(f.mean)), against}, true
	}
	return facts{}, false
}

// almostAll is the share of groups, or of completions, that the rules call almost all.
const almostAll = 0.8

// wasted says whether almost all groups have equal rewards, and against what.
func wasted(h *history) (facts, bool) {
	groups, ok := h.last("groups/uniform_share", 2*window)
	reward, ok2 := h.last("reward/mean", window)
	v := h.steps["reward/mean"]
	if !ok || !ok2 || len(v) < 2*window || groups.mean <= almostAll { // a step may have no rewards
		return facts{}, false
	}
	before := over(v[len(v)-2*window : len(v)-window])
	if reward.above(before) {
		return facts{}, false
	}
	return facts{fmt.Sprintf("rewards are equal in %s of the groups of the last %d steps", share(groups.mean), 2*window),
		fmt.Sprintf("the mean reward went from %s to %s meanwhile", figure(before.mean), figure(reward.mean))}, true
}

// solved says whether almost all completions are right.
func solved(h *history) bool {
	right, ok := h.last("rollout/right_share", window)
	return ok && right.mean > almostAll
}

// still is how many steps in a row without a change of the weights are no chance.
const still = 3

// standsStill: no update, or none with a gradient, for some steps. A policy that has learned what
// there is has equal groups alone, which is no fault.
func standsStill(h *history) (facts, bool) {
	zeros := func(name string) bool {
		v := h.steps[name]
		_, now := h.row[name]
		return now && len(v) >= still && !slices.ContainsFunc(v[len(v)-still:], func(x float64) bool { return x != 0 })
	}
	seen := ""
	switch {
	case zeros("optim/updates"):
		seen = fmt.Sprintf("%d steps in a row made no update", still)
	case zeros("policy/grad_norm"):
		seen = fmt.Sprintf("%d steps in a row had the gradient 0", still)
	default:
		return facts{}, false
	}
	right, ok := h.last("rollout/right_share", still)
	if !ok || right.mean > 0.9 || kept(h) || solved(h) {
		return facts{}, false
	}
	return facts{seen, fmt.Sprintf("%s of the completions are right", share(right.mean))}, true
}

// unmoved is what to do about steps without a gradient: where no completion is right, the method has no part in it.
func unmoved(h *history) string {
	groups := h.steps["groups/uniform_share"]
	right, _ := h.last("rollout/right_share", still)
	if len(groups) < still || slices.Min(groups[len(groups)-still:]) < 1 || right.mean > 0 {
		return lookAtKeep
	}
	return noneRight
}

// Equal rewards at the end of what was learned are no fault of the problems.
func nothingToLearn(h *history) (facts, bool) {
	f, ok := wasted(h)
	return f, ok && !kept(h) && !solved(h)
}

func diversity(h *history) (facts, bool) {
	n := len(h.evals)
	if n <= h.first+1 {
		return facts{}, false
	}
	before, now := h.evals[h.first], h.evals[n-1]
	if before.k != now.k || !(now.low > before.high) || now.problems == 0 || before.problems == 0 {
		return facts{}, false
	}
	// pass@k of a problem is between 0 and 1, so its variance is at most p(1-p).
	err := math.Sqrt(before.passK*(1-before.passK)/before.problems + now.passK*(1-now.passK)/now.problems)
	if !(before.passK-now.passK > 2*err) {
		return facts{}, false
	}
	return facts{fmt.Sprintf("pass@%d fell from %s to %s", now.k, share(before.passK), share(now.passK)),
		fmt.Sprintf("pass@1 rose from %s to %s", share(before.pass), share(now.pass))}, true
}

// share is a share in percent.
func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// figure is a number with three digits.
func figure(v float64) string { return fmt.Sprintf("%.3g", v) }
