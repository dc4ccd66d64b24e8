package rollout

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Concurrent is a Sampler that many goroutines may ask at once. Where it is none, and belongs to
// one goroutine, the turns of episodes are drawn together as soon as no episode can go on without.
type Concurrent interface {
	Sampler
	// Draw draws the completions of one request, as Sample does.
	Draw(ctx context.Context, r Request) ([]Segment, error)
}

// flow plays episodes side by side, and has a sampler draw their turns. Which requests are drawn
// together changes no bit of them, so a world that is slow holds up nobody but its own episode.
type flow struct {
	sampler Sampler
	ctx     context.Context
	cancel  context.CancelCauseFunc // with the first error: of the sampler, or of a player
	work    sync.WaitGroup

	mu      sync.Mutex
	playing int    // players that go on without a draw, and who begins them until it waits
	pending []*ask // of a sampler that is not Concurrent
}

// ask is a request that a player waits for.
type ask struct {
	number  int // of the player: requests are drawn in this order
	request Request
	answer  chan []Segment // closed without one where the sampler fails
}

func newFlow(ctx context.Context, s Sampler) *flow {
	f := &flow{sampler: s, playing: 1}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// play begins a player, whose error ends all.
func (f *flow) play(player func() error) {
	f.mu.Lock()
	f.playing++
	f.mu.Unlock()
	f.work.Go(func() {
		if err := player(); err != nil {
			f.cancel(err)
		}
		f.pause(nil)
	})
}

// wait waits for all players, and returns the first error. Nothing is drawn before it is called,
// unless the sampler is Concurrent: the first draws are of all players that were begun.
func (f *flow) wait() error {
	f.pause(nil)
	f.work.Wait()
	defer f.cancel(nil)
	return context.Cause(f.ctx)
}

// draw draws the completions of a request for a player.
func (f *flow) draw(number int, r Request) ([]Segment, error) { return f.drawBy(f.sampler, number, r) }

// drawBy has a sampler draw them: that of the flow, or another one, which is Concurrent.
func (f *flow) drawBy(by Sampler, number int, r Request) ([]Segment, error) {
	if s, can := by.(Concurrent); can {
		return s.Draw(f.ctx, r)
	}
	a := &ask{number, r, make(chan []Segment, 1)}
	f.pause(a)
	if drawn, ok := <-a.answer; ok {
		return drawn, nil
	}
	return nil, context.Cause(f.ctx)
}

// pause says that a player waits for a draw, or that it is over: a is nil. If nobody goes on
// without, all that is pending is drawn.
func (f *flow) pause(a *ask) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.playing--
	if a != nil {
		f.pending = append(f.pending, a)
	}
	if f.playing > 0 || len(f.pending) == 0 {
		return
	}
	slices.SortFunc(f.pending, func(a, b *ask) int { return cmp.Compare(a.number, b.number) })
	requests := make([]Request, len(f.pending))
	for i, a := range f.pending {
		requests[i] = a.request
	}
	drawn, err := f.sampler.Sample(f.ctx, requests)
	if err != nil {
		f.cancel(err)
	}
	for i, a := range f.pending {
		if err == nil {
			a.answer <- drawn[i]
		}
		close(a.answer)
	}
	f.playing, f.pending = len(f.pending), nil
}
