// Package tasks draws any number of problems from a seed: prompts with answers that a verifier can
// check.
//
//	random.At(seed, stream, i) ─> Rand ─> Task.Draw(rand, split) ─> verify.Problem ─┬─> Task.Verify: right or wrong
//	                                                                     ├─> Demonstrator.Demonstration: text to imitate
//	                                                                     └─> Demonstrator.Valid: the right form, whatever the result
//
// A [Task] is its own settings: a struct with toml tags, made with defaults by
// [New], read from a recipe, checked by Validate and not changed afterwards.
//
// # Families
//
// countdown, countdown_search, chain_sum, composition, program, trace, a mixture of them and all worlds are [Demonstrator]s: a fixed
// vocabulary and demonstrations for a model from random weights. The worlds, which [Worlds] lists, are
// [Episodic]: their problems are episodes of several turns, in sums and library with a tool. In grid,
// rooms, nim, tictactoe, critic, shop, forms and repair a turn is a move from one position to another;
// positions.go has what they share.
// All others are generated families in words. Families of reasoning-gym (github.com/open-thought/reasoning-gym) have its
// names and settings, with questions of our own. Words and names are made up, so that no list is
// needed. Each is one call of generate: a struct of settings, a curriculum, a function that draws a
// problem, and a check of bare answers that is also the verifier "task:NAME". A check reads
// reasoning-gym's rows as well as our own. If a problem has several right answers, a check tests
// what the question asks and compares no text. Answers are read up to 512 KiB, by parsers with
// limits on depth and steps; none is ever run as code.
//
// # Constant answers
//
// A model can learn to give one answer to every problem. [BestConstant] says what the best constant
// answer earns. Families in which some answer would come up too often have the setting balanced. It
// is on by default and fixes how often each kind of problem is drawn. Other families have random
// names and labels, so that no answer fits many problems.
//
// # Splits
//
// A problem belongs to the training or to the held-out split by its text alone:
// held out when the CRC-32 (IEEE) of its canonical form, the row's ID, is divisible by 16.
// A problem of a file is split by its question. No draw for training ever returns a held-out
// problem, whatever the seed. [HeldOutRows] is the fixed test set; [Rows] gives problems of
// either split.
//
// # Text and chat
//
// A row's Question is the whole prompt as text. [Chat] puts the same text into two messages: the
// system says how to answer, the user states the problem.
//
// # Randomness
//
// Everything drawn is a function of (seed, stream, index): row i of a stream is
// the same wherever and whenever it is drawn, which makes a resumed run equal
// to an undisturbed one.
//
// # Tokens
//
// Texts of a demonstrator are sequences of the tokens \d+ and \S; spaces are not tokens. Vocabulary
// lists them for models that are trained from scratch.
//
// A Task is safe for concurrent use once validated; a random.Rand is not.
package tasks
