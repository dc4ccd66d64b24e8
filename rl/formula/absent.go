package formula

// absent are names that papers and other trainers have and the language has not, with what
// says the same, or why nothing does.
var absent = map[string]string{
	"micro_token_mean": "a mean over a micro-batch depends on the cut of the work, which is no part of a method; write token_mean",
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
	"writer":           "one policy writes all completions of a stage",
}
