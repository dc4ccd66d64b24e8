package outside

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, so that a terminal interrupts none of it, and all of it
// can be killed. The kernel kills the program when this process dies, by whatever.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a program and what it started.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
