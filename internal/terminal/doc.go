// Package terminal makes foreign text fit for a terminal. Text of a model, a file or a row of data
// must not move the cursor, change colours, set titles, turn the direction of writing, or fill the
// screen.
//
//	text ── Line ──> one line, cut: for progress and reports
//	     ├─ Quote ──> in quotation marks, cut: within a message
//	     ├─ Message ──> the lines of a whole message, each cut
//	     └─ Text ──> all of it: for what a person asked for
//
//	Count(n, noun): a number with its noun, 1 problem or 2 problems
//	ShellWord(text): one word of a command line that can be copied
//
// Unprintable characters (control characters, marks of direction, characters without width, bytes
// that are not UTF-8) are written as in Go: \x1b, \u202e. Lengths are in characters (Unicode code
// points).
//
// ShellWord keeps the text as it is, so that a shell reads it back. Ask Printable before you show
// foreign text with it.
package terminal
