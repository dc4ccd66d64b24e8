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
// It knows nothing of rewards, losses or models: which facts there are, and which
// parts mean something, is said by those who use it.
//
// # Levels
//
// A value belongs to the run, to a group (the completions of a prompt), to a
// completion, to a segment of one or to a token. A coarse value is used at a finer
// level as it is; from fine to coarse a function has to be named, and the checker
// says which. A condition counts as 1 or 0 where a number is asked for; a number
// is never a condition.
//
// # Facts with arguments
//
// A fact may take arguments that are written out, as in repetition(3): the table has
// a column for each call ([Call.Column]), so what computes it need not be arithmetic.
//
// # Values
//
// A value that is missing is NaN and has a reason, which is looked up when it is
// asked for. Statistics leave out what is missing. Inside a formula an infinity is
// a number. Arithmetic on numbers that gives none (0/0, inf - inf) makes a missing
// value of a group, a completion or a segment, and an error, with its place, of a
// token or of the run. Tokens that the policy did not write are no part of any
// sum, unless its condition names own.
//
// # Order of sums
//
// Over the tokens of a completion sums run in the order of the tokens; over
// several completions the sums of each are added in order of size. So no result and no derivative depends on
// the order of groups or of work, not in its last bit. Equal values have exactly
// their value as mean and 0 as deviation.
//
// # Now, and updates
//
// Facts of now change with the weights. Parts that read none of them are computed
// once; an update that reads them takes the column that the table has by the
// part's name. In parts that read facts of now, statistics are over the table of
// the update. A part is local ([Program.Local]) if its derivative needs no other
// completion but for statistics of what does not change: then [Values.Within]
// finds it piece by piece.
//
// # Cost
//
// There are no loops and no recursion; length, depth and the number of operations
// are bounded (parse.go, compile.go). An operation over a column is one pass; sums,
// means and counts are one more, other statistics sort; group_others_ and group_pairs_ take
// the square of a group's size. Arithmetic row by row uses all cores. GRPO's loss,
// derivatives and metrics for 256 completions of 1,024 tokens take 0.145 s of processor
// time (BenchmarkGRPO of package algo; 0.27 s with a sort for every mean, a copy of every
// column for an update of all completions, and a call with a list of arguments for every row).
//
// Programs and tables do not change once they are made and are safe for concurrent
// reading; Values are not.
package formula
