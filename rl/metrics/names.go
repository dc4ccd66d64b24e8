package metrics

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Metric is one entry of the table.
type Metric struct {
	Name    string `json:"name"`    // "eval/pass@K" stands for every K: eval/pass@1, eval/pass@8; NAME for every name
	Unit    string `json:"unit"`    // "" for a plain number
	Meaning string `json:"meaning"` // what it is
	Reading string `json:"reading"` // how to read it
}

// table is in the order in which rows are written.
var table = []Metric{
	{"sft/loss", "nats per token", "mean negative log-prob of the demonstrations' tokens, the end token included",
		"falls; its floor is the entropy of the demonstrations themselves"},

	{"reward/mean", "", "mean reward of the scored completions of the step",
		"should rise; noisy from step to step, judge it over tens of them"},
	{"reward/std", "", "standard deviation of these rewards (divisor n-1)",
		"0: all alike, nothing to learn from"},
	{"reward/group_std", "", "mean over groups of the rewards' standard deviation in the group (divisor n-1)",
		"the signal that group-relative advantages have; near 0: the problems are too easy or too hard"},

	{"reward/term/NAME", "", "mean of one term of a composed reward over the completions for which it is scored: task, each declared verifier, each named part",
		"shows which part of the reward moves; a condition's is the share for which it holds"},

	{"groups/uniform_share", "share of groups", "groups whose rewards are all equal",
		"they teach nothing; above about 0.8 most of the sampling is wasted"},
	{"groups/all_right_share", "share of groups", "groups in which every completion has the full reward",
		"rises as problems become too easy"},
	{"groups/all_wrong_share", "share of groups", "groups in which no completion has any reward",
		"near 1 at the start: warm up longer, or take easier problems"},

	{"rollout/right_share", "share of completions", "mean score of the verdicts, before anything is added to or put in place of the reward",
		"what reward/mean would be if the verdict alone counted; differs from it in control runs"},
	{"rollout/tokens", "tokens", "sampled in the step, end tokens included", "the cost of a step"},
	{"rollout/length_mean", "tokens", "mean length of a completion, end token included",
		"a fall to 1 or a rise to the limit is a collapse or a way around the reward"},
	{"rollout/truncated_share", "share of completions", "completions cut off at max_completion_tokens",
		"should fall; if it stays high the limit is too small"},
	{"rollout/not_scored", "completions", "completions that the verifier could not score; they are left out, never counted as 0",
		"0; anything else is a fault of the data or the verifier"},

	{"policy/loss", "", "the loss that was minimised, mean over the step's updates",
		"says little: near 0 on-policy whatever is learnt; look at reward/mean"},
	{"policy/entropy", "nats per token", "mean entropy of the next-token distribution at the training temperature",
		"a fast fall to 0 ends exploration; a rise means the policy falls apart"},
	{"policy/ratio_first", "", "mean ratio of policy to old policy at the step's first update",
		"exactly 1: sampler and trainer compute the same bits"},
	{"policy/ratio_mean", "", "mean ratio of policy to old policy over the step's updates",
		"near 1; far from it the updates of a step are too many or too big"},
	{"policy/clip_fraction", "share of tokens", "tokens whose ratio is beyond the clip range on the side where clipping acts",
		"0 to about 0.2; more: too many updates per rollout or too high a rate"},
	{"policy/clip_low_share", "share of tokens", "tokens of negative advantage whose ratio is below the range", "part of policy/clip_fraction"},
	{"policy/clip_high_share", "share of tokens", "tokens of positive advantage whose ratio is above the range", "part of policy/clip_fraction"},
	{"policy/kl_ref", "nats per token", "mean k3 estimate of the divergence from the reference policy",
		"grows slowly; a jump means the policy left what the reference knew"},
	{"policy/mismatch_kl", "nats per token", "mean k3 estimate of the divergence between sampler and trainer at the step's first update",
		"exactly 0: the two are the same bits; anything else is a fault of the device or its driver"},
	{"policy/compared", "tokens", "tokens of the step's first update whose log-prob was compared between sampler and trainer",
		"about the step's tokens divided by its updates: later updates have other weights, so nothing is compared there"},
	{"policy/equal", "tokens", "compared tokens whose two log-probs are equal to the bit",
		"equal to policy/compared; fewer means that the device or its driver computes wrongly: run rlzero doctor"},

	{"policy/grad_norm", "", "global norm of the gradient before clipping, mean over the step's updates",
		"spikes of ten times the usual go before instability"},

	{"optim/lr", "", "learning rate of the step", "as the schedule says"},
	{"optim/updates", "updates", "optimizer updates in the step", "fewer than updates_per_rollout if every group of an update was left out"},

	{"eval/pass@K", "share of problems", "unbiased estimate of the chance that one of K samples is right, on held-out problems",
		"pass@1 is the accuracy; a pass@K that falls while pass@1 rises means diversity is lost"},
	{"eval/maj@K", "share of problems", "held-out problems of which the commonest answer of K samples is right", "above pass@1 if errors disagree"},
	{"eval/problems", "problems", "held-out problems in the evaluation", "the more, the narrower the interval; during a stage eval_problems, after it all of them"},
	{"eval/samples", "samples", "samples of each held-out problem", "as eval_samples says"},
	{"eval/mean", "", "mean score of the held-out samples, averaged over problems", "equal to pass@1 where verdicts are only right or wrong"},
	{"eval/mean_low", "", "lower end of the 95 % interval of eval/mean, over problems", "two evaluations whose intervals overlap much may not differ"},
	{"eval/mean_high", "", "upper end of the 95 % interval of eval/mean, over problems", "as eval/mean_low"},
	{"eval/greedy", "share of problems", "held-out problems whose most likely completion is right", "accuracy at temperature 0"},
	{"eval/valid", "share of samples", "samples that have the form of an answer, right or wrong", "near 1 before reinforcement learning begins"},
	{"eval/length_mean", "tokens", "mean length of the held-out samples, end token included", "as rollout/length_mean"},
	{"eval/not_scored", "samples", "held-out samples that the verifier could not score", "0"},

	{"time/rollout_s", "s", "wall time of sampling and judging", "usually the larger part of a step"},
	{"time/train_s", "s", "wall time of forward, backward and update", "grows with rollout/tokens"},
	{"rollout/tokens_per_s", "tokens per second", "sampled tokens over the wall time of sampling and judging", "falls when completions grow: attention and the last long completion of a batch"},
	{"train/tokens_per_s", "tokens per second", "tokens with a loss over the wall time of forward, backward and update", "steady within a stage; a fall means that something else uses the device"},
	{"time/eval_s", "s", "wall time of the held-out test, in steps that have one", "lower eval_problems or raise eval_every if it is much of the run"},
}

// Table is every metric, in the order in which rows are written.
func Table() []Metric { return slices.Clone(table) }

// position is a metric's place in a row: its entry, then K or NAME.
type position struct {
	entry, k int
	name     string
}

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.entry, o.entry), cmp.Compare(p.k, o.k), cmp.Compare(p.name, o.name))
}

// termName is the shape of names of terms, see package reward.
var termName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

var entries = func() map[string]int {
	m := map[string]int{}
	for i, t := range table {
		m[t.Name] = i
	}
	return m
}()

// find places a name; ok is false if it is not in the table.
func find(name string) (p position, ok bool) {
	if stem, digits, cut := strings.Cut(name, "@"); cut {
		k, err := strconv.Atoi(digits)
		if err != nil || k < 1 || strconv.Itoa(k) != digits { // one spelling of a number only
			return p, false
		}
		name, p.k = stem+"@K", k
	}
	if term, cut := strings.CutPrefix(name, "reward/term/"); cut {
		if !termName.MatchString(term) {
			return p, false
		}
		name, p.name = "reward/term/NAME", term
	}
	p.entry, ok = entries[name]
	return p, ok
}
