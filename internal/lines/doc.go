// Package lines reads files of JSON lines: one value a line. Blank lines are skipped.
//
//	reader ── Each ──> do(number, line), in order, until the first error
//
// One line is held at a time, of at most MaxBytes, so a file whose line never ends, such as
// /dev/zero, is refused. Lines are numbered from 1, as in editors. A byte order mark at the
// beginning is skipped. [Tail] keeps the end of what has no bound, such as a log.
package lines
