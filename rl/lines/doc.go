// Package lines reads files of JSON lines: one value a line, blank lines between them
// for nothing.
//
//	reader ── Each ──> do(number, line), in order, until the first error
//
// Lines may have any length and one is held at a time. Lines are numbered from 1, as
// editors do. A byte order mark at the begin is passed over.
package lines
