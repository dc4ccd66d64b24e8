// Package progress shows a run to a person: a bar with the figures that matter
// on a terminal, one plain line every few seconds elsewhere (a pipe, a CI log).
// It is display only: nothing of a run depends on it. A Reporter belongs to one
// goroutine.
package progress
