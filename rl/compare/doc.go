// Package compare compares runs. It says which recipe reached more from the same start with the
// same number of sampled tokens, and whether the difference is more than chance.
//
//	run folders ── Read ──> Trial (one seed) ──┐
//	                                           ├─> New ──> Comparison ── Table, Document, JSON
//	names of recipes, threshold ───────────────┘
//
// # Intervals
//
// All are 95 % intervals by Student's t; the degrees of freedom come from what varied. [Mean] is
// over independent values, such as those of seeds. [Paired] is over differences between two arms on
// the same problems and seeds. Both problems and seeds vary, so the variance is that of a crossed
// layout with two random effects. In mean squares it is
//
//	(MS_seeds + MS_problems)/(seeds*problems)
//
// with Satterthwaite's degrees of freedom (Biometrics Bulletin 2, 1946, 110-114). An unbiased
// estimate would subtract the residual mean square of the cells. It is not subtracted here; with
// three seeds the interval then holds the difference 93 to 98 times in 100 (TestCoverage). With one
// seed only problems vary, and the interval says nothing about other seeds. Bands of charts are
// [Mean] at each place of a grid.
//
// # Units
//
// Scores and pass@k are shares of 1, lengths tokens, entropy and KL nats per token;
// places on curves are tokens sampled so far, or steps where no step of the runs learns from rewards. NaN: not measured.
//
// # Caveats
//
// The same folders give the same bytes. Nothing here depends on time. The functions keep no state
// and are safe for concurrent use.
package compare
