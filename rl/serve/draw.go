package serve

import (
	"context"
	"sync"

	"github.com/rlzero/rlzero/model"
)

// event is what the engine tells of a query.
type event struct {
	prompt int // of the query
	choice int // of the answer; -1: the token is the prompt's
	token  model.Token
}

// feed passes events from the engine's loop to the goroutine that answers. It never
// blocks the loop: what a slow reader has not taken waits here, and is bounded by what the
// query asked for.
type feed struct {
	mu    sync.Mutex
	queue []event
	ended bool
	err   error
	news  chan struct{} // holds one
}

func newFeed() *feed { return &feed{news: make(chan struct{}, 1)} }

func (f *feed) tell(e event) {
	f.mu.Lock()
	f.queue = append(f.queue, e)
	f.mu.Unlock()
	f.wake()
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

// take returns what is new, and whether that is all.
func (f *feed) take() (events []event, ended bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, f.queue = f.queue, nil
	return events, f.ended, f.err
}

// draw has the engine draw the completions of a query. Choice i of the answer draws from
// stream i, as rlzero sample has it. Completions that do not fit side by side are drawn
// apart, in the same bits.
func (s *Server) draw(ctx context.Context, q *query) (*feed, *fault) {
	f := newFeed()
	var reqs []model.Request
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
	s.working.Go(func() {
		_, err := q.on.engine.GenerateAll(ctx, reqs)
		f.end(err)
	})
	return f, nil
}

// request asks for the completions of a prompt from the first on.
func (s *Server) request(q *query, prompt, first int, f *feed) model.Request {
	choice := prompt*q.n + first
	return model.Request{Prompt: q.prompts[prompt], N: min(q.n-first, s.o.Engine.Sequences), MaxTokens: q.max,
		Sampling: q.sampling, Guide: q.guide, Stream: uint32(q.drawStream + choice),
		Ends: q.ends, StopIDs: q.stopIDs, StopText: q.stop,
		Top: q.most(), Unscaled: q.unscaled, ScorePrompt: first == 0 && q.scoresPrompt(),
		Each: func(completion int, t model.Token) {
			e := event{prompt, choice + completion, t}
			if completion < 0 {
				e.choice = -1
			}
			f.tell(e)
		}}
}
