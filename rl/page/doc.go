// Package page shows runs in a browser: which there are, whether they learn, what they write, how
// it is rewarded, and whether to trust it.
//
//	run folders ── Open ──> Runs ──┬─ Handler ──> files by range, events, search ──> browser
//	                               ├─ Ask ──────> the same without a connection, for command web
//	                               └─ File ──> one HTML file with everything in it: report.html
//	package compare's JSON ── Contest ──> one HTML file: compare.html
//
// # How it works
//
// The page is a static application (assets/). It reads the plain files of runs. When an event says
// that a file has grown, the page reads the new part by HTTP Range. A file that became shorter, as
// after a resume, is read from its beginning. A run in progress does no work for the page, and the
// page writes nothing into a run's folder. Only whole lines count.
//
// The server computes four things: the index of completions, tokens, judgements and made rows, with the bytes and verdicts
// of each step (package record); searches in it; comparisons of recipes, with the intervals of
// package compare; and the formulas of a recipe. It reads the files from the disk in pieces. A line
// that is longer than record.MaxBytes is left out, and the screen Machine says so.
//
//	GET /runs.json                    runs, with the sizes of their files
//	GET /metrics.json                 the table of package metrics
//	GET /events                       text/event-stream: runs that have changed, as in runs.json, or
//	                                  none, every two seconds at least
//	GET /run/ID/FILE                  a file of a run that Files names or that the receipt has, by range
//	GET /run/ID/steps.json?from=N     the index from its N-th entry on; file=tokens.jsonl
//	                                  judgements.jsonl or rows.jsonl: of these
//	GET /run/ID/search.json?q=TEXT    completions that hold a text; see search in index.go
//	GET /run/ID/compare.json?with=ID  what one recipe gained over another (package compare)
//	GET /run/ID/method.json           what each stage learns by, in formulas
//
// Answers of some size are compressed, in brotli or gzip; parts of files are not. A browser that hears
// nothing of events for 4.5 seconds says that the server is gone, and keeps what it shows.
//
// # Drawings and files
//
// scale.js has the arithmetic of all drawings: ranges, ticks, bands, smoothing, texts. draw.js
// draws SVG. uPlot is faster for curves of many points; it draws the screen Curves of a served
// page, from the same numbers. Printed pages and single files have SVG throughout. Paper has drawings of
// its own (R.paper): the style sheet makes them as wide as their column. Without scripts, a
// single file shows what still.go has written into it.
//
// A single file holds the logs of its runs, but completions, tokens, what judges said and made rows only of some steps, spread
// evenly over the run. So the counts of a run are right, and its receipt can be checked as far as
// the file has its logs. The screen Report shows the other screens on one page.
//
// # The page that trains in the browser
//
// Site is the same application with more scripts before its last one (web/internal/site). They
// start the program in a web worker, which answers through Ask in place of the server. Try serves
// the folder of such a page.
//
// # Units and caveats
//
// Steps count through all stages, offsets are bytes. The files of a run tell its state: it is
// finished if it has a receipt, in progress if a log has changed in the last minute, and stopped
// otherwise. A single file, which is read later, calls the last two unfinished. Text that models
// wrote is hostile: it is sent as JSON and shown as text.
//
// assets/uplot is a library of others, with its licence and hash beside it (B. Leeming's
// uPlot, https://github.com/leeoniya/uPlot). Everything else is this package's own.
//
// Runs may be used by several goroutines.
package page
