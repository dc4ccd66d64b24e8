// Package reward turns the verdicts of a step into rewards: the vocabulary that the formula of a
// recipe's key reward is written in. Package formula has the language, its checker and its
// statistics. This package has the facts of completions, the verifiers and the named formulas of
// rewards.
//
//	"if(right(form), task + 0.1*brief, -1)"                 [[stage.verifier]]
//	        │ formula.Compile over facts, verifiers               │ registry of package verify,
//	        │ and named formulas                                  │ or Starlark
//	        v                                                      v
//	     Program ──Judge(row, text)──────────────────────> []Verdict, completion by completion
//	        │
//	        └────Score(Batch: all completions of a step)──> Scores{Reward, Why, Terms}
//
// [Facts], [Parts] and [Guide] are the part about rewards of the manual that "rlzero formulas"
// prints, with the papers that formulas come from.
//
// # Evaluation
//
// A step is a frame of groups, completions and tokens (without segments: a completion is one). The
// columns of the facts that the formula reads are filled from the completions, and the formula is
// evaluated over them once. A reward is a value of each completion; a value of the group or of the
// run counts for every completion in it. A completion without a value, or with an infinite one, is
// not scored, and Why has the reason.
//
// Facts with arguments (texts.go) are computed before the formula, since their arguments are
// constants. Only they read the text of completions. score_of and similarity need a model
// ([Program.Asks]); package train asks package cast and puts the answers into the batch.
//
// # Scripts
//
// A verifier may be a script of the user, see package verify/script. A resolved recipe holds the
// text of its scripts (the key source), so its hash in the receipt covers them and the run needs no
// other file.
//
// Everything is immutable after Compile and safe for concurrent use.
package reward
