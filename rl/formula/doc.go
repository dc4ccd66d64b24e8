// Package formula is a small typed language for rewards, advantages, losses and
// filters: formulas over columns of numbers, checked when they are read,
// evaluated in float64, with derivatives by one reverse pass.
//
//	Text{Parts, Parameters, Library}            Frame: completions, their groups,
//	        │ parse: nodes with their place              segments and tokens
//	        │ check: names, levels, kinds                │
//	        v                                            v
//	    Program: a list of operations         Table: a column for each fact
//	        └───────────── On(table) ────────────────────┘
//	                          │
//	                       Values ── Column(part)  the values of a part, missing ones with the reason
//	                          ├───── Slopes(part)  d part / d fact for each token
//	                          └───── Within(table) the same over a part of the update
//
// It knows nothing of rewards, losses or models. The packages that use it say which facts there
// are, and which parts have a meaning.
//
// # Levels
//
// A value belongs to the run, to a group (the completions of a prompt), to a completion, to a
// segment of one or to a token. A coarse value can be used at a finer level as it is. To go from
// fine to coarse, a formula has to name a function, and the checker says which ones do it. A
// condition counts as 1 or 0 where a number is asked for; a number is never a condition.
//
// # Facts with arguments
//
// A fact may take constant arguments, as in repetition(3). The table has a column for each call
// ([Call.Column]), so any code may compute it, not only arithmetic.
//
// # Values
//
// A missing value is NaN and has a reason, which is looked up on request. Statistics leave out
// missing values. Inside a formula an infinity is a number. Arithmetic that has no result (0/0, inf
// - inf) gives a missing value for a group, a completion or a segment; for a token or the run it is
// an error with its place. Sums leave out tokens that the policy did not write, unless their
// condition names own.
//
// # Order of sums
//
// Over the tokens of a completion sums run in the order of the tokens; over several completions the
// sums of each are added in order of size. So no bit of a result or a derivative depends on the
// order of groups or of work. The mean of equal values is exactly that value, and their deviation
// is 0.
//
// # Step and update
//
// Facts of now change with the weights. An operation is a value of an update if it reads one, or if
// its function says so (update_mean, token_mean); all others are values of the step. This is a
// property of the operation, whatever part it stands in, so the name of a part changes no value.
// [Values.Update] evaluates over what an update learns from, and takes what is of the step from the
// values of the step. A part is local ([Program.Local]) if its derivative needs nothing from other
// completions except statistics of values that do not change. [Values.Within] then computes it piece
// by piece.
//
// # Cost
//
// There are no loops and no recursion; length, depth and the number of operations are bounded
// (parse.go, compile.go). An operation over a column is one pass. Sums, means and counts take one
// more, and other statistics sort. Functions that begin with group_others_ or group_pairs_ take
// time in the square of a group's size. Row-wise arithmetic uses all cores. GRPO's loss,
// derivatives and metrics for 256 completions of 1,024 tokens take 0.145 s of processor time
// (BenchmarkGRPO of package algo; 0.27 s with a sort for every mean, a copy of every column for an
// update of all completions, and a call with a list of arguments for every row).
//
// Programs and tables do not change once they are made and are safe for concurrent
// reading; Values are not.
package formula
