//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// failedWritesAreErrors makes a write beyond ulimit -f, or into a pipe that nobody
// reads, an error like any other; by default their signals end a Go program. Progress
// that nobody reads then ends no run, and of a result that nobody reads the exit code is
// that of the signal, see Main. The second signal is not ignored but received, so that
// children have it as they should.
func failedWritesAreErrors() {
	signal.Ignore(syscall.SIGXFSZ)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
