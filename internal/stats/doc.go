// Package stats has the statistics of an evaluation: unbiased pass@k, pass^k,
// majority vote, and a mean with its 95 % confidence interval. Shares are 0..1.
// Pure functions, safe for concurrent use.
package stats
