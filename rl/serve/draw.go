package serve

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/rlzero/rlzero/model/sample"
)

// event is what the engine tells of a query.
type event struct {
	prompt int // of the query
	choice int // of the answer; -1: the token is the prompt's
	token  sample.Token
}

// feed passes events from the engine's loop to the goroutine that answers. It never
// blocks the loop: what a slow reader has not taken waits here, and is bounded by what the
// query asked for. The reader is woken no more often than every pace: each time costs
// processor time, which the engine of a small model on a small machine needs itself. All
// readers that are due are woken in one go, after a step of the engine.
type feed struct {
	pace  func() time.Duration
	mu    sync.Mutex
	queue []event
	woken time.Time // when the reader was woken last
	ended bool
	err   error
	news  chan struct{} // holds one
}

func newFeed(pace func() time.Duration) *feed {
	return &feed{pace: pace, news: make(chan struct{}, 1)}
}

func (f *feed) tell(e event) {
	now := time.Now()
	f.mu.Lock()
	f.queue = append(f.queue, e)
	due := now.Sub(f.woken) >= f.pace()
	if due {
		f.woken = now
	}
	f.mu.Unlock()
	if due {
		f.wake()
	}
}

func (f *feed) wake() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *feed) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.mu.Unlock()
	f.wake()
}

// take returns what is new, and whether that is all. The events that it returned before are
// overwritten from now on.
func (f *feed) take(before []event) (events []event, ended bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, f.queue = f.queue, before[:0]
	if len(events) == 0 {
		f.woken = time.Time{} // the reader looks for nothing more by itself: the next event wakes it, whatever the pace is by then
	}
	return events, f.ended, f.err
}

// draw has the engine draw the completions of a query. Choice i of the answer draws from
// stream i, as rlzero sample has it. Completions that do not fit side by side are drawn
// apart, in the same bits.
func (s *Server) draw(ctx context.Context, q *query) (*feed, *fault) {
	f := newFeed(func() time.Duration { return wholePace })
	if q.stream {
		f.pace = s.streamPace
	}
	var reqs []sample.Request
	for p := range q.prompts {
		for first := 0; first < q.n; {
			r := s.request(q, p, first, f)
			err := q.on.engine.Admits(r)
			for ; err != nil && r.N > 1; err = q.on.engine.Admits(r) {
				r.N = (r.N + 1) / 2
			}
			if err != nil && (r.MaxTokens > 0 || r.ScorePrompt) {
				return nil, bad("", "%v", err)
			}
			first += r.N
			if r.MaxTokens > 0 || r.ScorePrompt { // else nothing is to be computed
				reqs = append(reqs, r)
			}
		}
	}
	s.coming.Add(1)
	s.working.Go(func() {
		_, err := q.on.engine.GenerateAll(ctx, reqs)
		f.end(err)
	})
	return f, nil
}

// generate has the engine answer requests that tell what is wanted themselves.
func (s *Server) generate(ctx context.Context, on *served, reqs []sample.Request) error {
	s.working.Add(1)
	defer s.working.Done()
	s.coming.Add(1)
	_, err := on.engine.GenerateAll(ctx, reqs)
	return err
}

// Requests that come together are begun together: the step of a prompt alone takes nearly
// the time of one of 64, and the others would wait for it.
const (
	apart     = 100 * time.Microsecond // those that come together are not further apart
	gathering = 2 * time.Millisecond   // at most
)

// gather waits as long as requests come, for the engine that has just got the first one. It
// yields and does not sleep: the shortest sleep takes a millisecond.
func (s *Server) gather() {
	began := time.Now()
	for last, seen := began, s.coming.Load(); time.Since(last) < apart && time.Since(began) < gathering; runtime.Gosched() {
		if n := s.coming.Load(); n != seen {
			seen, last = n, time.Now()
		}
	}
}

// request asks for the completions of a prompt from the first on.
func (s *Server) request(q *query, prompt, first int, f *feed) sample.Request {
	choice, ends := prompt*q.n+first, q.ends
	if q.ignoreEnds {
		ends = []int{}
	}
	return sample.Request{Prompt: q.prompts[prompt], N: min(q.n-first, s.o.Engine.Sequences), MaxTokens: q.max,
		Sampling: q.sampling, Guide: q.guide, Stream: uint32(q.drawStream + choice),
		Ends: ends, StopIDs: q.stopIDs, StopText: q.stop,
		Top: q.most(), Unscaled: q.unscaled, ScorePrompt: first == 0 && q.scoresPrompt(),
		Each: func(completion int, t sample.Token) {
			e := event{prompt, choice + completion, t}
			if completion < 0 {
				e.choice = -1
			}
			f.tell(e)
		}}
}
