// Package report draws a finished run: report.html, one file that opens offline
// with nothing beside it, and the same curves as SVG.
//
//	RUN/metrics.jsonl ----+
//	RUN/timing.jsonl -----+-> Read -> Run -+-> HTML    report.html
//	RUN/evaluations.jsonl +                +-> Curves  curves/*.svg
//	RUN/recipe.toml ------+
//
// # Units
//
// Shares (pass@k, greedy, right form) are 0..1 in a Run and percent on the page;
// entropy, loss and KL are nats per token, lengths tokens, times seconds. Steps
// count through all stages, from 1. NaN stands for "not measured": it breaks a
// line and leaves a table cell empty. A chart without data is left out.
//
// # How the curves are drawn
//
// The bold line is smoothed lightly, with a Gaussian kernel that never looks across
// the border of two stages and leaves the first and last value of each as they are;
// the faint line behind it is the data. Held-out accuracy is never smoothed. Stages are bands whose width follows their steps,
// short ones being widened until they can be read, so distances along x compare
// within a stage and not between two.
//
// # Caveats
//
// The same Run gives the same bytes. Prompts and completions are text that a
// model wrote: html/template escapes them, they are cut to a length, and nothing
// on the page is loaded from anywhere. Functions keep no state and may be called
// from several goroutines as long as none changes the Run.
//
// The form of the page follows E. Tufte, The Visual Display of Quantitative
// Information (1983): small multiples, direct labels in place of legends.
package report
