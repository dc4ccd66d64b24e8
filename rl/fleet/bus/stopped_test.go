//go:build unix

package bus

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlzero/rlzero/rl/fleet"
)

// TestStopped stops this process, in which trainer and worker live, for longer than a worker may be
// silent. The worker is not given up, and draws the next step.
func TestStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: is stopped for some seconds")
	}
	var mu sync.Mutex
	var notes []string
	s := begin(t, Options{Listen: anyPort, Note: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	}}, fleet.Exact)
	works(t, Door{URL: s.URL()}, nil)
	s.joins(t, 1)
	seconds := ((goneAfter + 1) * beatEvery).Seconds()
	if out, err := exec.Command("sh", "-c", fmt.Sprintf("kill -STOP $PPID && sleep %v && kill -CONT $PPID", seconds)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	time.Sleep(beatEvery) // the trainer has looked, and the worker has been heard
	s.answered(t)
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(notes, "\n"); strings.Contains(all, "silent") || strings.Count(all, "joins") != 1 {
		t.Errorf("the trainer says:\n%s", all)
	}
}
