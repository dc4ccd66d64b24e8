// Package reward turns the verdicts of a step into rewards: a small typed
// language that a recipe's key reward is written in, checked when a run begins and
// evaluated in plain float64.
//
//	"if(right(form), task + 0.1*brief, -1)"                 [[stage.verifier]]
//	        │ parse: nodes with their place                        │ registry of package verify,
//	        │ check: kinds, names, number of arguments             │ or Starlark
//	        v                                                      v
//	     Program ──Judge(row, text)──────────────────────> []Verdict, completion by completion
//	        │
//	        └────Score(Batch: all completions of a step)──> Scores{Reward, Why, Terms}
//
// [Guide] and the tables of [Facts] and [Functions] are the language's manual:
// "rlzero rewards" prints them, with the papers that formulas are from.
//
// # Evaluation
//
// A node's value is a column: a float64 for each completion of the step, NaN
// where it is not scored, and there the reason why. Conditions are 1 or 0. Every
// node is evaluated for all completions once, so the work is the number of nodes
// times that of completions (times its logarithm for statistics): there are no
// loops, and length and depth of an expression are bounded (parse.go). Where
// "if" does not take a side, its value is not looked at.
//
// Statistics over a group or a step (statistics.go) leave out what is not scored,
// and add in order of size, so that no result depends on the order of the
// completions, not even in its last bit.
//
// # Scripts
//
// A user's script runs in a child of this binary (package worker), so that whatever it
// does costs one completion its reward and never the run. Starlark has no files, clock,
// network or chance. What can be counted is counted, which gives the same result on
// every machine and names the line: steps, the length of a range(), and the bytes of
// what + * % << make, which budget.go rewrites before a script is compiled. What cannot
// is bounded from outside: join, replace and format multiply lengths, a list that holds
// the same list many times over takes for ever to print or to hash, a search of a long
// text is one step. The child has limits on processor time and memory
// (maxScriptTime, maxScriptMemory) and is replaced when it meets one. A script
// near these two limits may be scored on one machine and not on another.
//
// A script that fails on a completion is not scored, so a model may learn to make it
// fail: return 0 for what cannot be read, and look at rollout/not_scored.
//
// A resolved recipe holds the text of its scripts (the key source), so its hash
// in the receipt covers them and the run needs no other file.
//
// Everything is immutable after Compile and safe for concurrent use.
package reward
