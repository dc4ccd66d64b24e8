package outside

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, so that a terminal interrupts none of it, and all of it
// can be killed. The kernel kills the program when this process dies, by whatever.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
