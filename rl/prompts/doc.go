// Package prompts is where the problems of a run come from.
//
//	a procedural task ── Of ────┐
//	                            ├─> Source: Draw, HeldOut, Rows, Verify
//	data sets ─────────── Open ─┘
//
// A [Source] draws training problems, has the held-out problems that evaluations
// use, and judges completions with its own verifier. No training draw returns a
// held-out problem: package tasks says how problems are split. What the split cannot
// see, a file with one question in two layouts, is looked for by [Leak] when the file
// is opened, and every draw is compared with the held-out texts: a leak is an error.
//
// A draw is a function of the random numbers it is given. [Step] keys them by
// seed, stream, step and index, so a resumed run or an audit draws the same
// problems again. A Source has no state of its own.
//
//	Problem ─ Renderer ─ token ids of a prompt, or of a lesson
//
// A [Renderer] is the one place where problems become what a model reads: with the
// model's chat template (package chat) or as plain text. A run, its evaluations and the
// checks before it share one. [Renderer.Check] reads every row of a file before a run and
// tells all faults with their lines.
//
// Data sets are files or folders of any format of package table, read once, when they
// are opened, and kept in memory: at most 4 GiB. Their hash says whether they have
// changed since. [Columns] say what of a row is the problem. Of several data sets each
// is drawn from by its share. A row whose question is held out, in whatever data set,
// is not trained on.
//
// A Source is safe for concurrent use.
package prompts
