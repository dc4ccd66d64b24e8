// Package reward turns the verdicts of a step into rewards: the vocabulary that the
// formula of a recipe's key reward is written in. The language, its checker and its
// statistics are package formula's; here are the facts of completions, the verifiers
// and the named formulas of rewards.
//
//	"if(right(form), task + 0.1*brief, -1)"                 [[stage.verifier]]
//	        │ formula.Compile over facts, verifiers               │ registry of package verify,
//	        │ and named formulas                                  │ or Starlark
//	        v                                                      v
//	     Program ──Judge(row, text)──────────────────────> []Verdict, completion by completion
//	        │
//	        └────Score(Batch: all completions of a step)──> Scores{Reward, Why, Terms}
//
// [Facts], [Parts] and [Guide] are the part of the manual that "rlzero formulas"
// prints about rewards, with the papers that formulas are from.
//
// # Evaluation
//
// A step is a frame of groups, completions and tokens (without segments: a completion
// is one). The columns of the facts that the formula reads are filled from the
// completions, and the formula is evaluated over them once. A reward is a value of
// each completion; what is the same for the group or the run stands for each. A
// completion without a value, or with an infinite one, is not scored, and there is
// the reason why.
//
// Facts that take arguments (texts.go) are computed before the formula is: their
// arguments are written out. Text of completions is read there alone. What score_of
// needs of a model ([Program.Asks]) is in the batch: package train asks package cast.
//
// # Scripts
//
// A verifier may be a script of the user's, see package verify/script. A resolved recipe holds
// the text of its scripts (the key source), so its hash in the receipt covers them and the run
// needs no other file.
//
// Everything is immutable after Compile and safe for concurrent use.
package reward
