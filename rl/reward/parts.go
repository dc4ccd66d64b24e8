package reward

import "slices"

// Part is a named formula that rewards may use.
type Part struct {
	Name    string // with its arguments and their defaults
	Meaning string
	Formula string
	Source  string // paper; "" for plain arithmetic
}

// LeftOut is the reason of a completion that the formula itself leaves out.
const LeftOut = "left out by the recipe (unscored)"

// parts is in the order of the manual. Other published forms are short formulas:
// see the tests.
var parts = []Part{
	{"one", "a control that leaves every weight unchanged", "1", ""},
	{"unscored", "leaves the completion out, as in if(truncated, unscored, task); it does not count for max_not_scored",
		`missing("` + LeftOut + `")`, ""},
	{"majority(verifier)", "whether the answer that a verifier extracted is the commonest of the group, or one of several as common. Needs no reference",
		"agreement(verifier) > 0 and agreement(verifier) == group_max(agreement(verifier))", "TTRL, arXiv 2504.16084"},
	{"low_entropy", "how certain the policy was of its tokens: minus their mean entropy. Needs no reference", "-mean(old_entropy)", "RENT, arXiv 2505.22660"},
	{"self_certainty", "how far the policy's distributions are from uniform: the mean over the tokens of the KL of the uniform distribution to them. Costs a forward pass. Needs no reference",
		"-mean(old_uniform_logp) - log(vocabulary)", "arXiv 2502.18581; as a reward: Intuitor, arXiv 2505.19590"},
	{"perplexity_ratio(text)", "how many times lower the policy's perplexity of a text, such as row.answer, is after the completion than after only the prompt. Costs two forward passes. Needs no verifier",
		"exp(mean_score_of(text, completion, policy) - mean_score_of(text, prompt, policy))", "perplexity as a reward: NOVER, arXiv 2505.16022"},
	{"overlong(cache, longest = max_tokens)", "DAPO's penalty for overlong completions: 0 up to longest - cache tokens, falling to -1 at longest",
		`if(cache > 0, max(-1, min(0, (longest - cache - tokens)/cache)), missing("overlong: cache has to be above 0"))`, "arXiv 2503.14476, equation 13"},
	{"shortest_right(condition)", "whether the completion is among the shortest of its group for which the condition holds, such as right(task)",
		"if(condition, tokens == group_min(tokens, condition), false)", "as the bonus of Observe-R1, arXiv 2505.12432"},
	{"kimi_length(condition)", "from 1/2 for the shortest of the group to -1/2 for the longest; never above 0 where the condition, such as right(task), does not hold; 0 if all are equally long",
		`least = group_min(tokens, scored(condition)); most = group_max(tokens, scored(condition));
t = if(least == most, 0, 0.5 - (tokens - least)/(most - least));
if(condition, t, min(0, t))`, "Kimi k1.5, arXiv 2501.12599, section 2.3.3"},
	{"cosine_length(condition, right_0, right_max, wrong_0, wrong_max, exceeded)",
		"right answers earn right_0 at length 0 to right_max at max_tokens, along half a cosine wave; wrong ones wrong_0 to wrong_max; at max_tokens itself the value is exceeded",
		`wave(a, b) = if(tokens >= max_tokens, exceeded, a + (b - a)*(1 - cos(pi*tokens/max_tokens))/2);
if(condition, wave(right_0, right_max), wave(wrong_0, wrong_max))`, "arXiv 2502.03373"},
}

// Parts lists the named formulas of rewards, in the order of the manual.
func Parts() []Part { return slices.Clone(parts) }

// library is the parts as formulas are compiled with them.
func library() map[string]string {
	out := map[string]string{}
	for _, p := range parts {
		out[p.Name] = p.Formula
	}
	return out
}
