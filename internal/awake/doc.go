// Package awake counts time in which this process runs. A process that is stopped (SIGSTOP, Ctrl-Z)
// finds afterwards that minutes or hours have passed by the clock; what it waits for had no more of
// them than the process itself, and is not late.
//
// A limit is looked at in short steps, and a step that took far longer than it should counts as
// two: the process did not run. So a limit is met at most two steps late, and a machine that is too
// busy to run the process makes it later still.
//
// [WithTimeout] may be called from any goroutine, and keeps one until its context ends.
package awake
