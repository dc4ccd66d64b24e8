// Package compare compares runs: which recipe reached more from the
// same start with the same number of sampled tokens, and whether the difference is
// more than chance.
//
//	run folders ── Read ──> Trial (one seed) ──┐
//	                                           ├─> New ──> Comparison ── Table, Document, JSON
//	names of recipes, threshold ───────────────┘
//
// # Intervals
//
// All are 95 % intervals by Student's t, whose degrees of freedom come from what
// varied. [Mean] is over independent values, such as those of seeds. [Paired] is over
// differences between two arms on the same problems and seeds. Problems and seeds
// both vary, so its variance is that of a crossed layout with two random effects, by
// their mean squares,
//
//	(MS_seeds + MS_problems)/(seeds*problems)
//
// with Satterthwaite's degrees of freedom (Biometrics Bulletin 2, 1946, 110-114). The
// mean square of what is left of the cells is not taken off, as an unbiased estimate
// would: with three seeds the interval then holds the difference 93 to 98 times in 100
// (TestCoverage). With one seed only problems vary: the interval says nothing of
// another seed.
// Bands of charts are [Mean] at each place of a grid.
//
// # Units
//
// Scores and pass@k are shares of 1, lengths tokens, entropy and KL nats per token;
// places on curves are tokens sampled so far. NaN: not measured.
//
// # Caveats
//
// The same folders give the same bytes. Nothing here is about time. The functions
// keep no state and are safe for concurrent use.
package compare
