// Package lines reads files of JSON lines: one value a line, blank lines between them
// for nothing.
//
//	reader ── Each ──> do(number, line), in order, until the first error
//
// One line is held at a time, of at most MaxBytes: a file of one line that never ends,
// such as /dev/zero, is refused there. Lines are numbered from 1, as
// editors do. A byte order mark at the begin is passed over.
package lines
