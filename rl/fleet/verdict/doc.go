// Package verdict has the items by which workers judge: questions to verifiers about completions,
// and their answers.
//
//	questions ── Item.Encode ──> worker: Decode, Judge ── Answer ──> Item.Read ──> verdicts
//
// An item has everything that its verdicts depend on: a verifier with its name, options and engine,
// rows, and the text of completions. Its id is the SHA-256 of its encoding. A worker uses its own
// registry of verifiers and its own engines. An item names neither a file nor a command, and
// verifiers whose options name one are not sent (see [verify.Portable]). Programs in completions
// have the same limits as on the trainer's machine.
//
// # Answers
//
// A worker returns a verdict only if it is settled: no limit and no lack of time had a part in it.
// The trainer finds all others itself, by its own limits, as it would without workers. So the speed
// of a worker does not change the result of a run.
//
// Decoded values take no more memory than their data allow. Everything is safe for concurrent use.
package verdict
