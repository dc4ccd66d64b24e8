package metrics

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/world"
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
	{"sft/loss", "nats per token", "mean negative log-prob of the demonstrations' tokens, end token included, whichever loss the stage minimises",
		"Should fall. It cannot fall below the entropy of the demonstrations themselves."},

	{"preference/accuracy", "share of pairs", "pairs for which the margin is above 0: the model prefers the better completion more than the reference does; with the preset pointwise the share of completions that the head judges right, and with step_labels that of steps",
		"Should rise. Begins at 0 if the loss compares with a reference, since the policy equals the reference at first; otherwise at about a half."},
	{"preference/margin", "", "preference/chosen minus preference/rejected, averaged over pairs",
		"Should rise. Once preference/accuracy is near 1, a margin that goes on rising is overfitting."},
	{"preference/chosen", "", "implicit reward of the better completions: beta times the log-ratio to the reference, or times the log-prob if the loss has no reference; with bradley_terry what the head says",
		"May fall with preference/rejected, as long as it falls more slowly. A fast fall means that good completions become unlikely too."},
	{"preference/rejected", "", "implicit reward of the worse completions",
		"Should fall below preference/chosen."},
	{"preference/one_of_n", "share of groups", "groups with right and wrong completions in which a right one has the highest score: best of n by the head. Only for heads that learn from groups that the stage draws",
		"Should rise above preference/chance_of_n, what a head that says nothing comes to."},
	{"preference/chance_of_n", "share of completions", "right completions among those of these groups: how often a completion that is taken at random is right",
		"Compare preference/one_of_n with it."},
	{"preference/reciprocal_rank", "", "1 divided by the place of the best right completion in the order of the scores, mean over these groups; of equal scores the wrong ones come first",
		"1 if a right one always comes first."},
	{"preference/chosen_nats", "nats", "log-prob of the better completions, summed over their tokens; absent if the loss has no reference",
		"A fall while preference/margin rises is displacement: the probability goes to neither completion of the pair (arXiv 2410.08847). The preset mpo or a smaller learning rate prevents it."},
	{"preference/rejected_nats", "nats", "the same for the worse completions",
		"Should fall, and faster than preference/chosen_nats."},

	{"reward/mean", "", "mean reward of the step's scored completions",
		"Should rise. It is noisy, so judge it over tens of steps."},
	{"reward/std", "", "standard deviation of these rewards (divisor n-1)",
		"0 means that all rewards are equal, so that nothing can be learned."},
	{"reward/group_std", "", "standard deviation of the rewards within a group (divisor n-1), averaged over groups",
		"The signal that group-relative advantages use. Near 0, the problems are too easy or too hard."},

	{"reward/verdict_correlation", "", "correlation of the rewards with the scores of the task's verdicts, over the completions that have both; absent if one of the two does not vary",
		"Near 1 if the reward follows the task. Near 0, the reward pays for something else, as random rewards do."},
	{"reward/template_share", "share of paid completions", "share of the most common template, with numbers and names masked, among the completions that are paid more than the step's mean; each template counts once per prompt",
		"Steady if the task itself prescribes a form. A rise while accuracy stands still means that a pattern earns the reward."},

	{"reward/term/NAME", "", "mean of one term of a composed reward over the completions for which it is scored: the task, a declared verifier or a named part",
		"Shows which part of the reward moves. For a condition, it is the share of completions that meet it."},

	{"reward/truth", "", "mean of the stage's truth, a formula that is measured and never paid, over the completions that have it and a reward",
		"Should rise with reward/mean. If it falls while that rises, the policy has learned what the reward pays for by mistake."},
	{"reward/gap", "", "mean reward less mean truth, over the same completions",
		"Its level says little, since the two may have other scales. A rise says that the reward is paid for something else."},

	{"made/rows/NAME", "rows", "rows of a name that the step made, by [[stage.make]]",
		"If it is 0 in every step, where never holds, or the rows are left out."},
	{"made/left_out/NAME", "rows", "rows that were not made though where held: they hold a control token or nothing, are too long for the stage that draws them, lack a value, are a held-out problem of the run or made from one, or what a model wrote for them was cut off or is wrong by check",
		"Should be far below made/rows/NAME."},
	{"made/drawn", "prompts", "prompts of the step that come from made rows, by [[stage.source]]",
		"Below share*prompts_per_step as long as there are no rows."},

	{"judge/unread/NAME", "share of answers", "answers of a judge that cannot be read, such as those without a match, out of range, or cut",
		"Should stay near 0. A completion of which too few answers are read is not scored; rlzero judge RUN --failed shows them."},
	{"judge/cached_share", "share of questions", "questions that a judge had answered before, by the same weights. In timing.jsonl: a resumed run has forgotten them",
		"Costs nothing and changes no verdict."},
	{"judge/tokens", "tokens", "tokens that judges wrote since the step before. In timing.jsonl",
		"What drawn verdicts cost."},

	{"groups/uniform_share", "share of groups", "groups whose rewards are all equal",
		"Most estimators learn nothing from these groups. Above about 0.8, most of the sampling is wasted."},
	{"groups/all_right_share", "share of groups", "groups in which every completion is right by the task's verdict, whatever the reward is",
		"Rises as the problems become too easy."},
	{"groups/all_wrong_share", "share of groups", "groups in which no completion is right by the task's verdict, whatever the reward is",
		"If it starts near 1, warm up longer or choose easier problems."},

	{"curriculum/open", "problems", "problems that could be drawn in the step; only with weight, order or arms in [stage.curriculum]",
		"Follows the formulas of the curriculum. If it is small, the same problems are drawn again and again."},
	{"best/gain", "", "how much higher the rewards of the policy's greedy answers are than those of the best policy so far, on the problems of a test; only with [stage.best]",
		"If it stays below 0, the policy has become worse than it was."},
	{"best/replaced", "", "1 if the policy became the best one in the step; 0 if the test did not tell them apart",
		"Each 1 is a new baseline, and advantages fall for a moment."},
	{"curriculum/order_all", "", "mean over the step's candidates of the formula order of [stage.curriculum]; only with candidates",
		"It is what curriculum/order_drawn would be if the prompts were drawn at random."},
	{"curriculum/order_drawn", "", "mean of the same formula over the prompts that were taken from the candidates",
		"As long as it equals curriculum/order_all, the order chooses nothing: the formula gives all candidates one value."},
	{"curriculum/probed", "", "mean score of the task's verdicts on the completions of a fresh pass; only in steps before which there is one, with block in [stage.curriculum]",
		"Of all problems of the list, or of those that the next steps use. Where it falls from block to block, harder ones come."},
	{"curriculum/moved", "share of problems", "problems of the fresh pass that stand elsewhere once they are sorted again",
		"At 0 the pass tells nothing new."},
	{"curriculum/fewest", "completions", "completions of the prompt that gets fewest in the step; only with completions in [stage.curriculum]",
		"At 2, the least, the formula gives some prompts next to nothing."},
	{"curriculum/most", "completions", "completions of the prompt that gets most in the step",
		"At completions_most, the bound holds it."},
	{"curriculum/gaussians", "", "Gaussians from which the step draws settings; 0 before the first fit; only with [stage.curriculum.teacher]",
		"Those with a large mean progress are drawn from most."},
	{"curriculum/progress", "", "mean absolute learning progress over the problems that the next fit looks at: how much their rewards differ from those of the nearest earlier settings",
		"It includes the noise of the rewards themselves, which smaller groups increase."},
	{"curriculum/setting/NAME", "", "mean over the step's prompts of a setting of the task that [stage.curriculum.settings] or [stage.curriculum.teacher] gives",
		"Follows the formula of the recipe, or what the teacher draws."},

	{"rollout/right_share", "share of completions", "mean score of the task's verdicts, before the recipe's reward changes or replaces them",
		"What reward/mean would be if only the verdict counted. The two differ in control runs with random rewards."},
	{"rollout/tokens", "tokens", "tokens sampled in the step, end tokens included",
		"The main cost of a step."},
	{"rollout/length_mean", "tokens", "mean length of a completion, end token included",
		"A fall to 1 or a rise to the limit means collapse or reward hacking."},
	{"rollout/truncated_share", "share of completions", "completions cut off at max_completion_tokens",
		"Should fall. If it stays high, raise the limit."},
	{"rollout/turns_mean", "turns", "mean number of turns of an episode; only with a task that is played in turns",
		"A fall to 1 means that the policy no longer uses its turns; a rise to the limit, that it does not come to an end."},
	{"rollout/read_mean", "tokens", "mean number of tokens that the policy read between its turns",
		"What the world says. They are computed and never learned."},
	{"rollout/prompt_tokens", "tokens", "mean number of tokens before the first turn of an episode",
		"What every turn reads again. It grows with what the world says first."},
	{"rollout/right_logprob", "nats per token", "mean log-prob, as sampled, of the tokens that the policy wrote in right episodes; absent if none is right",
		"Rises as the policy grows certain of what earns. A lasting fall while right episodes are paid precedes a collapse."},
	{"rollout/contexts_mean", "contexts", "mean number of contexts of an episode; only in a step in which one began anew",
		"How often it begins anew: from a summary, or where the chat template changes earlier turns. A turn is learned in its context."},
	{"rollout/calls_mean", "calls", "mean number of calls of tools in an episode; only with a task that has tools",
		"A fall to 0 means that the policy no longer calls: the tools do not help it, or calls cost more than they earn."},
	{"rollout/calls_failed_share", "share of calls", "calls of tools that were mistakes; only in a step with calls",
		"Should fall. If it stays high, the policy does not know how calls are written, or what the tools can do."},
	{"rollout/not_scored/NAME", "completions", "episodes that are not scored because the tool of that name failed; only in a step in which it did",
		"Should not be there: the tool cannot be run, or what it says has no meaning. rlzero show RUN --calls --failed has its errors."},
	{"rollout/out_of_turns_share", "share of completions", "episodes that were not over when their turns were used up",
		"Should fall. If it stays high, raise task.episode.turns."},
	{"seat/reward/NAME", "", "mean reward of the completions of a seat that the policy plays; only with [stage.seats]",
		"In self-play what one seat gains another one loses: look at the evaluation for what was learned."},
	{"seat/right_share/NAME", "share of completions", "mean score of the task over the completions of a seat",
		"Far from one half, the seats are not alike, or one of them plays better."},
	{"seat/completions/NAME", "completions", "completions of a seat: episodes in which it had a turn",
		"Below prompts_per_step*group_size, some games were over before its first turn."},
	{"propose/valid_share", "share of proposals", "problems of the policy that the task accepts; only with [stage.propose]",
		"Should rise. At 0 there is nothing to solve: imitate problems first, with propose of a stage of kind sft."},
	{"propose/distinct_share", "share of problems", "different ones among the problems of the step that the task accepts",
		"A fall means that the policy writes the same problem again and again."},
	{"propose/solved_mean", "score", "mean over the accepted problems of the mean score of those who solve it",
		"Near 1, the problems are too easy; near 0, too hard or not to be solved."},
	{"rollout/forks", "forks", "mean number of nodes at which the tree of a prompt forks, its beginning apart; only with [stage.tree]",
		"Should be rounds times open. Fewer mean that completions have too few places for nodes."},
	{"rollout/shared_share", "share of tokens", "share of the tokens of completions that were drawn for another completion of the tree; only with [stage.tree]",
		"What the tree saves: rollout/tokens counts a shared token once."},
	{"rollout/refused_groups", "groups", "refused groups, for which keep is false, that were replaced or left out of the step; only with [stage.refill]",
		"Their sampling is wasted. If most groups are refused, choose problems of another difficulty."},
	{"rollout/refused_tokens", "tokens", "tokens of the refused groups",
		"The cost of refilling, beside rollout/tokens."},
	{"rollout/replayed_groups", "groups", "groups of the step that come from the store of earlier ones; only with [stage.replay]",
		"Lower than replay.share says while the store is filling. No other metric of rollouts and rewards counts them."},
	{"rollout/stored_groups", "groups", "groups in the store when the step begins",
		"If it falls to 0, raise max_age or widen the condition store."},
	{"rollout/second_chances", "groups", "groups whose completions a second chance replaced; only with [stage.second_chance]",
		"Should fall as the policy learns. Rewards and policy/mismatch_kl leave out their replacements."},
	{"rollout/extra_tokens", "tokens", "tokens sampled beside the step's completions: greedy completions for greedy_reward, completions that a second chance replaced, and those of a fresh pass; absent if there are none",
		"Their cost, beside rollout/tokens."},
	{"rollout/no_value", "completions", "scored completions for which the method's formulas have no value, such as 0/0; they are left out. Absent if there are none",
		"Should be absent. Otherwise a formula of the recipe has no value for some rewards."},
	{"rollout/not_scored", "completions", "completions that the verifier could not score; they are left out and never count as 0",
		"Should be 0. Otherwise the data or the verifier is at fault."},

	{"policy/loss", "", "the loss that was minimised, averaged over the step's updates",
		"Says little: on-policy, it stays near 0 however much the policy learns. Watch reward/mean."},
	{"policy/entropy", "nats per token", "mean entropy of the next-token distribution at the training temperature",
		"A fast fall to 0 ends exploration. A rise means that the policy degrades."},
	{"policy/ratio_first", "", "mean ratio of policy to old policy in the step's first update",
		"Must be exactly 1: the sampler and the trainer compute the same bits."},
	{"policy/ratio_mean", "", "mean ratio of policy to old policy over the step's updates",
		"Should stay near 1. If not, the step makes too many updates or too large ones."},
	{"policy/clip_fraction", "share of tokens", "tokens whose ratio is outside the clip range, on the side where clipping acts",
		"Usually 0 to 0.2. Above that, make fewer updates per rollout or lower the learning rate."},
	{"policy/clip_low_share", "share of tokens", "tokens with a negative advantage whose ratio is below the clip range",
		"One of the two parts of policy/clip_fraction."},
	{"policy/clip_high_share", "share of tokens", "tokens with a positive advantage whose ratio is above the clip range",
		"One of the two parts of policy/clip_fraction."},
	{"policy/kl_ref", "nats per token", "mean k3 estimate of the KL divergence from the reference policy",
		"Should grow slowly. A jump means that the policy has left the reference's distribution."},
	{"policy/update_kl", "nats per token", "mean log-prob at the beginning of the step minus mean log-prob now, averaged over the step's updates",
		"How far the updates of a step have moved the policy. 0 in the first update."},
	{"policy/lag_effective", "updates", "number of updates between the weights that sampled the completions and the weights of the gradient, averaged over the step's updates",
		"Absent if it is 0. lag and updates_per_rollout raise it. With lag, old is from that many updates before, and a weight that reads start - old corrects for it."},
	{"policy/mismatch_kl", "nats per token", "mean k3 estimate of the KL divergence between sampler and trainer in the step's first update",
		"Must be exactly 0: the two compute the same bits. Otherwise the device or its driver is at fault: run rlzero doctor."},
	{"policy/compared", "tokens", "tokens in the step's first update whose log-probs were compared between sampler and trainer",
		"Only the first update has the sampler's weights, so only the first is compared. With lag, not even the first has them, and nothing is compared."},
	{"policy/equal", "tokens", "compared tokens whose two log-probs are equal to the bit",
		"Must equal policy/compared. Otherwise the device or its driver is at fault: run rlzero doctor."},

	{"NAME/kl", "nats per token", "mean k3 estimate of the KL divergence of the policy from the model NAME of [models]; only for methods that read it",
		"Falls as the policy comes closer to a teacher. Of a copy of the policy it is how far the policy has moved."},
	{"NAME/logp", "nats per token", "mean log-prob by the model NAME of the tokens that were drawn; only for methods that read it",
		"How likely the model finds what the policy writes. Compare policy/entropy, which is minus this mean for the policy itself."},

	{"NAME/loss", "", "loss of the model NAME of [models], which learns beside the policy by [stage.learn.NAME], before the update of the step; second/loss is that of the policy by [stage.learn.policy], without its weight. So are the names below",
		"Should fall, or stay where the rows change as fast as the model learns. Absent in a step in which it does not learn."},
	{"NAME/tokens", "tokens", "tokens that it learned from", "0 if its keep leaves nothing."},
	{"NAME/grad_norm", "", "norm of the gradient of its loss, before clipping", "Should stay bounded, as policy/grad_norm does."},
	{"NAME/lr", "", "its learning rate", "Follows the schedule of its own optimizer."},
	{"NAME/entropy", "nats per token", "entropy of its distribution at the tokens that it learned from", "Read it as policy/entropy."},
	{"NAME/accuracy", "share of pairs", "preference/accuracy of what it learned from, before the update", "Should rise above a half. If it falls again, the rows of the present policy have become too hard to tell apart, or are those that fool it."},
	{"NAME/margin", "", "preference/margin of what it learned from", "Read it as preference/margin."},
	{"NAME/chosen", "", "preference/chosen of what it learned from", "Read it as preference/chosen."},
	{"NAME/rejected", "", "preference/rejected of what it learned from", "Read it as preference/rejected."},
	{"NAME/chosen_nats", "nats", "preference/chosen_nats of what it learned from", "Read it as preference/chosen_nats."},
	{"NAME/rejected_nats", "nats", "preference/rejected_nats of what it learned from", "Read it as preference/rejected_nats."},
	{"NAME/one_of_n", "share of groups", "preference/one_of_n of the groups that it learned from", "Should rise above NAME/chance_of_n."},
	{"NAME/chance_of_n", "share of completions", "preference/chance_of_n of these groups", "Compare NAME/one_of_n with it."},
	{"NAME/reciprocal_rank", "", "preference/reciprocal_rank of these groups", "1 if a right one always comes first."},

	{"policy/dual_clip_share", "share of tokens", "tokens with a negative advantage whose loss is held at the upper bound of dual_clip",
		"Should be near 0. A rise means that bad completions have become much more likely."},
	{"policy/abs_log_ratio", "nats per token", "mean size of the log-ratio of policy to old policy; only for kl_cov",
		"Should stay near 0, like policy/update_kl."},

	{"policy/grad_norm", "", "norm of the whole gradient before clipping, averaged over the step's updates; optimizer.clip_by says which norm",
		"Spikes of ten times the usual value often come before instability."},

	{"value/explained_variance", "", "1 minus the variance of (returns minus values) divided by that of returns, over tokens",
		"Near 1 if the value head predicts what a completion earns, 0 if it predicts no better than a constant, below 0 if it misleads."},
	{"value/clip_share", "share of tokens", "tokens where the clipped loss of the value head is in force",
		"Usually below 0.3. Above that, the value head changes too fast."},
	{"sampler/NAME", "", "distance between the log-probs of sampler and trainer with the same weights; only for methods that read sampler_gap",
		"Its mean is 0 and its ratio 1 if the two compute the same bits."},

	{"optim/lr", "", "learning rate of the step",
		"Follows the schedule in the recipe."},
	{"optim/updates", "updates", "optimizer updates in the step",
		"Fewer than updates_per_rollout if a filter left out all groups of an update."},
	{"optim/tokens", "tokens", "tokens that the step's updates read: prompts and completions, without the last token of each sequence",
		"What the updates would compute if no two completions began alike. Compare optim/rows."},
	{"optim/rows", "tokens", "tokens that the step's updates computed: a common beginning of a group's completions counts once",
		"The cost of training. Falls below optim/tokens as the completions of a group become alike."},

	{"eval/pass@K", "share of problems", "unbiased estimate of the probability that at least one of K samples is right, on held-out problems",
		"pass@1 is the accuracy. If pass@K falls while pass@1 rises, the samples have become less varied."},
	{"eval/maj@K", "share of problems", "held-out problems for which the most frequent answer among K samples is right",
		"With eval_votes of the task. Above pass@1 if wrong answers disagree with each other."},
	{"eval/problems", "problems", "held-out problems in the evaluation",
		"The stage's eval_problems during a stage, the task's after it. More problems give a narrower interval."},
	{"eval/samples", "samples", "samples of each held-out problem",
		"Set by eval_samples of the task."},
	{"eval/mean", "", "mean score of the held-out samples, averaged over problems",
		"Equals pass@1 if all verdicts are right or wrong."},
	{"eval/mean_low", "", "lower end of the 95 % interval of eval/mean",
		"If the intervals of two evaluations overlap, the difference may be due to chance."},
	{"eval/mean_high", "", "upper end of the 95 % interval of eval/mean",
		"See eval/mean_low."},
	{"eval/greedy", "share of problems", "held-out problems whose most likely completion is right",
		"The accuracy at temperature 0."},
	{"eval/loss", "nats per token", "mean negative log-prob of the learned tokens of up to 128 held-out rows, if rows of data are imitated",
		"Should fall with sft/loss. If it rises while sft/loss falls, the model memorises the rows: stop there."},
	{"eval/preference_loss", "", "the stage's loss on up to 128 held-out pairs",
		"Should fall with policy/loss. If it rises while policy/loss falls, the model memorises the pairs: stop there."},
	{"eval/preference_accuracy", "share of pairs", "preference/accuracy on these pairs",
		"Should rise above a half."},
	{"eval/preference_margin", "", "preference/margin on these pairs",
		"Should rise."},
	{"eval/valid", "share of samples", "samples in the form of an answer, right or wrong; only for tasks that define a form",
		"Should be near 1 before reinforcement learning begins."},
	{"eval/length_mean", "tokens", "mean length of the held-out samples, end token included",
		"Read it like rollout/length_mean."},
	{"eval/not_scored", "samples", "held-out samples that the verifier could not score",
		"Should be 0."},

	{"clip/NAME", "share of values", "values that the clips in the recipe's own formula NAME bound; only for parts of the loss that the recipe writes itself",
		"Of a ratio usually 0 to 0.2, as policy/clip_fraction, which counts only the side where clipping acts. A clip that is always 0 here has no effect."},
	{"my/NAME", "", "a metric of the recipe, from [stage.algorithm] metrics",
		"Its formula is in the recipe."},

	{"time/rollout_s", "s", "wall-clock time of sampling and grading",
		"Long completions and slow verifiers raise it."},
	{"time/train_s", "s", "wall-clock time of the forward pass, the backward pass and the update",
		"Grows with rollout/tokens."},
	{"rollout/tokens_per_s", "tokens per second", "sampled tokens divided by the wall-clock time of sampling and grading",
		"Falls as completions grow: attention costs more, and a batch waits for its longest completion."},
	{"train/tokens_per_s", "tokens per second", "trained tokens divided by the wall-clock time of the forward pass, the backward pass and the update",
		"Should be steady within a stage. A fall means that something else uses the device."},
	{"time/eval_s", "s", "wall-clock time of the held-out evaluation, in steps that have one",
		"If it takes a large part of the run, lower eval_problems or raise eval_every."},
}

