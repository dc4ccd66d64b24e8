package worker

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// order is a task of the engine of these tests.
type order struct {
	Do   string
	Text string
}

func init() { Register("test", obey) }

var (
	served int
	kept   []byte
)

func obey(o order) Report {
	served++
	LimitMemory(256 << 20)
	var stopped atomic.Bool
	limit := time.Hour // of processor time: what ends for another reason has enough of it
	if o.Do == "spin" || o.Do == "hang" {
		limit = 50 * time.Millisecond
	}
	done := Guard(limit, func() { stopped.Store(true) })
	switch o.Do {
	case "spin": // stops when asked
		for !stopped.Load() {
		}
	case "hang": // does not
		for n := 0; ; n++ {
		}
	case "sleep": // uses no processor time
		select {}
	case "die":
		os.Exit(7)
	case "take at once":
		kept = make([]byte, 16<<30)
	case "take bit by bit":
		for {
			kept = append(kept, make([]byte, 1<<20)...)
		}
	case "interrupt": // as a terminal does, which tells all processes of the program
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(s) != nil {
				os.Exit(7)
			}
		}
	case "die first":
		if served == 1 {
			if os.Remove(o.Text) == nil { // of two children, one finds it
				os.Exit(7)
			}
		}
	}
	if done() {
		return Report{Failed: "over"}
	}
	return Report{Result: o.Text}
}

func TestPool(t *testing.T) {
	p := NewPool("test")
	mark := t.TempDir() + "/mark"
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3<<20)
	for _, c := range []struct {
		order order
		limit time.Duration
		want  Report
		err   error
	}{
		{order{"say", "hello"}, time.Hour, Report{Result: "hello"}, nil},
		{order{"say", long}, time.Hour, Report{Result: long}, nil},
		{order{"spin", ""}, time.Hour, Report{Failed: "over"}, nil},
		{order{"hang", ""}, time.Hour, Report{}, ErrTime},
		{order{"sleep", ""}, 100 * time.Millisecond, Report{}, ErrTime},
		{order{"die", ""}, time.Hour, Report{}, ErrDied},
		{order{"take at once", ""}, time.Hour, Report{}, ErrDied},
		{order{"take bit by bit", ""}, time.Hour, Report{}, ErrDied},
		{order{"interrupt", "on"}, time.Hour, Report{Result: "on"}, nil},
		{order{"die first", mark}, time.Hour, Report{Result: mark}, nil},
		{order{"say", "again"}, time.Hour, Report{Result: "again"}, nil},
	} {
		got, err := p.Do(c.order, c.limit)
		if spins := c.order.Do == "spin"; got.Used < 0 || spins && got.Used < 40*time.Millisecond {
			t.Errorf("%s: %v of processor time", c.order.Do, got.Used)
		}
		got.Used = 0
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %.100v, %v; want %.100v, %v", c.order.Do, got, err, c.want, c.err)
		}
	}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if got, err := p.Do(order{"say", "at once"}, time.Hour); got.Result != "at once" || err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	wait.Wait()
}

// TestGrace: a program that is asked to stop has the whole grace from then on, though the
// guard may have looked long after the limit.
func TestGrace(t *testing.T) {
	const limit, late = time.Second, 9 * time.Second
	a := allowance{until: limit}
	for _, c := range []struct {
		used     time.Duration
		ask, end bool
	}{
		{limit - 1, false, false},
		{late, true, false},
		{late + 1, false, false},
		{late + graceful - 1, false, false},
		{late + graceful, false, true},
	} {
		if ask, end := a.spent(c.used); ask != c.ask || end != c.end {
			t.Errorf("after %v: asked %v, ended %v; want %v, %v", c.used, ask, end, c.ask, c.end)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	if _, err := receive(strings.NewReader("\xff\xff\xff\xff")); err == nil {
		t.Error("a message of 4 GiB is accepted")
	}
}
