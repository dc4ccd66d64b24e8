// Package progress shows a run to a person: on a terminal a bar with the figures that matter,
// elsewhere (a pipe, a CI log) one plain line every few seconds. Nothing in a run depends on it. A
// Reporter belongs to one goroutine.
package progress
