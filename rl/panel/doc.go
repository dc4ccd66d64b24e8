// Package panel asks judges: it shows questions to models of the run, all of a step at once, and makes
// verdicts of what they say.
//
//	groups ── verify/judge: questions ──> ids ── cache, or Model ──> head, log-probs, text ── verify/judge ──> verdicts
//
// A verdict is a function of the model's weights, the ids that it is shown, the number of the vote and
// the run's seed: what is drawn is seeded by a hash of the ids. So equal questions have equal answers, in
// any batch, in training and in evaluations, after a resume, and with the cache off.
//
// # Ids
//
// A question is a message of the user, written with the chat template of the judge, or text where it has
// none. Control tokens in it are text, whoever wrote them. A head reads the end token that is put after it, as it learns
// to score what ended. Without a prompt a head reads the completion's
// own ids if the judge has the policy's tokens, and else the conversation in its own.
//
// # Rounds
//
// All questions of a call that are known are asked together, and what they begin with alike is read once. In a tournament (bracket.go) what is said leads
// to the next ones: those of a round are asked together, of all groups.
//
// A server may refuse a question. Then what it says to the same question about an empty completion is asked, and of
// several completions to those about each alone: whose question is refused where the empty one is answered is wrong.
// A prompt without text of its own asks nothing about an empty completion, and is asked about a short one instead.
//
// # Cache
//
// A Panel remembers what models said as long as their weights stay, and at most mostKept answers of each.
// It changes no verdict.
//
// A Panel belongs to one goroutine. Log-probs are in nats, at temperature 1.
package panel
