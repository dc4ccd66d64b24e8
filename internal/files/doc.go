// Package files reads files of the user's within bounds.
//
//	path ── Open ──> a regular file, open
//	     └─ Read ──> its bytes, at most so many
//
// A pipe in the place of a file would make the program wait for ever, and a device
// such as /dev/zero would never end, so both are refused before they are opened: who
// swaps a file for a pipe between the look and the opening can still make it wait.
// A pointer that Git LFS left in place of a file is refused with what fetches it.
// Errors name the path, what was found there and what is accepted.
//
// Functions are safe for concurrent use.
package files
