// Package cli is the command line: it parses flags, opens a device and calls
// package rl. Results go to stdout, everything else to stderr. Exit codes: 0
// done, 1 failed, 2 wrong usage or bad input, 3 no usable device, 130
// interrupted (after a checkpoint).
package cli
