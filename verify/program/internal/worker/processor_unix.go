//go:build unix

package worker

import (
	"syscall"
	"time"
)

// processorTime is what this process has used, in user and system mode.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// least is for limits, which are signed on some systems.
func least[T int64 | uint64](most T, bytes int64) T { return min(most, T(bytes)) }

// LimitMemory bounds what this process may allocate, for what an engine's own limit
// does not count, such as tables of WebAssembly: memory is that limit in bytes, and the
// bound a few times that. A process that meets it ends.
func LimitMemory(memory int) {
	const engine = 2 << 30 // of code being compiled, and of Go
	limit := syscall.Rlimit{}
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &limit) == nil {
		limit.Cur = least(limit.Max, engine+3*int64(memory))
		syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
	}
}
