// Package prompts is where the problems of a run come from.
//
//	a procedural task ── Of ────┐
//	                            ├─> Source: Draw, HeldOut, Rows, Verify
//	data sets ─────────── Open ─┘
//
// A [Source] draws training problems, has the held-out problems that evaluations use, and judges
// completions with its own verifier. No training draw returns a held-out problem; package tasks
// says how problems are split. The split cannot see that a file has one question in two layouts, so
// [Leak] looks for that when the file is opened. Every draw is also compared with the held-out
// texts, and a leak is an error.
//
// A draw is a function of the random numbers it is given. [Step] keys them by
// seed, stream, step and index, so a resumed run or an audit draws the same
// problems again. A Source has no state of its own.
//
//	Problem ─ Renderer ─ token ids of a prompt, or of a lesson
//
// A [Renderer] is the one place where problems become what a model reads: with the model's chat
// template (package chat) or as plain text. A run, its evaluations and the checks before it share
// one Renderer. [Renderer.Check] reads every row of a file before a run and reports all faults with
// their lines.
//
// Data sets are files or folders of any format of package table, read once, when they are opened,
// and kept in memory: at most 4 GiB. Their hash says whether they have changed since. [Columns]
// says which columns of a row are the problem. With several data sets, each is drawn from according
// to its share. A row is not trained on if its question is held out in any data set.
//
// A Source is safe for concurrent use.
package prompts
