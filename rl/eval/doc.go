// Package eval measures models on the held-out problems of a run, and on any problems for rlzero
// eval. It also grades existing completions.
//
//	problems ── rollout.Collector ──> n completions of each, judged ──> Result
//
// Mean is the mean score: for each problem the mean over its scored completions, then the mean over
// the problems that have one. With verdicts of right and wrong it is pass@1. Its interval is the 95
// % interval of package stats. pass@k is the unbiased estimate of Chen et al. (arXiv 2107.03374),
// over the problems with k scored completions. pass^k estimates the chance that all of k are right
// (arXiv 2406.12045). maj@k says whether the most frequent answer of the first k is right. A figure
// without data is NaN.
//
// A [Tree] draws besides as the tree of a stage says. Each of its rounds is reported by the tokens that it has
// drawn, beside the best of as many completions drawn one by one.
//
// [NewAgainst] holds a model against its base: what both solve in k tries, one alone, and neither.
//
// An Evaluator may be used by one goroutine at a time.
package eval
