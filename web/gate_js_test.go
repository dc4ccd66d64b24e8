package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ready is a gate whose event loop has had its turn, for these tests' whole time.
func ready(dir string) *gate {
	g := newGate(dir)
	g.turn = time.Unix(1<<40, 0)
	return g
}

// woken tells whether a channel is closed.
func woken(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}

// TestGateWakes: whoever was told a pace hears of the next change, also of one that comes
// before it begins to wait, and of the first of several.
func TestGateWakes(t *testing.T) {
	g := ready(t.TempDir())
	for _, to := range []pace{paused, running, paused, stepping, paused, paused, running} {
		_, changed := g.now()
		if woken(changed) {
			t.Fatalf("before the change to %s its channel is closed", to)
		}
		g.set(to)
		if got, next := g.now(); got != to || !woken(changed) || woken(next) {
			t.Errorf("after the change to %s: pace %s, told %v; the next change told %v", to, got, woken(changed), woken(next))
		}
	}
	_, changed := g.now()
	g.set(paused)
	g.set(running)
	g.set(paused)
	if !woken(changed) {
		t.Error("three changes at once, and who had waited is not woken")
	}
}

// TestGateHolds: a run that is held goes on when it is told to, and after one step is held
// again: the step is told once.
func TestGateHolds(t *testing.T) {
	dir := t.TempDir()
	g, steps := ready(dir), 0
	g.stepped = func() { steps++ }
	passed := make(chan struct{})
	through := func() { g.pass(); passed <- struct{}{} }
	held := func(when string) {
		t.Helper()
		// Reading the file lets others run: all who can pass have done so by then.
		for range 10 {
			os.Stat(dir)
		}
		select {
		case <-passed:
			t.Fatalf("%s: the gate lets a run through", when)
		default:
		}
	}
	g.set(paused)
	go through()
	held("paused")
	g.set(paused)
	held("paused twice")
	g.set(stepping)
	<-passed
	go through()
	<-passed // a step is many programs
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	go through()
	held("after a step")
	if steps != 1 {
		t.Errorf("one step was told %d times", steps)
	}
	g.set(running)
	<-passed
}
