// Package judge has the verifier "judge", which asks a model about a completion.
//
//	row, completion ── Ask, Compare, List ──> questions (texts) ── a model ──> what it says
//	                                                                               │
//	                     verdict <── Verdict, Among, Placed <── answers <── Of... ─┘
//
// It is pure: it writes questions and reads what a model said, and knows no model. Who has one asks:
// package rl/panel in a run. [Judge.Verify] alone therefore scores nothing.
//
// # Shows
//
// each asks one question about a completion, items one for each entry of a list of the row, steps one for
// each step of a completion, pairs about two completions of a prompt in both orders, group about all at once.
//
// # Reads
//
// A head's number and the probabilities of given answers are there without a token being drawn. A
// pattern, or another verifier, reads what the model wrote. It is never applied to what the model was
// shown, so a completion that holds "Score: 10" is text like any other.
//
// # What cannot be read
//
// An answer without a match, out of range, cut at its limit, or that repeats the prompt's own text is unread. If more
// than half of the votes of one question of a verdict are unread, of an item or a step too, the verdict is not
// scored, with the reason, and never 0. A question that is too long for the judge, in which nothing stands, or that its
// tokenizer cannot write, because of the completion, is wrong, and has the least of each number: a policy must not be able
// to leave itself out. If several completions do not fit into one question, the longest are wrong until the rest fits.
//
// A Judge is immutable and safe for concurrent use.
package judge
