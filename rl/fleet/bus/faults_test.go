package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/rollout"
)

// proxy stands between workers and a server, and loses what it is told to lose.
type proxy struct {
	net.Listener
	server   string
	up, down atomic.Bool  // what workers, or the server, say is lost
	late     atomic.Int64 // nanoseconds that all takes
	mu       sync.Mutex
	open     []net.Conn
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, server: strings.TrimPrefix(url, "nats://")}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", p.server)
			if err != nil {
				a.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, a, b)
			p.mu.Unlock()
			go p.pass(a, b, &p.up)
			go p.pass(b, a, &p.down)
		}
	}()
	return p
}

// pass carries bytes until a side closes. What is lost once ends the stream for good, as
// no half of a message may follow.
func (p *proxy) pass(from, to net.Conn, lost *atomic.Bool) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for broken := false; ; {
		n, err := from.Read(buf)
		time.Sleep(time.Duration(p.late.Load()))
		if broken = broken || lost.Load(); !broken {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) door() Door { return Door{URL: "nats://" + p.Addr().String()} }

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

// TestFaults: a run has the completions of one machine whatever happens on the way to one
// of two workers; the silent worker comes back.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ happens, ends func(*proxy) }{
		"connections are cut":    {(*proxy).cut, func(*proxy) {}},
		"nothing passes":         {func(p *proxy) { p.up.Store(true); p.down.Store(true) }, func(p *proxy) { p.up.Store(false); p.down.Store(false); p.cut() }},
		"requests are lost":      {func(p *proxy) { p.up.Store(true) }, func(p *proxy) { p.up.Store(false); p.cut() }},
		"replies are lost":       {func(p *proxy) { p.down.Store(true) }, func(p *proxy) { p.down.Store(false); p.cut() }},
		"the way is long":        {func(p *proxy) { p.late.Store(int64(200 * time.Millisecond)) }, func(p *proxy) { p.late.Store(0); p.cut() }},
		"the network is no more": {func(p *proxy) { p.Close(); p.cut() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, Options{Listen: anyPort}, fleet.Exact)
			p := newProxy(t, s.URL())
			var items atomic.Int32
			works(t, Door{URL: s.URL()}, nil)
			works(t, p.door(), func() {
				if items.Add(1) == 4 { // with an item in its hands
					c.happens(p)
				}
			})
			s.joins(t, 2)
			for range 5 {
				s.step(t)
			}
			if gputest.Long() { // partitions of a minute
				for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Second) {
					s.step(t)
				}
			}
			if !settles(func() bool { return items.Load() >= 4 }, func() { s.step(t) }) {
				t.Fatalf("the worker got %d items", items.Load())
			}
			if c.ends == nil {
				s.joins(t, 1)
				s.step(t)
				return
			}
			c.ends(p)
			s.joins(t, 2)
			before := items.Load()
			if !settles(func() bool { return items.Load() > before }, func() { s.step(t) }) {
				t.Fatal("the worker did not come back")
			}
			if n := s.fleet.Counts(); n.Refused > 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestEndIsHeard: a worker whose connection breaks just before the run ends hears of it all the same,
// and one that hears nothing any more does not keep the trainer.
func TestEndIsHeard(t *testing.T) {
	t.Parallel()
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	p, lost := newProxy(t, s.URL()), newProxy(t, s.URL())
	ended, _ := works(t, p.door(), nil)
	works(t, lost.door(), nil)
	s.joins(t, 2)
	p.cut()
	lost.Close()
	lost.cut()
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the worker ends with %v", err)
	}
}

// TestBusyHands: a worker that hangs keeps nobody waiting, and one that is stopped gives
// back its item at once.
func TestBusyHands(t *testing.T) {
	t.Parallel()
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	hang := make(chan struct{})
	works(t, Door{URL: s.URL()}, func() { <-hang })
	_, stop := works(t, Door{URL: s.URL()}, nil)
	s.joins(t, 2)
	s.step(t)
	stop()
	s.joins(t, 1)
	s.step(t)
	close(hang)
	s.step(t)
}

// liar draws a wrong token in each item but canaries.
type liar struct{ paper }

func (l *liar) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	out, err := l.paper.Sample(ctx, requests, seed)
	if requests[0].Key.Stream >= 1<<31 {
		return out, err
	}
	s := &out[0][0]
	s.IDs[len(s.IDs)/2] = (s.IDs[len(s.IDs)/2] + 1) % vocab
	return out, err
}

// TestLiar: a worker that is found to lie learns why it is refused, and is not let in again.
func TestLiar(t *testing.T) {
	t.Parallel()
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	lies := Worker{Door: Door{URL: s.URL(), Key: Key{}}, Card: card, Open: func([]byte) (Engine, error) { return &liar{}, nil }}
	ended := make(chan error, 1)
	go func() { ended <- lies.Work(t.Context()) }()
	works(t, Door{URL: s.URL()}, nil)
	s.joins(t, 2)
	s.fleet.Close()
	f := fleet.New(s.Hub, trainerOf(s.run), fleet.Options{Mode: fleet.Exact, Audit: 1, Slots: s.Slots, Patience: time.Second})
	defer f.Close()
	s.fleet = f
	var err error
	over := func() bool {
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	}
	if !settles(over, func() { s.step(t) }) { // a step may end before its answer is there
		t.Fatal("the worker is not found out")
	}
	if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "differs from what is drawn here") {
		t.Errorf("the worker ends with %v", err)
	}
	if n := f.Counts(); n.Refused != 1 || n.Answered == 0 {
		t.Errorf("%+v", n)
	}
	list, err := Who(t.Context(), Door{URL: s.URL()})
	others := slices.DeleteFunc(list, func(p Presence) bool { return p.Class != "other" })
	if err != nil || len(others) != 1 || !strings.Contains(others[0].Refused, "differs from what is drawn here") || others[0].Mode != "" {
		t.Errorf("%+v, %v", others, err)
	}
}

// TestComingAndGoing: workers join and leave at random, some of them without a word.
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	steps := 12
	if gputest.Long() {
		steps = 50
	}
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	p := newProxy(t, s.URL())
	rng := rand.New(rand.NewPCG(5, 0))
	var stops []func()
	began, answered := time.Now(), func() bool { return s.fleet.Counts().Answered > 0 }
	for n := 0; n < steps || !answered() && time.Since(began) < patience; n++ {
		switch n := rng.IntN(3); {
		case n > 0 && len(stops) < 8:
			_, stop := works(t, []Door{p.door(), {URL: s.URL()}}[n-1], nil)
			stops = append(stops, stop)
		case n == 0 && len(stops) > 0:
			i := rng.IntN(len(stops))
			stops[i]()
			stops = slices.Delete(stops, i, i+1)
		}
		if rng.IntN(4) == 0 {
			p.cut()
		}
		s.step(t)
	}
	if n := s.fleet.Counts(); n.Answered == 0 || n.Refused > 0 {
		t.Errorf("%+v", n)
	}
}
