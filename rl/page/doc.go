// Package page shows runs in a browser: which there are, whether they learn, what they
// write and what that is paid, and whether to trust it.
//
//	run folders ── Open ──> Runs ──┬─ Handler ──> files by range, events, search ──> browser
//	                               ├─ Ask ──────> the same without a connection, for command web
//	                               └─ File ──> one HTML file with everything in it: report.html
//	package compare's JSON ── Contest ──> one HTML file: compare.html
//
// # How it works
//
// The page is a static application (assets/). It reads the plain files of runs, by HTTP
// Range from where it stopped, when an event says that one has grown; a file that became
// shorter, as after a resume, is read anew. A run in progress does nothing for it, and
// nothing is ever written into a run's folder. Only whole lines count.
//
// Four things are the server's: the index of completions and tokens, which has the bytes and
// verdicts of each step (package record), the search in it, comparisons of recipes, whose
// intervals are those of package compare, and the formulas of a recipe. All read the files as
// they are on the disk, in pieces. A line that is longer than record.MaxBytes is left out, and
// the screen Machine says so.
//
//	GET /runs.json                    runs, with the sizes of their files
//	GET /metrics.json                 the table of package metrics
//	GET /events                       text/event-stream: runs that have changed, as in runs.json
//	GET /run/ID/FILE                  a file of a run, by range; those in Files alone
//	GET /run/ID/steps.json?from=N     the index from its N-th entry on; file=tokens.jsonl: of tokens
//	GET /run/ID/search.json?q=TEXT    completions that hold a text; see search in index.go
//	GET /run/ID/compare.json?with=ID  what one recipe gained over another (package compare)
//	GET /run/ID/method.json           what each stage learns by, in formulas
//
// # Drawings and files
//
// scale.js has the arithmetic of all drawings: ranges, ticks, bands, smoothing, texts. SVG
// is drawn by draw.js; uPlot, which is faster for curves of many points, draws the screen
// Curves of a server alone, from the same numbers. What is printed and what is a single file
// is SVG throughout.
//
// A file holds the logs of its runs whole, but of completions and tokens some steps, evenly
// over the run. So counts of the run are right, and its receipt can be checked as far as the
// logs are in it. The screen Report puts the others on one page.
//
// # The page that trains in the browser
//
// Site is the same application with more scripts before its last one (web/internal/site):
// they put a program in a worker in the place of the server, and that answers by Ask. Try
// serves the folder of such a page.
//
// # Units and caveats
//
// Steps count through all stages, offsets are bytes. A run is told from its files:
// finished if it has a receipt, in progress if a log has changed in the last minute, and
// stopped otherwise. A file, which is read later, calls both unfinished. What models wrote is hostile text: it is sent as JSON and set as text.
//
// assets/uplot is a library of others, with its licence and hash beside it (B. Leeming's
// uPlot, https://github.com/leeoniya/uPlot). Everything else is this package's own.
//
// Runs may be used by several goroutines.
package page
