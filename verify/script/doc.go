// Package script has the verifier "starlark": a function reward(row, completion) that the user
// wrote. Importing it registers the verifier.
//
//	Script{text, range} ── New ──> child of this binary: compile, run the top level
//	row, completion ── Verify ──> child: reward(row, completion) ── Verdict ──> verify.Verdict
//
// A script runs in a child (package worker), so that whatever it does costs one completion its
// verdict and never the run. Starlark has no files, clock, network or chance.
//
// # Budgets
//
// What can be counted is counted, which gives the same result on every machine and names the
// line: steps, the length of a range(), and the bytes of what + * % << make, which budget.go
// rewrites before a script is compiled. JSON and patterns are charged by the length of their
// text. What cannot be counted is bounded from outside: join, replace and format multiply
// lengths, a list that holds the same list many times over takes for ever to print or to hash,
// a search of a long text is one step. The child has limits on processor time and memory
// (maxTime, maxMemory) and is replaced when it meets one. A script near these two limits may
// be scored on one machine and not on another.
//
// The completions of a step of a run have a budget together, which who judges them all adds up
// ([verify.Metered]).
//
// A script that fails on a completion is not scored, so a model may learn to make it
// fail: return 0 for what cannot be read, and look at rollout/not_scored.
//
// A Script is immutable and safe for concurrent use.
package script
