// Package cli is the command line: it parses flags, opens a device and calls the
// packages that do the work. Results go to stdout, everything else to stderr.
//
//	args.go       puts a command line into the order that the flag package reads
//	catalogue.go  commands that list things with names; answers to unknown names
//	cli.go        commands, errors, exit codes; what several commands share
//	NAME.go       the command NAME, or those that read a model (model.go)
//
// Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 no usable device, 4 refused by a
// trainer, 130 interrupted (after a checkpoint). An error is printed as one line that states the
// problem, and a line for each of its hints (package hint). Nothing here is safe for concurrent
// use.
package cli
