// Package files reads files of the user within bounds.
//
//	path ── Open ──> a regular file, open
//	     └─ Read ──> its bytes, up to a bound
//
// A pipe in place of a file would make the program wait for ever, and a device such as /dev/zero
// never ends. Both are refused before they are opened. Somebody who swaps a file for a pipe between
// the check and the opening can still make the program wait. A pointer that Git LFS left in place
// of a file is refused, with the command that fetches the file. Errors name the path, what was
// found there and what is accepted.
//
// Functions are safe for concurrent use.
package files
