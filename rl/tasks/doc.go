// Package tasks draws problems without end: prompts with answers that a
// verifier can check, from nothing but a seed.
//
//	At(seed, stream, i) ─> Rand ─> Task.Draw(rand, split) ─> verify.Row ─┬─> Task.Demonstration: text to imitate
//	                                                                     ├─> Task.Verify: right or wrong
//	                                                                     └─> Task.Valid: the right form, whatever the result
//
// A [Task] is its own settings: a struct with toml tags, made with defaults by
// [New], read from a recipe, checked by Validate and not changed afterwards.
//
// # Splits
//
// A problem belongs to the training or to the held-out split by its text alone:
// held out when the CRC-32 (IEEE) of its canonical form, the row's ID, is 0 mod
// 16. No draw for training ever returns a held-out problem, whatever the seed.
// [HeldOutRows] is the fixed test set.
//
// # Randomness
//
// Everything drawn is a function of (seed, stream, index): row i of a stream is
// the same wherever and whenever it is drawn, which makes a resumed run equal
// to an undisturbed one.
//
// # Tokens
//
// Texts of a task are sequences of the tokens \d+ and \S; spaces are no tokens.
// Vocabulary lists them for models that are trained from scratch.
//
// A Task is safe for concurrent use once validated; a Rand is not.
package tasks
