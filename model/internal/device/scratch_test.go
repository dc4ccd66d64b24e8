package device

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
)

// TestScratchPlaces: the blocks that a plan needs have room for each of its phases in the same places, and what was not
// planned has a block of its own.
func TestScratchPlaces(t *testing.T) {
	sizes := map[string][]int{"a": {700, 200, 900, 100}, "b": {1000, 300, 300}, "c": {100}}
	lay := func(s *Scratch) (at map[string][]gpu.View) {
		at = map[string][]gpu.View{}
		for _, name := range []string{"a", "b", "c"} {
			for _, n := range sizes[name] {
				v, err := s.Phase(name).take(n)
				if err != nil {
					t.Fatal(err)
				}
				at[name] = append(at[name], v)
			}
		}
		return at
	}
	plan := PlanScratch(1000)
	lay(plan)
	if want := []int{1000, 900}; !slices.Equal(plan.Blocks(), want) {
		t.Fatalf("blocks of %v, want %v", plan.Blocks(), want)
	}
	for _, dev := range gputest.Devices(t)[:1] {
		s, err := NewScratch(dev, plan.Blocks())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		at := lay(s)
		if len(s.blocks) != 2 {
			t.Errorf("%d blocks", len(s.blocks))
		}
		for name, views := range at {
			for i, v := range views {
				for _, w := range views[:i] {
					if v.Buffer == w.Buffer && v.Offset < w.Offset+w.Size && w.Offset < v.Offset+v.Size {
						t.Errorf("phase %s: %+v and %+v overlap", name, v, w)
					}
				}
			}
		}
		if v, err := s.Phase("c").take(5000); err != nil || v.Size != 5000 || v.Buffer.Size() < 5000 {
			t.Errorf("what was not planned: %+v, %v", v, err)
		}
	}
}

// TestScratchTurns: who enters a phase waits for all who use another one; what the phase left is said to be gone only if
// another one was there meanwhile. A phase whose beginning fails is not in use.
func TestScratchTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewScratch(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := s.Phase("a"), s.Phase("b")
		begun := map[string]int{}
		var fault error
		a.OnEnter(func() error { begun["a"]++; return nil })
		b.OnEnter(func() error { begun["b"]++; return fault })
		enter := func(p *Phase) {
			t.Helper()
			if err := p.Enter(); err != nil {
				t.Fatal(err)
			}
		}
		enter(a)
		enter(a)
		entered := make(chan error)
		go func() { entered <- b.Enter() }()
		synctest.Wait()
		a.Leave()
		enter(a) // again, while somebody waits
		a.Leave()
		synctest.Wait()
		select {
		case <-entered:
			t.Fatal("a phase was entered while another one was in use")
		default:
		}
		a.Leave()
		if err := <-entered; err != nil || begun["a"] != 1 || begun["b"] != 1 {
			t.Fatalf("%v, %v", err, begun)
		}
		b.Leave()
		enter(b)
		b.Leave()
		if begun["b"] != 1 {
			t.Errorf("nobody was there meanwhile, and the phase began %d times", begun["b"])
		}
		enter(a)
		a.Leave()
		fault = errors.New("no memory")
		if err := b.Enter(); err != fault {
			t.Errorf("%v, want %v", err, fault)
		}
		enter(a)
		a.Leave()
		if begun["a"] != 3 {
			t.Errorf("after a phase that failed another one began %d times, want 3", begun["a"])
		}
	})
}

// TestNoScratch: without a scratch there is memory of one's own, and nobody waits.
func TestNoScratch(t *testing.T) {
	var s *Scratch
	p := s.Phase("a")
	p.OnEnter(func() error { return errors.New("it was entered") })
	if err := p.Enter(); err != nil || p != nil {
		t.Errorf("%v, %v", p, err)
	}
	p.Leave()
	s.Close()
}
