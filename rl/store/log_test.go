package store

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
)

func TestLog(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	l, err := r.Log("completions.jsonl")
	must(t, err)
	must(t, l.Append(map[string]string{"completion": "1 < 2 & \"é\"\n"}))
	if err := l.Append(math.NaN()); err == nil || !strings.Contains(err.Error(), "completions.jsonl") {
		t.Errorf("a value that JSON has no form for: %v", err)
	}
	must(t, l.Append([]int{1, 2}))
	want := "{\"completion\":\"1 < 2 & \\\"é\\\"\\n\"}\n[1,2]\n"
	if got := read(t, m, "runs/a/completions.jsonl"); got != want || l.lines != 2 {
		t.Errorf("log holds %q, Lines %d", got, l.lines)
	}
	if _, err := r.Log("completions.jsonl"); err == nil {
		t.Error("opened twice")
	}
	must(t, l.Close())
	must(t, l.Close())
	if err := l.Append(1); err == nil {
		t.Error("appended to a closed log")
	}
	must(t, r.Close())
}

func TestRewind(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	open := func(name string) *Log {
		l, err := r.Log(name)
		must(t, err)
		return l
	}
	a, b := open("a.jsonl"), open("b.jsonl")
	must(t, a.Append(1))
	must(t, b.Append(1))
	must(t, r.SaveCheckpoint(1, nil))
	must(t, a.Append(2))
	must(t, open("young.jsonl").Append(2))
	must(t, r.Close())

	r, err := Open(m, "runs/a")
	must(t, err)
	a = open("a.jsonl")
	open("young.jsonl") // b.jsonl is left to Rewind
	c, _, err := r.Latest()
	must(t, err)
	write(t, m, "runs/a/b.jsonl", "1\n2\n")
	must(t, r.Rewind(c))
	must(t, a.Append(3))
	for name, want := range map[string]string{"a": "1\n3\n", "b": "1\n", "young": ""} {
		if got := read(t, m, "runs/a/"+name+".jsonl"); got != want {
			t.Errorf("%s.jsonl holds %q, want %q", name, got, want)
		}
	}
	must(t, r.Rewind(nil))
	must(t, a.Append(4))
	if got := read(t, m, "runs/a/a.jsonl"); got != "4\n" {
		t.Errorf("after a rewind to the start: %q", got)
	}
}

func TestRewindOfShortLog(t *testing.T) {
	for _, missing := range []bool{false, true} {
		m := NewMem()
		r := newRun(t, m)
		l, err := r.Log("a.jsonl")
		must(t, err)
		must(t, l.Append(12345))
		must(t, r.SaveCheckpoint(1, nil))
		must(t, r.Close())
		if missing {
			must(t, m.Remove("runs/a/a.jsonl"))
		} else {
			write(t, m, "runs/a/a.jsonl", "123")
		}
		r, err = Open(m, "runs/a")
		must(t, err)
		c, _, err := r.Latest()
		must(t, err)
		if err := r.Rewind(c); err == nil || !strings.Contains(err.Error(), "runs/a/a.jsonl") || !strings.Contains(err.Error(), "has 0 lines") {
			t.Errorf("missing %v: %v", missing, err)
		}
	}
}

// After a failed append the log may end in half a line: nothing more goes in,
// and no checkpoint counts on it.
func TestBrokenLog(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	l, err := r.Log("a.jsonl")
	must(t, err)
	must(t, l.Append("whole"))
	m.Before = func(_ int, op, _ string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	}
	if err := l.Append("half"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "runs/a/a.jsonl") {
		t.Errorf("append: %v", err)
	}
	m.Before = nil
	if err := l.Append("more"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append after a failure: %v", err)
	}
	if err := r.SaveCheckpoint(1, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("checkpoint after a failure: %v", err)
	}
}

// TestJournal: no checkpoint knows a journal or cuts it, and half a line at its end is cut off where it is
// opened.
func TestJournal(t *testing.T) {
	m := NewMem()
	r := newRun(t, m)
	l, err := r.Journal("calls.jsonl")
	must(t, err)
	must(t, l.Append(1))
	must(t, r.SaveCheckpoint(1, nil))
	must(t, l.Append(2))
	must(t, l.Close())
	must(t, r.Close())
	write(t, m, "runs/a/calls.jsonl", "1\n2\n{\"half")
	r, err = Open(m, "runs/a")
	must(t, err)
	if l, err = r.Journal("calls.jsonl"); err != nil || l.lines != 2 {
		t.Fatal(l, err)
	}
	c, _, err := r.Latest()
	must(t, err)
	must(t, r.Rewind(c))
	must(t, l.Append(3))
	must(t, l.Close())
	if got := read(t, m, "runs/a/calls.jsonl"); got != "1\n2\n3\n" {
		t.Errorf("the journal is %q", got)
	}
}
