// Package terminal makes text of others fit for a terminal: what a model, a file or a
// row of data holds must neither move the cursor, change colours, set titles or turn
// the direction of writing, nor fill the screen.
//
//	text ── Line ──> one line, cut: for progress and reports
//	     ├─ Quote ──> in quotation marks, cut: within a message
//	     ├─ Message ──> the lines of a whole message, each cut
//	     └─ Text ──> all of it: for what a person asked for
//
//	Count(n, noun): a number with its noun, 1 problem or 2 problems
//	ShellWord(text): one word of a command line that can be copied
//
// What cannot be printed (control characters, marks of direction, characters without
// width, bytes that are no UTF-8) is written as in Go: \x1b, \u202e. Lengths are in
// characters (Unicode code points).
//
// ShellWord keeps the text as it is, so that a shell reads it back: ask Printable before
// a text of others is shown with it.
package terminal
