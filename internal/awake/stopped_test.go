//go:build unix

package awake

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestStopped stops this process for three times the limit. By the clock the limit is met then; by
// the time in which it ran it is not, until it has run on.
func TestStopped(t *testing.T) {
	awake, cancel := WithTimeout(t.Context(), time.Second, errLate)
	defer cancel()
	clock, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if out, err := exec.Command("sh", "-c", "kill -STOP $PPID && sleep 3 && kill -CONT $PPID").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	<-clock.Done()
	if context.Cause(awake) != nil {
		t.Errorf("%v after a second in which it did not run", context.Cause(awake))
	}
	<-awake.Done()
	if context.Cause(awake) != errLate {
		t.Error(context.Cause(awake))
	}
}
