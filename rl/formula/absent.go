package formula

// absent are names that papers and other trainers have and the language has not, with what
// says the same, or why nothing does.
var absent = map[string]string{
	"micro_token_mean": "a mean over a micro-batch depends on how the work is cut, which is not part of a method; write token_mean",
	"mean_logp":        "write mean(logp) for the drawn tokens, or uniform_logp for the mean over the vocabulary",
	"arm_mean":         `write a state with by = "row.NAME", a number of each arm, such as next = "0.9*x + 0.1*batch_mean(reward)"`,
	"arm_drawn":        `write a state with by = "row.NAME", a number of each arm, with next = "x + batch_count(true)"`,
	"top_tv":           "log-probs of tokens that were not drawn are not kept; tv_near and dppo_tv judge by the drawn token",
	"top_kl":           "log-probs of tokens that were not drawn are not kept; kl_near and dppo_kl judge by the drawn token",
	"turns":            "a completion has one turn; cut it with lines, sentences, forks or a condition on tokens",
	"nodes":            "completions of a group are no tree; cut them with lines, sentences, forks or a condition on tokens",
	"jsd":              "whole distributions are not kept; k1, k2 and k3 judge by the drawn token",
	"batch_place":      "nothing sorts the values of a batch; group_rank orders those of a group",
	"aot":              "nothing sorts the margins of the batch, as AOT asks; the losses of preference look at each pair",
	"rae":              `write preset = "rae", with by = "row.NAME" in its state baseline for a column that names the role`,
	"length":           "write tokens, the length of a completion; in a reward chars, words and lines are of its text",
	"len":              "write tokens, the length of a completion; in a reward chars, words and lines are of its text",
	"std":              "say over what: group_std(x), batch_std(x), batch_token_std(x)",
	"median":           "say over what: group_median(x), batch_median(x), batch_token_median(x)",
	"quantile":         "say over what: group_quantile(x, q), batch_quantile(x, q), batch_token_quantile(x, q)",
	"softmax":          "write exp(x)/sum(exp(x)) over the tokens of a completion, exp(x)/group_sum(exp(x)) over the completions of a prompt",
	"baseline":         "write group_mean(reward), group_others_mean(reward), or a state that averages over the steps",
	"kl":               "write k1, k2 or k3, estimates of it for a token; penalty = \"kl_k3\" with beta is a KL term",
	"difficulty":       "write row.NAME for a member of the rows, or solved, the share of right answers so far",
	"logp":             "it is a value of an update, which only the loss of a method reads; formulas that are computed earlier read old, the log-prob when the token was drawn",
	"entropy":          "it is a value of an update, which only the loss of a method reads; formulas that are computed earlier read old_entropy",
	"writer":           "one policy writes all completions of a stage",
}
