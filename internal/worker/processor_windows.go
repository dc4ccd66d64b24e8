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
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, system, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &exited, &system, &user) != nil {
		return 0
	}
	ticks := func(t syscall.Filetime) time.Duration { // of 100 ns
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
	}
	return ticks(system) + ticks(user)
}

// limitData does nothing here: there is no such limit.
func limitData(int) {}
