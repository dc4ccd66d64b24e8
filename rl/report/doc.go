// Package report draws a run, finished or in progress: report.html, one file that
// opens offline with nothing beside it, and the same curves as SVG.
//
//	RUN/metrics.jsonl -----+
//	RUN/timing.jsonl ------+
//	RUN/evaluations.jsonl -+-> Read -> Run -> Files -+-> report.html
//	RUN/completions.jsonl -+                         +-> curves/*.svg
//	RUN/recipe.toml -------+
//	RUN/receipt.json ------+
//
// # Units
//
// Shares (pass@k, greedy, right form, groups) are 0..1 in a Run and percent on the
// page; entropy, loss and KL are nats per token, lengths tokens, times seconds.
// Steps count through all stages, from 1, in a Run and in its files; the page counts
// them in their stage, as the console does. NaN stands for "not measured": it breaks
// a line and leaves a table cell empty. A chart without data is left out; one whose
// value hardly changes becomes a fact beside the charts.
//
// # How the curves are drawn
//
// The bold line is smoothed lightly, with a Gaussian kernel that never looks across
// the border of two stages and leaves the first and last value of each as they are;
// the faint line behind it is the data. Held-out accuracy is never smoothed, and has
// its 95 % intervals. No line is drawn where more than two intervals of measurement
// lie between two points. Stages have a width that follows their steps, short ones
// being widened until they can be read, so distances along x compare within a stage
// and not between two. Only a line's end is labelled. The first chart is drawn twice,
// for wide and for narrow screens, and the style sheet shows one.
//
// # Caveats
//
// The same files give the same bytes. Prompts and completions are text that a model
// wrote: html/template escapes them, they are cut to a length, and nothing on the
// page is loaded from anywhere. The script only shows values under the pointer. A
// recipe that this version cannot read costs the formula and the limits, not the
// page. Reading is linear in the logs; of completions.jsonl the lines of four steps
// are parsed. Functions keep no state and may be called from several goroutines as
// long as none changes the Run.
//
// The form of the page follows E. Tufte, The Visual Display of Quantitative
// Information (1983): small multiples, direct labels in place of legends.
package report
