// Package verdict is the work of judging, as it goes to workers: items that ask verifiers
// about completions, and their answers.
//
//	questions ── Item.Encode ──> worker: Decode, Judge ── Answer ──> Item.Read ──> verdicts
//
// An item has all that its verdicts depend on: a verifier by its name, options and engine,
// rows, and the text of completions. Its id is the SHA-256 of its encoding. A worker
// judges by its own registry of verifiers, and by engines that it has itself: an item names
// neither a file nor a command, and a verifier whose options do is not asked (see
// [verify.Portable]). What completions do there is bounded as on the trainer's machine.
//
// # What is answered
//
// A verdict goes back where it is settled: no limit and no lack of time had a part in it.
// All others the trainer finds itself, by its own limits, as it would without workers. So
// neither a slow worker nor a fast one changes what a run comes to.
//
// Everything here is bounded by the data that it is read from, and safe for concurrent use.
package verdict
