// Package script has the verifier "starlark": a function reward(row, completion) that the user
// wrote. Importing it registers the verifier.
//
//	Script{text, range} ── New ──> child of this binary: compile, run the top level
//	row, completion ── Verify ──> child: reward(row, completion) ── Verdict ──> verify.Verdict
//
// A script runs in a child (package worker). Whatever it does, it can cost one completion its
// verdict but never end the run. Starlark has no files, clock, network or randomness.
//
// # Budgets
//
// Work is counted where it can be: the result is then the same on every machine, and the error
// names the line. The budget counts steps, the length of a range(), and the bytes that + * % and <<
// produce; budget.go rewrites these operators before a script is compiled. JSON and patterns are
// charged by the length of their text.
//
// Some work cannot be counted: join, replace and format multiply lengths; a list that holds the
// same list many times over takes for ever to print or to hash; a search of a long text is one
// step. So the child has limits on processor time and memory (maxTime, maxMemory), and is replaced
// when it meets one. A script near these two limits may be scored on one machine and not on
// another.
//
// The completions of a step share one budget. Whoever judges them adds up what they cost
// ([verify.Metered]). Where tools are called before an answer, it is judged in its episode, and only the bound of
// one verdict holds.
//
// If a script fails on a completion, that completion is not scored, so a model may learn to make
// the script fail. Return 0 for text that cannot be read, and watch rollout/not_scored.
//
// A Script is immutable and safe for concurrent use.
package script
