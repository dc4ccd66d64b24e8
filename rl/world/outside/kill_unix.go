//go:build unix

package outside

import (
	"os"
	"syscall"
)

// killGroup kills a program and what it started.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
