package outside

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestDies: a program does not outlive this one, however that ends. It holds a pipe open as long as it
// lives.
func TestDies(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	self := program(t).Words[0]
	parent := exec.Command(self, parentWord, pipe)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(pipe) // once the program has opened it too
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	parent.Process.Kill()
	parent.Wait()
	if _, err := io.ReadAll(held); err != nil {
		t.Fatal(err)
	}
}
