//go:build !linux || !(amd64 || arm64)

package box

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Start fails unless s.Unsafe: there is no box for this system.
func Start(s Spec) (*Box, error) {
	if !s.Unsafe {
		return nil, fmt.Errorf("%w: %s has no box", ErrUnsupported, runtime.GOOS)
	}
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env = s.Env
	b, err := attach(cmd)
	if err != nil {
		return nil, err
	}
	return b, cmd.Start()
}

// OneProcess is empty: there are no filters of system calls here.
func OneProcess() []byte { return nil }

// Close kills the program and waits for its end.
func (b *Box) Close() {
	b.close.Do(func() {
		b.Kill()
		b.Stdin.Close()
		b.cmd.Wait()
	})
}

// Kill kills the program.
func (b *Box) Kill() { b.cmd.Process.Kill() }

// Times are not known here.
func (b *Box) Times() (ran, waited float64) { return 0, 0 }
