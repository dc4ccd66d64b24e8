//go:build unix

package worker

import (
	"os"
	"syscall"
	"time"
)

// interruptions are the signals by which a person or a system ends a program.
var interruptions = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

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

// limitData bounds the memory that this process may write to. Linux counts all of it;
// https://man7.org/linux/man-pages/man2/getrlimit.2.html.
func limitData(bytes int) {
	limit := syscall.Rlimit{}
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &limit) == nil {
		limit.Cur = least(limit.Max, int64(bytes))
		syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
	}
}
