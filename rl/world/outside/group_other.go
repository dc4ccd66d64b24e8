//go:build !unix && !js

package outside

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no groups of processes here.
func ownGroup(*exec.Cmd) {}

// killGroup kills a program.
func killGroup(p *os.Process) { p.Kill() }
