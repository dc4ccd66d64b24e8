//go:build unix

package worker

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

const stopLimit = time.Second

func init() { Register("test of stopping", stopParent) }

// stopParent stops the process that asks for longer than it would wait, and answers.
func stopParent(o order) Report {
	syscall.Kill(os.Getppid(), syscall.SIGSTOP)
	nap, cancel := context.WithTimeout(context.Background(), 3*stopLimit)
	<-nap.Done()
	cancel()
	syscall.Kill(os.Getppid(), syscall.SIGCONT)
	return Report{Result: o.Text}
}

// TestStopped: a task is not late because the process that waits for it was stopped.
func TestStopped(t *testing.T) {
	got, err := NewPool("test of stopping").Do(order{Text: "in time"}, stopLimit)
	if err != nil || got.Result != "in time" {
		t.Errorf("%+v, %v", got, err)
	}
}
