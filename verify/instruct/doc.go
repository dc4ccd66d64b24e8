// Package instruct has the verifiers of instructions such as "use no comma".
//
//	ifeval:TYPE    the 25 types of IFEval
//	ifrlvr:TYPE    the 29 further types of the training set of IF-RLVR
//	ifbench:TYPE   the 58 types of IFBench
//
// Importing the package registers them with package verify. A row has the
// arguments in its metadata: "kwargs", an object, and optionally "mode",
// "strict" or "loose". A verdict is right, wrong or, where the row lacks what
// the type needs, not scored.
//
// # The same verdicts as the originals
//
// The checkers give the verdicts of the published Python checkers, odd ones included, so that
// figures under these names are comparable with published ones. The text of each entry says what is
// odd about it. Three things differ:
//
//   - Where the original uses a trained model or a dictionary (Punkt, NLTK's
//     tokenizer and tagger, langdetect, syllapy), ours imitates it by rules.
//     approximations.go lists the types and how many verdicts differ.
//   - Where the original draws a missing argument at random or raises an exception, ours does not
//     score the completion, or decides.
//   - A completion of more than 1 MiB is wrong unread.
//
// Sources of the behaviour: IFEval (github.com/google-research/google-research,
// instruction_following_eval), IFEvalG (github.com/allenai/open-instruct) and
// github.com/allenai/IFBench at db69a6f, all read, none copied.
//
// # Budgets
//
// Every check is linear in the completion, except for keywords that are regular expressions. These
// have Python's syntax. An engine of this package reads and runs them (pattern_parse.go,
// pattern_program.go, pattern_run.go) in a counted number of steps, which all instructions and forms
// of a completion share; beyond it an instruction counts as not followed. Patterns without references and without repetitions of what may be empty
// take no more steps than the product of pattern and text for each match. A keyword comes from the
// task, never from a model.
//
// Everything is safe for concurrent use.
package instruct
