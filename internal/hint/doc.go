// Package hint attaches advice to errors. The text of an error states the
// problem; its hints say what to do about it. A library function attaches a hint
// where it knows one, and the command line prints each on a line of its own:
//
//	rlzero: error: unknown task "gdc"
//	rlzero: hint: did you mean gcd?
//
// Hints survive wrapping with %w and errors.Join. All functions are pure.
package hint
