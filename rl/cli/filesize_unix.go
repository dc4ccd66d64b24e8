//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal makes a write beyond ulimit -f an error like any other;
// by default its signal ends a Go program with a stack trace.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