// Table is every metric, in the order in which rows are written.
func Table() []Metric { return slices.Clone(table) }

// Find is the entry of a name as it stands in the table or in metrics.jsonl:
// eval/pass@8 finds eval/pass@K.
func Find(name string) (Metric, bool) {
	i, ok := entries[name]
	if p, concrete := find(name); !ok && concrete {
		i, ok = p.entry, true
	}
	if !ok {
		return Metric{}, false
	}
	return table[i], true
}

// position is a metric's place in a row: its entry, then K or NAME.
type position struct {
	entry, k int
	name     string
}

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.entry, o.entry), cmp.Compare(p.k, o.k), cmp.Compare(p.name, o.name))
}

// ownName is the shape of names that a recipe gives: of terms of a reward, of metrics.
var ownName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// lostToTool begins the metric of a tool that failed.
const lostToTool = "rollout/not_scored/"

// areas are what names of metrics begin with.
var areas = func() map[string]bool {
	m := map[string]bool{}
	for _, t := range table {
		area, _, _ := strings.Cut(t.Name, "/")
		m[area] = true
	}
	return m
}()

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
	for _, family := range []string{"reward/term/", "judge/unread/", "made/rows/", "made/left_out/", "seat/reward/", "seat/right_share/", "seat/completions/", "curriculum/setting/", "sampler/", "clip/", "my/"} {
		if own, cut := strings.CutPrefix(name, family); cut {
			if !ownName.MatchString(own) {
				return p, false
			}
			name, p.name = family+"NAME", own
		}
	}
	if tool, cut := strings.CutPrefix(name, lostToTool); cut && world.ToolName(tool) {
		name, p.name = lostToTool+"NAME", tool
	}
	if own, of, cut := strings.Cut(name, "/"); cut && !areas[own] && ownName.MatchString(own) { // a model
		name, p.name = "NAME/"+of, own
	}
	p.entry, ok = entries[name]
	return p, ok
}
